//! Checks that a project runs together with its tests.

use super::*;

/// The command of a project whose CI runs these scripts, one in each step, and what is said about it.
fn told(files: &[(&str, &str)], scripts: &[&str]) -> Vec<String> {
    let steps = scripts
        .iter()
        .map(|script| format!("      - run: |\n          {}\n", script.replace('\n', "\n          ")));
    let workflow = format!("on: push\njobs:\n  test:\n    steps:\n{}", steps.collect::<String>());
    let files = [&[(".github/workflows/ci.yml", workflow.as_str())], files].concat();
    let (_directory, checkout) = tree(&files);
    let found = find(&checkout, &TestSettings::default(), &hints(&checkout)).unwrap();
    [found.to_string()].into_iter().chain(found.lacks()).collect()
}

#[test]
fn what_a_script_checks_besides_its_tests_is_named() {
    let package = r#"{"scripts": {
        "pretest": "eslint .",
        "test": "rimraf out && npm run types && mocha a && karma start && npm run lint && echo done",
        "types": "tsc --noEmit",
        "lint": "for f in *.js; do check $f; done"
    }}"#;
    let said = "not run, although the project's CI or scripts run them: `eslint .`, `tsc --noEmit`, `karma start`; `[test] command` in greenlight.toml can run more";
    let line = "sh -c 'rimraf out && mocha a \"$@\"' sh";
    assert_eq!(told(&[("package.json", package)], &[]), [line, said]);
    assert_eq!(told(&[("package.json", package)], &["npm test"]), [line, said]);
    let plain = r#"{"scripts": {"test": "node --test && c8 report"}}"#;
    assert_eq!(told(&[("package.json", plain)], &["npm test"]), ["node --test"]);
}

/// A linter that is not installed, or an audit without a network, says nothing about the tests.
#[test]
fn checks_that_npm_runs_around_a_script_are_named() {
    let of = |scripts: &str| {
        let package = format!("{{\"scripts\": {{{scripts}}}}}");
        told(&[("package.json", &package), ("own.js", "")], &["npm test"])
    };
    let checks = r#""pretest": "npm run lint", "lint": "eslint .", "test": "node own.js", "posttest": "npm audit""#;
    let said = "not run, although the project's CI or scripts run them: `eslint .`, `npm audit`; `[test] command` in greenlight.toml can run more";
    assert_eq!(of(checks), ["npm --ignore-scripts test", said]);
    for other in [
        r#""pretest": "tsc", "lint": "eslint .", "test": "node own.js""#,
        r#""pretest": "node build.js && eslint .", "test": "node own.js""#,
        r#""pretest": "eslint .", "test": "npm run a && node own.js", "prea": "node build.js", "a": "node a.js""#,
        r#""test": "node own.js""#,
    ] {
        assert_eq!(of(other)[0], "npm test", "{other}");
    }
}

#[test]
fn what_a_job_checks_besides_its_tests_is_named() {
    let makefile = "test: lint\n\tpython3 tools/version.py --all\n\tpython3 tools/install.py\n\tpython3 -m pytest\n\
                    lint:\n\truff format --check .\n";
    let files = [
        ("Makefile", makefile),
        ("test_a.py", "def test_a(): pass\n"),
        ("tools/install.py", ""),
        ("tools/version.py", ""),
    ];
    let said = "not run, although the project's CI or scripts run them: `ruff check .`, `ruff format --check .`, `python3 tools/version.py --all`; `[test] command` in greenlight.toml can run more";
    assert_eq!(told(&files, &["ruff check .\nmake test"]), ["python3 -m pytest", said]);
    // Another step that checks fails alone, and is worked on alone.
    assert_eq!(told(&files, &["ruff check .", "pytest"]), ["python3 -m pytest"]);
}

#[test]
fn many_and_long_checks_stay_short() {
    let checks = (0..9).map(|n| format!("eslint {n}{}", "x".repeat(900)));
    let script = checks.chain(["mocha".to_string()]).collect::<Vec<_>>().join(" && ");
    let package = serde_json::json!({"scripts": {"test": script}}).to_string();
    let said = &told(&[("package.json", &package)], &[])[1];
    assert!(said.len() < 450 && said.contains("…` and 6 more; "), "{said}");
}

/// What is built before the tests does run, however long its line is.
#[test]
fn a_build_is_not_left_out() {
    let files = [("configure", ""), ("test_a.py", "def test_a(): pass\n")];
    let build = "./configure --enable-everything --with-what-the-tests-need";
    assert_eq!(
        told(&files, &[&format!("{build}\npytest")]),
        [format!("{build} && python3 -m pytest")]
    );
}
