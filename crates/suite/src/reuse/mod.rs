//! Reuses the dependencies that a person installed beside their own checkout (`node_modules`, a virtual environment), or
//! built in it: the tests of a copy of it see them, read-only.
//!
//! For local work only: the folders are the person's own, and nothing can write to them from inside.

mod built;
mod generated;
mod javascript;
mod python;

use std::path::Path;

use crate::install::Installed;
use crate::test_command::TestCommand;

/// Finds what lies beside the tree in `root` that this command's tests need; `active` is the virtual environment of
/// Python that the person works in.
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
