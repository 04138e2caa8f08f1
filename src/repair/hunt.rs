//! Tries candidates in their order until one holds. Several are tried at the same time, but they are judged one after
//! the other, so that the result does not depend on which was faster.

use futures::StreamExt as _;
use futures::stream::FuturesOrdered;
use tokio_util::sync::CancellationToken;

use crate::domain::search::Rung;
use crate::domain::test_run::{TestRun, is_better};
use crate::suite;

use super::candidates::{Candidate, Candidates};
use super::runner::{Runner, Verdict};
use super::{Found, Progress, Task, Tried, explain};

/// How a hunt ended.
pub(super) enum End {
    Found(Box<Found>),
    /// Every candidate was tried.
    NothingLeft,
    /// At a limit, or from outside.
    Stopped,
}

/// Tries at most `limit` candidates.
pub(super) async fn hunt(
    (task, runner): (&Task<'_>, &Runner<'_>),
    limit: u32,
    candidates: &mut Candidates,
    (tried, progress): (&mut Tried, &mut (dyn FnMut(Progress) + Send)),
    stop: &CancellationToken,
) -> Result<End, suite::Error> {
    let mut started = 0;
    let mut trials = FuturesOrdered::new();
    loop {
        while trials.len() < runner.lanes() && started < limit && !stop.is_cancelled() {
            let room = usize::try_from(limit - started).unwrap_or(usize::MAX);
            let batch: Vec<Candidate> = candidates.by_ref().take(runner.batch(started).min(room)).collect();
            if batch.is_empty() {
                break;
            }
            started += u32::try_from(batch.len()).unwrap_or(u32::MAX);
            trials.push_back(judge(runner, batch, stop));
        }
        let Some(judged) = trials.next().await else { break };
        for (candidate, verdict) in judged? {
            if verdict == Verdict::Stopped {
                continue;
            }
            tried.candidates += 1;
            progress(Progress {
                tried: tried.candidates,
                total_estimate: limit.min(started.saturating_add(candidates.estimate())),
                current: candidate.path.clone(),
                failed: None,
            });
            if verdict == Verdict::Passes
                && let Some(after) = confirmed(task, &candidate, stop).await?
            {
                stop.cancel();
                // The trials that were ahead end before their workspaces go.
                while trials.next().await.is_some() {}
                return Ok(End::Found(Box::new(Found {
                    patch: candidate.patch(task.checkout),
                    explanation: explain::sentence(&candidate),
                    candidates_tried: tried.candidates,
                    rung: Rung::Search,
                    suspects: tried.suspects.clone(),
                    after,
                })));
            }
        }
    }
    let is_complete = !stop.is_cancelled() && candidates.next().is_none();
    Ok(if is_complete { End::NothingLeft } else { End::Stopped })
}

async fn judge(
    runner: &Runner<'_>,
    batch: Vec<Candidate>,
    stop: &CancellationToken,
) -> Result<Vec<(Candidate, Verdict)>, suite::Error> {
    let verdicts = runner.judge(&batch, stop).await?;
    Ok(batch.into_iter().zip(verdicts).collect())
}

/// The run of the whole suite on a fresh copy with the candidate, if it is better.
async fn confirmed(
    task: &Task<'_>,
    candidate: &Candidate,
    stop: &CancellationToken,
) -> Result<Option<TestRun>, suite::Error> {
    let mut edited = task.checkout.clone();
    edited.edit_text(candidate.path.clone(), candidate.text.as_str());
    let fresh = suite::run_fresh(task.suite, &edited, &[], stop).await?;
    Ok(is_better(task.before, &fresh).is_ok().then_some(fresh))
}
