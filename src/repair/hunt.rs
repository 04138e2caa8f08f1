//! Tries candidates in their order until one holds. Several are tried at the same time, but they are judged one after
//! the other, so that the result does not depend on which was faster.

use futures::StreamExt as _;
use futures::stream::FuturesOrdered;
use tokio_util::sync::CancellationToken;

use crate::domain::test_run::Outcome;
use crate::suite;

use super::candidates::{Candidate, Candidates};
use super::trial::{Bench, Verdict};
use super::{Found, Progress, Task, explain};

/// Trials that may be ahead of the one whose turn it is, for each that can run at a time.
const AHEAD: usize = 4;

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
    task: &Task<'_>,
    limit: u32,
    candidates: &mut Candidates,
    progress: &mut (dyn FnMut(Progress) + Send),
    stop: &CancellationToken,
) -> Result<End, suite::Error> {
    if !matches!(
        task.before.outcome,
        Outcome::Failed | Outcome::TimedOut | Outcome::Crashed
    ) {
        // There is nothing to judge a candidate by.
        return Ok(End::NothingLeft);
    }
    let mut next = candidates.next();
    let Some(first) = &next else {
        return Ok(End::NothingLeft);
    };
    let Some(bench) = Bench::set_up(task, &first.path, stop).await? else {
        return Ok(if stop.is_cancelled() {
            End::Stopped
        } else {
            End::NothingLeft
        });
    };
    let ahead = bench.lanes() * AHEAD;
    let (mut started, mut tried) = (0, 0);
    let mut trials = FuturesOrdered::new();
    loop {
        while trials.len() < ahead && started < limit && !stop.is_cancelled() {
            let Some(candidate) = next.take().or_else(|| candidates.next()) else {
                break;
            };
            started += 1;
            trials.push_back(trial(&bench, candidate, stop));
        }
        let Some(judged) = trials.next().await else { break };
        let (candidate, verdict) = judged?;
        if verdict == Verdict::Stopped {
            continue;
        }
        tried += 1;
        progress(Progress {
            tried,
            total_estimate: limit.min(started.saturating_add(candidates.estimate())),
            current: candidate.path.clone(),
        });
        if let Verdict::Better(after) = verdict {
            stop.cancel();
            // The trials that were ahead end before their workspaces go.
            while trials.next().await.is_some() {}
            return Ok(End::Found(Box::new(Found {
                patch: candidate.patch(task.checkout),
                explanation: explain::sentence(&candidate),
                candidates_tried: tried,
                after: *after,
            })));
        }
    }
    let is_complete = !stop.is_cancelled() && next.is_none() && candidates.next().is_none();
    Ok(if is_complete { End::NothingLeft } else { End::Stopped })
}

async fn trial(
    bench: &Bench<'_>,
    candidate: Candidate,
    stop: &CancellationToken,
) -> Result<(Candidate, Verdict), suite::Error> {
    let verdict = bench.trial(&candidate, stop).await?;
    Ok((candidate, verdict))
}
