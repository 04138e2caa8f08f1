//! Checks that a project runs together with its tests.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// The command, and what is said about it.
fn told(files: &[(&str, &str)], scripts: &[&str]) -> Vec<String> {
    let (_directory, checkout) = tree(files);
    let ci = scripts.iter().map(|script| CiStep {
        workflow: "ci.yml".parse().unwrap(),
        job: "test".into(),
        name: "Test".into(),
        script: (*script).into(),
        directory: None,
        env: BTreeMap::new(),
        own_env: BTreeSet::new(),
        shows: None,
        before: Vec::new(),
        versions: BTreeMap::new(),
        services: Vec::new(),
    });
    let hints = Hints {
        ci: ci.collect(),
        ..Hints::default()
    };
    let found = find(&checkout, &TestSettings::default(), &hints).unwrap();
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
    assert!(said.len() < 300 && said.contains("…` and 6 more; "), "{said}");
}
