//! Reads the output of a test command and its reports into a [`TestRun`].
//!
//! Each framework turns a [`Printed`] into a [`ParsedRun`], with helpers that several of them share, and `verdict.rs`
//! compares it with how the process ended. Nothing here runs anything or touches the disk.

pub(super) mod recognise;
mod verdict;

pub use greenlight_readers::Report;
use greenlight_readers::test_run::{Failure, Outcome, TestRun};
use greenlight_readers::{MAX_FAILURES, ParsedRun, Printed, is_whole};
use greenlight_sandbox::Output;

use self::recognise::recognise;
use super::text;
use crate::framework::Framework;
use crate::frameworks::spec::FrameworkKind;

/// Reads the result of a command; the run's `command` field is left empty.
pub fn read(framework: Framework, output: &Output, reports: &[Report]) -> TestRun {
    let text = text::printed(&output.stdout, &output.stderr);
    let printed = Printed { text: &text, reports };
    let (framework, mut parsed) = match framework {
        Framework::Other => as_recognised(&text),
        _ => (framework, (framework.spec().parse)(&printed)),
    };
    for report in reports.iter().filter(|report| !is_whole(report)) {
        if !parsed.misses(&report.path) {
            parsed.miss(&report.path, "it is cut off, too large, or not a regular file");
        }
    }
    let mut run = verdict::verdict_of(framework, output, parsed, &text);
    // What cannot be read may contain anything, so it keeps a run from being green.
    if !run.unread.is_empty() && matches!(run.outcome, Outcome::Passed | Outcome::NothingRan) {
        run.outcome = Outcome::Crashed;
        let room = MAX_FAILURES.saturating_sub(run.failures.len());
        run.failures.extend(run.unread.iter().take(room).map(|note| Failure {
            name: note.split_once(": ").map_or(note.as_str(), |(report, _)| report).into(),
            message: format!("part of this report cannot be read: {note}"),
            ..Failure::default()
        }));
    }
    run
}

/// Recognises the output of an unknown command. Linters do not give it their name: findings differ from test results.
fn as_recognised(text: &str) -> (Framework, ParsedRun) {
    match recognise(text) {
        Some((framework, parsed)) if framework.spec().kind == FrameworkKind::Linter && !parsed.ran() => {
            (framework, parsed)
        }
        Some((_, parsed)) => (Framework::Other, parsed),
        None => (Framework::Other, ParsedRun::default()),
    }
}

#[cfg(test)]
mod tests;
