//! A patch that was made on the merge of a head with its base branch lands on the head. So it must apply to the head,
//! and the head must pass with it.

use tokio_util::sync::CancellationToken;

use super::super::Broken;
use super::super::worktree::Worktree;
use super::{Brief, Red, WorkOutcome};
use crate::domain::id::RepoPath;
use crate::domain::patch::Patch;
use crate::domain::proposal::{self, Claim, Evidence, Unfit};
use crate::domain::run::Tested;
use crate::domain::triage::ProvedWith;
use crate::suite::{self, Suite};

/// The patch as it lands. `None` if the worktree is the head's, so that the patch lands unchanged.
///
/// # Errors
/// When the mirror fails. A patch that does not apply to the head is `Ok(Err(why))`.
pub(super) async fn carried(
    worktree: &Worktree,
    (patch, claim): (&Patch, Claim),
    red: &Red<'_>,
) -> Result<Result<Option<Patch>, Unfit>, Broken> {
    let Some(merge) = &worktree.merge else {
        return Ok(Ok(None));
    };
    let on_head = match red.on_head {
        Some(patch) => patch.clone(),
        None => match merge.to_head(patch).await? {
            Ok(on_head) => on_head,
            Err(conflict) => {
                let (branch, paths) = (merge.branch.clone(), conflict.paths);
                return Ok(Err(Unfit::NotOnHead { branch, paths }));
            }
        },
    };
    // On the head it may change another file, if one was renamed meanwhile.
    let is_protected = |path: &RepoPath| worktree.config.protect.paths.covers(path);
    let inputs = worktree.inputs(Some(red.before));
    let weakenings = |patch: &Patch| worktree.weakenings(patch, &inputs);
    let fits = proposal::check(&on_head, claim, &worktree.bounds(&is_protected, &weakenings));
    Ok(fits.map(|_| Some(on_head)))
}

/// Runs the whole suite on a fresh copy of the head with a patch, and turns evidence of the merge into evidence of
/// that patch.
///
/// # Errors
/// When the sandbox cannot be used. A head that fails with the patch is `Ok(Err(why))`.
pub(super) async fn proved(
    worktree: &Worktree,
    suite: &Suite,
    (on_head, evidence): (Option<Patch>, Evidence),
    cancel: &CancellationToken,
) -> Result<Result<Evidence, Unfit>, Broken> {
    let (Some(on_head), Some(merge)) = (on_head, &worktree.merge) else {
        return Ok(Ok(evidence));
    };
    let mut patched = merge.head.clone();
    patched.reset();
    patched.apply(&on_head);
    let alone = suite::run_fresh(suite, &patched, &[], cancel).await?;
    // Failures that were excused on the merge are excused here, too.
    let alone = alone.excusing(&evidence.before.excused);
    let branch = merge.branch.clone();
    if !alone.is_green() {
        let after = alone.summary();
        return Ok(Err(Unfit::RedOnHead { branch, after }));
    }
    let with = ProvedWith {
        branch,
        tip: merge.tip.clone(),
        alone: alone.summary(),
    };
    Ok(Ok(evidence.of_merge(&on_head, with)))
}

/// Carries a patch on the head over to this worktree. `None` if it no longer applies.
///
/// # Errors
/// When the mirror fails.
pub(super) async fn on_worktree(worktree: &Worktree, patch: &Patch) -> Result<Option<Patch>, Broken> {
    match &worktree.merge {
        None => Ok(None),
        Some(merge) => Ok(merge.from_head(patch).await?.ok()),
    }
}

/// Replaces the proposal of an outcome by the one that lands.
///
/// # Errors
/// When the mirror fails.
pub(super) async fn landing(worktree: &Worktree, mut outcome: WorkOutcome) -> Result<WorkOutcome, Broken> {
    if let (WorkOutcome::Proposed(proposal), Some(merge)) = (&mut outcome, &worktree.merge) {
        match merge.to_head(&proposal.patch).await? {
            Ok(on_head) => proposal.patch = on_head,
            Err(_) => return Err(Broken::Bug("a proved patch does not apply to the head".into())),
        }
    }
    Ok(outcome)
}

/// What a model has to know about the tree it sees, and about the one that CI tested. `None` if there is only the
/// head.
pub(super) fn remark(worktree: &Worktree, brief: &Brief<'_>) -> Option<String> {
    if let Some(merge) = &worktree.merge {
        let (branch, tip) = (&merge.branch, merge.tip.short());
        return Some(format!(
            "The tree is the head of the pull request merged with `{branch}` at {tip}. Each is green alone; only the \
             merge fails. Your change lands on the head alone: change only files and lines that the head has, and \
             keep the head alone green, too. If there is no such change, say that `{branch}` has to be merged into \
             the branch first, and what to change then."
        ));
    }
    let tested = brief.reading.and_then(|reading| reading.tested);
    (tested == Some(Tested::Merge) && brief.before.is_none()).then(|| {
        "CI tested the merge of this head with its base branch, but the tree is that of the head alone: line numbers \
         in the log may be off, and anything missing may come from the base branch."
            .into()
    })
}
