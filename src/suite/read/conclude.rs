//! Holds what was read against how the process ended: green takes both, red takes either.

use super::{MAX_MESSAGE, MAX_TAIL, Reading, Trouble, recognise};
use crate::domain::clock::millis;
use crate::domain::test_run::{Outcome, TestRun};
use crate::sandbox::{self, Output};
use crate::suite::{Framework, text};

/// What npm says of a program that is not installed: it would fetch it, and there is no network.
const NOT_INSTALLED: [&str; 4] = [
    "npm error code ENOTCACHED",
    "npm ERR! code ENOTCACHED",
    "npm error could not determine executable to run",
    "npm error npx canceled due to missing packages",
];

/// The one test of a command whose output nobody understands.
pub(super) const WHOLE_COMMAND: &str = "the test command";

/// Holds what was read against how the process ended.
pub(super) fn conclude(framework: Framework, output: &Output, mut reading: Reading, text: &str) -> TestRun {
    let unread = !reading.ran() && reading.diagnostics.is_empty();
    // Where nothing is found, what is left to say with 2 is that the settings cannot be read.
    if unread && matches!(framework, Framework::Ruff | Framework::Mypy | Framework::Eslint) {
        reading.trouble = match output.outcome {
            sandbox::Outcome::Exited(1..) if says_that_it_broke(text) => Some(Trouble::Crash),
            sandbox::Outcome::Exited(2) => Some(Trouble::Environment),
            _ => reading.trouble,
        };
    }
    if unread && reading.trouble.is_none() && NOT_INSTALLED.iter().any(|mark| text.contains(mark)) {
        reading.trouble = Some(Trouble::Environment);
    }
    let is_unusable = reading.trouble == Some(Trouble::Environment);
    let ran = match output.outcome {
        sandbox::Outcome::Exited(126 | 127) | sandbox::Outcome::DidNotStart(_) | sandbox::Outcome::Cancelled => false,
        sandbox::Outcome::Exited(_) => true,
        _ => false,
    };
    if (framework == Framework::Other || framework.is_linter())
        && unread
        && ran
        && !is_unusable
        && (framework.is_linter() || recognise(text).is_none())
        && !says_that_nothing_ran(text)
    {
        if output.outcome == sandbox::Outcome::Exited(0) {
            reading.pass(WHOLE_COMMAND);
        } else {
            reading.fail(WHOLE_COMMAND, None, &text::tail(text, MAX_MESSAGE));
        }
    }
    let outcome = outcome(framework, &output.outcome, &reading);
    if output.outcome == sandbox::Outcome::TimedOut {
        for name in std::mem::take(&mut reading.under_way) {
            reading.fail(&name, None, "it did not come to its end");
        }
    }
    let tail = match &output.outcome {
        sandbox::Outcome::DidNotStart(reason) => text::bounded(&text::clean(reason.as_bytes()), MAX_TAIL),
        sandbox::Outcome::Cancelled => "cancelled".into(),
        _ if framework == Framework::Go => {
            text::tail(super::go::without_events(text).as_deref().unwrap_or(text), MAX_TAIL)
        }
        _ => text::tail(text, MAX_TAIL),
    };
    let diagnostics = u32::try_from(reading.diagnostics.len()).unwrap_or(u32::MAX);
    let unloaded = matches!(
        outcome,
        Outcome::DidNotBuild | Outcome::DidNotCollect | Outcome::MissingModule | Outcome::Flagged
    );
    let failed = if unloaded {
        reading.failed.saturating_add(diagnostics)
    } else {
        reading.failed
    };
    let (passed, skipped) = (reading.passed, reading.skipped);
    let mut passed_names = std::mem::take(&mut reading.passed_names);
    passed_names.sort_unstable();
    let mut skipped_names = std::mem::take(&mut reading.skipped_names);
    skipped_names.sort_unstable();
    let (expected_failures, tally) = (reading.expected_failures, std::mem::take(&mut reading.tally));
    if !unloaded {
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
        skipped_names,
        excused: Vec::new(),
        expected_failures,
        tally,
        tail,
        duration_ms: millis(output.wall),
    }
}

/// The exit code is believed when it says red, and the output when it says red; green takes both.
fn outcome(framework: Framework, ended: &sandbox::Outcome, reading: &Reading) -> Outcome {
    let code = match ended {
        sandbox::Outcome::TimedOut => return Outcome::TimedOut,
        sandbox::Outcome::OutOfMemory => return Outcome::OutOfMemory,
        sandbox::Outcome::Signalled(_) | sandbox::Outcome::DiskLimit => return Outcome::Crashed,
        sandbox::Outcome::Cancelled | sandbox::Outcome::DidNotStart(_) => return Outcome::DidNotStart,
        sandbox::Outcome::Exited(code) => *code,
    };
    let python = matches!(framework, Framework::Pytest | Framework::Unittest | Framework::Other);
    match code {
        _ if reading.trouble == Some(Trouble::OutOfMemory) => Outcome::OutOfMemory,
        _ if reading.trouble == Some(Trouble::Crash) => Outcome::Crashed,
        _ if reading.trouble == Some(Trouble::Panic) => Outcome::Panicked,
        _ if reading.trouble == Some(Trouble::TimedOut) => Outcome::TimedOut,
        1.. if reading.trouble == Some(Trouble::MissingModule) => Outcome::MissingModule,
        // With `-json` it succeeds whatever it finds.
        0 if framework == Framework::GoVet && !reading.diagnostics.is_empty() => Outcome::Flagged,
        1.. if !reading.diagnostics.is_empty() => match reading.trouble {
            _ if framework.is_linter() => Outcome::Flagged,
            Some(Trouble::NotCollected) => Outcome::DidNotCollect,
            _ => Outcome::DidNotBuild,
        },
        _ if reading.failed > 0 => Outcome::Failed,
        // Whatever the sums and the exit code say: a failure that is shown is one.
        0 if !reading.failures.is_empty() => Outcome::Failed,
        0 if reading.trouble == Some(Trouble::NotCollected) && !reading.diagnostics.is_empty() => {
            Outcome::DidNotCollect
        }
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

/// What linters print when they end because of a bug of their own, which some of them do with the same code.
fn says_that_it_broke(text: &str) -> bool {
    [
        "panicked at",
        "INTERNAL ERROR",
        "Ruff crashed",
        "Traceback (most recent",
    ]
    .iter()
    .any(|mark| text.contains(mark))
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
