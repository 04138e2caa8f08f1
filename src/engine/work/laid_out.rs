//! The tree that the head is compared with, laid out when it is first needed.

use std::time::Duration;

use futures::future::BoxFuture;

use super::super::Broken;
use super::super::worktree::Worktree;
use super::tested_tree::TestedTree;
use crate::domain::id::CommitSha;
use crate::suite::{Purpose, Suite};

/// The tree to compare with.
pub struct Base {
    pub commit: CommitSha,
    /// Keeps the tree on disk for as long as it is needed.
    pub worktree: Worktree,
    /// The same command as at the head, with the dependencies of this tree.
    pub suite: Suite,
}

/// Lays out the tree to compare with when it is first needed. `None` if there is none.
pub type LayOut<'a> = dyn FnMut() -> BoxFuture<'a, Result<Option<Base>, Broken>> + Send + 'a;

/// Lays out the base, whose tests should take about this long.
///
/// # Errors
/// When it cannot be laid out.
pub(super) async fn laid_out(
    base: &mut LayOut<'_>,
    takes: Option<Duration>,
) -> Result<Option<(Base, TestedTree)>, Broken> {
    let Some(base) = base().await? else { return Ok(None) };
    let tree = TestedTree::new(&base.worktree.checkout, &base.suite.for_purpose(Purpose::Triage));
    if let Some(takes) = takes {
        tree.pace.saw(takes);
    }
    Ok(Some((base, tree)))
}
