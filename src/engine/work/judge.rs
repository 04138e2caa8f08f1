//! Judges a model's submission by the rule of its mode. The rules themselves are in the files beside this one.

use tokio_util::sync::CancellationToken;

use super::super::worktree::Worktree;
use super::{Brief, WorkOutcome};
use crate::domain::id::RepoPath;
use crate::domain::patch::Patch;
use crate::domain::proposal::{self, Author, Claim, Evidence, Proposal, Unfit};
use crate::domain::test_run::TestRun;
use crate::suite::Suite;

/// What is needed to judge a submission.
pub(super) struct Judge<'a> {
    pub(super) worktree: &'a Worktree,
    /// `None` if nothing may be executed.
    pub(super) suite: Option<&'a Suite>,
    pub(super) brief: &'a Brief<'a>,
    /// The model's name.
    pub(super) name: &'a str,
    pub(super) cancel: &'a CancellationToken,
}

/// A patch that a model submits.
pub(super) struct Submission {
    pub(super) patch: Patch,
    /// Untrusted text.
    pub(super) summary: String,
    pub(super) claim: Claim,
}

/// Why a submission is rejected, as told to the model, with the run that shows it.
#[derive(Debug)]
pub(super) struct Unaccepted {
    pub(super) why: String,
    pub(super) run: Option<Box<TestRun>>,
}

pub(super) type Judged = Result<WorkOutcome, Unaccepted>;

impl<T: std::fmt::Display> From<T> for Unaccepted {
    fn from(why: T) -> Self {
        let why = why.to_string();
        Self { why, run: None }
    }
}

impl Judge<'_> {
    /// A proposal by this model.
    pub(super) fn proposal(&self, submission: Submission, evidence: Option<Evidence>) -> Proposal {
        Proposal {
            head: self.brief.head.clone(),
            patch: submission.patch,
            summary: submission.summary,
            author: Author::Model(self.name.to_string()),
            evidence,
            weakens: Vec::new(),
            tests_first: None,
            measures: None,
            found_by: None,
        }
    }

    /// Checks that a patch stays within the bounds of every patch and weakens no test.
    ///
    /// # Errors
    /// Which bound the patch exceeds.
    pub(super) fn fits(&self, patch: &Patch) -> Result<(), Unfit> {
        let is_protected = |path: &RepoPath| self.worktree.config.protect.paths.covers(path);
        let inputs = self.worktree.inputs(self.brief.before);
        let weakenings = |patch: &Patch| self.worktree.weakenings(patch, &inputs);
        proposal::check(patch, Claim::Fix, &self.worktree.bounds(&is_protected, &weakenings)).map(drop)
    }
}
