//! Trees of every kind, and the commands found in them.

use std::fs;
use std::time::Duration;

use super::*;

mod builds;
mod chosen;
mod idioms;
mod left_out;
mod lines;
mod options;
mod python;

pub(super) fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Checkout) {
    let directory = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let checkout = Checkout::open(directory.path()).unwrap();
    (directory, checkout)
}

/// What the workflows of a tree say.
pub(super) fn hints(checkout: &Checkout) -> Hints {
    Hints {
        ci: crate::workflow::test_steps(checkout.paths(), &mut |path| checkout.read_text(path)),
        ..Hints::default()
    }
}

/// The lines of the commands for a project whose only job has these steps and variables.
fn lines_of_job(job: &str, files: &[(&str, &str)]) -> Vec<String> {
    let found = idioms::commands_of_job(job, files);
    found.iter().map(ToString::to_string).collect()
}

/// `command [framework, import root] from source`, or what was looked for.
fn found(files: &[(&str, &str)], settings: &TestSettings) -> String {
    let (_directory, checkout) = tree(files);
    match find(&checkout, settings, &Hints::default()) {
        Ok(command) => format!(
            "{command} [{:?}, {}] from {}",
            command.framework,
            command.import_root.as_deref().unwrap_or("-"),
            command.source
        ),
        Err(nothing) => nothing.to_string(),
    }
}

#[track_caller]
fn check(files: &[(&str, &str)], expected: &str) {
    assert_eq!(found(files, &TestSettings::default()), expected);
}

