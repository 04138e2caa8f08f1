//! One execution of a test command, parsed into test cases.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use greenlight_units::count::count;
use serde::{Deserialize, Serialize};

use crate::varying::{may_vary, without_lines};
pub use crate::{Failure, Location, complaint};

/// The result of running a test command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// At least one test ran, and none failed.
    Passed,
    /// At least one test failed.
    Failed,
    /// The code under test or the tests do not compile.
    DidNotBuild,
    /// Tests could not be collected or loaded: an error outside of any test.
    DidNotCollect,
    /// A required module is missing: not in the tree, or not installed.
    MissingModule,
    /// A linter or type checker reported something; such a command runs no tests.
    Flagged,
    /// The command succeeded, but no test ran: never a success.
    NothingRan,
    /// Ended because it took longer than it may.
    TimedOut,
    /// The test process panicked and died before all tests had run.
    Panicked,
    /// The command was ended by a signal, ran out of disk space, or ended otherwise without a result.
    Crashed,
    /// Ended because it used more memory than it may.
    OutOfMemory,
    /// The command itself could not be started.
    DidNotStart,
}

/// One execution of a test command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestRun {
    /// The command as a person would type it.
    pub command: String,
    /// The result of the work.
    pub outcome: Outcome,
    /// How many tests passed.
    pub passed: u32,
    /// How many tests were skipped, ignored, pending or marked as to do.
    pub skipped: u32,
    /// How many tests failed as expected (`xfail`, `expectedFailure`, TAP's `TODO`). No other count includes them.
    #[serde(default)]
    pub expected_failures: u32,
    /// The framework's own summary with its own keys (`{"passed": 12, "xfailed": 1}`), if it prints one.
    #[serde(rename = "tally", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub summary_counts: BTreeMap<String, u32>,
    /// Failing tests and diagnostics, at most [`TestRun::MAX_FAILURES`]; `failed` has the true count.
    pub failures: Vec<Failure>,
    /// How many tests failed, and how many diagnostics there were.
    pub failed: u32,
    /// Names of the tests that passed, at most [`TestRun::MAX_NAMES`], sorted. "Nothing new fails" and "no test went
    /// missing" are decided by them.
    pub passed_names: Vec<String>,
    /// Names of the tests that were skipped, at most [`TestRun::MAX_NAMES`], sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped_names: Vec<String>,
    /// Excused tests, sorted. They ran, but no other list or count includes them, because triage found that they say
    /// nothing about a change ([`TestRun::excusing`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excused: Vec<String>,
    /// Names of tests that another run of the same tree did not have, sorted: those that contain a time, for example.
    /// In a run of another tree they may be missing, too ([`TestRun::noting_unstable`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unstable: Vec<String>,
    /// The parts of reports that could not be read, each with its report, bounded. If there are any, tests may be missing
    /// from all lists and counts, and the run is never green.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// The last lines of what the command printed, bounded and without control characters.
    pub tail: String,
    /// The same lines with the escape sequences that select colours, and no others. `None` if there are no colours. Never
    /// for a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coloured: Option<String>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// How long it took to compile what this run found compiled already, in milliseconds. A run of an edited tree takes
    /// that much longer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub saved_ms: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl TestRun {
    /// How many failures are kept.
    pub const MAX_FAILURES: usize = crate::MAX_FAILURES;
    /// How many names of tests are kept, in each list.
    pub const MAX_NAMES: usize = crate::MAX_NAMES;

    /// A run that ended without a result.
    pub fn without_result(command: impl Into<String>, outcome: Outcome, tail: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            outcome,
            passed: 0,
            skipped: 0,
            expected_failures: 0,
            summary_counts: BTreeMap::new(),
            failures: Vec::new(),
            failed: 0,
            passed_names: Vec::new(),
            skipped_names: Vec::new(),
            excused: Vec::new(),
            unstable: Vec::new(),
            unread: Vec::new(),
            tail: tail.into(),
            coloured: None,
            duration_ms: 0,
            saved_ms: 0,
        }
    }

    /// How long a run of the same tests may be expected to take if everything has to be compiled again.
    pub fn duration_from_scratch(&self) -> Duration {
        Duration::from_millis(self.duration_ms.saturating_add(self.saved_ms))
    }

    /// Whether at least one test ran, and none failed.
    pub fn is_green(&self) -> bool {
        self.outcome == Outcome::Passed
    }

    /// The names of the failing tests, without diagnostics that belong to no test.
    pub fn failing_names(&self) -> impl Iterator<Item = &str> {
        self.failures.iter().map(|failure| failure.name.as_str())
    }

    /// The names of the failing tests that another run of the same tree had as well.
    pub fn stable_failing_names(&self) -> impl Iterator<Item = &str> {
        self.failing_names().filter(|name| !self.is_unstable(name))
    }

    /// Whether another run of the same tree did not have a test of this name.
    pub fn is_unstable(&self, name: &str) -> bool {
        self.unstable.binary_search_by(|other| other.as_str().cmp(name)).is_ok()
    }

    /// Whether the names of some tests look as if they differ from run to run.
    pub fn may_have_unstable_names(&self) -> bool {
        let mut names = self.failing_names().chain(self.passed_names.iter().map(String::as_str));
        names.any(may_vary)
    }

    /// The same run, with the names that another run of the same tree does not have noted as unstable. A run that was
    /// cut short, or whose names are not all known, says nothing.
    #[must_use]
    pub fn noting_unstable(mut self, again: &Self) -> Self {
        if again.knows_all_names() {
            let ran: HashSet<&str> = again
                .failing_names()
                .chain(again.passed_names.iter().map(String::as_str))
                .chain(again.excused.iter().map(String::as_str))
                .collect();
            let names = self.failing_names().chain(self.passed_names.iter().map(String::as_str));
            let missing: BTreeSet<String> = names
                .filter(|name| !name.is_empty() && !ran.contains(name))
                .map(ToString::to_string)
                .chain(self.unstable.iter().cloned())
                .collect();
            self.unstable = missing.into_iter().collect();
        }
        self
    }

    /// The same run with these tests excused, if they ran: their results no longer count. If nothing else failed, the
    /// run passed. A test that did not run cannot be excused.
    #[must_use]
    pub fn excusing(mut self, names: &[String]) -> Self {
        let names: HashSet<&str> = names.iter().map(String::as_str).collect();
        let mut ran = BTreeSet::new();
        let mut set_aside = |name: &str| {
            let is_excused = names.contains(name);
            if is_excused {
                ran.insert(name.to_string());
            }
            !is_excused
        };
        let counted = |before: usize, after: usize| u32::try_from(before - after).unwrap_or(u32::MAX);
        let failures = self.failures.len();
        self.failures.retain(|failure| set_aside(&failure.name));
        self.failed = self.failed.saturating_sub(counted(failures, self.failures.len()));
        let passed = self.passed_names.len();
        self.passed_names.retain(|name| set_aside(name));
        self.passed = self.passed.saturating_sub(counted(passed, self.passed_names.len()));
        ran.extend(self.excused);
        self.excused = ran.into_iter().collect();
        let is_settled = self.failures.is_empty() && self.failed == 0;
        if matches!(self.outcome, Outcome::Failed | Outcome::Flagged) && is_settled && !self.excused.is_empty() {
            self.outcome = if self.unread.is_empty() {
                Outcome::Passed
            } else {
                Outcome::Crashed
            };
        }
        self
    }

    /// Whether the names of all tests are known: none may be missing from the results, and none was left out of a list.
    pub fn knows_all_names(&self) -> bool {
        let is_complete = |count: u32, names: usize| count as usize <= names;
        !self.was_cut_short()
            && is_complete(self.passed, self.passed_names.len())
            && is_complete(self.failed, self.failures.len())
            && is_complete(self.skipped, self.skipped_names.len())
    }

    /// Whether tests may be missing from the results.
    fn was_cut_short(&self) -> bool {
        !matches!(self.outcome, Outcome::Passed | Outcome::Failed)
    }

    /// Whether a test of this run, which was cut short, has a longer name in a later run.
    pub fn has_renamed(&self, name: &str, later: &Self) -> bool {
        self.was_cut_short() && has_moved(name, later)
    }

    /// `3 failed, 12 passed`, for people.
    pub fn summary(&self) -> String {
        let excused = match self.excused.len() {
            0 => String::new(),
            count => format!(", {count} set aside"),
        };
        match self.outcome {
            Outcome::Passed => format!("{} passed{excused}", self.passed),
            Outcome::Failed if !self.unread.is_empty() => {
                let counts = format!("{} failed, {} passed{excused}", self.failed, self.passed);
                format!("{counts}, and part of the report cannot be read")
            }
            Outcome::Failed => format!("{} failed, {} passed{excused}", self.failed, self.passed),
            Outcome::Flagged => format!("{} found", count(u64::from(self.failed), "problem")),
            outcome => outcome.words().into(),
        }
    }
}

