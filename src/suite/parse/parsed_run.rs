//! What a reader collects: counts, names, failures and diagnostics, each of them bounded.

use std::collections::BTreeMap;

use super::{MAX_MESSAGE, MAX_NAME};
use crate::domain::test_run::{Failure, Location, TestRun};
use crate::suite::text;

/// Sums beyond this are made up; the bound keeps later arithmetic from overflowing.
const MAX_SUM: u32 = 100_000_000;
/// Longest value of an assertion that is kept.
const MAX_VALUE: usize = 1_000;
/// Most words of a summary, and the longest of them.
const MAX_SUMMARY_COUNTS: usize = 20;
const MAX_WORD: usize = 40;

/// What a reader made of one output.
#[derive(Debug, Default)]
pub(in crate::suite) struct ParsedRun {
    pub(in crate::suite) passed: u32,
    pub(in crate::suite) skipped: u32,
    /// Failed as they are marked to.
    pub(in crate::suite) expected_failures: u32,
    pub(in crate::suite) failed: u32,
    pub(in crate::suite) passed_names: Vec<String>,
    pub(in crate::suite) skipped_names: Vec<String>,
    /// The framework's own summary in its own words.
    pub(in crate::suite) summary_counts: BTreeMap<String, u32>,
    /// Failing tests.
    pub(in crate::suite) failures: Vec<Failure>,
    /// What kept tests from being built or collected.
    pub(in crate::suite) diagnostics: Vec<Failure>,
    pub(in crate::suite) anomaly: Option<Anomaly>,
    /// Tests that were seen to begin and not to end: where the time was up, they are what took it.
    pub(in crate::suite) under_way: Vec<String>,
}

/// Why there may be no results although tests were asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::suite) enum Anomaly {
    /// A test process died.
    Crash,
    /// A test process ended itself in a panic, and took other tests with it.
    Panic,
    /// The output says that there was no memory left.
    OutOfMemory,
    /// Tests took longer than their framework allows.
    TimedOut,
    /// The diagnostics are of tests that could not be loaded, not of code that does not compile.
    NotCollected,
    /// A module that is asked for is not there.
    MissingModule,
    /// Something outside the project is missing: the result says nothing about the code.
    Environment,
    /// There are findings, although the command may have succeeded.
    Findings,
    /// The command was asked for tests that are not there.
    NotFound,
}

impl ParsedRun {
    pub(in crate::suite) fn pass(&mut self, name: &str) {
        self.passed = self.passed.saturating_add(1);
        if self.passed_names.len() < TestRun::MAX_NAMES {
            self.passed_names.push(text::one_line(name, MAX_NAME));
        }
    }

    /// Counts a test whose name is not told.
    pub(in crate::suite) fn skip(&mut self) {
        self.skipped = self.skipped.saturating_add(1);
    }

    /// Counts a skipped test by its name.
    pub(in crate::suite) fn skip_named(&mut self, name: &str) {
        self.skip();
        if self.skipped_names.len() < TestRun::MAX_NAMES {
            self.skipped_names.push(text::one_line(name, MAX_NAME));
        }
    }

    /// Counts a test that failed as it is marked to.
    pub(in crate::suite) fn fail_as_expected(&mut self) {
        self.expected_failures = self.expected_failures.saturating_add(1);
    }

    /// Takes a word of the framework's own summary.
    pub(in crate::suite) fn tell(&mut self, word: &str, count: u32) {
        if self.summary_counts.len() < MAX_SUMMARY_COUNTS {
            self.summary_counts
                .insert(text::one_line(word, MAX_WORD), count.min(MAX_SUM));
        }
    }

    /// Notes what the assertion of the last failure wanted and got.
    pub(in crate::suite) fn compare(&mut self, expected: &str, actual: &str) {
        // Beyond the bound the last failure that is kept is another one.
        if self.failed as usize == self.failures.len()
            && let Some(failure) = self.failures.last_mut()
        {
            failure.expected = Some(text::bounded(expected, MAX_VALUE));
            failure.actual = Some(text::bounded(actual, MAX_VALUE));
        }
    }

    /// Whether another failure would be kept, and not only counted. Where one shown text belongs to many failures, it is
    /// not worth reading again for those that are dropped.
    pub(in crate::suite) fn has_room(&self) -> bool {
        self.failures.len() < TestRun::MAX_FAILURES
    }

    pub(in crate::suite) fn fail(&mut self, name: &str, location: Option<Location>, message: &str) {
        self.failed = self.failed.saturating_add(1);
        if self.failures.len() < TestRun::MAX_FAILURES {
            self.failures.push(failure(name, location, message));
        }
    }

