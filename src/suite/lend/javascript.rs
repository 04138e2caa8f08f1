//! Packages of Node.

use std::path::Path;

use crate::suite::{Installed, TestCommand};

pub(super) fn lend(_root: &Path, _command: &TestCommand, _lent: &mut Installed) {}
