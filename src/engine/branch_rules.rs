//! Checks whether the rules of a pull request's branch would accept the commit, before anyone is asked to approve it.

use super::{Broken, Context};
use crate::domain::branch_rule::{self, NewCommit};
use crate::domain::run::Run;
use crate::domain::{redact, reply};
use crate::github::commit_message;

/// The bound on the reasons, in bytes.
const MAX_REASON: usize = 4_000;

/// Why the rules of the branch would reject the commit of a run's proposal. `None` if they would not, or are unknown.
///
/// # Errors
/// When GitHub cannot be reached.
pub(super) async fn refusal(context: &Context<'_>, run: &Run) -> Result<Option<String>, Broken> {
    let Some(proposal) = &run.proposal else {
        return Ok(None);
    };
    let rules = context.branch_rules().await?;
    // The approvers are not known yet. They are named in trailers, below the lines that rules usually match.
    let message = commit_message(&reply::commit_message(proposal, &[]), run.id());
    let commit = NewCommit {
        message: &message,
        is_signed: context.client.is_signed_for(),
    };
    let refusal = branch_rule::refusal(rules, &commit);
    if let Some(why) = &refusal {
        tracing::info!(run.id = %run.id(), why, "the rules of the branch take no commit from here");
    }
    Ok(refusal.map(|why| redact::bounded(&why, MAX_REASON)))
}
