//! Narrows a test command down to named tests.
//!
//! Names come from the output of untrusted code. A name must never become an option, an argument file or a pattern. A
//! name that could is not passed on; then all tests run, which takes longer but loses nothing.

pub(super) mod javascript;
pub(super) mod jvm;
pub(super) mod python;
pub(super) mod rust;

use greenlight_anchor::RepoPath;
use greenlight_tree::checkout::Checkout;

use crate::test_command::TestCommand;

/// Maximum number of names; longer lists run all tests.
const MAX_NAMES: usize = 200;
/// Maximum size of all names on a command line, in bytes.
const MAX_BYTES: usize = 32_000;

/// The command's arguments for the named tests alone, or for all tests if the list is empty or cannot be expressed.
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

/// Whether the command can run the named tests alone.
pub fn narrows(command: &TestCommand, only: &[String]) -> bool {
    argv(command, only) != command.argv
}

fn tests(command: &TestCommand, only: &[String]) -> Option<Vec<String>> {
    (command.framework.spec().filter)(command, only)
}

/// The same command for the parts of a project that these files belong to: packages, modules or directories of tests.
/// `None` if that is the whole project, or cannot be determined.
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
