//! `greenlight tests`: what would be run and why, and how the result was parsed.

use std::ffi::OsStr;
use std::path::Path;

use serde_json::{Value, json};

use super::fix::document;
use super::{Door, Ended, tree, written};
use crate::harness::whole::stable;

const CODE: &[u8] = b"def add(a, b):\n    return a + b\n";
const SUITE: &[u8] = b"import unittest\nfrom sums import add\n\n\nclass Sums(unittest.TestCase):\n\
    \x20   def test_adds(self):\n        self.assertEqual(add(1, 2), 3)\n\n\
    \x20   def test_wrong(self):\n        self.assertEqual(add(1, 2), 4)\n\n\
    \x20   @unittest.skip('later')\n    def test_later(self):\n        pass\n\n\
    \x20   @unittest.expectedFailure\n    def test_known(self):\n        self.assertEqual(add(1, 1), 3)\n";

async fn tests(root: &Path, arguments: &[&str]) -> Ended {
    let arguments = ["tests"].iter().chain(arguments).map(AsRef::<OsStr>::as_ref);
    Door::new().run(arguments.chain([root.as_os_str()])).await
}

fn counts(document: &Value) -> [&Value; 5] {
    ["total", "passed", "failed", "skipped", "expected_failures"].map(|name| &document[name])
}

