//! Takes back the commit that greenlight landed last, if nothing came after it.

use super::comment::Verdict;
use super::{Broken, Context, announce};
use crate::domain::gate::Refusal;
use crate::domain::id::{Account, RunId};
use crate::domain::patch::{FileChange, Patch};
use crate::domain::reply;
use crate::domain::run::{End, Step};
use crate::github::{LandError, Landing};

/// Commits the reverse of what landed, on top of it.
///
/// # Errors
/// When something broke.
pub(super) async fn undo(context: &Context<'_>, by: &Account) -> Result<Verdict, Broken> {
    let runs = context.app.journal.runs_of(context.id()).await?;
    let pull_request = &context.pull_request;
    let landed = runs.iter().rev().find_map(|run| match &run.end {
        Some(End::Landed { commit }) => Some((run, commit)),
        _ => None,
    });
    let Some((mut run, commit, proposal)) =
        landed.and_then(|(run, commit)| Some((run.clone(), commit, run.proposal.as_ref()?)))
    else {
        return Ok(Err(Refusal::NothingToUndo));
    };
    let patch = Patch::new(proposal.patch.files().map(|(path, change)| {
        (
            path.clone(),
            FileChange {
                before: change.after.clone(),
                after: change.before.clone(),
            },
        )
    }));
    // Where the fork is gone, a branch of the same name in the base repository is another one.
    let Some(repository) = &pull_request.head_repository else {
        return Ok(Err(Refusal::NothingToUndo));
    };
    // What the journal says of the patch may be anybody's word: taken back is the tree that was there before.
    let Some(tree) = context.client.tree_before(repository, commit).await? else {
        return Ok(Err(Refusal::NothingToUndo));
    };
    let landing = Landing {
        repository,
        branch: &pull_request.head_branch,
        // Where the branch is by now is looked up there: still here, or at the commit that took it back.
        head: commit,
        patch: &patch,
        tree: Some(&tree),
        message: &format!("Undo {}\n\nAsked for by {by}.", commit.short()),
        run: &RunId(format!("{}-undo", run.id())),
    };
    match context.client.land(&landing).await {
        Ok(commit) => {
            let answer = format!("Taken back with {}.", commit.short());
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
