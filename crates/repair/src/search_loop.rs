//! Tries candidates in order until one is certain enough to be proposed. Several are tried in parallel, but they are
//! judged one after the other, so that the result does not depend on which was faster.

use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesOrdered;
use greenlight_readers::test_run::TestRun;
use greenlight_suite as suite;
use greenlight_tree::checkout::Checkout;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::candidates::{Candidate, Candidates};
use super::gate::{Decision, Gate};
use super::runner::Runner;
use super::verdict::CandidateVerdict;
use super::{explain, pairs};
use crate::found::{Origin, PassingPatch, Progress, Tried};
use crate::template::{EditKind, Template};

/// Limits on the search for rivals of the first candidate that passes: how many more candidates are tried, and for
/// how long.
const MAX_RIVALS_TRIED: u32 = 400;
const RIVALS_WALL: Duration = Duration::from_secs(20);
/// Maximum number of passing candidates that are kept.
const MAX_PASSING: usize = 50;
/// Maximum number of candidates with which some failing tests pass, and of those with other progress, that are tried
/// together with a second edit.
const MAX_CLOSER: usize = 12;
const MAX_LATER: usize = 8;
/// Maximum number of candidates without a result that are tried once more, if they are likelier than one that passes.
const MAX_UNFINISHED: usize = 4;

/// How a search ended.
pub(super) enum End {
    Found(Box<PassingPatch>),
    /// Every candidate was tried, or no further one can change the result.
    NothingLeft,
    /// Stopped at a limit, or from outside.
    Stopped,
}

/// The candidates of a search, in order.
pub(super) struct CandidateSource<'a> {
    /// Hints and hunks to revert, which come first.
    pub(super) first: std::vec::IntoIter<Candidate>,
    pub(super) edits: Option<&'a mut Candidates>,
    /// Edits with which some failing tests pass, or fail later; if no edit alone is enough, they are paired. `None`
    /// after that.
    pub(super) closer: Option<Closer>,
}

/// Edits that make progress.
#[derive(Default)]
pub(super) struct Closer {
    /// With these, some failing tests pass.
    fewer_failing: Vec<Candidate>,
    /// With these, a failing test fails later, or with a value that is closer.
    later: Vec<Candidate>,
}

impl CandidateSource<'_> {
    fn next(&mut self) -> Option<Candidate> {
        let edit = || self.edits.as_deref_mut()?.next();
        self.first.next().or_else(edit)
    }

    /// The score of the likeliest edit that was turned down before and would have been tried by now.
    fn turned_down(&self) -> f32 {
        self.edits.as_deref().map_or(0.0, Candidates::likeliest_excluded)
    }

    /// Keeps an edit that makes progress.
    fn keep(&mut self, candidate: &Candidate, verdict: CandidateVerdict) {
        let Some(closer) = self.closer.as_mut() else { return };
        let (kept, most) = match verdict {
            CandidateVerdict::Closer => (&mut closer.fewer_failing, MAX_CLOSER),
            // What leaves out the code that fails, or does not reach it, always fails later.
            CandidateVerdict::Later
                if !matches!(candidate.template.kind(), EditKind::Removal | EditKind::Insertion) =>
            {
                (&mut closer.later, MAX_LATER)
            }
            _ => return,
        };
        if kept.len() < most {
            kept.push(candidate.clone());
        }
    }

    /// Queues pairs that begin with the edits that were kept, once. `false` if there is nothing to pair.
    fn pair_up(&mut self, checkout: &Checkout) -> bool {
        let (Some(edits), Some(closer)) = (self.edits.as_deref_mut(), self.closer.take()) else {
            return false;
        };
        let closer: Vec<Candidate> = closer.fewer_failing.into_iter().chain(closer.later).collect();
        let is_any = !closer.is_empty();
        let original = |first: Candidate| {
            let text = checkout.read_text(first.path.as_str())?;
            Some((first, text))
        };
        edits.queue(pairs::of(closer.into_iter().filter_map(original).collect()));
        is_any
    }

    fn estimate(&self) -> u32 {
        let edits = self.edits.as_deref().map_or(0, Candidates::estimate);
        edits.saturating_add(u32::try_from(self.first.len()).unwrap_or(u32::MAX))
    }
}

