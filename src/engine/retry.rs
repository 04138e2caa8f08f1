//! Has GitHub re-run the failed CI jobs of this head.

use super::verdict::VerbResult;
use super::{Broken, Context};
use crate::domain::gate::Refusal;
use crate::domain::id::CommitSha;
use crate::domain::permission::{Authorized, Retry};
use crate::domain::reply;
use crate::domain::run::{End, Origin, Run};
use crate::github::Error;

/// The identifier of the check run's button in events.
pub(super) const BUTTON: &str = "retry";

/// Re-runs the failed jobs of the workflow run that was last seen red on this head.
///
/// # Errors
/// When something broke.
pub(super) async fn retry(context: &Context<'_>, _: &Authorized<Retry>) -> Result<VerbResult, Broken> {
    let runs = context.app.journal.runs_of(context.id()).await?;
    let (repository, head) = (&context.id().repository, &context.pull_request.head);
    let workflow_run = match failed_on(&runs, head) {
        Some(seen) => seen,
        None => match context.client.failed_runs(repository, head).await {
            Ok(failed) => match failed.first() {
                Some(red) => red.id,
                None => return Ok(Err(Refusal::NoFailedJobs)),
            },
            Err(error) => match error.lacks() {
                Some(lacks) => return Ok(Ok(Some(reply::not_permitted(&lacks.to_string())))),
                None => return Err(error.into()),
            },
        },
    };
    match context.client.rerun_failed_jobs(repository, workflow_run).await {
        Ok(()) => Ok(Ok(None)),
        Err(Error::Refused {
            status: 403, message, ..
        }) => Ok(Ok(Some(reply::not_rerun(&message)))),
        Err(error) => Err(error.into()),
    }
}

/// The end of a run that found nothing to work on. If somebody re-ran CI meanwhile and it is green now, there is
/// nothing to report.
///
/// # Errors
/// When GitHub cannot be reached.
pub(super) async fn or_passed_meanwhile(context: &Context<'_>, run: &Run, end: End) -> Result<End, Broken> {
    let Origin::Ci { workflow_run: Some(id) } = run.started.origin else {
        return Ok(end);
    };
    if run.reproduced.is_none() || !matches!(end, End::NothingToFix { .. } | End::NotJudged { .. }) {
        return Ok(end);
    }
    let now = context.client.workflow_run(&context.id().repository, id).await?;
    let is_green = now.head_sha == run.started.head && now.conclusion.as_deref() == Some("success");
    Ok(if is_green { End::PassedMeanwhile } else { end })
}

/// The workflow run that was last seen red on this head.
pub(super) fn failed_on(runs: &[Run], head: &CommitSha) -> Option<u64> {
    let on_this_head = runs.iter().rev().filter(|run| run.started.head == *head);
    let mut seen = on_this_head.filter_map(|run| match run.started.origin {
        Origin::Ci { workflow_run } => workflow_run,
        Origin::CommandLine | Origin::Comment { .. } | Origin::Rerun { .. } | Origin::Label { .. } => None,
    });
    seen.next()
}
