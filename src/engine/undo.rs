//! Reverts the commit that greenlight landed last, if it is still the branch's tip.

use super::verdict::VerbResult;
use super::{Broken, Context, announce};
use crate::domain::gate::Refusal;
use crate::domain::landing::Landing;
use crate::domain::permission::{Authorized, Undo};
use crate::domain::reply;
use crate::domain::run::{End, Step};
use crate::github::{Branch, LandError};

/// Commits the reverse of what landed on top of it.
///
/// # Errors
/// When something broke.
pub(super) async fn undo(context: &Context<'_>, request: &Authorized<Undo>) -> Result<VerbResult, Broken> {
    let runs = context.app.journal.runs_of(context.id()).await?;
    let pull_request = &context.pull_request;
    let landed = runs.iter().rev().find_map(|run| match &run.end {
        Some(End::Landed { commit }) => Some((run, commit)),
        _ => None,
    });
    let Some((mut run, commit)) = landed.map(|(run, commit)| (run.clone(), commit)) else {
        return Ok(Err(Refusal::NothingToUndo));
    };
    // If the fork is gone, a branch of the same name in the base repository is a different one.
    let Some(repository) = &pull_request.head_repository else {
        return Ok(Err(Refusal::NothingToUndo));
    };
    // Others may have written the journal's patch, so the tree from before the commit is restored.
    let Some(tree) = context.client.tree_before(repository, commit).await? else {
        return Ok(Err(Refusal::NothingToUndo));
    };
    let Some(landing) = Landing::undo(request, &run, (commit, tree)) else {
        return Ok(Err(Refusal::NothingToUndo));
    };
    // `land` checks the branch: it is still at the landed commit, or already at the commit that reverted it.
    let branch = Branch {
        repository,
        name: &pull_request.head_branch,
    };
    match context.client.land(branch, &landing).await {
        Ok(commit) => {
            let answer = format!("Reverted with {}.", commit.short());
            if run.undone.is_none() {
                context.app.append(&mut run, Step::Undone { commit }).await?;
            }
            announce::announce(context, &run, &mut announce::Shown::default()).await?;
            Ok(Ok(Some(answer)))
        }
        Err(LandError::HeadMoved { .. } | LandError::OtherTree { .. }) => Ok(Err(Refusal::NothingToUndo)),
        Err(LandError::NotTaken { why }) => Ok(Ok(Some(reply::not_taken_back(commit, &why)))),
        Err(error) => Err(error.into()),
    }
}
