//! The result of a reader: counts, names, failures and diagnostics, all bounded.

use std::collections::BTreeMap;

use crate::{Failure, Location, text};

/// The longest name of a test that is kept completely.
pub const MAX_NAME: usize = 1_000;
/// The longest message of one failure.
pub const MAX_MESSAGE: usize = 4_000;
/// How many failures are kept.
pub const MAX_FAILURES: usize = 50;
/// How many test names are kept.
pub const MAX_NAMES: usize = 5_000;
/// Larger totals must be made up. The bound keeps later arithmetic from overflowing.
const MAX_SUM: u32 = 100_000_000;
/// The longest value of an assertion.
const MAX_VALUE: usize = 1_000;
/// The maximum number of words in a summary, and their maximum length.
const MAX_SUMMARY_COUNTS: usize = 20;
const MAX_WORD: usize = 40;

/// The parsed form of one output.
#[derive(Debug, Default)]
pub struct ParsedRun {
    /// How many tests passed.
    pub passed: u32,
    /// How many were skipped.
    pub skipped: u32,
    /// How many failed as expected.
    pub expected_failures: u32,
    /// How many failed.
    pub failed: u32,
    /// The names of passed tests, as far as they are kept.
    pub passed_names: Vec<String>,
    /// The names of skipped tests, as far as they are kept.
    pub skipped_names: Vec<String>,
    /// The framework's own summary with its own words.
    pub summary_counts: BTreeMap<String, u32>,
    /// Failing tests.
    pub failures: Vec<Failure>,
    /// Errors that kept tests from being built or collected.
    pub diagnostics: Vec<Failure>,
    /// A problem outside of the tests.
    pub anomaly: Option<Anomaly>,
    /// Tests that began but did not end. If the time ran out, they are the ones that took too long.
    pub under_way: Vec<String>,
    /// The parts of reports that cannot be read.
    pub unread: Vec<String>,
    /// Whether the counts are the framework's own totals.
    pub has_totals: bool,
}

/// Why there may be no results although tests were requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anomaly {
    /// A test process died.
    Crash,
    /// A test process ended in a panic, and took other tests with it.
    Panic,
    /// The output says that memory ran out.
    OutOfMemory,
    /// Tests took longer than their framework allows.
    TimedOut,
    /// The diagnostics are about tests that could not be loaded, not about code that does not compile.
    NotCollected,
    /// A required module is missing.
    MissingModule,
    /// Something outside the project is missing: the result says nothing about the code.
    Environment,
    /// There are findings, even if the command succeeded.
    Findings,
    /// The requested tests do not exist.
    NotFound,
}

impl ParsedRun {
    /// Counts a passed test.
    pub fn pass(&mut self, name: &str) {
        self.passed = self.passed.saturating_add(1);
        if self.passed_names.len() < MAX_NAMES {
            self.passed_names.push(text::one_line(name, MAX_NAME));
        }
    }

    /// Counts a skipped test without a name.
    pub fn skip(&mut self) {
        self.skipped = self.skipped.saturating_add(1);
    }

    /// Counts a skipped test by name.
    pub fn skip_named(&mut self, name: &str) {
        self.skip();
        if self.skipped_names.len() < MAX_NAMES {
            self.skipped_names.push(text::one_line(name, MAX_NAME));
        }
    }

    /// Counts a test that failed as expected.
    pub fn fail_as_expected(&mut self) {
        self.expected_failures = self.expected_failures.saturating_add(1);
    }

    /// Records one count of the framework's own summary.
    pub fn tell(&mut self, word: &str, count: u32) {
        if self.summary_counts.len() < MAX_SUMMARY_COUNTS {
            self.summary_counts
                .insert(text::one_line(word, MAX_WORD), count.min(MAX_SUM));
        }
    }

    /// Records the expected and actual value of the last failure.
    pub fn compare(&mut self, expected: &str, actual: &str) {
        // Beyond the limit, the last failure that was kept is a different one.
        if self.failed as usize == self.failures.len()
            && let Some(failure) = self.failures.last_mut()
        {
            failure.expected = Some(text::bounded(expected, MAX_VALUE));
            failure.actual = Some(text::bounded(actual, MAX_VALUE));
        }
    }

