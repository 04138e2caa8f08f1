//! Narrows a test command down to named tests.
//!
//! Names come from the output of untrusted code. A name must never become an option, a file of arguments or a
//! pattern; one that could is not passed on, and then all tests run, which takes longer but says no less.

pub(super) mod javascript;
pub(super) mod jvm;
pub(super) mod python;
pub(super) mod rust;

use greenlight_anchor::RepoPath;
use greenlight_tree::checkout::Checkout;

use crate::test_command::TestCommand;

/// More names than this are not worth listing.
const MAX_NAMES: usize = 200;
/// Bytes of all names together that may continue a command line.
const MAX_BYTES: usize = 32_000;

/// The command's arguments for the named tests alone; all of its tests if the list is empty or cannot be expressed.
pub(super) fn argv(command: &TestCommand, only: &[String]) -> Vec<String> {
    let bytes: usize = only.iter().map(String::len).sum();
    let harmless = only
        .iter()
        .all(|name| !name.is_empty() && !name.chars().any(char::is_control));
    let narrowed = if only.is_empty() || only.len() > MAX_NAMES || bytes > MAX_BYTES || !harmless {
        None
    } else {
        tests(command, only)
    };
    narrowed.unwrap_or_else(|| command.argv.clone())
}

/// Whether the command can be told to run the named tests alone.
pub fn narrows(command: &TestCommand, only: &[String]) -> bool {
    argv(command, only) != command.argv
}

fn tests(command: &TestCommand, only: &[String]) -> Option<Vec<String>> {
    (command.framework.spec().filter)(command, only)
}

/// The same command for the parts of a project that these files belong to: packages, modules or directories of tests.
/// None where that is the whole project, or cannot be said.
pub fn package(checkout: &Checkout, command: &TestCommand, near: &[RepoPath]) -> Option<TestCommand> {
    if near.is_empty() {
        return None;
    }
    let argv = (command.framework.spec().part)(checkout, command, near)?;
    (argv != command.argv).then(|| TestCommand {
        argv,
        ..command.clone()
    })
}

#[cfg(test)]
mod tests;
