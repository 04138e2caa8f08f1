//! Real test commands of real tools: found, run in the real sandbox, and parsed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use greenlight::checkout::Checkout;
use greenlight::domain::test_run::{Outcome, TestRun, is_better};
use greenlight::sandbox::{Access, Choice, Mount, Policy, Sandbox};
use greenlight::suite::{Hints, Installed, Prebuilt, Stores, Suite, TestSettings, find, run, run_fresh};
use tokio_util::sync::CancellationToken;

mod own_code;
mod prebuilt;

const CRATE: [(&str, &str); 3] = [
    (
        "Cargo.toml",
        "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    ),
    (
        "src/lib.rs",
        "/// ```\n/// assert_eq!(sample::add(1, 2), 3);\n/// ```\npub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n\
         #[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(super::add(1, 2), 3);\n    }\n}\n",
    ),
    (
        "tests/story.rs",
        "#[test]\nfn adds() {\n    assert_eq!(sample::add(2, 2), 4);\n}\n\n#[test]\nfn adds_nothing() {\n    assert_eq!(sample::add(0, 0), 0);\n}\n",
    ),
];

const PACKAGE: [(&str, &str); 3] = [
    (
        "pyproject.toml",
        "[project]\nname = \"shop\"\nversion = \"1\"\n\n[tool.pytest.ini_options]\ntestpaths = [\"tests\"]\n",
    ),
    ("src/shop/__init__.py", "def add(a, b):\n    return a + b\n"),
    (
        "tests/test_shop.py",
        "import pytest\nfrom shop import add\n\n\n@pytest.mark.parametrize(\"a, b\", [(1, 2), (0, 0)])\ndef test_add(a, b):\n    assert add(a, b) == a + b\n\n\n\
         class TestMore:\n    def test_negative(self):\n        assert add(-1, -2) == -3\n",
    ),
];

/// A tree on disk, the command that was found for it, and a folder for its workspaces.
struct World {
    _tree: tempfile::TempDir,
    _workspaces: tempfile::TempDir,
    checkout: Checkout,
    suite: Suite,
}

async fn world(files: &[(&str, &str)], settings: &TestSettings) -> World {
    let (tree, workspaces) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (path, text) in files {
        let path = tree.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let checkout = Checkout::open(tree.path()).unwrap();
    let helper = PathBuf::from(env!("CARGO_BIN_EXE_greenlight"));
    let suite = Suite {
        sandbox: Sandbox::detect(Choice::Auto, helper).await.unwrap(),
        command: find(&checkout, settings, &Hints::default()).unwrap(),
        policy: Policy::default(),
        workspaces: workspaces.path().to_path_buf(),
        installed: Installed::default(),
        prebuilt: Prebuilt::default(),
        cold_proof: false,
        purpose: greenlight::suite::Purpose::default(),
        clock: greenlight::suite::RunClock::default(),
    };
    World {
        _tree: tree,
        _workspaces: workspaces,
        checkout,
        suite,
    }
}

impl World {
    fn edit(&mut self, path: &str, from: &str, to: &str) {
        let text = self.checkout.read_text(path).unwrap();
        assert!(text.contains(from), "{path} has no {from:?}");
        self.checkout.edit_text(path.parse().unwrap(), text.replace(from, to));
    }

    async fn run(&self, only: &[&str]) -> TestRun {
        let only: Vec<String> = only.iter().map(ToString::to_string).collect();
        run_fresh(&self.suite, &self.checkout, &only, &CancellationToken::new())
            .await
            .unwrap()
    }
}

fn names(run: &TestRun) -> Vec<&str> {
    run.passed_names.iter().map(String::as_str).collect()
}

fn first_place(run: &TestRun) -> String {
    let place = run.failures[0].location.as_ref().unwrap();
    format!("{}:{}", place.path, place.line)
}

#[tokio::test]
async fn a_crate_goes_red_and_green() {
    let mut world = world(&CRATE, &TestSettings::default()).await;
    let green = world.run(&[]).await;
    assert_eq!(
        (green.outcome, green.passed, green.failed),
        (Outcome::Passed, 4, 0),
        "{}",
        green.tail
    );
    assert_eq!(green.command, "cargo test");
    assert_eq!(
        names(&green),
        ["adds", "adds_nothing", "src/lib.rs - add", "tests::adds"]
    );

    world.edit("src/lib.rs", "a + b", "a - b");
    let red = world.run(&[]).await;
    assert_eq!(
        (red.outcome, red.passed, red.failed),
        (Outcome::Failed, 1, 3),
        "{}",
        red.tail
    );
    assert_eq!(
        red.failing_names().collect::<Vec<_>>(),
        ["tests::adds", "adds", "src/lib.rs - add"]
    );
    assert_eq!(first_place(&red), "src/lib.rs:12");
    assert!(
        red.failures[0].message.contains("left: -1"),
        "{}",
        red.failures[0].message
    );

    let only = world.run(&["tests::adds", "adds"]).await;
    assert_eq!(
        (only.outcome, only.passed, only.failed),
        (Outcome::Failed, 0, 2),
        "{}",
        only.tail
    );

    world.checkout.reset();
    assert_eq!(is_better(&red, &world.run(&[]).await), Ok(()));
}

#[tokio::test]
async fn a_crate_that_does_not_compile_says_where() {
    let mut world = world(&CRATE, &TestSettings::default()).await;
    world.edit("src/lib.rs", "a + b", "a + c");
    let run = world.run(&[]).await;
    assert_eq!((run.outcome, run.passed), (Outcome::DidNotBuild, 0), "{}", run.tail);
    assert_eq!(first_place(&run), "src/lib.rs:5");
    assert!(
        run.failures[0].name.starts_with("error[E0425]"),
        "{}",
        run.failures[0].name
    );
}

#[tokio::test]
async fn a_crate_whose_dependencies_are_not_here_is_no_bug() {
    let manifest =
        "[package]\nname = \"sample\"\nversion = \"0.1.0\"\n[dependencies]\nno-such-crate-anywhere = \"1\"\n";
    let world = world(
        &[("Cargo.toml", manifest), ("src/lib.rs", "")],
        &TestSettings::default(),
    )
    .await;
    let run = world.run(&[]).await;
    assert_eq!(run.outcome, Outcome::DidNotStart, "{}", run.tail);
}

#[tokio::test]
async fn an_endless_loop_times_out_and_a_crash_is_a_crash() {
    let settings = TestSettings {
        timeout: Some(Duration::from_secs(20)),
        command: None,
    };
    let mut world = world(&CRATE, &settings).await;
    world.edit("src/lib.rs", "    a + b", "    std::process::abort()");
    assert_eq!(world.run(&[]).await.outcome, Outcome::Crashed);
    world.suite.command.timeout = Duration::from_secs(3);
    world.checkout.reset();
    world.edit("src/lib.rs", "    a + b", "    loop { std::hint::black_box(a + b); }");
    let run = world.run(&[]).await;
    assert_eq!(run.outcome, Outcome::TimedOut, "{}", run.tail);
}

#[tokio::test]
async fn a_python_package_with_a_src_layout_goes_red_and_green() {
    let mut world = world(&PACKAGE, &TestSettings::default()).await;
    let green = world.run(&[]).await;
    assert_eq!(
        (green.outcome, green.passed, green.failed),
        (Outcome::Passed, 3, 0),
        "{}",
        green.tail
    );
    assert_eq!(green.command, "python3 -m pytest");
    assert_eq!(
        names(&green),
        [
            "tests/test_shop.py::TestMore::test_negative",
            "tests/test_shop.py::test_add[0-0]",
            "tests/test_shop.py::test_add[1-2]"
        ]
    );

    world.edit("src/shop/__init__.py", "a + b", "a - b");
    let red = world.run(&[]).await;
    assert_eq!(
        (red.outcome, red.passed, red.failed),
        (Outcome::Failed, 1, 2),
        "{}",
        red.tail
    );
    assert_eq!(first_place(&red), "tests/test_shop.py:7");
    assert!(
        red.failures[0].message.starts_with("assert -1 == (1 + 2)"),
        "{}",
        red.failures[0].message
    );

    let failing: Vec<&str> = red.failing_names().collect();
    let only = world.run(&failing).await;
    assert_eq!(
        (only.outcome, only.passed, only.failed),
        (Outcome::Failed, 0, 2),
        "{}",
        only.tail
    );
    let gone = world.run(&["tests/test_shop.py::test_gone"]).await;
    assert_eq!(gone.outcome, Outcome::NothingRan, "{}", gone.tail);

    world.edit("src/shop/__init__.py", "a - b", "a -");
    let broken = world.run(&[]).await;
    assert_eq!(broken.outcome, Outcome::DidNotCollect, "{}", broken.tail);
    assert_eq!(first_place(&broken), "src/shop/__init__.py:2");

    world.checkout.reset();
    assert_eq!(is_better(&red, &world.run(&[]).await), Ok(()));
}

#[tokio::test]
async fn a_workspace_sees_an_edit_of_the_same_size_at_once() {
    let world = world(&PACKAGE, &TestSettings::default()).await;
    let workspace = world.checkout.workspace(&world.suite.workspaces).unwrap();
    let path = "src/shop/__init__.py".parse().unwrap();
    let mut blob = world.checkout.read(&path).unwrap();
    let cancel = CancellationToken::new();
    for (operator, outcome) in [("+", Outcome::Passed), ("-", Outcome::Failed), ("+", Outcome::Passed)] {
        blob.bytes = format!("def add(a, b):\n    return a {operator} b\n").into_bytes();
        workspace.put(&path, &blob).unwrap();
        let run = run(&world.suite, &workspace, &[], &cancel).await.unwrap();
        assert_eq!(run.outcome, outcome, "{}", run.tail);
    }
}

#[tokio::test]
async fn unittest_runs_without_pytest() {
    let files = [
        ("calc.py", "def add(a, b):\n    return a - b\n"),
        (
            "tests/test_calc.py",
            "import unittest\nfrom calc import add\n\n\nclass TestAdd(unittest.TestCase):\n    def test_nothing(self):\n        self.assertEqual(add(0, 0), 0)\n\n    def test_small(self):\n        self.assertEqual(add(1, 2), 3)\n",
        ),
    ];
    let world = world(&files, &TestSettings::default()).await;
    let run = world.run(&[]).await;
    assert_eq!(
        (run.outcome, run.passed, run.failed),
        (Outcome::Failed, 1, 1),
        "{}",
        run.tail
    );
    assert_eq!(run.failures[0].name, "test_calc.TestAdd.test_small");
    assert_eq!(first_place(&run), "tests/test_calc.py:10");
    let only = world.run(&["test_calc.TestAdd.test_small"]).await;
    assert_eq!((only.passed, only.failed), (0, 1), "{}", only.tail);
}

#[tokio::test]
async fn a_configured_command_line_runs_in_a_shell() {
    let settings = TestSettings {
        command: Some("test -f a.txt && ! grep -q bug a.txt".into()),
        timeout: None,
    };
    let mut world = world(&[("a.txt", "a bug\n")], &settings).await;
    let red = world.run(&[]).await;
    assert_eq!((red.outcome, red.failed), (Outcome::Failed, 1), "{}", red.tail);
    assert_eq!(red.command, "test -f a.txt && ! grep -q bug a.txt");
    world.edit("a.txt", "a bug", "fine");
    let green = world.run(&[]).await;
    assert_eq!(is_better(&red, &green), Ok(()), "{}", green.tail);
}

#[tokio::test]
async fn a_command_that_is_not_there_did_not_start() {
    let settings = TestSettings {
        command: Some("no-such-program --test".into()),
        timeout: None,
    };
    let run = world(&[("a.txt", "")], &settings).await.run(&[]).await;
    assert_eq!(run.outcome, Outcome::DidNotStart, "{}", run.tail);
}

#[tokio::test]
async fn a_report_that_the_tests_swap_for_a_link_is_not_followed_and_never_green() {
    let conftest = "import os\n\ndef pytest_unconfigure(config):\n    path = '.greenlight-report.xml'\n    \
                    os.path.lexists(path) and os.remove(path)\n    os.symlink('/etc/passwd', path)\n";
    let mut files = PACKAGE.to_vec();
    files.push(("tests/conftest.py", conftest));
    let mut world = world(&files, &TestSettings::default()).await;
    let green = world.run(&[]).await;
    // The file in place of the report could have claimed anything.
    assert_eq!((green.outcome, green.passed), (Outcome::Crashed, 3), "{}", green.tail);
    assert!(!green.tail.contains("root:"), "{}", green.tail);
    world.edit("src/shop/__init__.py", "a + b", "a - b");
    let red = world.run(&[]).await;
    assert_eq!((red.outcome, red.failed), (Outcome::Failed, 2), "{}", red.tail);
    assert!(Path::new("/etc/passwd").is_file());
}

#[tokio::test]
async fn hostile_names_reach_no_tool_as_options() {
    let world = world(&CRATE, &TestSettings::default()).await;
    for name in [
        "--config=build.rustc='x'",
        "-Zunstable-options",
        "--list",
        "$(touch /workspace/x)",
        "a; false",
    ] {
        let run = world.run(&[name]).await;
        assert_eq!(run.outcome, Outcome::NothingRan, "{name}: {}", run.tail);
    }
    let mut files = PACKAGE.to_vec();
    files.push(("evil.py", "--version\n"));
    let world = self::world(&files, &TestSettings::default()).await;
    for name in [
        "@evil.py",
        "--version.py",
        "-c/dev/null.py::x",
        "tests/test_shop.py::--co",
    ] {
        let run = world.run(&[name]).await;
        assert_eq!(run.outcome, Outcome::NothingRan, "{name}: {}", run.tail);
    }
}