/// Limits on the search for rivals of the candidates that passed.
struct Window {
    least: f32,
    tried: u32,
    until: Instant,
}

/// The candidates that pass so far.
#[derive(Default)]
struct Passing {
    all: Vec<Candidate>,
    /// An edit that was turned down is not offered again, but since it passes the tests, its score sets the bar for
    /// others.
    turned_down: f32,
    /// Candidates that took too long. A busy machine may be the reason.
    unfinished: Vec<Candidate>,
}

impl Passing {
    /// Keeps a candidate as its verdict says. Returns whether it is a further one that passes.
    fn add(&mut self, gate: &Gate<'_, '_>, candidate: Candidate, verdict: CandidateVerdict) -> bool {
        match verdict {
            CandidateVerdict::TimedOut if self.unfinished.len() < MAX_UNFINISHED => self.unfinished.push(candidate),
            CandidateVerdict::Passes if self.all.len() >= MAX_PASSING => {}
            CandidateVerdict::Passes if gate.turned_down.has(&candidate) => {
                self.turned_down = self.turned_down.max(candidate.score);
            }
            CandidateVerdict::Passes => {
                self.all.push(candidate);
                return true;
            }
            _ => {}
        }
        false
    }

    /// Tries those once more that took too long, and are at least as likely as all that pass.
    async fn try_again(&mut self, gate: &Gate<'_, '_>, stop: &CancellationToken) -> Result<(), suite::Error> {
        let likeliest = self.all.iter().map(|candidate| candidate.score).fold(0.0, f32::max);
        let mut again = std::mem::take(&mut self.unfinished);
        again.retain(|candidate| candidate.score >= likeliest);
        if !again.is_empty() {
            for (candidate, verdict) in judge(gate.runner, again, stop).await? {
                self.add(gate, candidate, verdict);
            }
            // Twice is enough.
            self.unfinished.clear();
        }
        Ok(())
    }
}

/// Tries at most `limit` candidates.
pub(super) async fn search_candidates(
    gate: &Gate<'_, '_>,
    limit: u32,
    source: &mut CandidateSource<'_>,
    (tried, progress): (&mut Tried, &mut (dyn FnMut(Progress) + Send)),
    stop: &CancellationToken,
) -> Result<End, suite::Error> {
    let mut started = 0;
    let mut passing = Passing::default();
    let mut window: Option<Window> = None;
    let mut judging = FuturesOrdered::new();
    let mut compared = 0;
    let (mut is_done, mut is_settled) = (false, false);
    loop {
        while !is_done && judging.len() < gate.runner.lanes() && started < limit && !stop.is_cancelled() {
            let batch = batch(gate.runner, source, started, limit);
            if batch.is_empty() {
                break;
            }
            started += count(batch.len());
            judging.push_back(judge(gate.runner, batch, stop));
        }
        let Some(judged) = judging.next().await else {
            if passing.all.is_empty() && started < limit && source.pair_up(gate.task.checkout) {
                continue;
            }
            let Some(_open) = window.take() else { break };
            passing.try_again(gate, stop).await?;
            let new = (&mut passing.all, compared);
            gate.turned_down.leave_out_alike(gate.runner, new, stop).await?;
            compared = passing.all.len();
            passing.turned_down = passing.turned_down.max(source.turned_down());
            match gate.decide((&passing.all, passing.turned_down), stop).await? {
                Decision::Propose(index, after) => {
                    let candidate = passing.all.swap_remove(index);
                    return Ok(End::Found(Box::new(found(gate, &candidate, tried, *after))));
                }
                Decision::Disagreement => {
                    is_settled = true;
                    break;
                }
                Decision::Wait => {
                    is_done = false;
                    continue;
                }
            }
        };
        let mut least = f32::MAX;
        for (candidate, verdict) in judged? {
            least = least.min(candidate.score);
            note(
                tried,
                &candidate,
                verdict,
                (limit.min(started.saturating_add(source.estimate())), &mut *progress),
            );
            source.keep(&candidate, verdict);
            let score = candidate.score;
            if passing.add(gate, candidate, verdict) && window.is_none() {
                window = Some(Window {
                    least: gate.least_rival(score),
                    tried: tried.candidates.saturating_add(MAX_RIVALS_TRIED),
                    until: Instant::now() + RIVALS_WALL,
                });
            }
        }
        is_done = window.as_ref().is_some_and(|window| {
            least < window.least || tried.candidates >= window.tried || Instant::now() >= window.until
        });
    }
    let new = (&mut passing.all, compared);
    gate.turned_down.leave_out_alike(gate.runner, new, stop).await?;
    let all = (&passing.all[..], passing.turned_down.max(source.turned_down()));
    let is_complete = is_settled || (!stop.is_cancelled() && source.next().is_none());
    uncertain(gate, all, (is_settled, is_complete), tried, stop).await
}

