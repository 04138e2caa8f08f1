//! Whether the rules of a pull request's branch take what would land: asked before an approval is.

use super::{Broken, Context};
use crate::domain::branch_rule::{self, NewCommit};
use crate::domain::run::Run;
use crate::domain::{redact, reply};
use crate::github::commit_message;

/// What is kept of the reasons, in bytes.
const MAX_REASON: usize = 4_000;

/// What the rules of the branch have against the commit of a run's proposal. `None` if nothing is known of that.
///
/// # Errors
/// When GitHub cannot be reached.
pub(super) async fn refusal(context: &Context<'_>, run: &Run) -> Result<Option<String>, Broken> {
    let pull_request = &context.pull_request;
    let (Some(proposal), Some(repository)) = (&run.proposal, &pull_request.head_repository) else {
        return Ok(None);
    };
    let rules = context
        .client
        .branch_rules(repository, &pull_request.head_branch)
        .await?;
    // Who approves is not known yet; that stands below what people make rules about.
    let message = commit_message(&reply::commit_message(proposal, &[]), run.id());
    let commit = NewCommit {
        message: &message,
        is_signed: context.client.is_signed_for(),
    };
    let refusal = branch_rule::refusal(&rules, &commit);
    if let Some(why) = &refusal {
        tracing::info!(run.id = %run.id(), why, "the rules of the branch take no commit from here");
    }
    Ok(refusal.map(|why| redact::bounded(&why, MAX_REASON)))
}
