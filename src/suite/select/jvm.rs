//! Maven and Gradle.

use crate::checkout::Checkout;
use crate::domain::id::RepoPath;
use crate::suite::TestCommand;

pub(super) fn tests(_command: &TestCommand, _only: &[String]) -> Option<Vec<String>> {
    None
}

pub(super) fn package(_checkout: &Checkout, _command: &TestCommand, _near: &[RepoPath]) -> Option<Vec<String>> {
    None
}
