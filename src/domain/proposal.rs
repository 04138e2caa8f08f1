//! A patch on a head SHA, and the proof that it is what greenlight says.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::id::{CommitSha, RepoPath};
use super::patch::Patch;
use super::redact;
use super::test_run::{NotBetter, TestRun, is_better};
use super::triage::Triage;

/// A longer patch, in bytes, does not fit into a review beside what else is said there.
const MAX_SHOWN: usize = 30_000;

/// Who worked the patch out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// The built-in repair engine.
    BuiltIn,
    /// A model, by name.
    Model(String),
}

/// The before and after that prove a patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    pub before: TestRun,
    pub after: TestRun,
    /// In hex, what [`digest`] says.
    pub digest: String,
    /// What the runs were made on. None in journals of version 0.1.0, like all that follows.
    #[serde(default)]
    pub head: Option<CommitSha>,
    /// How many of the runs at the head were red.
    #[serde(default)]
    pub triage: Option<Triage>,
    /// What was installed before the tests ran, as an approval says it.
    #[serde(default)]
    pub install: Option<String>,
    /// What of the patch turned out not to be needed, and is no part of it any more.
    #[serde(default)]
    pub left_out: Option<LeftOut>,
}

/// How much of a patch was left out because the tests are as green without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Whole hunks that are gone, of how many.
    pub hunks: usize,
    pub of: usize,
    /// Single lines that are gone from the hunks that stay.
    pub lines: usize,
}

/// A patch on a head, ready to be reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    pub head: CommitSha,
    pub patch: Patch,
    /// One or two sentences on cause and fix; untrusted when a model wrote it.
    pub summary: String,
    pub author: Author,
    /// None: made from reading, nothing was executed yet.
    pub evidence: Option<Evidence>,
}

/// What a patch may not do, whoever made it.
#[derive(Clone, Copy)]
pub struct Bounds<'a> {
    pub patch_lines: usize,
    pub is_protected: &'a (dyn Fn(&RepoPath) -> bool + Sync),
    /// Whether the change of one file touches code that only tests: such a change is never part of a repair.
    pub touches_tests: &'a (dyn Fn(&RepoPath, &super::patch::FileChange) -> bool + Sync),
}

/// Why a patch is not proposed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Unfit {
    #[error("it changes nothing")]
    Empty,
    #[error("it changes `{path}`, which is protected")]
    Protected { path: RepoPath },
    #[error("it changes {lines} lines, more than the {limit} that `[limits] patch_lines` allows")]
    TooLarge { lines: usize, limit: usize },
    #[error("it is too long to be shown whole, so nobody could approve it")]
    TooLong,
    #[error("it changes tests, or how they run, in `{path}`")]
    ChangesTests { path: RepoPath },
    #[error("it adds a symbolic link, `{path}`")]
    Link { path: RepoPath },
    /// The line is one of the file after the change; what stands there is never quoted.
    #[error("it adds what looks like a credential in `{path}`, line {line}")]
    Credential { path: RepoPath, line: usize },
    #[error("it adds characters that hide or reorder text in `{path}`, line {line}")]
    Hidden { path: RepoPath, line: usize },
    /// Never quoted, for the reason it is refused for.
    #[error("the name of a file that it adds looks like a credential, or hides or reorders text")]
    Name,
    #[error("{0}")]
    NotBetter(NotBetter),
}

/// Checks what can be said about a patch without running anything.
///
/// # Errors
/// The first rule it breaks.
pub fn check(patch: &Patch, bounds: &Bounds<'_>) -> Result<(), Unfit> {
    if patch.is_empty() {
        return Err(Unfit::Empty);
    }
    for (path, change) in patch.files() {
        if (bounds.is_protected)(path) {
            return Err(Unfit::Protected { path: path.clone() });
        }
        if change
            .after
            .as_ref()
            .is_some_and(|blob| blob.mode == super::patch::FileMode::Symlink)
        {
            return Err(Unfit::Link { path: path.clone() });
        }
        if (bounds.touches_tests)(path, change) {
            return Err(Unfit::ChangesTests { path: path.clone() });
        }
        is_open(path, change)?;
    }
    let lines = patch.changed_lines();
    if lines > bounds.patch_lines {
        return Err(Unfit::TooLarge {
            lines,
            limit: bounds.patch_lines,
        });
    }
    // What hides text is shown as an escape, which is longer.
    if redact::code("diff", &patch.unified()).len() > MAX_SHOWN {
        return Err(Unfit::TooLong);
    }
    Ok(())
}