impl Outcome {
    /// In words, for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::DidNotBuild => "does not build",
            Self::DidNotCollect => "tests could not be loaded",
            Self::MissingModule => "a module is missing",
            Self::Flagged => "problems were found",
            Self::NothingRan => "no test ran",
            Self::TimedOut => "timed out",
            Self::Panicked => "panicked",
            Self::Crashed => "crashed",
            Self::OutOfMemory => "out of memory",
            Self::DidNotStart => "could not be started",
        }
    }

    /// Whether the test process ended before its tests did, so that some may be missing from the results.
    pub fn was_ended(self) -> bool {
        matches!(
            self,
            Self::TimedOut | Self::Panicked | Self::Crashed | Self::OutOfMemory
        )
    }

    /// Whether the result speaks against the code, not only against the machine.
    pub fn is_red(self) -> bool {
        !matches!(self, Self::Passed | Self::NothingRan | Self::DidNotStart)
    }
}

/// Why a patched tree is not better than the original.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum NotBetter {
    /// Nothing was wrong with the original tree.
    #[error("the tests were not red before the change ({before})")]
    NotRedBefore {
        /// The summary of the run before.
        before: String,
    },
    /// Something is still, or now, wrong with the patched tree.
    #[error("the tests are not green after the change ({after})")]
    NotGreenAfter {
        /// The summary of the run after.
        after: String,
    },
    /// A test of the original tree did not run on the patched one.
    #[error("`{name}` ran before the change, but is missing or skipped after it")]
    TestWentMissing {
        /// The test.
        name: String,
    },
    /// Fewer tests passed than had run before; their names are not all known.
    #[error("fewer tests ran after the change ({after}) than before it ({before})")]
    FewerTests {
        /// How many passed or failed before.
        before: u32,
        /// How many passed after.
        after: u32,
    },
}

