//! Reads what a test command printed into a [`TestRun`].
//!
//! One file per family of formats; each turns cleaned text (or a report file) into a [`Reading`], and [`conclude`]
//! holds the reading against how the process ended. Nothing here runs anything or touches the disk.

mod go;
mod javascript;
mod junit;
mod libtest;
mod maven;
mod pytest;
mod rustc;
mod tap;
mod unittest;

use super::{Framework, text};
use crate::domain::test_run::{Failure, Location, Outcome, TestRun};
use crate::sandbox::{self, Output};

/// Longest name of a test that is kept whole.
const MAX_NAME: usize = 1_000;
/// Longest message of one failure.
const MAX_MESSAGE: usize = 4_000;
/// How much of the end of the output is kept.
const MAX_TAIL: usize = 4_000;
/// Sums beyond this are made up; the bound keeps later arithmetic from overflowing.
const MAX_SUM: u32 = 100_000_000;
/// The one test of a command whose output nobody understands.
const WHOLE_COMMAND: &str = "the test command";

/// Reads the result of a command that printed it; `command` of the run is left empty.
pub fn read(framework: Framework, output: &Output) -> TestRun {
    read_with_report(framework, output, None)
}

/// Reads the result of a command that may have written a report file too, which is believed more than the text.
pub(super) fn read_with_report(framework: Framework, output: &Output, report: Option<&[u8]>) -> TestRun {
    let text = text::printed(&output.stdout, &output.stderr);
    let reading = match (framework, report.and_then(pytest::read_report)) {
        (Framework::Pytest, Some(mut reading)) => {
            reading.absorb_collection_errors(&text);
            reading
        }
        _ => read_text(framework, &text),
    };
    conclude(framework, output, reading, &text)
}

/// Reads text that is known or thought to come from a framework.
pub(super) fn read_text(framework: Framework, text: &str) -> Reading {
    match framework {
        Framework::Cargo => libtest::read(text),
        Framework::Pytest => pytest::read_text(text),
        Framework::Unittest => unittest::read(text),
        Framework::Node => tap::read(text),
        Framework::Jest => javascript::read_jest(text),
        Framework::Vitest => javascript::read_vitest(text),
        Framework::Mocha => javascript::read_mocha(text),
        Framework::Go => go::read(text),
        Framework::Maven => maven::read(text),
        Framework::Other => recognise(text).map(|(_, reading)| reading).unwrap_or_default(),
    }
}

/// Finds the framework that a text comes from by what only that framework prints, and reads it; one that shows a
/// failure goes before one that shows none.
pub(super) fn recognise(text: &str) -> Option<(Framework, Reading)> {
    const MARKS: [(Framework, &[&str]); 9] = [
        (
            Framework::Cargo,
            &["\ntest result: ", "error: could not compile", "\nerror[E"],
        ),
        (
            Framework::Pytest,
            &[" test session starts ===", "short test summary info"],
        ),
        (Framework::Unittest, &[" tests in ", " test in "]),
        (
            Framework::Go,
            &["--- FAIL: ", "\n{\"Time\":", "\n{\"Action\":", "\nok  \t", "\nFAIL\t"],
        ),
        (Framework::Node, &["TAP version 1", "\n\u{2139} pass ", "\n# pass "]),
        (Framework::Vitest, &[" Test Files  "]),
        (Framework::Jest, &["\nTest Suites: "]),
        (Framework::Mocha, &[" passing ("]),
        (Framework::Maven, &["Tests run: ", "COMPILATION ERROR"]),
    ];
    let text = format!("\n{text}");
    let mut found: Option<(Framework, Reading)> = None;
    for (framework, marks) in MARKS {
        let marked = marks.iter().any(|mark| text.contains(mark));
        if !marked || (framework == Framework::Unittest && !text.contains("\nRan ")) {
            continue;
        }
        let reading = read_text(framework, &text);
        if reading.shows_a_failure() {
            return Some((framework, reading));
        }
        if found.as_ref().is_none_or(|(_, found)| !found.ran() && reading.ran()) {
            found = Some((framework, reading));
        }
    }
    found
}

/// What a reader made of one output.
#[derive(Debug, Default)]
pub(super) struct Reading {
    passed: u32,
    skipped: u32,
    failed: u32,
    passed_names: Vec<String>,
    /// Failing tests.
    failures: Vec<Failure>,
    /// What kept tests from being built or collected.
    diagnostics: Vec<Failure>,
    trouble: Option<Trouble>,
}

/// Why there may be no results although tests were asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    /// A test process died.
    Crash,
    /// Something outside the project is missing: the result says nothing about the code.
    Environment,
    /// The command was asked for tests that are not there.
    NotFound,
}

impl Reading {
    fn pass(&mut self, name: &str) {
        self.passed = self.passed.saturating_add(1);
        if self.passed_names.len() < TestRun::MAX_NAMES {
            self.passed_names.push(text::one_line(name, MAX_NAME));
        }
    }

    fn skip(&mut self) {
        self.skipped = self.skipped.saturating_add(1);
    }

    fn fail(&mut self, name: &str, location: Option<Location>, message: &str) {
        self.failed = self.failed.saturating_add(1);
        if self.failures.len() < TestRun::MAX_FAILURES {
            self.failures.push(failure(name, location, message));
        }
    }

