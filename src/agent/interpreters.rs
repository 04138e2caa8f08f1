//! The interpreters that a shell holds for a model that acts by code. [`super::codeact`] runs them.

use super::running::InUse;
use crate::sandbox::{Language, Session};

/// The interpreters of a run, and the copy of the tree that they share. Dropped, they are gone.
pub(super) struct Cells {
    pub(super) in_use: InUse,
    pub(super) sessions: Vec<(Language, Session)>,
}
