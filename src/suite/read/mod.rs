//! Reads what a test command printed, and the reports that it wrote, into a [`TestRun`].
//!
//! One file per family of formats; each turns a [`Printed`] into a [`Reading`], and `conclude.rs` holds the reading
//! against how the process ended. Nothing here runs anything or touches the disk.

mod assertion;
mod bun;
mod compared;
mod compiler;
mod conclude;
mod ctest;
mod dotnet;
mod eslint;
mod go;
mod govet;
mod gradle;
mod javascript;
mod jest;
mod junit;
mod jvm;
mod libtest;
mod lint;
mod maven;
mod minitest;
mod mocha;
mod mypy;
mod nextest;
mod node;
mod phpunit;
mod prove;
mod pytest;
mod reading;
mod recognise;
mod rspec;
mod ruff;
mod rustc;
mod sums;
mod tap;
mod tsc;
mod unittest;
mod vitest;
mod yaml;

use reading::{Reading, Trouble};
pub(super) use recognise::recognise;

use super::{Framework, text};
use crate::domain::test_run::{Failure, Location, Outcome, TestRun};
use crate::sandbox::Output;

/// Longest name of a test that is kept whole.
const MAX_NAME: usize = 1_000;
/// Longest message of one failure.
const MAX_MESSAGE: usize = 4_000;
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
    let (framework, reading) = match framework {
        Framework::Other => as_recognised(&text),
        _ => (framework, read_printed(framework, &printed)),
    };
    let mut run = conclude::conclude(framework, output, reading, &text);
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
fn as_recognised(text: &str) -> (Framework, Reading) {
    let linters = [Framework::Ruff, Framework::Mypy, Framework::Eslint, Framework::GoVet];
    match recognise(text) {
        Some((framework, reading)) if linters.contains(&framework) && !reading.ran() => (framework, reading),
        Some((_, reading)) => (Framework::Other, reading),
        None => (Framework::Other, Reading::default()),
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

/// Reads what is known or thought to come from a framework.
fn read_printed(framework: Framework, printed: &Printed<'_>) -> Reading {
    match framework {
        Framework::Cargo => libtest::read(printed.text),
        Framework::Nextest => nextest::read(printed),
        Framework::Rustc => rustc::read(printed.text),
        Framework::Pytest => pytest::read(printed),
        Framework::Unittest => unittest::read(printed.text),
        Framework::Ruff | Framework::Mypy | Framework::Eslint | Framework::Tsc | Framework::GoVet => {
            lint::read(framework, printed)
        }
        Framework::Node | Framework::Tap => tap::read(printed),
        Framework::Jest => jest::read(printed),
        Framework::Vitest => vitest::read(printed),
        Framework::Mocha => mocha::read(printed),
        Framework::Bun => bun::read(printed),
        Framework::Go => go::read(printed.text),
        Framework::Maven => maven::read(printed),
        Framework::Gradle => gradle::read(printed),
        Framework::Dotnet => dotnet::read(printed),
        Framework::Rspec => rspec::read(printed),
        Framework::Minitest => minitest::read(printed),
        Framework::Phpunit => phpunit::read(printed),
        Framework::Ctest => ctest::read(printed),
        Framework::Compiler => compiler::read(printed),
        Framework::Other => recognise(printed.text).map(|(_, reading)| reading).unwrap_or_default(),
    }
}

/// A location from the two halves of `path:line`.
fn location(path: &str, line: &str) -> Option<Location> {
    Some(Location {
        path: path.to_string(),
        line: line.parse().ok()?,
    })
}

#[cfg(test)]
mod tests;