    /// Notes an error that belongs to no test; the same one is noted once.
    fn diagnose(&mut self, name: &str, location: Option<Location>, message: &str) {
        let diagnostic = failure(name, location, message);
        if self.diagnostics.len() < TestRun::MAX_FAILURES && !self.diagnostics.contains(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Notes the test that ran when its process died.
    fn crash(&mut self, name: &str, message: &str) {
        self.trouble = Some(Trouble::Crash);
        self.fail(name, None, message);
    }

    /// Takes the framework's own sums over what was counted.
    fn settle(&mut self, passed: u32, failed: u32, skipped: u32) {
        let bounded = |sum: u32| sum.min(MAX_SUM);
        (self.passed, self.failed, self.skipped) = (bounded(passed), bounded(failed), bounded(skipped));
    }

    /// Whether any result of a test was read.
    fn ran(&self) -> bool {
        self.passed > 0 || self.failed > 0 || self.skipped > 0
    }

    fn absorb_collection_errors(&mut self, text: &str) {
        let other = pytest::read_text(text);
        self.trouble = self.trouble.or(other.trouble);
        if self.failed == 0 && self.diagnostics.is_empty() {
            self.diagnostics = other.diagnostics;
        }
    }

    pub(super) fn shows_a_failure(&self) -> bool {
        self.failed > 0
            || !self.failures.is_empty()
            || !self.diagnostics.is_empty()
            || self.trouble == Some(Trouble::Crash)
    }

    /// Diagnostics first: they come before any test.
    pub(super) fn into_failures(self) -> Vec<Failure> {
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
    }
}

/// A location from the two halves of `path:line`.
fn location(path: &str, line: &str) -> Option<Location> {
    Some(Location {
        path: path.to_string(),
        line: line.parse().ok()?,
    })
}

/// Holds what was read against how the process ended.
fn conclude(framework: Framework, output: &Output, mut reading: Reading, text: &str) -> TestRun {
    let unread = !reading.ran() && reading.diagnostics.is_empty();
    let ran = match output.outcome {
        sandbox::Outcome::Exited(126 | 127) | sandbox::Outcome::DidNotStart(_) | sandbox::Outcome::Cancelled => false,
        sandbox::Outcome::Exited(_) => true,
        _ => false,
    };
    if framework == Framework::Other && unread && ran && recognise(text).is_none() && !says_that_nothing_ran(text) {
        if output.outcome == sandbox::Outcome::Exited(0) {
            reading.pass(WHOLE_COMMAND);
        } else {
            reading.fail(WHOLE_COMMAND, None, &text::tail(text, MAX_MESSAGE));
        }
    }
    let outcome = outcome(framework, &output.outcome, &reading);
    let tail = match &output.outcome {
        sandbox::Outcome::DidNotStart(reason) => text::bounded(&text::clean(reason.as_bytes()), MAX_TAIL),
        sandbox::Outcome::Cancelled => "cancelled".into(),
        _ if framework == Framework::Go => text::tail(go::without_events(text).as_deref().unwrap_or(text), MAX_TAIL),
        _ => text::tail(text, MAX_TAIL),
    };
    let diagnostics = u32::try_from(reading.diagnostics.len()).unwrap_or(u32::MAX);
    let failed = match outcome {
        Outcome::DidNotBuild => reading.failed.saturating_add(diagnostics),
        _ => reading.failed,
    };
    let (passed, skipped) = (reading.passed, reading.skipped);
    let mut passed_names = std::mem::take(&mut reading.passed_names);
    passed_names.sort_unstable();
    if outcome != Outcome::DidNotBuild {
        reading.diagnostics.clear();
    }
    TestRun {
        command: String::new(),
        outcome,
        passed,
        skipped,
        failures: reading.into_failures(),
        failed,
        passed_names,
        tail,
        duration_ms: u64::try_from(output.wall.as_millis()).unwrap_or(u64::MAX),
    }
}

/// The exit code is believed when it says red, and the output when it says red; green takes both.
fn outcome(framework: Framework, ended: &sandbox::Outcome, reading: &Reading) -> Outcome {
    let code = match ended {
        sandbox::Outcome::TimedOut => return Outcome::TimedOut,
        sandbox::Outcome::Signalled(_) | sandbox::Outcome::OutOfMemory | sandbox::Outcome::DiskLimit => {
            return Outcome::Crashed;
        }
        sandbox::Outcome::Cancelled | sandbox::Outcome::DidNotStart(_) => return Outcome::DidNotStart,
        sandbox::Outcome::Exited(code) => *code,
    };
    let python = matches!(framework, Framework::Pytest | Framework::Unittest | Framework::Other);
    match code {
        _ if reading.trouble == Some(Trouble::Crash) => Outcome::Crashed,
        1.. if !reading.diagnostics.is_empty() => Outcome::DidNotBuild,
        _ if reading.failed > 0 => Outcome::Failed,
        0 if reading.passed > 0 => Outcome::Passed,
        0 => Outcome::NothingRan,
        _ if reading.trouble == Some(Trouble::Environment) => Outcome::DidNotStart,
        _ if reading.trouble == Some(Trouble::NotFound) => Outcome::NothingRan,
        126 | 127 => Outcome::DidNotStart,
        // Of pytest: <https://docs.pytest.org/en/stable/reference/exit-codes.html>; unittest has 5 since Python 3.12.
        5 if python => Outcome::NothingRan,
        4 if framework == Framework::Pytest => Outcome::DidNotStart,
        _ => Outcome::Crashed,
    }
}

/// What frameworks print in place of results when there are none.
fn says_that_nothing_ran(text: &str) -> bool {
    [
        "no tests ran",
        "No tests found",
        "No test files found",
        "[no test files]",
        "running 0 tests",
        "NO TESTS RAN",
        "No tests to run",
    ]
    .iter()
    .any(|mark| text.contains(mark))
}

#[cfg(test)]
mod tests;
