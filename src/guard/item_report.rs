//! Collects the weakenings of one item, each once, and not too many.

use crate::domain::id::RepoPath;
use crate::domain::weakening::{Weakening, WeakeningKind};

/// The report on one item.
pub(super) struct ItemReport<'a> {
    pub(super) path: &'a RepoPath,
    pub(super) test: String,
    pub(super) found: &'a mut Vec<Weakening>,
}

impl ItemReport<'_> {
    pub(super) fn say(&mut self, kind: WeakeningKind, line: usize, what: impl Into<String>) {
        let what: String = what.into();
        let same = |other: &Weakening| {
            other.kind == kind && other.test == self.test && other.line == line && other.path == *self.path
        };
        if !self.found.iter().any(same) && self.found.len() < super::MAX_FOUND {
            self.found.push(Weakening {
                path: self.path.clone(),
                line,
                test: self.test.chars().take(200).collect(),
                kind,
                what: what.chars().take(400).collect(),
            });
        }
    }
}
