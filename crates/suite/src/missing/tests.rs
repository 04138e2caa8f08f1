//! Messages about missing packages, and trees that say whose they are.

use super::*;

fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Checkout) {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let checkout = Checkout::open(root.path()).unwrap();
    (root, checkout)
}

fn run(outcome: Outcome, messages: &[&str]) -> TestRun {
    let failure = |(number, message): (usize, &&str)| Failure {
        name: format!("t{number}"),
        message: (*message).into(),
        ..Failure::default()
    };
    TestRun {
        failures: messages.iter().enumerate().map(failure).collect(),
        ..TestRun::without_result("t", outcome, messages.join("\n"))
    }
}

/// What stopped a command: the names, with `!` after one that the project does not list.
fn lacks(files: &[(&str, &str)], messages: &[&str]) -> String {
    let (_root, checkout) = tree(files);
    let found = missing_packages(&checkout, &run(Outcome::MissingModule, messages));
    let name = |one: &MissingPackage| format!("{}{}", one.name, if one.is_declared { "" } else { "!" });
    found.of_command.iter().map(name).collect::<Vec<_>>().join(" ")
}

const PYTHON: [(&str, &str); 3] = [
    (
        "pyproject.toml",
        "[project]\nname = 'shop'\ndependencies = ['PyYAML>=6', 'python-dateutil', 'humanize']",
    ),
    ("src/shop/totals.py", ""),
    ("tests/test_totals.py", ""),
];

#[test]
fn a_package_of_others_is_lacked_and_a_module_of_the_project_is_a_bug() {
    let python = |name: &str| {
        lacks(
            &PYTHON,
            &[&format!("E   ModuleNotFoundError: No module named '{name}'")],
        )
    };
    assert_eq!(python("humanize"), "humanize");
    assert_eq!(python("humanize.time"), "humanize.time");
    assert_eq!(python("yaml"), "yaml");
    assert_eq!(python("dateutil"), "dateutil");
    assert_eq!(python("PIL"), "PIL!");
    for own in ["shop.totls", "shop", "tests.helpers", "shopp", "totals"] {
        assert_eq!(python(own), "", "{own}");
    }
}

#[test]
fn node_lists_packages_by_name() {
    let files = [
        (
            "package.json",
            r#"{"scripts": {"test": "vitest"}, "devDependencies": {"left-pad": "1", "@a/b": "2"}}"#,
        ),
        ("src/a.js", ""),
    ];
    let node = |name: &str| lacks(&files, &[&format!("Cannot find module '{name}' from 'src/a.js'")]);
    assert_eq!(node("left-pad"), "left-pad");
    assert_eq!(node("left-pad/deep/file.js"), "left-pad");
    assert_eq!(node("@a/b/c"), "@a/b");
    for own in [
        "./lft",
        "/workspace/src/b.js",
        "#inner",
        "@/components/x",
        "~/x",
        "$lib/x",
        "src/b",
        "lft-pad",
        "node:fs2",
    ] {
        assert_eq!(node(own), "", "{own}");
    }
}

#[test]
fn go_and_ruby_and_php_are_told_apart_too() {
    let go = [
        ("go.mod", "module ex.org/own\n\nrequire github.com/google/uuid v1.6.0\n"),
        ("a.go", ""),
    ];
    let said = |name: &str| {
        lacks(
            &go,
            &[&format!(
                "a.go:3:8: cannot find module providing package {name}: module lookup disabled"
            )],
        )
    };
    assert_eq!(said("github.com/google/uuid/x"), "github.com/google/uuid/x");
    assert_eq!(
        (said("ex.org/own/inner"), said("strngs"), said("ex.org/other")),
        Default::default()
    );
    let ruby = [("Gemfile", "gem 'rack'"), ("lib/shop.rb", ""), ("lib/shop/cart.rb", "")];
    let said = |name: &str| lacks(&ruby, &[&format!("cannot load such file -- {name} (LoadError)")]);
    assert_eq!(
        (said("rack/test"), said("nokogiri")),
        ("rack/test".into(), "nokogiri!".into())
    );
    assert_eq!((said("shop/crt"), said("./x"), said("/w/lib/x")), Default::default());
    let php = [("composer.json", "{}")];
    assert_eq!(
        lacks(&php, &["Failed opening required 'vendor/autoload.php'"]),
        "vendor/autoload.php"
    );
    assert_eq!(lacks(&php, &["Failed opening required 'src/a.php'"]), "");
}

