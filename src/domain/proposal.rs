//! A patch on a head, and the evidence that it works.

mod rules;

use std::collections::{BTreeSet, HashSet};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use self::rules::{Bounds, Unfit, check};
use super::id::CommitSha;
use super::measures::Measures;
use super::patch::{FileChange, Patch};
use super::search::FoundBy;
use super::spend::Spend;
use super::test_run::{TestRun, is_better_without};
use super::triage::{ProvedWith, Triage};
use super::weakening::Weakening;

/// Who made the patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// The built-in repair engine.
    BuiltIn,
    /// A model, by name.
    Model(String),
    /// A fix of the same failure that was accepted before, in the run with this id.
    Remembered(String),
}

/// The test results before and after a patch that prove it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    pub before: TestRun,
    pub after: TestRun,
    /// In hex; see [`digest`].
    pub digest: String,
    /// The head that the tests ran on. `None` in journals of version 0.1.0, like all following fields, and where no
    /// checkout has both trees, so that nobody could recompute the digest.
    #[serde(default)]
    pub head: Option<CommitSha>,
    /// How many of the runs at the head failed.
    #[serde(default)]
    pub triage: Option<Triage>,
    /// What was installed before the tests ran, in the words of an approval.
    #[serde(default)]
    pub install: Option<String>,
    /// The parts of the patch that turned out to be unnecessary and were left out.
    #[serde(default)]
    pub left_out: Option<LeftOut>,
    /// The result of the head's own tests on the patched code, if the patch changes tests as well.
    #[serde(default)]
    pub own_tests: Option<OwnTests>,
    /// What the model used for it. `None` if no model took part.
    #[serde(default)]
    pub spent: Option<Spend>,
    /// How many more times the failing tests ran on the patched tree, passing every time.
    #[serde(default)]
    pub confirmed: u32,
    /// The merge that both runs tested, if the head fails only together with its base branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<ProvedWith>,
}

/// A run of the patched code with the tests as they are at the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnTests {
    pub passed: u32,
    pub failed: u32,
}

/// How much of a patch was left out because the tests pass without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Whole hunks that were left out, and how many there were.
    pub hunks: usize,
    pub of: usize,
    /// Single lines that were left out of the remaining hunks.
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
    /// `None`: it was made by reading only, and nothing was executed yet.
    pub evidence: Option<Evidence>,
    /// How it weakens tests. Empty for a fix; if not, the patch claims that a test is wrong.
    #[serde(default)]
    pub weakens: Vec<Weakening>,
    /// The part of the patch that consists of tests, written and seen to fail before the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests_first: Option<Box<TestsFirst>>,
    /// Measurements of the changed files, for a refactoring.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measures: Option<Box<Measures>>,
    /// How it was found. `None` if a model made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_by: Option<FoundBy>,
}

/// What a patch claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// The code is wrong, and this fixes it.
    Fix,
    /// The code is right, and a test is wrong. Such a patch changes only tests, and needs a separate approval.
    TestMayBeWrong,
}

impl Claim {
    pub fn of(test_may_be_wrong: bool) -> Self {
        if test_may_be_wrong {
            Self::TestMayBeWrong
        } else {
            Self::Fix
        }
    }
}

impl Proposal {
    pub fn claim(&self) -> Claim {
        Claim::of(!self.weakens.is_empty())
    }

    /// The patch without the tests that were written first; the whole patch if there are none.
    pub fn code(&self) -> Patch {
        let Some(first) = &self.tests_first else {
            return self.patch.clone();
        };
        Patch::new(self.patch.files().map(|(path, change)| {
            let tests = first.patch.files().find(|(other, _)| *other == path);
            let before = tests.map_or(&change.before, |(_, tests)| &tests.after);
            let (before, after) = (before.clone(), change.after.clone());
            (path.clone(), FileChange { before, after })
        }))
    }
}

/// Turns two runs into evidence if the second is better than the first.
///
/// # Errors
/// Why it is not better.
pub fn prove(head: &CommitSha, patch: &Patch, before: TestRun, after: TestRun) -> Result<Evidence, Unfit> {
    prove_without(head, patch, (before, after), &|_| false)
}