#[tokio::test]
async fn a_person_sees_what_runs_and_how_it_was_read() {
    let checkout = written(&[("sums.py", CODE), ("test_sums.py", SUITE)]);
    let before = tree(checkout.path());
    let ended = tests(checkout.path(), &[]).await.with(1).saying("1 failed, 1 passed");
    insta::assert_snapshot!(stable(&ended.out), @r"
    runs `python3 -m unittest discover`
      found in `test_sums.py`, read as unittest

    Failed: 4 tests, 1 passed, 1 failed, 1 skipped, 1 failed as expected, in [time]
      test_sums.Sums.test_wrong (test_sums.py:10): AssertionError: 3 != 4
    ");
    assert_eq!(tree(checkout.path()), before);
}

#[tokio::test]
async fn a_script_gets_one_document() {
    let checkout = written(&[("sums.py", CODE), ("test_sums.py", SUITE)]);
    let document = document(&tests(checkout.path(), &["--json"]).await.with(1));
    assert_eq!(
        counts(&document),
        [&json!(4), &json!(1), &json!(1), &json!(1), &json!(1)]
    );
    assert_eq!(document["outcome"], "failed");
    assert_eq!(document["command"]["framework"], "unittest");
    assert_eq!(document["command"]["source"], "`test_sums.py`");
    let failed = &document["tests"][0];
    assert_eq!(
        [&failed["id"], &failed["outcome"], &failed["file"], &failed["line"]],
        [
            &json!("test_sums.Sums.test_wrong"),
            &json!("failed"),
            &json!("test_sums.py"),
            &json!(10)
        ]
    );
    assert_eq!([&failed["actual"], &failed["expected"]], [&json!("3"), &json!("4")]);
}

#[tokio::test]
async fn named_tests_run_alone() {
    let checkout = written(&[("sums.py", CODE), ("test_sums.py", SUITE)]);
    let only = ["--json", "--only", "test_sums.Sums.test_adds"];
    let document = document(&tests(checkout.path(), &only).await.with(0));
    assert_eq!(
        counts(&document),
        [&json!(1), &json!(1), &json!(0), &json!(0), &json!(0)]
    );
    assert_eq!(document["outcome"], "passed");
}

/// As in a checkout of CI, though there is no history.
#[tokio::test]
async fn tests_that_ask_git_find_a_repository() {
    let suite = b"import os\nimport subprocess\nimport unittest\n\n\nclass Git(unittest.TestCase):\n\
        \x20   def git(self, *words):\n        return subprocess.check_output(['git', *words], text=True)\n\n\
        \x20   def test_where_it_begins(self):\n        top = self.git('rev-parse', '--show-toplevel').strip()\n        \
        self.assertTrue(os.path.samefile(top, os.getcwd()))\n\n\
        \x20   def test_that_nothing_is_changed(self):\n        self.git('diff', '--exit-code')\n        \
        self.assertIn('test_git.py', self.git('status', '--porcelain'))\n        \
        self.assertNotIn('secret', self.git('config', '--list'))\n";
    let config = b"[remote \"origin\"]\n\turl = https://secret@github.com/a/b\n";
    let checkout = written(&[("test_git.py", suite), (".git/config", config)]);
    let document = document(&tests(checkout.path(), &["--json"]).await.with(0));
    assert_eq!(document["passed"], 2, "{document:#}");
}

#[tokio::test]
async fn a_list_runs_nothing() {
    let suite = b"import unittest\nraise SystemExit('this ran')\n";
    let checkout = written(&[
        ("test_sums.py", suite),
        ("web/go.mod", b"module web\n"),
        ("web/a_test.go", b"package web\n"),
    ]);
    let ended = tests(checkout.path(), &["--list"]).await.with(0);
    assert!(ended.out.contains("runs `python3 -m unittest"), "{}", ended.out);
    assert!(ended.out.contains("runs `cd web && go test ./...`"), "{}", ended.out);
    let document = document(&tests(checkout.path(), &["--list", "--json"]).await.with(0));
    assert_eq!(document["other_commands"][0]["directory"], "web");
    assert_eq!(document["outcome"], Value::Null);
}

#[tokio::test]
async fn where_there_are_no_tests_it_says_what_to_do() {
    let checkout = written(&[("README.md", b"nothing here")]);
    let ended = tests(checkout.path(), &[]).await.with(2).saying("no tests found");
    assert!(ended.err.contains("`[test]`"), "{}", ended.err);
    tests(&checkout.path().join("gone"), &[]).await.with(2).saying("gone");
    let document = document(&tests(checkout.path(), &["--json"]).await.with(2));
    assert_eq!(document["command"], Value::Null);
    assert!(
        document["message"]
            .as_str()
            .is_some_and(|text| text.contains("no tests found"))
    );
}

#[tokio::test]
async fn what_a_test_prints_does_not_steer_a_terminal() {
    let suite = b"import unittest\n\n\nclass Evil(unittest.TestCase):\n    def test_evil(self):\n\
        \x20       self.fail('\\x1b]0;owned\\x07::error::owned\\n::set-output name=a::b\\u202egnp')\n";
    let checkout = written(&[("test_evil.py", suite)]);
    for arguments in [&[][..], &["--json"]] {
        let ended = tests(checkout.path(), arguments).await.with(1);
        let shown = ended.out + &ended.err;
        assert!(!shown.contains(['\x1b', '\x07', '\u{202e}']), "{shown:?}");
        assert!(!shown.lines().any(|line| line.starts_with("::")), "{shown}");
    }
}

/// Linters and test tools come from the person's active virtual environment.
#[tokio::test]
async fn the_active_virtual_environment_is_lent() {
    use std::os::unix::fs::PermissionsExt as _;
    let checkout = written(&[
        ("greenlight.toml", b"[test]\ncommand = \"ruff check .\"\n"),
        ("sums.py", CODE),
    ]);
    let environment = written(&[
        ("pyvenv.cfg", b"home = /usr/bin\n"),
        ("bin/python", b"#!/bin/sh\n"),
        ("bin/ruff", b"#!/bin/sh\necho \"All checks passed! $*\"\n"),
    ]);
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(environment.path().join("bin/ruff"), executable).unwrap();
    let words = [OsStr::new("tests"), checkout.path().as_os_str()];
    let active = environment.path().display().to_string();
    let door = Door::new().with("VIRTUAL_ENV", active.as_str());
    let ended = door.run(words).await.with(0);
    ended.saying(&format!("the tests use the virtual environment {active}"));
    Door::new().run(words).await.with(1).saying("needs `ruff`");
}

#[tokio::test]
async fn a_name_of_no_test_is_a_mistake_and_a_part_of_one_is_enough() {
    let checkout = written(&[("sums.py", CODE), ("test_sums.py", SUITE)]);
    let unknown = tests(checkout.path(), &["--only", "nonsense"])
        .await
        .with(2)
        .saying("there is no test called `nonsense`; there are: ");
    assert!(unknown.err.contains("`test_sums.Sums.test_wrong`"), "{}", unknown.err);
    tests(checkout.path(), &["--only", "test_addz"])
        .await
        .with(2)
        .saying("did you mean `test_sums.Sums.test_adds`?");
    let unknown = document(&tests(checkout.path(), &["--json", "--only", "nonsense"]).await.with(2));
    assert_eq!(unknown["tests"], Value::Null);
    for name in ["test_adds", "adds"] {
        let ended = tests(checkout.path(), &["--json", "--only", name]).await.with(0);
        let ended = ended.saying(&format!("`{name}` is `test_sums.Sums.test_adds`"));
        assert_eq!(
            counts(&document(&ended)),
            [&json!(1), &json!(1), &json!(0), &json!(0), &json!(0)]
        );
    }
    let failing = tests(
        checkout.path(),
        &["--json", "--only", "test_adds", "--only", "test_wrong"],
    )
    .await;
    assert_eq!(document(&failing.with(1))["total"], 2);
    let several = tests(checkout.path(), &["--json", "--only", "test_"]).await;
    assert_eq!(document(&several.with(1))["total"], 3);
    let of_class = tests(checkout.path(), &["--json", "--only", "Sums"]).await;
    assert_eq!(document(&of_class.with(1))["total"], 3);
    tests(checkout.path(), &["--list", "--only", "test_adds"])
        .await
        .with(2)
        .saying("--list");
}

/// A command that takes no names runs everything; its results are matched against the requested names.
#[tokio::test]
async fn names_are_held_against_what_a_command_of_ones_own_ran() {
    let config = b"[test]\ncommand = \"sh -c 'python3 -m unittest -v'\"\n";
    let checkout = written(&[("sums.py", CODE), ("test_sums.py", SUITE), ("greenlight.toml", config)]);
    tests(checkout.path(), &["--only", "nonsense"])
        .await
        .with(2)
        .saying("there is no test called `nonsense`");
    let one = tests(checkout.path(), &["--json", "--only", "test_adds"]).await.with(0);
    assert_eq!(document(&one)["total"], 1);
}

/// In a run of all tests, others came before it.
#[tokio::test]
async fn a_test_that_is_meant_by_a_part_of_its_name_runs_alone() {
    let suite =
        b"import unittest\n\nCACHE = {}\n\n\nclass Cache(unittest.TestCase):\n    def test_a_put(self):\n        \
                  CACHE['x'] = 1\n\n    def test_b_empty(self):\n        self.assertEqual(CACHE, {})\n";
    let checkout = written(&[("test_cache.py", suite)]);
    tests(checkout.path(), &[]).await.with(1);
    let alone = tests(checkout.path(), &["--json", "--only", "test_b_empty"])
        .await
        .with(0);
    assert_eq!(document(&alone)["passed"], 1);
}
