//! Takes back the commit that greenlight landed last, if nothing came after it.

use super::verdict::VerbResult;
use super::{Broken, Context, announce};
use crate::domain::gate::Refusal;
use crate::domain::landing::Landing;
use crate::domain::permission::{Authorized, Undo};
use crate::domain::reply;
use crate::domain::run::{End, Step};
use crate::github::{Branch, LandError};

/// Commits the reverse of what landed, on top of it.
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
    // Where the fork is gone, a branch of the same name in the base repository is another one.
    let Some(repository) = &pull_request.head_repository else {
        return Ok(Err(Refusal::NothingToUndo));
    };
    // What the journal says of the patch may be anybody's word: taken back is the tree that was there before.
    let Some(tree) = context.client.tree_before(repository, commit).await? else {
        return Ok(Err(Refusal::NothingToUndo));
    };
    let Some(landing) = Landing::undo(request, &run, (commit, tree)) else {
        return Ok(Err(Refusal::NothingToUndo));
    };
    // `land` looks up where the branch is: still at what landed, or already at the commit that took it back.
    let branch = Branch {
        repository,
        name: &pull_request.head_branch,
    };
    match context.client.land(branch, &landing).await {
        Ok(commit) => {
            let answer = format!("Reverted with {}.", commit.short());
            if run.undone.is_none() {
                context.app.journal.append(&mut run, Step::Undone { commit }).await?;
            }
            announce::announce(context, &run).await?;
            Ok(Ok(Some(answer)))
        }
        Err(LandError::HeadMoved { .. } | LandError::OtherTree { .. }) => Ok(Err(Refusal::NothingToUndo)),
        Err(LandError::NotTaken { why }) => Ok(Ok(Some(reply::not_taken_back(commit, &why)))),
        Err(error) => Err(error.into()),
    }
}
