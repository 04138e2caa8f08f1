//! The merge base of a pull request, which tells new failures from those that existed before.

use tokio_util::sync::CancellationToken;

use super::work::Base;
use super::worktree::{self, Worktree};
use super::{Broken, Context};
use crate::checkout::Checkout;
use crate::domain::id::{CommitSha, RepoPath};
use crate::domain::patch::{FileChange, Patch};
use crate::domain::run::Run;
use crate::domain::test_path::is_test_path;
use crate::domain::test_run::TestRun;
use crate::domain::triage::Triage;
use crate::domain::weakening::Weakening;
use crate::guard;
use crate::suite::Suite;

/// The number of places kept in which the pull request itself weakens tests.
const MAX_WEAKENED: usize = 10;

/// A reproduced failure and its triage.
pub(super) struct Reproduced {
    pub(super) before: TestRun,
    pub(super) triage: Triage,
    /// The merge of the head with its base branch, if that is what fails and not the head.
    pub(super) ground: Option<(Worktree, Suite)>,
}

/// Finds where the pull request itself weakens tests. This is only shown to readers; nothing depends on it.
pub(super) async fn by_pull_request(base: &Worktree, head: &Worktree) -> Vec<Weakening> {
    let (old, new) = (base.checkout.clone(), head.checkout.clone());
    let changed: Vec<RepoPath> = head.changed.keys().cloned().collect();
    let found = tokio::task::spawn_blocking(move || {
        let mut found = guard::weakenings(&between(&old, &new, changed), &guard::Inputs::default());
        found.retain(|weakening| weakening.kind.takes_away());
        found.truncate(MAX_WEAKENED);
        found
    });
    found.await.unwrap_or_default()
}

/// The difference in these files, and the test files that were deleted.
fn between(old: &Checkout, new: &Checkout, changed: Vec<RepoPath>) -> Patch {
    let is_gone = |path: &&RepoPath| is_test_path(path.as_str()) && !new.contains(path.as_str());
    let gone: Vec<RepoPath> = old.paths().into_iter().filter(is_gone).cloned().collect();
    let changes = changed.into_iter().chain(gone).filter_map(|path| {
        let (before, after) = (old.read_original(&path), new.read_original(&path));
        (before != after).then_some((path, FileChange { before, after }))
    });
    Patch::new(changes)
}

/// Lays out the merge base to compare with.
///
/// # Errors
/// As for [`at`].
pub(super) async fn laid_out(
    context: &Context<'_>,
    run: &Run,
    (worktree, suite): (&Worktree, &Suite),
    cancel: &CancellationToken,
) -> Result<Option<Base>, Broken> {
    let found = context.merge_base(run).await?;
    let Some(commit) = found.filter(|commit| *commit != run.started.head) else {
        return Ok(None);
    };
    at(context, &commit, (worktree, suite), cancel).await
}

/// Lays out a commit of the base branch to compare with, to be tested with the same command. `None` if its
/// dependencies cannot be installed.
///
/// # Errors
/// When it cannot be fetched, or the sandbox cannot be used.
pub(super) async fn at(
    context: &Context<'_>,
    commit: &CommitSha,
    (worktree, suite): (&Worktree, &Suite),
    cancel: &CancellationToken,
) -> Result<Option<Base>, Broken> {
    let worktree = worktree::lay_out(context, commit, worktree.config.clone()).await?;
    let mut suite = suite.clone();
    let settings = worktree.install_settings(context.app.github.hosts());
    if let Err(reason) = worktree.install(&mut suite, &settings, cancel).await? {
        tracing::info!(reason, "the dependencies of the base branch cannot be installed");
        return Ok(None);
    }
    let commit = commit.clone();
    Ok(Some(Base {
        commit,
        worktree,
        suite,
    }))
}