    /// Whether another failure would be kept instead of only counted. If many failures share one text, it is not
    /// worth parsing it for those that are dropped.
    pub fn has_room(&self) -> bool {
        self.failures.len() < MAX_FAILURES
    }

    /// Counts a failed test, and keeps its details if there is room.
    pub fn fail(&mut self, name: &str, location: Option<Location>, message: &str) {
        self.failed = self.failed.saturating_add(1);
        if self.failures.len() < MAX_FAILURES {
            self.failures.push(failure(name, location, message));
        }
    }

    /// Records an error that the framework does not count as a test.
    pub fn note(&mut self, name: &str, location: Option<Location>, message: &str) {
        if self.failures.len() < MAX_FAILURES {
            self.failures.push(failure(name, location, message));
        }
    }

    /// Adds what another reader found in the same output.
    pub fn add(&mut self, other: Self) {
        self.passed = self.passed.saturating_add(other.passed);
        self.failed = self.failed.saturating_add(other.failed);
        self.skipped = self.skipped.saturating_add(other.skipped);
        self.expected_failures = self.expected_failures.saturating_add(other.expected_failures);
        self.passed_names.extend(other.passed_names);
        self.passed_names.truncate(MAX_NAMES);
        self.skipped_names.extend(other.skipped_names);
        self.skipped_names.truncate(MAX_NAMES);
        self.failures.extend(other.failures);
        self.failures.truncate(MAX_FAILURES);
        self.diagnostics.extend(other.diagnostics);
        self.diagnostics.truncate(MAX_FAILURES);
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
        self.under_way.truncate(MAX_FAILURES);
        self.unread.extend(other.unread);
    }

    /// Records an error that belongs to no test; duplicates are recorded once.
    pub fn diagnose(&mut self, name: &str, location: Option<Location>, message: &str) {
        let diagnostic = failure(name, location, message);
        if self.diagnostics.len() < MAX_FAILURES && !self.diagnostics.contains(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Records the test that was running when its process died.
    pub fn crash(&mut self, name: &str, message: &str) {
        self.anomaly = Some(Anomaly::Crash);
        self.fail(name, None, message);
    }

    /// Replaces the counts by the framework's own totals.
    pub fn reconcile_totals(&mut self, passed: u32, failed: u32, skipped: u32) {
        self.has_totals = true;
        let bounded = |sum: u32| sum.min(MAX_SUM);
        (self.passed, self.failed, self.skipped) = (bounded(passed), bounded(failed), bounded(skipped));
    }

    /// Takes the total of a linter, if it printed one, given how many findings were parsed.
    pub fn settle_found(&mut self, read: u32, told: Option<u32>) {
        let total = told.unwrap_or(read);
        if total > 0 {
            self.tell("errors", total);
        }
        // The findings themselves are counted with the diagnostics.
        let listed = u32::try_from(self.diagnostics.len()).unwrap_or(0);
        self.reconcile_totals(0, total.max(read).saturating_sub(listed), 0);
    }

    /// Takes the framework's own count of tests that failed as expected.
    pub fn settle_expected(&mut self, expected_failures: u32) {
        self.expected_failures = expected_failures.min(MAX_SUM);
    }

    /// Records a test that began and has not ended yet.
    pub fn begin(&mut self, name: &str) {
        if self.under_way.len() < MAX_FAILURES {
            self.under_way.push(text::one_line(name, MAX_NAME));
        }
    }

    /// Whether any test result was parsed.
    pub fn ran(&self) -> bool {
        self.passed > 0 || self.failed > 0 || self.skipped > 0 || self.expected_failures > 0
    }

    /// Whether anything in it reports a problem.
    pub fn shows_a_failure(&self) -> bool {
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

    /// The failures, with diagnostics first, because they occur before any test.
    pub fn into_failures(self) -> Vec<Failure> {
        let mut failures = self.diagnostics;
        failures.extend(self.failures);
        failures.truncate(MAX_FAILURES);
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