/// The same, where the tests that `may_go` names may be missing or skipped in the second run.
///
/// # Errors
/// Why it is not better.
pub fn prove_without(
    head: &CommitSha,
    patch: &Patch,
    (before, after): (TestRun, TestRun),
    may_go: &dyn Fn(&str) -> bool,
) -> Result<Evidence, Unfit> {
    is_better_without(&before, &after, may_go).map_err(Unfit::NotBetter)?;
    let after = after.excusing(&before.excused);
    Ok(Evidence {
        digest: digest(head, patch, &before, &after),
        head: Some(head.clone()),
        before,
        after,
        triage: None,
        install: None,
        left_out: None,
        own_tests: None,
        spent: None,
        confirmed: 0,
        merged: None,
    })
}

impl Evidence {
    /// The same runs as evidence for a patch on the head, if they tested its merge with the base branch.
    #[must_use]
    pub fn of_merge(mut self, on_head: &Patch, merged: ProvedWith) -> Self {
        if let Some(head) = &self.head {
            self.digest = digest_of_merge((head, Some(&merged.tip)), on_head, &self.before, &self.after);
        }
        self.merged = Some(merged);
        self
    }
}

/// The digest that anyone can recompute from a checkout: SHA-256, in hex, over a JSON object of exactly
///
/// - `head`: the full SHA of the commit,
/// - `patch`: [`Patch::digest`], which is over every path, mode and byte that changes,
/// - `command`: the test command as a person would type it,
/// - `before` and `after`: the outcome, the numbers of tests that passed and that failed, and the sorted names of those
///   that failed (null when there are too many failures, and only some are kept).
///
/// Not covered, because they differ from run to run or from machine to machine: durations, messages, output, the
/// sandbox, what was installed, and excused tests.
pub fn digest(head: &CommitSha, patch: &Patch, before: &TestRun, after: &TestRun) -> String {
    digest_of_merge((head, None), patch, before, after)
}

/// The same digest if both runs tested the head merged with another commit, which is then included as `merged_with`.
pub fn digest_of_merge(
    (head, merged_with): (&CommitSha, Option<&CommitSha>),
    patch: &Patch,
    before: &TestRun,
    after: &TestRun,
) -> String {
    let result = |run: &TestRun| {
        let mut failing: Vec<_> = run.failing_names().map(ToString::to_string).collect();
        failing.sort_unstable();
        let failing = (failing.len() < TestRun::MAX_FAILURES).then_some(failing);
        serde_json::json!({
            "outcome": run.outcome, "passed": run.passed, "failed": run.failed, "failing": failing,
        })
    };
    let mut bound = serde_json::json!({
        "head": head, "patch": patch.digest(), "command": after.command, "before": result(before), "after": result(after),
    });
    if let Some(tip) = merged_with {
        bound["merged_with"] = serde_json::json!(tip);
    }
    hex::encode(Sha256::digest(bound.to_string()))
}

/// What got worse between two runs, test by test.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Worse {
    /// Tests that fail now and did not before.
    pub new_failures: Vec<String>,
    /// Tests that passed before and neither pass nor fail now: removed, renamed or skipped.
    pub missing: Vec<String>,
}

/// Compares the tests of two runs by name. Very large suites keep only some of the names, and only those are
/// compared.
pub fn worse(before: &TestRun, after: &TestRun) -> Worse {
    let failed_before: HashSet<&str> = before.failing_names().collect();
    let failing: BTreeSet<&str> = after.failing_names().collect();
    let passing: HashSet<&str> = after.passed_names.iter().map(String::as_str).collect();
    let new_failures = failing.iter().filter(|name| !failed_before.contains(*name));
    let is_complete = after.passed as usize <= after.passed_names.len() && failing.len() < TestRun::MAX_FAILURES;
    let passed: BTreeSet<&str> = before.passed_names.iter().map(String::as_str).collect();
    let is_gone = |name: &&&str| {
        let is_known = passing.contains(*name) || failing.contains(*name) || before.is_unstable(name);
        is_complete && !is_known && !before.has_renamed(name, after)
    };
    Worse {
        new_failures: new_failures.map(ToString::to_string).collect(),
        missing: passed.iter().filter(is_gone).map(ToString::to_string).collect(),
    }
}

/// Tests that were written before the code that they test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestsFirst {
    /// The tests alone.
    pub patch: Patch,
    /// The run in which they failed.
    pub red: TestRun,
    /// The new tests, which fail because the code does not exist yet.
    pub names: Vec<String>,
    /// What they demand; untrusted.
    pub summary: String,
}

#[cfg(test)]
mod tests {
    use super::super::test_run::{Failure, Outcome};
    use super::*;

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
