//! Which suites a change calls for.

use super::*;
use crate::discover::tests::tree;
use crate::discover::{Hints, find_all};
use crate::test_command::TestSettings;
use crate::workflow::test_steps;

/// The directories of the wanted commands, and of those that are not affected.
fn selected(files: &[(&str, &str)], changed: &[&str]) -> (Vec<String>, Vec<String>) {
    let tree = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = tree.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let checkout = Checkout::open(tree.path()).unwrap();
    let commands = find_all(&checkout, &TestSettings::default(), &Hints::default());
    let changed: Vec<RepoPath> = changed.iter().map(|path| path.parse().unwrap()).collect();
    let selection = select(&checkout, commands, &changed);
    let directories = |commands: Vec<TestCommand>| {
        let names = commands
            .into_iter()
            .map(|command| command.directory.map_or(".".into(), |directory| directory.to_string()));
        names.collect()
    };
    (directories(selection.wanted), directories(selection.unaffected))
}

#[track_caller]
fn check(files: &[(&str, &str)], changed: &[&str], wanted: &[&str], unaffected: &[&str]) {
    let (is_wanted, is_unaffected) = selected(files, changed);
    assert_eq!(is_wanted, wanted, "changed: {changed:?}");
    assert_eq!(is_unaffected, unaffected, "changed: {changed:?}");
}

const NODE: &str = r#"{"name": "@acme/web", "scripts": {"test": "node --test"}}"#;
const TWO: [(&str, &str); 5] = [
    ("backend/pyproject.toml", "[tool.pytest.ini_options]\n"),
    ("backend/test_a.py", "def test_a(): pass\n"),
    ("frontend/package.json", NODE),
    ("frontend/a.test.js", ""),
    ("README.md", ""),
];

#[test]
fn only_suites_that_a_change_may_break_are_wanted() {
    check(&TWO, &[], &["backend", "frontend"], &[]);
    check(&TWO, &["frontend/a.js"], &["frontend"], &["backend"]);
    check(&TWO, &["backend/a.py"], &["backend"], &["frontend"]);
    check(&TWO, &["backend/a.py", "frontend/a.js"], &["backend", "frontend"], &[]);
    // It belongs to neither, so it may concern both.
    check(&TWO, &["shared/schema.json"], &["backend", "frontend"], &[]);
    check(&TWO, &["frontend-old/a.js"], &["backend", "frontend"], &[]);
}

