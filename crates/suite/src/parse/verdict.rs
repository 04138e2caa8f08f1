//! Compares parsed results with how the process ended: green needs both, red needs only one.

use greenlight_readers::test_run::{Outcome, TestRun};
use greenlight_readers::{Anomaly, MAX_MESSAGE, ParsedRun, WHOLE_COMMAND};
use greenlight_sandbox as sandbox;
use greenlight_sandbox::Output;
use greenlight_units::clock::millis;

use super::recognise::recognise;
use crate::framework::Framework;
use crate::text;

/// How much of the end of the output is kept, in bytes.
pub(super) const MAX_TAIL: usize = 4_000;

/// npm's errors for a program that is not installed: it would download it, but there is no network.
const NOT_INSTALLED: [&str; 4] = [
    "npm error code ENOTCACHED",
    "npm ERR! code ENOTCACHED",
    "npm error could not determine executable to run",
    "npm error npx canceled due to missing packages",
];

/// Compares parsed results with how the process ended.
pub(super) fn verdict_of(framework: Framework, output: &Output, mut parsed: ParsedRun, text: &str) -> TestRun {
    let unread = !parsed.ran() && parsed.diagnostics.is_empty();
    // Without any result, this exit code can only mean that the settings are unreadable.
    let spec = framework.spec();
    if unread && let Some(settings_error) = spec.settings_error {
        parsed.anomaly = match output.outcome {
            sandbox::Outcome::Exited(1..) if says_that_it_broke(text) => Some(Anomaly::Crash),
            sandbox::Outcome::Exited(code) if code == settings_error => Some(Anomaly::Environment),
            _ => parsed.anomaly,
        };
    }
    if unread && parsed.anomaly.is_none() && NOT_INSTALLED.iter().any(|mark| text.contains(mark)) {
        parsed.anomaly = Some(Anomaly::Environment);
    }
    let is_unusable = parsed.anomaly == Some(Anomaly::Environment);
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
            parsed.pass(WHOLE_COMMAND);
        } else {
            parsed.fail(WHOLE_COMMAND, None, &text::tail(text, MAX_MESSAGE));
        }
    }
    let outcome = outcome(framework, &output.outcome, &parsed);
    if output.outcome == sandbox::Outcome::TimedOut {
        for name in std::mem::take(&mut parsed.under_way) {
            parsed.fail(&name, None, "it did not finish");
        }
    }
    let tail = match &output.outcome {
        sandbox::Outcome::DidNotStart(reason) => text::bounded(&text::clean(reason.as_bytes()), MAX_TAIL),
        sandbox::Outcome::Cancelled => "cancelled".into(),
        _ => text::tail((spec.readable)(text).as_deref().unwrap_or(text), MAX_TAIL),
    };
    let diagnostics = u32::try_from(parsed.diagnostics.len()).unwrap_or(u32::MAX);
    let unloaded = matches!(
        outcome,
        Outcome::DidNotBuild | Outcome::DidNotCollect | Outcome::MissingModule | Outcome::Flagged
    );
    let failed = if unloaded {
        parsed.failed.saturating_add(diagnostics)
    } else {
        parsed.failed
    };
    let (passed, skipped) = (parsed.passed, parsed.skipped);
    let mut passed_names = std::mem::take(&mut parsed.passed_names);
    passed_names.sort_unstable();
    let mut skipped_names = std::mem::take(&mut parsed.skipped_names);
    skipped_names.sort_unstable();
    let (expected_failures, summary_counts) = (parsed.expected_failures, std::mem::take(&mut parsed.summary_counts));
    if !unloaded {
        parsed.diagnostics.clear();
    }
    TestRun {
        command: String::new(),
        outcome,
        passed,
        skipped,
        failed,
        passed_names,
        skipped_names,
        excused: Vec::new(),
        unstable: Vec::new(),
        unread: std::mem::take(&mut parsed.unread),
        expected_failures,
        summary_counts,
        failures: parsed.into_failures(),
        tail,
        coloured: None,
        duration_ms: millis(output.wall),
        saved_ms: 0,
    }
}

/// Either the exit code or the output alone makes a run red; green needs both.
fn outcome(framework: Framework, ended: &sandbox::Outcome, parsed: &ParsedRun) -> Outcome {
    let code = match ended {
        sandbox::Outcome::TimedOut => return Outcome::TimedOut,
        sandbox::Outcome::OutOfMemory => return Outcome::OutOfMemory,
        sandbox::Outcome::Signalled(_) | sandbox::Outcome::DiskLimit => return Outcome::Crashed,
        sandbox::Outcome::Cancelled | sandbox::Outcome::DidNotStart(_) => return Outcome::DidNotStart,
        sandbox::Outcome::Exited(code) => *code,
    };
    match code {
        _ if parsed.anomaly == Some(Anomaly::OutOfMemory) => Outcome::OutOfMemory,
        _ if parsed.anomaly == Some(Anomaly::Crash) => Outcome::Crashed,
        _ if parsed.anomaly == Some(Anomaly::Panic) => Outcome::Panicked,
        _ if parsed.anomaly == Some(Anomaly::TimedOut) => Outcome::TimedOut,
        1.. if parsed.anomaly == Some(Anomaly::MissingModule) => Outcome::MissingModule,
        0 if parsed.anomaly == Some(Anomaly::Findings) && framework.is_linter() => Outcome::Flagged,
        1.. if !parsed.diagnostics.is_empty() => match parsed.anomaly {
            _ if framework.is_linter() => Outcome::Flagged,
            Some(Anomaly::NotCollected) => Outcome::DidNotCollect,
            _ => Outcome::DidNotBuild,
        },
        _ if parsed.failed > 0 => Outcome::Failed,
        // A failure in the output counts, even if the totals and the exit code say otherwise.
        0 if !parsed.failures.is_empty() => Outcome::Failed,
        0 if parsed.anomaly == Some(Anomaly::NotCollected) && !parsed.diagnostics.is_empty() => Outcome::DidNotCollect,
        0 if parsed.passed > 0 => Outcome::Passed,
        0 if !parsed.ran() && !parsed.has_totals => (framework.spec().exit)(0).unwrap_or(Outcome::NothingRan),
        0 => Outcome::NothingRan,
        _ if parsed.anomaly == Some(Anomaly::Environment) => Outcome::DidNotStart,
        _ if parsed.anomaly == Some(Anomaly::NotFound) => Outcome::NothingRan,
        126 | 127 => Outcome::DidNotStart,
        code => (framework.spec().exit)(code).unwrap_or(Outcome::Crashed),
    }
}

/// What linters print when they crash. Some of them exit with the same code as for findings.
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

/// What frameworks print in place of results if there are none.
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