/// Compares a run of the patched tree with one of the original. Every test known to have failed or passed before must
/// pass now, and none may have gone missing, except for names that other runs of the original lack, too; there must be
/// as many. A test excused in the run before is excused in the run after: it must
/// still run, and may fail again.
///
/// # Errors
/// The first reason found.
pub fn is_better(before: &TestRun, after: &TestRun) -> Result<(), NotBetter> {
    is_better_without(before, after, &|_| false)
}

/// The same, where the tests that `may_go` names may be missing or skipped after the change.
///
/// # Errors
/// Why it is not.
pub fn is_better_without(before: &TestRun, after: &TestRun, may_go: &dyn Fn(&str) -> bool) -> Result<(), NotBetter> {
    let excusing;
    let after = if before.excused.is_empty() {
        after
    } else {
        excusing = after.clone().excusing(&before.excused);
        &excusing
    };
    if !before.outcome.is_red() {
        return Err(NotBetter::NotRedBefore {
            before: before.summary(),
        });
    }
    if !after.is_green() {
        return Err(NotBetter::NotGreenAfter { after: after.summary() });
    }
    let is_kept = |name: &&String| after.excused.binary_search(name).is_ok() || before.is_unstable(name);
    if let Some(name) = before.excused.iter().find(|name| !is_kept(name)) {
        return Err(NotBetter::TestWentMissing { name: name.clone() });
    }
    // Diagnostics, and files whose process died, are listed among the failures like tests.
    let failures_are_tests = matches!(before.outcome, Outcome::Failed | Outcome::TimedOut);
    let failing = before.failing_names().filter(|_| failures_are_tests);
    let is_complete = after.passed as usize <= after.passed_names.len();
    let mut gone = 0;
    if is_complete {
        let now: HashSet<&str> = after.passed_names.iter().map(String::as_str).collect();
        let expected = before.passed_names.iter().map(String::as_str).chain(failing);
        // A change moves the lines below it.
        let unlined: HashSet<Cow<'_, str>> = now.iter().map(|name| without_lines(name)).collect();
        let is_there = |name: &str| {
            let has_moved = || matches!(without_lines(name), Cow::Owned(bare) if unlined.contains(bare.as_str()));
            now.contains(name) || before.has_renamed(name, after) || before.is_unstable(name) || has_moved()
        };
        let mut missing = expected.filter(|name| !is_there(name));
        let allowed = |name: &&str| {
            let may_go = may_go(name);
            gone += u32::from(may_go);
            !may_go
        };
        if let Some(name) = missing.find(allowed) {
            return Err(NotBetter::TestWentMissing { name: name.into() });
        }
    }
    let failed = if failures_are_tests { before.failed } else { 0 };
    let ran_before = before.passed.saturating_add(failed).saturating_sub(gone);
    if after.passed < ran_before {
        return Err(NotBetter::FewerTests {
            before: ran_before,
            after: after.passed,
        });
    }
    Ok(())
}

/// Whether a test has a longer name now. If two binaries or packages have a test of the same name, a prefix tells
/// them apart; it appears only once both have run.
fn has_moved(name: &str, after: &TestRun) -> bool {
    let mut places = after
        .passed_names
        .iter()
        .filter_map(|now| now.strip_suffix(name)?.strip_suffix(' '));
    places.any(|place| !place.contains(' '))
}

#[cfg(test)]
mod tests;
