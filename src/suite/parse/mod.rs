//! Reads what a test command printed, and the reports that it wrote, into a [`TestRun`].
//!
//! Each framework turns a [`Printed`] into a [`ParsedRun`], with the help of what several of them share here, and
//! `verdict.rs` compares it with how the process ended. Nothing here runs anything or touches the disk.

pub(super) mod assertion;
pub(super) mod compared;
pub(super) mod javascript;
pub(super) mod junit;
pub(super) mod jvm;
mod node;
mod parsed_run;
mod prove;
mod recognise;
mod sums;
pub(super) mod tap;
mod verdict;
mod yaml;

pub(super) use parsed_run::{Anomaly, ParsedRun};
pub(super) use recognise::recognise;

use super::frameworks::Kind;
use super::{Framework, text};
use crate::domain::test_run::{Failure, Location, Outcome, TestRun};
use crate::sandbox::Output;

/// Longest name of a test that is kept whole.
pub(in crate::suite) const MAX_NAME: usize = 1_000;
/// Longest message of one failure.
pub(in crate::suite) const MAX_MESSAGE: usize = 4_000;
/// How much of the end of the output is kept.
const MAX_TAIL: usize = 4_000;

/// A file that a framework was asked to write its results to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Relative to where the command ran.
    pub path: String,
    /// Nothing where the file is there but cannot be taken: it is too large, empty, or no ordinary file.
    pub bytes: Vec<u8>,
}

/// Everything a command left behind to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Printed<'a> {
    /// Both output streams, cleaned.
    pub(super) text: &'a str,
    /// Believed more than the text.
    pub(super) reports: &'a [Report],
}

/// Reads the result of a command; `command` of the run is left empty.
pub fn read(framework: Framework, output: &Output, reports: &[Report]) -> TestRun {
    let text = text::printed(&output.stdout, &output.stderr);
    let printed = Printed { text: &text, reports };
    let (framework, parsed) = match framework {
        Framework::Other => as_recognised(&text),
        _ => (framework, (framework.spec().parse)(&printed)),
    };
    let mut run = verdict::conclude(framework, output, parsed, &text);
    // What cannot be read may have said anything, so it keeps a run from being green.
    if run.is_green()
        && let Some(report) = reports.iter().find(|report| !is_whole(report))
    {
        run.outcome = Outcome::Crashed;
        run.failures.push(Failure {
            name: text::one_line(&report.path, MAX_NAME),
            message: "this report cannot be read: it is cut off, too large, or no ordinary file".into(),
            ..Failure::default()
        });
    }
    run
}

/// What an unknown command printed. Linters give up their name, because what they find is of another kind.
fn as_recognised(text: &str) -> (Framework, ParsedRun) {
    match recognise(text) {
        Some((framework, parsed)) if framework.spec().kind == Kind::Linter && !parsed.ran() => (framework, parsed),
        Some((_, parsed)) => (Framework::Other, parsed),
        None => (Framework::Other, ParsedRun::default()),
    }
}

/// Whether a report is there to its end. One without content is one that could not be taken.
fn is_whole(report: &Report) -> bool {
    match report.bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => false,
        Some(b'<' | 0xef | 0xfe | 0xff) => junit::is_whole(&report.bytes),
        // One document, or one on each line.
        Some(b'{' | b'[') => {
            let values = serde_json::Deserializer::from_slice(&report.bytes).into_iter::<serde::de::IgnoredAny>();
            values.take(1_000_000).all(|value| value.is_ok())
        }
        Some(_) => true,
    }
}

/// A location from the two halves of `path:line`.
pub(super) fn location(path: &str, line: &str) -> Option<Location> {
    Some(Location {
        path: path.to_string(),
        line: line.parse().ok()?,
    })
}

#[cfg(test)]
mod tests;
