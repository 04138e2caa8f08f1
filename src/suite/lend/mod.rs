//! Lends what a person installed beside their own checkout (`node_modules`, a virtual environment) or built in it to
//! the tests of a copy of it, read-only.
//!
//! For local work only: the folders are the person's own, and nothing can write to them from inside.

mod built;
mod generated;
mod javascript;
mod python;

use std::path::Path;

use super::{Installed, TestCommand};

/// Finds what lies beside the tree in `root` that this command's tests need; `active` is the virtual environment of
/// Python that the person works in.
pub fn lend(root: &Path, command: &TestCommand, active: Option<&Path>) -> Installed {
    let mut lent = Installed {
        is_lent: true,
        ..Installed::default()
    };
    if javascript::lend(root, command, &mut lent) {
        built::lend(root, command, &mut lent);
    }
    python::lend(root, command, active, &mut lent);
    lent
}