#[test]
fn packages_that_depend_on_a_changed_one_are_affected() {
    let package = |name: &str, needs: &str| {
        format!(r#"{{"name": "{name}", "scripts": {{"test": "mocha"}}, "dependencies": {{"{needs}": "workspace:*"}}}}"#)
    };
    let (core, api, site) = (
        package("@acme/core", "left-pad"),
        package("@acme/api", "@acme/core"),
        package("site", "@acme/api"),
    );
    let files = [
        ("core/package.json", core.as_str()),
        ("api/package.json", &api),
        ("site/package.json", &site),
    ];
    check(&files, &["core/a.js"], &["api", "core", "site"], &[]);
    check(&files, &["api/a.js"], &["api", "site"], &["core"]);
    check(&files, &["site/a.js"], &["site"], &["api", "core"]);
    let modules = [
        ("lib/go.mod", "module example.org/lib\n"),
        ("lib/a_test.go", "package lib\n"),
        (
            "app/go.mod",
            "module example.org/app\nreplace example.org/lib => ../lib\n",
        ),
        ("app/a_test.go", "package app\n"),
    ];
    check(&modules, &["lib/a.go"], &["app", "lib"], &[]);
    check(&modules, &["app/a.go"], &["app"], &["lib"]);
}

#[test]
fn tests_that_another_command_runs_are_not_run_twice() {
    let cargo = "[workspace]\nmembers = [\"a\"]\nexclude = [\"fuzz\"]\n";
    let member = "[package]\nname = \"a\"\n";
    let files = [
        ("Cargo.toml", cargo),
        ("a/Cargo.toml", member),
        ("fuzz/Cargo.toml", "[package]\nname = \"fuzz\"\n[workspace]\n"),
        ("Makefile", "test:\n\tcargo test\n"),
    ];
    // A directory of fuzz targets waits until it is changed.
    check(&files, &[], &["."], &["fuzz"]);
    check(&files, &["a/src/lib.rs"], &["."], &["fuzz"]);
    // The workspace's manifest names it.
    check(&files, &["fuzz/a.rs"], &[".", "fuzz"], &[]);
}

#[test]
fn a_root_that_does_not_look_into_a_package_leaves_it_to_itself() {
    let root = |script: &str| format!(r#"{{"scripts": {{"test": "{script}"}}, "workspaces": ["packages/*"]}}"#);
    let (all, own) = (root("npm test --workspaces"), root("mocha test"));
    let files = |root| {
        [
            ("package.json", root),
            ("web/package.json", NODE),
            ("web/a.test.js", ""),
        ]
    };
    check(&files(all.as_str()), &[], &["."], &[]);
    check(&files(own.as_str()), &[], &[".", "web"], &[]);
    let pytest = |settings| {
        [
            ("pyproject.toml", settings),
            ("test_a.py", "def test_a(): pass\n"),
            ("plugin/pyproject.toml", "[tool.pytest.ini_options]\n"),
            ("plugin/test_b.py", "def test_b(): pass\n"),
        ]
    };
    check(&pytest("[tool.pytest.ini_options]\n"), &[], &["."], &[]);
    check(
        &pytest("[tool.pytest.ini_options]\ntestpaths = [\"test_a.py\"]\n"),
        &[],
        &[".", "plugin"],
        &[],
    );
    let modules = [
        ("go.mod", "module a\n"),
        ("a_test.go", "package a\n"),
        ("sub/go.mod", "module b\n"),
        ("sub/b_test.go", "package b\n"),
    ];
    check(&modules, &[], &[".", "sub"], &[]);
}

/// Workspaces lie two folders down, and only a root that runs none of them leaves them to themselves.
#[test]
fn the_packages_of_a_workspace_are_found_and_run_once() {
    let root = |script: &str| format!(r#"{{"scripts": {{"test": "{script}"}}, "workspaces": ["packages/*"]}}"#);
    let package = |name: &str| format!(r#"{{"name": "@acme/{name}", "scripts": {{"test": "node --test"}}}}"#);
    let (a, ab) = (package("a"), package("ab"));
    let all = [
        ("pnpm -r test", &["."][..]),
        ("turbo run test", &["."]),
        ("mocha test", &[".", "packages/a", "packages/ab"]),
        ("yarn workspace @acme/a test", &[".", "packages/ab"]),
        ("npm test -w packages/a", &[".", "packages/ab"]),
    ];
    for (script, wanted) in all {
        let manifest = root(script);
        let files = [
            ("package.json", manifest.as_str()),
            ("packages/a/package.json", &a),
            ("packages/ab/package.json", &ab),
        ];
        check(&files, &[], wanted, &[]);
    }
    let manifest = r#"{"workspaces": ["packages/*"]}"#;
    let files = [
        ("package.json", manifest),
        ("packages/a/package.json", a.as_str()),
        ("packages/ab/package.json", &ab),
    ];
    check(&files, &["packages/ab/b.js"], &["packages/ab"], &["packages/a"]);
}

/// The manifests are a stranger's: no number of packages makes the selection slow or endless.
#[test]
fn packages_that_depend_on_each_other_are_no_problem() {
    let package = |name: &str, needs: &str| {
        format!(r#"{{"name": "{name}", "scripts": {{"test": "mocha"}}, "dependencies": {{"{needs}": "*"}}}}"#)
    };
    let texts: Vec<(String, String)> = (0..40)
        .map(|at| {
            (
                format!("p{at:02}/package.json"),
                package(&format!("p{at:02}"), &format!("p{:02}", (at + 1) % 40)),
            )
        })
        .collect();
    let files: Vec<(&str, &str)> = texts
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let (wanted, unaffected) = selected(&files, &["p00/a.js"]);
    assert_eq!(wanted.len() + unaffected.len(), 20);
}

#[test]
fn what_is_no_suite_of_the_project_does_not_run_beside_one() {
    let files = [
        ("go.mod", "module a\n"),
        ("a_test.go", "package a\n"),
        ("gen/go.mod", "module gen\n"),
        ("gen/main.go", "package main\n"),
        ("tests/check_output_test.py", "def test_a(): pass\n"),
        ("support/package.json", NODE),
    ];
    let (wanted, unaffected) = selected(&files, &[]);
    assert_eq!(wanted, ["."]);
    assert!(
        unaffected.contains(&"support".into()) && !unaffected.contains(&"gen".into()),
        "{unaffected:?}"
    );
    let (wanted, _) = selected(&files, &["support/a.js"]);
    assert_eq!(wanted, ["support"]);
}

/// A folder without a manifest is a project if CI tests there.
#[test]
fn all_that_ci_runs_in_a_folder_of_python_is_wanted() {
    let (_tree, checkout) = tree(&[("src/test_a.py", "import unittest\n"), ("pyproject.toml", "")]);
    let path: RepoPath = ".github/workflows/ci.yml".parse().unwrap();
    let lines = [
        "cd src",
        "python -m unittest test_a.py",
        "python -c 'import a; import test.__main__' test_b",
    ];
    let job = format!("{{runs-on: ubuntu-latest, steps: [{{run: {:?}}}]}}", lines.join("\n"));
    let workflow = format!("on: push\njobs:\n  test: {job}\n");
    let hints = Hints {
        ci: test_steps([&path], &mut |_| Some(workflow.clone())),
        ..Hints::default()
    };
    let commands = find_all(&checkout, &TestSettings::default(), &hints);
    let wanted = select(&checkout, commands, []).wanted;
    let lines: Vec<String> = wanted.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "cd src && python3 -m unittest test_a.py",
            "cd src && python3 -c 'import a; import test.__main__' test_b"
        ]
    );
}
