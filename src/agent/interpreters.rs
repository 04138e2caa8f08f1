//! The interpreters of a model that acts through code. [`super::codeact`] runs them.

use super::running::InUse;
use crate::sandbox::{Language, Session};

/// The interpreters of a run, and the copy of the tree that they share. They end when this is dropped.
pub(super) struct Cells {
    pub(super) in_use: InUse,
    pub(super) sessions: Vec<(Language, Session)>,
}
