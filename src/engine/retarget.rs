//! Ends runs of a pull request whose base branch changed: they began under the rules of the old one.

use crate::domain::run::{End, Run};
use crate::github::PullRequest;

/// The end of a run that began on another base branch. Runs of earlier versions, which did not record the branch,
/// continue.
pub(super) fn end(run: &Run, now: &PullRequest) -> Option<End> {
    let from = run.started.base_branch.as_ref()?;
    (*from != now.base_branch).then(|| End::Retargeted {
        from: from.clone(),
        to: now.base_branch.clone(),
    })
}