#[test]
fn anything_else_that_is_wrong_is_a_bug() {
    let missing = "ModuleNotFoundError: No module named 'humanize'";
    assert_eq!(lacks(&PYTHON, &[missing, missing]), "humanize");
    assert_eq!(lacks(&PYTHON, &[missing, "SyntaxError: expected ':'"]), "");
}

#[test]
fn a_failing_test_lacks_only_what_the_project_lists() {
    let (_root, checkout) = tree(&PYTHON);
    let of_tests = |message: &str| missing_packages(&checkout, &run(Outcome::Failed, &[message])).of_tests;
    let found = of_tests("def test():\n>   import humanize\nE   ModuleNotFoundError: No module named 'humanize'");
    assert_eq!(found["t0"].name, "humanize");
    for message in [
        "E   ModuleNotFoundError: No module named 'invented'",
        "E   assert 1 == 2\nModuleNotFoundError: No module named 'humanize'",
    ] {
        assert!(of_tests(message).is_empty(), "{message}");
    }
}

#[test]
fn a_command_that_did_not_start_lacks_what_it_names() {
    let (_root, checkout) = tree(&[]);
    let said = "npm error request to https://r.test/vitest failed: cache mode is 'only-if-cached' but";
    let found = missing_packages(&checkout, &run(Outcome::DidNotStart, &[said]));
    assert_eq!(found.of_command[0].name, "vitest");
    assert_eq!(
        missing_packages(&checkout, &run(Outcome::TimedOut, &[said])),
        MissingPackages::default()
    );
}

#[test]
fn a_listed_plugin_of_pytest_is_lacked() {
    let listed =
        "[dependency-groups]\ntest = ['pytest-mock', 'pytest-env', 'pytest-cov', 'pytest-xdist', 'pytest-httpserver']";
    let (_root, checkout) = tree(&[("pyproject.toml", listed), ("test_a.py", "")]);
    let lacked = |outcome: Outcome, message: &str| {
        let found = missing_packages(&checkout, &run(outcome, &[message]));
        let names = found.of_command.into_iter().chain(found.of_tests.into_values());
        names.map(|package| package.name).collect::<Vec<_>>().join(" ")
    };
    for (fixture, plugin) in [
        ("mocker", "pytest-mock"),
        ("httpserver", "pytest-httpserver"),
        // Not listed, or of the project itself.
        ("httpx_mock", ""),
        ("cart", ""),
        ("env", ""),
    ] {
        let message = format!(
            "file /w/test_a.py, line 1\n  def test_a({fixture}): pass\nE       fixture '{fixture}' not found\n\
             >       available fixtures: cache, capfd"
        );
        assert_eq!(lacked(Outcome::Failed, &message), plugin, "{fixture}");
    }
    let usage = "ERROR: usage: python3 -m pytest [options] [file_or_dir] [...]\npython3 -m pytest: error: ";
    let said = |arguments: &str| {
        lacked(
            Outcome::DidNotStart,
            &format!("{usage}unrecognized arguments: {arguments}\n"),
        )
    };
    assert_eq!(said("--cov=calc --cov-report=xml -n 4"), "pytest-cov pytest-xdist");
    assert_eq!(said("--timeout=9"), "pytest-timeout");
    assert_eq!(said("--own-option tests"), "");
}

#[test]
fn trees_that_list_other_packages_differ() {
    let (_one, one) = tree(&PYTHON);
    let (_same, same) = tree(&[PYTHON[0], ("src/other.py", "")]);
    let (_other, other) = tree(&[("pyproject.toml", "[project]\ndependencies = ['rich']")]);
    assert!(!list_different_packages(&one, &same));
    assert!(list_different_packages(&one, &other));
}