    /// Notes an error beside the tests that the framework counts as none of them.
    pub(in crate::suite) fn note(&mut self, name: &str, location: Option<Location>, message: &str) {
        if self.failures.len() < TestRun::MAX_FAILURES {
            self.failures.push(failure(name, location, message));
        }
    }

    /// Takes what another reader found in the same output.
    pub(in crate::suite) fn add(&mut self, other: Self) {
        self.passed = self.passed.saturating_add(other.passed);
        self.failed = self.failed.saturating_add(other.failed);
        self.skipped = self.skipped.saturating_add(other.skipped);
        self.expected_failures = self.expected_failures.saturating_add(other.expected_failures);
        self.passed_names.extend(other.passed_names);
        self.passed_names.truncate(TestRun::MAX_NAMES);
        self.skipped_names.extend(other.skipped_names);
        self.skipped_names.truncate(TestRun::MAX_NAMES);
        self.failures.extend(other.failures);
        self.failures.truncate(TestRun::MAX_FAILURES);
        self.diagnostics.extend(other.diagnostics);
        self.diagnostics.truncate(TestRun::MAX_FAILURES);
        for (word, count) in other.summary_counts {
            let sum = self
                .summary_counts
                .get(&word)
                .copied()
                .unwrap_or(0)
                .saturating_add(count);
            self.tell(&word, sum);
        }
        self.anomaly = self.anomaly.or(other.anomaly);
        self.under_way.extend(other.under_way);
        self.under_way.truncate(TestRun::MAX_FAILURES);
    }

    /// Notes an error that belongs to no test; the same one is noted once.
    pub(in crate::suite) fn diagnose(&mut self, name: &str, location: Option<Location>, message: &str) {
        let diagnostic = failure(name, location, message);
        if self.diagnostics.len() < TestRun::MAX_FAILURES && !self.diagnostics.contains(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Notes the test that ran when its process died.
    pub(in crate::suite) fn crash(&mut self, name: &str, message: &str) {
        self.anomaly = Some(Anomaly::Crash);
        self.fail(name, None, message);
    }

    /// Takes the framework's own sums over what was counted.
    pub(in crate::suite) fn settle(&mut self, passed: u32, failed: u32, skipped: u32) {
        let bounded = |sum: u32| sum.min(MAX_SUM);
        (self.passed, self.failed, self.skipped) = (bounded(passed), bounded(failed), bounded(skipped));
    }

    /// Takes the sum of a linter that tells one, of which this many findings were read.
    pub(in crate::suite) fn settle_found(&mut self, read: u32, told: Option<u32>) {
        let total = told.unwrap_or(read);
        if total > 0 {
            self.tell("errors", total);
        }
        // The findings themselves are counted with the diagnostics.
        let listed = u32::try_from(self.diagnostics.len()).unwrap_or(0);
        self.settle(0, total.max(read).saturating_sub(listed), 0);
    }

    /// Takes the framework's own sum of tests that failed as they are marked to.
    pub(in crate::suite) fn settle_expected(&mut self, expected_failures: u32) {
        self.expected_failures = expected_failures.min(MAX_SUM);
    }

    /// Notes a test that has begun, and of which nothing more is told.
    pub(in crate::suite) fn begin(&mut self, name: &str) {
        if self.under_way.len() < TestRun::MAX_FAILURES {
            self.under_way.push(text::one_line(name, MAX_NAME));
        }
    }

    /// Whether any result of a test was read.
    pub(in crate::suite) fn ran(&self) -> bool {
        self.passed > 0 || self.failed > 0 || self.skipped > 0 || self.expected_failures > 0
    }

    pub(in crate::suite) fn shows_a_failure(&self) -> bool {
        self.failed > 0
            || !self.failures.is_empty()
            || !self.diagnostics.is_empty()
            || matches!(
                self.anomaly,
                Some(
                    Anomaly::Crash | Anomaly::Panic | Anomaly::TimedOut | Anomaly::OutOfMemory | Anomaly::MissingModule
                )
            )
    }

    /// Diagnostics first: they come before any test.
    pub(in crate::suite) fn into_failures(self) -> Vec<Failure> {
        let mut failures = self.diagnostics;
        failures.extend(self.failures);
        failures.truncate(TestRun::MAX_FAILURES);
        failures
    }
}

fn failure(name: &str, location: Option<Location>, message: &str) -> Failure {
    Failure {
        name: text::one_line(name, MAX_NAME),
        location: location.map(|location| Location {
            path: text::one_line(&location.path, MAX_NAME),
            line: location.line,
        }),
        message: text::bounded(message.trim_end().trim_start_matches('\n'), MAX_MESSAGE),
        ..Failure::default()
    }
}
