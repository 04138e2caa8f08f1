//! The input of the ladder's rungs, and their result.

use super::super::worktree::Worktree;
use super::turned_down::Rejected;
use super::{Brief, Red};
use crate::config::flags::EnginePart;
use crate::domain::id::RepoPath;
use crate::domain::patch::Patch;
use crate::domain::proposal::{Author, Evidence, Proposal};
use crate::domain::search::{FoundBy, Search};
use crate::repair;
use crate::suite::Suite;

/// How the ladder ended.
pub(super) enum Top {
    Proposed(Box<Proposal>),
    /// Contains the whole search so far.
    NotFound(Box<Search>),
    Interrupted,
}

/// The input of a rung.
#[derive(Clone, Copy)]
pub(super) struct Ground<'a> {
    pub(super) worktree: &'a Worktree,
    pub(super) suite: &'a Suite,
    pub(super) red: Red<'a>,
    pub(super) brief: &'a Brief<'a>,
    pub(super) turned_down: &'a Rejected,
}

impl<'a> Ground<'a> {
    /// The task of a search; `tried` are candidates that are not tried again.
    pub(super) fn task<'t>(
        &self,
        protected: &'t (dyn Fn(&RepoPath) -> bool + Sync),
        tried: &'t [String],
    ) -> repair::Task<'t>
    where
        'a: 't,
    {
        let Ground {
            worktree, suite, red, ..
        } = *self;
        repair::Task {
            checkout: &worktree.checkout,
            suite,
            before: red.before,
            changed: &worktree.changed,
            originals: &worktree.originals,
            protected,
            excluded: &self.turned_down.digests,
            turned_down: &self.turned_down.patches,
            tried,
            left_out: repair::LeftOut {
                suggestions: self.is_without(EnginePart::Tool),
                reverts: self.is_without(EnginePart::Revert),
                edits: self.is_without(EnginePart::Search),
                comparison: self.is_without(EnginePart::Compare),
            },
        }
    }

    pub(super) fn is_without(&self, part: EnginePart) -> bool {
        self.worktree.without.contains(&part)
    }

    /// A proposal made without a model.
    pub(super) fn proposal(
        &self,
        (patch, summary): (Patch, String),
        evidence: Evidence,
        found_by: FoundBy,
    ) -> Proposal {
        Proposal {
            head: self.red.head.clone(),
            patch,
            summary,
            author: Author::BuiltIn,
            evidence: Some(evidence),
            weakens: Vec::new(),
            tests_first: None,
            measures: None,
            found_by: Some(found_by),
        }
    }
}
