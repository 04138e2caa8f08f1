//! Checkouts whose tests lack something on this machine: it is named, and nothing is changed.

use super::super::{git, tree, written};
use super::{document, fix};

const PROJECT: &[u8] = b"[project]\nname = 'shop'\nversion = '1'\ndependencies = ['unheard-of']\n";
const TESTS: &[u8] = b"import unittest\nfrom totals import total\n\n\nclass T(unittest.TestCase):\n    def test_total(self):\n        self.assertEqual(total([1, 2]), 3)\n";

/// A project with this first line in its code.
fn project(import: &str) -> tempfile::TempDir {
    let code = format!("{import}\n\n\ndef total(numbers):\n    return sum(numbers)\n");
    written(&[
        ("pyproject.toml", PROJECT),
        ("totals.py", code.as_bytes()),
        ("test_totals.py", TESTS),
        ("numbers_of_ours.py", b"ONE = 1\n"),
    ])
}

#[tokio::test]
async fn a_missing_package_is_named_with_its_remedy_and_nothing_is_changed() {
    let checkout = project("import unheard_of");
    let before = tree(checkout.path());
    let ended = fix(checkout.path(), &["--yes", "--json"])
        .await
        .with(1)
        .saying("environment: `python3 -m unittest discover` needs `unheard_of`, which is not installed here")
        .saying("`--install`");
    let document = document(&ended);
    assert_eq!(document["outcome"], "environment");
    assert_eq!(document["triage"]["verdict"], "environment");
    assert!(!ended.err.contains("searching"), "{}", ended.err);
    assert_eq!(tree(checkout.path()), before);
}

#[tokio::test]
async fn a_module_of_the_project_that_is_imported_wrongly_is_a_bug_and_repaired() {
    let checkout = project("import numbers_of_our");
    let ended = fix(checkout.path(), &["--yes"]).await.with(0);
    assert!(ended.err.contains("written to the working tree"), "{}", ended.err);
    let code = std::fs::read_to_string(checkout.path().join("totals.py")).unwrap();
    assert!(code.starts_with("import numbers_of_ours\n"), "{code}");
}

#[tokio::test]
async fn a_package_that_the_last_commit_did_without_and_nobody_lists_is_a_bug() {
    let checkout = project("import json");
    git(checkout.path(), &["init"]);
    git(checkout.path(), &["add", "."]);
    git(checkout.path(), &["commit", "-m", "first"]);
    let code = std::fs::read_to_string(checkout.path().join("totals.py")).unwrap();
    std::fs::write(
        checkout.path().join("totals.py"),
        code.replace("import json", "import jayson"),
    )
    .unwrap();
    let ended = fix(checkout.path(), &["--yes"]).await.with(0);
    assert!(ended.err.contains("written to the working tree"), "{}", ended.err);
    assert_eq!(
        std::fs::read_to_string(checkout.path().join("totals.py")).unwrap(),
        code
    );
}