/// Refuses what nobody who reads the diff could see, and what nobody should be able to read.
fn is_open(path: &RepoPath, change: &super::patch::FileChange) -> Result<(), Unfit> {
    let Some(after) = &change.after else { return Ok(()) };
    let name = path.as_str();
    let is_plain = redact::hidden(name).next().is_none() && redact::credentials(name).next().is_none();
    if change.before.is_none() && !is_plain {
        return Err(Unfit::Name);
    }
    let text = |blob: &super::patch::Blob| String::from_utf8_lossy(&blob.bytes).into_owned();
    let (before, now) = (change.before.as_ref().map(text).unwrap_or_default(), text(after));
    let path = || path.clone();
    let line_of = |at: usize| now[..at].matches('\n').count() + 1;
    if let Some((at, _)) = redact::credentials(&now).find(|(_, credential)| !before.contains(credential)) {
        let (path, line) = (path(), line_of(at));
        return Err(Unfit::Credential { path, line });
    }
    if after.text().is_none() {
        return Ok(());
    }
    let count = |text: &str| {
        let mut counts = BTreeMap::<char, usize>::new();
        for (_, c) in redact::hidden(text) {
            *counts.entry(c).or_default() += 1;
        }
        counts
    };
    let (held, holds) = (count(&before), count(&now));
    let Some((more, _)) = holds
        .iter()
        .find(|(c, count)| **count > held.get(c).copied().unwrap_or(0))
    else {
        return Ok(());
    };
    let known: HashSet<&str> = before.lines().collect();
    let is_place = |line: &&str| line.contains(*more) && !known.contains(line);
    let place = now.lines().position(|line| is_place(&line));
    Err(Unfit::Hidden {
        path: path(),
        line: place.map_or(1, |at| at + 1),
    })
}

/// Turns two runs into evidence, if the second is better than the first.
///
/// # Errors
/// Why it is not better.
pub fn prove(head: &CommitSha, patch: &Patch, before: TestRun, after: TestRun) -> Result<Evidence, Unfit> {
    is_better(&before, &after).map_err(Unfit::NotBetter)?;
    let after = after.excusing(&before.excused);
    Ok(Evidence {
        digest: digest(head, patch, &before, &after),
        head: Some(head.clone()),
        before,
        after,
        triage: None,
        install: None,
        left_out: None,
    })
}

/// The digest that anyone can recompute from a checkout: SHA-256, in hex, over a JSON object of exactly
///
/// - `head`: the full SHA of the commit,
/// - `patch`: [`Patch::digest`], which is over every path, mode and byte that changes,
/// - `command`: the test command as a person would type it,
/// - `before` and `after`: the outcome, the numbers of tests that passed and that failed, and the sorted names of those
///   that failed (null when there are so many failures that only some are kept).
///
/// Not in it, because it differs from run to run or from machine to machine: durations, messages, output, the
/// sandbox, what was installed, and tests that are excused.
pub fn digest(head: &CommitSha, patch: &Patch, before: &TestRun, after: &TestRun) -> String {
    let result = |run: &TestRun| {
        let mut failing: Vec<_> = run.failing_names().map(ToString::to_string).collect();
        failing.sort_unstable();
        let failing = (failing.len() < TestRun::MAX_FAILURES).then_some(failing);
        serde_json::json!({
            "outcome": run.outcome, "passed": run.passed, "failed": run.failed, "failing": failing,
        })
    };
    let bound = serde_json::json!({
        "head": head, "patch": patch.digest(), "command": after.command, "before": result(before), "after": result(after),
    });
    hex::encode(Sha256::digest(bound.to_string()))
}

/// What is worse in one run than in the other, test by test.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Worse {
    /// Tests that fail now and did not before.
    pub new_failures: Vec<String>,
    /// Tests that passed before and neither pass nor fail now: removed, renamed or skipped.
    pub missing: Vec<String>,
}