#[test]
fn manifests_say_how_tests_run() {
    check(
        &[("Cargo.toml", "[package]\nname='a'")],
        "cargo test [Cargo, -] from `Cargo.toml`",
    );
    check(
        &[("Cargo.toml", "[workspace]\nmembers=['a']")],
        "cargo test --workspace [Cargo, -] from `Cargo.toml`",
    );
    check(&[("go.mod", "module m")], "go test ./... [Go, -] from `go.mod`");
    check(&[("pom.xml", "<project/>")], "mvn -B test [Maven, -] from `pom.xml`");
    check(
        &[("package.json", r#"{"scripts":{"test":"jest --ci"}}"#)],
        "npx jest --ci [Jest, -] from `package.json`",
    );
    check(
        &[("package.json", r#"{"scripts":{"test":"node --test test/"}}"#)],
        "node --test test/ [Node, -] from `package.json`",
    );
    check(
        &[(
            "package.json",
            r#"{"scripts":{"test":"mocha a && karma start && cross-env A=b npm run c && tsd", "c":"tsc && mocha c"}}"#,
        )],
        "sh -c 'mocha a \"$@\" && A=b tsc && A=b mocha c \"$@\"' sh [Mocha, -] from `package.json`",
    );
    // Each script begins in the directory of the manifest.
    check(
        &[(
            "package.json",
            r#"{"scripts":{"test":"npm-run-all a b","a":"cd config && npm install","b":"mocha b"}}"#,
        )],
        "sh -c 'npm run a && mocha b \"$@\"' sh [Mocha, -] from `package.json`",
    );
    check(
        &[("package.json", r#"{"scripts":{"test":"vitest run && node --test"}}"#)],
        "vitest run && node --test [Other, -] from `package.json`",
    );
    check(
        &[("package.json", r#"{"scripts":{"test":"tsc && node --test"}}"#)],
        "sh -c 'tsc && node --test \"$@\"' sh [Node, -] from `package.json`",
    );
}

#[test]
fn a_python_project_runs_with_what_its_tests_are_written_for() {
    let unit = "import unittest\nclass TestA(unittest.TestCase):\n    def test_a(self): pass\n";
    check(
        &[
            ("pyproject.toml", "[tool.pytest.ini_options]\n"),
            ("src/shop/__init__.py", ""),
            ("tests/test_a.py", unit),
        ],
        "python3 -m pytest [Pytest, src] from `pyproject.toml`",
    );
    check(
        &[("shop.py", ""), ("tests/test_a.py", "def test_a():\n    pass\n")],
        "python3 -m pytest [Pytest, .] from `tests/test_a.py`",
    );
    check(
        &[("shop.py", ""), ("tests/test_a.py", unit)],
        "python3 -m unittest discover -s tests [Unittest, .] from `tests/test_a.py`",
    );
    check(
        &[("shop.py", ""), ("tests/__init__.py", ""), ("tests/test_a.py", unit)],
        "python3 -m unittest discover [Unittest, .] from `tests/test_a.py`",
    );
    check(
        &[("shop.py", ""), ("shop_test.py", unit)],
        "python3 -m unittest discover -p '*_test.py' [Unittest, .] from `shop_test.py`",
    );
    check(
        &[("lib/tests/unit/__init__.py", ""), ("lib/tests/unit/test_a.py", unit)],
        "python3 -m unittest discover -s lib/tests [Unittest, .] from `lib/tests/unit/test_a.py`",
    );
}

#[test]
fn unittest_runs_once_for_each_folder_that_one_run_does_not_reach() {
    let unit = "import unittest\nclass TestA(unittest.TestCase):\n    def test_a(self): pass\n";
    let (_directory, checkout) = tree(&[
        ("test_root.py", unit),
        ("shop_test.py", unit),
        ("tests/unit/test_a.py", unit),
        ("tests/unit/test_b.py", unit),
        ("tests/integration/test_c.py", unit),
        ("pkg/__init__.py", ""),
        ("pkg/test_d.py", unit),
    ]);
    let all = find_all(&checkout, &TestSettings::default(), &Hints::default());
    let wanted = select(&checkout, all, []).wanted;
    let shown: Vec<String> = wanted
        .iter()
        .map(|command| format!("{command} from {}", command.source))
        .collect();
    assert_eq!(
        shown,
        [
            "python3 -m unittest discover from `pkg/test_d.py`",
            "python3 -m unittest discover -p '*_test.py' from `shop_test.py`",
            "python3 -m unittest discover -s tests/integration from `tests/integration/test_c.py`",
            "python3 -m unittest discover -s tests/unit from `tests/unit/test_a.py`",
        ]
    );
}

#[test]
fn the_root_goes_before_what_is_below() {
    check(
        &[("go.mod", "module m"), ("a/Cargo.toml", "[package]\nname='a'")],
        "go test ./... [Go, -] from `go.mod`",
    );
    check(
        &[("README.md", ""), ("b c/Cargo.toml", "[package]\nname='a'")],
        "cd 'b c' && cargo test [Cargo, -] from `b c/Cargo.toml`",
    );
}

#[test]
fn nothing_found_says_where_was_looked() {
    check(
        &[
            ("README.md", ""),
            ("pyproject.toml", "[project]\nname='a'"),
            (
                "package.json",
                r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#,
            ),
        ],
        "no tests were found (looked for `Cargo.toml`, Python test files or pytest settings, a `test` script in \
         `package.json`, `deno.json`, `go.mod`, `build.gradle`, `pom.xml`, RSpec or Ruby tests, PHPUnit, projects of \
         .NET tests, CTest, Meson tests, `mix.exs`, `Package.swift`, a `test` target of make, just or \
         Task); set `[test] command` in greenlight.toml",
    );
}

#[test]
fn what_is_configured_comes_first() {
    #[track_caller]
    fn check(line: &str, expected: &str) {
        let settings = TestSettings {
            command: Some(line.into()),
            timeout: Some(Duration::from_secs(7)),
        };
        let files = [
            ("Cargo.toml", "[package]\nname='a'"),
            ("package.json", r#"{"scripts":{"test":"vitest run"}}"#),
        ];
        let (_directory, checkout) = tree(&files);
        let command = find(&checkout, &settings, &Hints::default()).unwrap();
        assert_eq!(format!("{command} [{:?}]", command.framework), expected);
        assert_eq!(command.timeout, Duration::from_secs(7));
        assert_eq!(command.source, Source::Settings);
    }
    check("cargo test --all-features", "cargo test --all-features [Cargo]");
    check("cargo +nightly test", "cargo +nightly test [Cargo]");
    check("cargo nextest run", "cargo nextest run [Nextest]");
    check("cargo clippy -- -D warnings", "cargo clippy -- -D warnings [Rustc]");
    check("ruff check .", "ruff check . [Ruff]");
    check("python3 -m mypy src", "python3 -m mypy src [Mypy]");
    check("pytest -q -k 'a or b'", "pytest -q -k 'a or b' [Pytest]");
    check("python -m pytest", "python -m pytest [Pytest]");
    check(
        "pytest 'a.py::t[1-2]' \"b.py::t[x y]\"",
        "pytest 'a.py::t[1-2]' 'b.py::t[x y]' [Pytest]",
    );
    check("pytest a.py::t\\[1\\]", "pytest 'a.py::t[1]' [Pytest]");
    check("npx mocha -g '^(a|b)$'", "npx mocha -g '^(a|b)$' [Mocha]");
    check("pytest -k \"$WHICH\"", "pytest -k \"$WHICH\" [Other]");
    check("pytest 'a'*", "pytest 'a'* [Other]");
    check("pytest \\'*'", "pytest \\'*' [Other]");
    check("npm test", "npx vitest run [Vitest]");
    check("npx jest", "npx jest [Jest]");
    check("make check", "make check [Other]");
    check("cd sub && pytest", "cd sub && pytest [Other]");
    check("FOO=1 pytest", "FOO=1 pytest [Other]");
    check("! pytest", "! pytest [Other]");
    check("pytest $(evil)", "pytest $(evil) [Other]");
    check("echo 'unclosed", "echo 'unclosed [Other]");
}

#[test]
fn links_in_place_of_manifests_are_not_followed() {
    let secret = tempfile::tempdir().unwrap();
    fs::write(secret.path().join("package.json"), r#"{"scripts":{"test":"evil"}}"#).unwrap();
    let directory = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(
        secret.path().join("package.json"),
        directory.path().join("package.json"),
    )
    .unwrap();
    let checkout = Checkout::open(directory.path()).unwrap();
    assert!(find(&checkout, &TestSettings::default(), &Hints::default()).is_err());
}

#[test]
fn every_module_of_go_and_java_is_a_command_of_its_own() {
    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let (_directory, checkout) = tree(files);
        let all = find_all(&checkout, &TestSettings::default(), &Hints::default());
        assert_eq!(all.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }
    check(
        &[
            ("go.mod", "module m"),
            ("tools/gen/go.mod", "module g"),
            ("_codegen/go.mod", "module c"),
            ("x/testdata/go.mod", "module t"),
        ],
        &["go test ./...", "cd tools/gen && go test ./..."],
    );
    check(
        &[
            ("go.work", "go 1.22\nuse (\n\t./a\n\t./b/c\n)\n"),
            ("a/go.mod", "module a"),
            ("b/c/go.mod", "module c"),
        ],
        &[
            "go test ./a/... ./b/c/...",
            "cd a && go test ./...",
            "cd b/c && go test ./...",
        ],
    );
    check(
        &[
            ("pom.xml", "<project><modules><module>core</module></modules></project>"),
            ("mvnw", ""),
            ("core/pom.xml", "<project/>"),
            ("core/src/test/resources/pom.xml", "<project/>"),
            ("extra/own/pom.xml", "<project/>"),
        ],
        &["./mvnw -B test", "cd extra/own && mvn -B test"],
    );
    check(
        &[
            ("settings.gradle", "include 'core'"),
            ("gradlew", ""),
            ("core/build.gradle", ""),
        ],
        &["./gradlew test"],
    );
}

mod others;
