//! Lends what a person installed beside their own checkout (`node_modules`, a virtual environment) to the tests of a
//! copy of it, read-only.
//!
//! For local work only: the folders are the person's own, and nothing can write to them from inside.

mod javascript;
mod python;

use std::path::Path;

use super::{Installed, TestCommand};

/// Finds what lies beside the tree in `root` that this command's tests need.
pub fn lend(root: &Path, command: &TestCommand) -> Installed {
    let mut lent = Installed::default();
    javascript::lend(root, command, &mut lent);
    python::lend(root, command, &mut lent);
    lent
}