/// Holds the tests of two runs against each other by name. Of very large suites not all names are kept; then only
/// those that are can be told.
pub fn worse(before: &TestRun, after: &TestRun) -> Worse {
    let failed_before: HashSet<&str> = before.failing_names().collect();
    let failing: BTreeSet<&str> = after.failing_names().collect();
    let passing: HashSet<&str> = after.passed_names.iter().map(String::as_str).collect();
    let new_failures = failing.iter().filter(|name| !failed_before.contains(*name));
    let is_complete = after.passed as usize <= after.passed_names.len() && failing.len() < TestRun::MAX_FAILURES;
    let passed: BTreeSet<&str> = before.passed_names.iter().map(String::as_str).collect();
    let is_gone = |name: &&&str| {
        is_complete && !passing.contains(*name) && !failing.contains(*name) && !before.has_renamed(name, after)
    };
    Worse {
        new_failures: new_failures.map(ToString::to_string).collect(),
        missing: passed.iter().filter(is_gone).map(ToString::to_string).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::patch::{Blob, FileChange, FileMode};
    use super::super::test_run::{Failure, Outcome};
    use super::*;

    fn patch(path: &str, before: &str, after: Blob) -> Patch {
        Patch::new([(
            path.parse().unwrap(),
            FileChange {
                before: Some(Blob::regular(before)),
                after: Some(after),
            },
        )])
    }

    #[test]
    fn a_patch_that_breaks_a_rule_is_not_proposed() {
        let is_protected = |path: &RepoPath| path.as_str().starts_with(".github/");
        let touches_tests = |path: &RepoPath, _: &FileChange| path.as_str().starts_with("tests/");
        let bounds = Bounds {
            patch_lines: 3,
            is_protected: &is_protected,
            touches_tests: &touches_tests,
        };
        let text = |path: &str, after: &str| check(&patch(path, "a\n", Blob::regular(after)), &bounds);
        assert_eq!(text("src/a.rs", "b\n"), Ok(()));
        assert_eq!(text("src/a.rs", "a\n"), Err(Unfit::Empty));
        assert!(matches!(
            text(".github/workflows/ci.yml", "b\n"),
            Err(Unfit::Protected { .. })
        ));
        assert!(matches!(text("tests/a.rs", "b\n"), Err(Unfit::ChangesTests { .. })));
        assert!(matches!(
            text("src/a.rs", "1\n2\n3\n"),
            Err(Unfit::TooLarge { lines: 4, limit: 3 })
        ));
        let link = Blob {
            mode: FileMode::Symlink,
            bytes: b"/etc/passwd".to_vec(),
        };
        assert!(matches!(
            check(&patch("src/a", "a\n", link), &bounds),
            Err(Unfit::Link { .. })
        ));
    }

    #[test]
    fn credentials_and_hidden_characters_are_never_added() {
        let bounds = Bounds {
            patch_lines: 100,
            is_protected: &|_| false,
            touches_tests: &|_, _| false,
        };
        let unfit = |before: &str, after: &str| check(&patch("src/a.py", before, Blob::regular(after)), &bounds).err();
        let path: RepoPath = "src/a.py".parse().unwrap();
        let credential = |line| {
            Some(Unfit::Credential {
                path: path.clone(),
                line,
            })
        };
        let hidden = |line| {
            Some(Unfit::Hidden {
                path: path.clone(),
                line,
            })
        };
        let token = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB";
        assert_eq!(unfit("a\n", &format!("a\nT = '{token}'\n")), credential(2));
        assert_eq!(
            unfit(&format!("T = '{token}'\n"), &format!("T = '{token}' + x\n")),
            None
        );
        assert_eq!(
            unfit("a\n", "K = '-----BEGIN PRIVATE KEY-----\nMIIE\n'\n"),
            credential(1)
        );
        assert_eq!(
            unfit("a\n", "h = 'Authorization: Bearer abcdefghijkl0123'\n"),
            credential(1)
        );
        for code in [
            "authorization: Option<String>,\n",
            "authorization: str = read_it()\n",
            "x = 'Authorization: Bearer {token}'\n",
        ] {
            assert_eq!(unfit("a\n", code), None, "{code}");
        }
        assert_eq!(unfit("a\n", "a\nb\nif a\u{202e}b:\n"), hidden(3));
        assert_eq!(unfit("a\n", "a\u{200b}\n"), hidden(1));
        assert_eq!(unfit("a\n", "a\n\u{1b}[2K\n"), hidden(2));
        assert_eq!(unfit("a\n", "a\rb\n"), hidden(1));
        assert_eq!(unfit("a\r\n", "a\r\nb\r\n"), None);
        assert_eq!(unfit("x = '\u{200d}'\n", "y = '\u{200d}'\n"), None);
        assert_eq!(unfit("x = '\u{200d}'\n", "x = '\u{200d}'\ny\u{200d} = 1\n"), hidden(2));
        for name in [token, "a\u{202e}b"] {
            let file = FileChange {
                before: None,
                after: Some(Blob::regular("x\n")),
            };
            let patch = Patch::new([(name.parse().unwrap(), file)]);
            assert_eq!(check(&patch, &bounds), Err(Unfit::Name));
        }
        let said = unfit("a\n", token).unwrap().to_string();
        assert!(said.contains("src/a.py") && !said.contains("ghp_"), "{said}");
    }

    #[test]
    fn a_journal_of_the_first_version_is_still_evidence() {
        let run = serde_json::to_value(TestRun::without_result("t", Outcome::Passed, "")).unwrap();
        let old = serde_json::json!({ "before": run, "after": run, "digest": "d" });
        let read: Evidence = serde_json::from_value(old).unwrap();
        assert_eq!((read.head, read.triage, read.left_out), (None, None, None));
    }

    #[test]
    fn what_got_worse_is_named() {
        let run = |outcome, passed: &[&str], failed: &[&str]| TestRun {
            passed: u32::try_from(passed.len()).unwrap(),
            passed_names: passed.iter().map(ToString::to_string).collect(),
            failures: failed
                .iter()
                .map(|name| Failure {
                    name: name.to_string(),
                    location: None,
                    message: String::new(),
                    ..Failure::default()
                })
                .collect(),
            ..TestRun::without_result("t", outcome, "")
        };
        let before = run(Outcome::Failed, &["a", "b"], &["c"]);
        let found = worse(&before, &run(Outcome::Failed, &["c"], &["b", "d"]));
        assert_eq!(
            (found.new_failures, found.missing),
            (vec!["b".into(), "d".into()], vec!["a".into()])
        );
        assert_eq!(
            worse(&before, &run(Outcome::Passed, &["a", "b", "c"], &[])),
            Worse::default()
        );
    }
}
