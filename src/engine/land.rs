//! Commits what was approved, exactly as it was tested.

use super::{Broken, Context, merge, propose, retarget, vouch};
use crate::domain::landing::Landing;
use crate::domain::run::{End, Run, Step};
use crate::github::{Branch, Error, LandError};

/// Lands the approved patch, if every approver still has the permission.
///
/// # Errors
/// When GitHub cannot be reached.
pub(super) async fn land(context: &Context<'_>, run: &Run) -> Result<Step, Broken> {
    // The patch stays the same, but it was not tested with the base branch's new commits.
    if let Some(tip) = merge::moved(context, run).await? {
        return Ok(Step::BaseMoved { tip });
    }
    let approved = match Box::pin(vouch::approved(context, run)).await? {
        Ok(approved) => approved,
        Err(reason) => return Ok(Step::Ended(End::Refused { reason })),
    };
    // The pull request may have changed while the tests ran.
    let pull_request = &context.client.pull_request(context.id()).await?;
    let Some(head_repository) = &pull_request.head_repository else {
        return Ok(Step::Ended(End::Refused {
            reason: "This branch's repository no longer exists.".into(),
        }));
    };
    if !pull_request.is_open && pull_request.head == run.started.head {
        return Ok(Step::Ended(End::Cancelled { by: None }));
    }
    if pull_request.head == run.started.head
        && let Some(end) = retarget::end(run, pull_request)
    {
        return Ok(Step::Ended(end));
    }
    let is_here = pull_request.head == run.started.head;
    if is_here && !vouch::is_proved(context, run) {
        let reason = "It was not tested again before landing.".into();
        return Ok(Step::Ended(End::Refused { reason }));
    }
    let tree = propose::tested_tree(context, run).await?;
    let branch = Branch {
        repository: head_repository,
        name: &pull_request.head_branch,
    };
    let landing = Landing::of(&approved, tree);
    // On another head, it either landed earlier or the branch moved. Nothing lands now, even if the branch moves
    // back.
    let landed = if is_here {
        context.client.land(branch, &landing).await
    } else {
        let moved = || LandError::HeadMoved {
            actual: pull_request.head.clone(),
        };
        let before = context.client.landed_before(branch, &landing).await;
        before.and_then(|landed| landed.ok_or_else(moved))
    };
    match landed {
        Ok(commit) => Ok(Step::Ended(End::Landed { commit })),
        Err(LandError::HeadMoved { actual }) => Ok(Step::Ended(End::Superseded { head: actual })),
        Err(LandError::NotTaken { why: reason }) => Ok(Step::Ended(End::NotTaken { reason })),
        // The branch of a fork: anyone who may push can use the suggestions.
        Err(LandError::GitHub(Error::Refused { status: 403 | 404, .. })) => Ok(Step::Ended(End::Suggested)),
        Err(error) => Err(error.into()),
    }
}
