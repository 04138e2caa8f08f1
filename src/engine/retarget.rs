//! A pull request got another base: what was asked for under the rules of the old one is void.

use crate::domain::run::{End, Run};
use crate::github::PullRequest;

/// The end of a run that began on another base branch. Runs of versions that did not write the branch down continue.
pub(super) fn end(run: &Run, now: &PullRequest) -> Option<End> {
    let from = run.started.base_branch.as_ref()?;
    (*from != now.base_branch).then(|| End::Retargeted {
        from: from.clone(),
        to: now.base_branch.clone(),
    })
}
