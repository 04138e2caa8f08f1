//! Reads the output of a test command and its reports into a [`TestRun`].
//!
//! Each framework turns a [`Printed`] into a [`ParsedRun`], with helpers that several of them share, and `verdict.rs`
//! compares it with how the process ended. Nothing here runs anything or touches the disk.

pub(super) mod recognise;
mod verdict;

pub use greenlight_readers::Report;
use greenlight_readers::test_run::{Failure, Outcome, TestRun};
use greenlight_readers::{MAX_NAME, ParsedRun, Printed, is_whole};
use greenlight_sandbox::Output;

use self::recognise::recognise;
use super::text;
use crate::framework::Framework;
use crate::frameworks::spec::FrameworkKind;

/// Reads the result of a command; the run's `command` field is left empty.
pub fn read(framework: Framework, output: &Output, reports: &[Report]) -> TestRun {
    let text = text::printed(&output.stdout, &output.stderr);
    let printed = Printed { text: &text, reports };
    let (framework, parsed) = match framework {
        Framework::Other => as_recognised(&text),
        _ => (framework, (framework.spec().parse)(&printed)),
    };
    let mut run = verdict::verdict_of(framework, output, parsed, &text);
    // An unreadable report may contain anything, so it keeps a run from being green.
    if run.is_green()
        && let Some(report) = reports.iter().find(|report| !is_whole(report))
    {
        run.outcome = Outcome::Crashed;
        run.failures.push(Failure {
            name: text::one_line(&report.path, MAX_NAME),
            message: "this report cannot be read: it is cut off, too large, or not a regular file".into(),
            ..Failure::default()
        });
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