/// How a search ends in which no candidate was certain so far.
async fn uncertain(
    gate: &Gate<'_, '_>,
    passing: (&[Candidate], f32),
    (is_settled, is_complete): (bool, bool),
    tried: &mut Tried,
    stop: &CancellationToken,
) -> Result<End, suite::Error> {
    if is_complete
        && !is_settled
        && let Some(sure) = only_one(gate, passing, tried, stop).await?
    {
        return Ok(End::Found(Box::new(sure)));
    }
    // What was found is said even when the time is up.
    tried.findings = gate.findings(passing, stop).await?;
    Ok(if is_complete { End::NothingLeft } else { End::Stopped })
}

/// The patch that is certain only because every edit was tried.
async fn only_one(
    gate: &Gate<'_, '_>,
    (passing, turned_down): (&[Candidate], f32),
    tried: &Tried,
    stop: &CancellationToken,
) -> Result<Option<PassingPatch>, suite::Error> {
    let decision = gate.decide_last((passing, turned_down, tried.candidates), stop).await?;
    Ok(match decision {
        Decision::Propose(index, after) => passing.get(index).map(|chosen| found(gate, chosen, tried, *after)),
        Decision::Wait | Decision::Disagreement => None,
    })
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

fn batch(runner: &Runner<'_>, source: &mut CandidateSource<'_>, started: u32, limit: u32) -> Vec<Candidate> {
    let room = usize::try_from(limit - started).unwrap_or(usize::MAX);
    let size = runner.batch(started).min(room);
    std::iter::from_fn(|| source.next()).take(size).collect()
}

fn note(
    tried: &mut Tried,
    candidate: &Candidate,
    verdict: CandidateVerdict,
    (total_estimate, progress): (u32, &mut (dyn FnMut(Progress) + Send)),
) {
    if verdict == CandidateVerdict::Stopped {
        return;
    }
    tracing::trace!(path = %candidate.path, candidate.line, ?candidate.template, candidate.score, ?verdict, "tried");
    tried.candidates += 1;
    progress(Progress {
        tried: tried.candidates,
        total_estimate,
        current: candidate.path.clone(),
        failed: (verdict != CandidateVerdict::Passes).then(|| candidate.digest()),
    });
}

fn found(gate: &Gate<'_, '_>, candidate: &Candidate, tried: &Tried, after: TestRun) -> PassingPatch {
    PassingPatch {
        patch: candidate.patch(gate.task.checkout),
        explanation: explain::sentence(candidate),
        candidates_tried: tried.candidates,
        origin: match candidate.template {
            Template::Revert | Template::TakeBack => Origin::Revert,
            Template::Suggested => Origin::Tool,
            _ => Origin::Edit,
        },
        suspects: tried.suspects.clone(),
        after,
    }
}

async fn judge(
    runner: &Runner<'_>,
    batch: Vec<Candidate>,
    stop: &CancellationToken,
) -> Result<Vec<(Candidate, CandidateVerdict)>, suite::Error> {
    let verdicts = runner.judge(&batch, stop).await?;
    Ok(batch.into_iter().zip(verdicts).collect())
}
