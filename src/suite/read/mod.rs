//! Reads what a test command printed, and the reports that it wrote, into a [`TestRun`].
//!
//! One file per family of formats; each turns a [`Printed`] into a [`Reading`], and `conclude.rs` holds the reading
//! against how the process ended. Nothing here runs anything or touches the disk.

mod bun;
mod compiler;
mod conclude;
mod ctest;
mod dotnet;
mod eslint;
mod go;
mod gradle;
mod javascript;
mod jest;
mod junit;
mod libtest;
mod lint;
mod maven;
mod minitest;
mod mocha;
mod nextest;
mod node;
mod phpunit;
mod pytest;
mod reading;
mod recognise;
mod rspec;
mod rustc;
mod sums;
mod tap;
mod tsc;
mod unittest;
mod vitest;
mod yaml;

use super::{Framework, text};
use crate::domain::test_run::{Location, TestRun};
use crate::sandbox::Output;

use reading::{Reading, Trouble};
pub(super) use recognise::recognise;

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
    conclude::conclude(framework, output, read_printed(framework, &printed), &text)
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
        Framework::Maven => maven::read(printed.text),
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
