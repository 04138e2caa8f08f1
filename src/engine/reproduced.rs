//! Reproduces a failure on the head, or on its merge with the base branch if the head is green.

use std::sync::OnceLock;

use futures::FutureExt as _;
use tokio_util::sync::CancellationToken;

use super::base::{Reproduced, by_pull_request, laid_out};
use super::work::{self, Scope};
use super::worktree::Worktree;
use super::{Broken, Context, merge};
use crate::domain::run::Run;
use crate::suite::Suite;

/// Reproduces the failure, and compares it with the merge base under the same consent, with the same command, in the
/// same sandbox. If the head is green and CI tested its merge with the base branch, the merge is run as well.
///
/// # Errors
/// When the sandbox cannot be used.
pub(super) async fn reproduce(
    context: &Context<'_>,
    run: &Run,
    (worktree, suite): (&Worktree, &Suite),
    cancel: &CancellationToken,
) -> Result<Reproduced, Broken> {
    let weakened = OnceLock::new();
    let weakened_here = &weakened;
    let mut base = || {
        async move {
            match laid_out(context, run, (worktree, suite), cancel).await {
                Ok(base) => {
                    if let Some(base) = &base {
                        let _only_once = weakened_here.set(by_pull_request(&base.worktree, worktree).await);
                    }
                    Ok(base)
                }
                // Without a merge base, the head is judged alone.
                Err(error) => {
                    tracing::warn!(%error, "there is no merge base to compare with");
                    Ok(None)
                }
            }
        }
        .boxed()
    };
    let (before, mut triage) = work::reproduce(worktree, suite, (&mut base, Scope::ItsOwn), cancel).await?;
    triage.weakened = weakened.into_inner().unwrap_or_default();
    if merge::is_wanted(run, &triage) && !cancel.is_cancelled() {
        return Box::pin(merge::reproduce(
            context,
            run,
            (worktree, suite),
            (before, triage),
            cancel,
        ))
        .await;
    }
    Ok(Reproduced {
        before,
        triage,
        ground: None,
    })
}
