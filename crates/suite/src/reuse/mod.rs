//! Reuses the dependencies that a person installed in their own checkout (`node_modules`, a virtual environment), or
//! built there: tests of a copy of the checkout see them, read-only.
//!
//! For local work only: the folders are the person's own, and nothing in the sandbox can write to them.

mod built;
mod generated;
mod javascript;
mod python;

use std::path::Path;

use crate::install::Installed;
use crate::test_command::TestCommand;

/// Finds what this command's tests need in the checkout at `root`; `active` is the person's active virtual
/// environment of Python.
pub fn reuse_installed(root: &Path, command: &TestCommand, active: Option<&Path>) -> Installed {
    let mut reused = Installed {
        is_reused: true,
        ..Installed::default()
    };
    if javascript::reuse(root, command, &mut reused) {
        built::reuse(root, command, &mut reused);
    }
    python::reuse(root, command, active, &mut reused);
    reused
}
