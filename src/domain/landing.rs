//! A commit that may be put on a branch. Only two things allow one: an approval, and a person's command to undo what
//! landed.

use std::borrow::Cow;

use super::id::{CommitSha, RunId};
use super::patch::{FileChange, Patch};
use super::permission::{Authorized, Undo};
use super::reply;
use super::run::{Approved, Run};

/// What may land, and on which head. Its fields are private, so no other code can make one:
///
/// ```compile_fail,E0451
/// use greenlight::domain::landing::Landing;
///
/// fn forged(other: Landing<'_>) -> Landing<'_> {
///     Landing { message: "Approved by nobody".into(), ..other }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Landing<'a> {
    head: &'a CommitSha,
    patch: Cow<'a, Patch>,
    tree: String,
    message: String,
    run: RunId,
}

impl<'a> Landing<'a> {
    /// What was approved; `tree` is the name of the tree that was tested.
    pub fn of(approved: &Approved<'a>, tree: String) -> Self {
        Self {
            head: approved.head(),
            patch: Cow::Borrowed(&approved.proposal().patch),
            tree,
            message: reply::commit_message(approved.proposal(), approved.by()),
            run: approved.run().clone(),
        }
    }

    /// The reverse of what a run landed as `commit`; `tree` is the name of the tree before it. `None` if the run has
    /// no proposal.
    pub fn undo(request: &Authorized<Undo>, run: &Run, (commit, tree): (&'a CommitSha, String)) -> Option<Self> {
        let landed = &run.proposal.as_ref()?.patch;
        let reversed = landed.files().map(|(path, change)| {
            let reversed = FileChange {
                before: change.after.clone(),
                after: change.before.clone(),
            };
            (path.clone(), reversed)
        });
        Some(Self {
            head: commit,
            patch: Cow::Owned(Patch::new(reversed)),
            tree,
            message: format!("Undo {}\n\nRequested by {}.", commit.short(), request.by()),
            run: RunId(format!("{}-undo", run.id())),
        })
    }

    /// The head that was tested. The branch must still point to it.
    pub fn head(&self) -> &CommitSha {
        self.head
    }

    pub fn patch(&self) -> &Patch {
        &self.patch
    }

    /// The name of the tree that was tested. Exactly this tree must land.
    pub fn tree(&self) -> &str {
        &self.tree
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    /// The run's id, which is in a trailer of the commit, so that the commit is found again after a crash.
    pub fn run(&self) -> &RunId {
        &self.run
    }
}
