//! Tries candidates in interpreters that have everything loaded: each in a fork, in a fresh context, or with its
//! classes loaded anew.
//!
//! An interpreter's answers are claims of the code under test. They can make a wrong candidate look good, but only
//! until the fresh run of the whole suite; they cannot delay the search, nor name anything outside of the tree.

mod java;
mod lane;
mod node;
mod protocol;
mod python;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use greenlight_anchor::RepoPath;
use greenlight_suite as suite;
use greenlight_suite::{Runtime, Suite};
use greenlight_units::clock::millis;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use self::lane::{Harness, Lane, LaneAnswer};
use self::protocol::{Behaved, Edit, Followed, HarnessRequest, Judged, TrialResult};
use super::candidates::Candidate;
use super::spectrum::{Hits, Spectrum};
use super::verdict::{Behaviour, BehaviourComparison, CandidateVerdict, workers};
use crate::task::Task;

/// Number of candidates in one request: at first, later, and once hardly any candidate is a fix.
const FIRST_BATCH: usize = 8;
const BATCH: usize = 64;
const LAST_BATCH: usize = 256;
/// Maximum size of all replacements in one request, in bytes.
const MAX_PUT_IN: usize = 256 << 10;
/// After this time, a harness starts no further candidate of a request.
const JUDGING: Duration = Duration::from_secs(10);
/// Time limit for comparing the behaviour of all candidates.
const BEHAVING: Duration = Duration::from_secs(10);
/// Maximum number of interpreters that may be lost in one search.
const MAX_LOST: u32 = 12;
/// Maximum length of one answer of a function in characters, and maximum number of answers.
const MAX_ANSWER: usize = 2_000;
const MAX_ANSWERS: usize = 2_000;

/// Interpreters, usually one for each core, each with a separate workspace.
pub(super) struct Pool<'a> {
    task: &'a Task<'a>,
    harness: Harness,
    lanes: Mutex<Vec<Lane>>,
    free: Semaphore,
    count: usize,
    lost: Mutex<u32>,
}

/// The harness for a suite.
fn harness(suite: &Suite) -> Option<Harness> {
    match suite.runtime() {
        Some(Runtime::Python) => Some(python::harness()),
        Some(Runtime::Node) => Some(node::harness()),
        Some(Runtime::Java) => Some(java::harness()),
        Some(Runtime::Cargo | Runtime::Go) | None => None,
    }
}

impl<'a> Pool<'a> {
    /// `None` if there is no harness for the framework, or the failing tests do not fail in it.
    pub(super) async fn set_up(task: &'a Task<'a>, stop: &CancellationToken) -> Result<Option<Self>, suite::Error> {
        let Some(harness) = harness(task.suite) else {
            return Ok(None);
        };
        let count = match task.suite.runtime() {
            // It compiles and runs several candidates at the same time.
            Some(Runtime::Java) => 1,
            _ => workers(),
        };
        let starting = (0..count).map(|_| Lane::new(task, &harness, stop));
        let mut lanes = Vec::new();
        for started in join_all(starting).await {
            lanes.extend(started?);
        }
        // A failure that only some interpreters reproduce depends on chance.
        if lanes.len() < count || stop.is_cancelled() {
            return Ok(None);
        }
        Ok(Some(Self {
            task,
            harness,
            lanes: Mutex::new(lanes),
            free: Semaphore::new(count),
            count,
            lost: Mutex::default(),
        }))
    }

    /// One more than there are interpreters, so that one batch waits for the first that is free.
    pub(super) fn lanes(&self) -> usize {
        self.count + 1
    }

    /// The first batches are small, because the fix is often among the first candidates.
    pub(super) fn batch(&self, judged: u32) -> usize {
        match judged {
            0..64 => FIRST_BATCH,
            64..2_048 => BATCH,
            _ => LAST_BATCH,
        }
    }

    /// Every interpreter traces the tests, because each needs to know which tests execute an edited line.
    pub(super) async fn spectrum(
        &self,
        wall: Duration,
        stop: &CancellationToken,
    ) -> Result<Option<Spectrum>, suite::Error> {
        let request = HarnessRequest::Spectrum { wall_ms: millis(wall) };
        let taken = std::mem::take(&mut *self.lanes.lock().unwrap_or_else(PoisonError::into_inner));
        let asking = taken.into_iter().map(async |mut lane| {
            let answer = lane.ask::<Followed>(&request, wall, stop).await?;
            Ok::<_, suite::Error>((lane, answer))
        });
        let mut best: Option<Spectrum> = None;
        for result in join_all(asking).await {
            let (lane, answer) = result?;
            let LaneAnswer::Answer(followed) = answer else { continue };
            self.give_back(lane);
            let spectrum = spectrum(followed);
            if best
                .as_ref()
                .is_none_or(|best| (best.failing, lines(best)) < (spectrum.failing, lines(&spectrum)))
            {
                best = Some(spectrum);
            }
        }
        Ok(best.filter(|spectrum| spectrum.failing > 0 && !spectrum.files.is_empty()))
    }

    /// Judges candidates in one interpreter. A candidate that loses an interpreter has not passed.
    pub(super) async fn judge(
        &self,
        candidates: &[Candidate],
        stop: &CancellationToken,
    ) -> Result<Vec<CandidateVerdict>, suite::Error> {
        let mut verdicts = Vec::new();
        let Ok(_place) = self.free.acquire().await else {
            return Ok(vec![CandidateVerdict::Stopped; candidates.len()]);
        };
        let mut lane = self.take();
        let mut alone = false;
        while let Some(left) = candidates.get(verdicts.len()..).filter(|left| !left.is_empty()) {
            if stop.is_cancelled() || self.is_given_up() {
                break;
            }
            let mut at_work = match lane.take() {
                Some(lane) => lane,
                None => match Lane::new(self.task, &self.harness, stop).await? {
                    Some(lane) => lane,
                    None => {
                        self.count_lost();
                        continue;
                    }
                },
            };
            let edits = edits(if alone { left.get(..1).unwrap_or(left) } else { left });
            let request = HarnessRequest::Judge {
                limit_ms: millis(JUDGING),
                candidates: &edits,
            };
            match at_work.ask::<Judged>(&request, JUDGING, stop).await? {
                LaneAnswer::Stopped => break,
                LaneAnswer::Answer(judged) if !judged.verdicts.is_empty() => {
                    verdicts.extend(
                        judged
                            .verdicts
                            .into_iter()
                            .take(edits.len())
                            .map(CandidateVerdict::from),
                    );
                    lane = Some(at_work);
                }
                // The interpreter is lost or answers nonsense. A batch is split to find the candidate that caused it.
                _ => {
                    self.count_lost();
                    if alone || left.len() == 1 {
                        verdicts.push(CandidateVerdict::TimedOut);
                    }
                    alone = true;
                }
            }
        }
        if let Some(lane) = lane {
            self.give_back(lane);
        }
        let rest = match stop.is_cancelled() {
            true => CandidateVerdict::Stopped,
            false => CandidateVerdict::Fails,
        };
        verdicts.resize(candidates.len(), rest);
        Ok(verdicts)
    }

    pub(super) async fn behaviours(
        &self,
        candidates: &[Candidate],
        stop: &CancellationToken,
    ) -> Result<Option<BehaviourComparison>, suite::Error> {
        let edits = edits(candidates);
        let Ok(_place) = self.free.acquire().await else {
            return Ok(None);
        };
        let lane = match self.take() {
            Some(lane) => Some(lane),
            None => Lane::new(self.task, &self.harness, stop).await?,
        };
        let Some(mut lane) = lane.filter(|_| edits.len() == candidates.len()) else {
            return Ok(None);
        };
        let request = HarnessRequest::Behave {
            wall_ms: millis(BEHAVING),
            candidates: &edits,
        };
        let answer = lane.ask::<Behaved>(&request, BEHAVING, stop).await?;
        let LaneAnswer::Answer(behaved) = answer else {
            self.count_lost();
            return Ok(None);
        };
        self.give_back(lane);
        Ok(comparison(behaved, candidates.len()))
    }

    fn take(&self) -> Option<Lane> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn give_back(&self, lane: Lane) {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner).push(lane);
    }

    fn count_lost(&self) {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        *lost = lost.saturating_add(1);
    }

    fn is_given_up(&self) -> bool {
        *self.lost.lock().unwrap_or_else(PoisonError::into_inner) >= MAX_LOST
    }
}

/// As many of the candidates as fit into one request, and at least one.
fn edits(candidates: &[Candidate]) -> Vec<Edit<'_>> {
    let mut bytes = 0;
    let mut edits = Vec::new();
    for candidate in candidates {
        bytes += candidate.replacement.len();
        if bytes > MAX_PUT_IN && !edits.is_empty() {
            break;
        }
        edits.push(Edit {
            path: candidate.path.as_str(),
            start: candidate.range.start,
            end: candidate.range.end,
            text: &candidate.replacement,
        });
    }
    edits
}

impl From<TrialResult> for CandidateVerdict {
    fn from(word: TrialResult) -> Self {
        match word {
            TrialResult::Passes => Self::Passes,
            TrialResult::Fails => Self::Fails,
            TrialResult::Closer => Self::Closer,
            TrialResult::Later => Self::Later,
            TrialResult::Invalid => Self::Invalid,
            TrialResult::Timeout => Self::TimedOut,
        }
    }
}

/// Keeps only valid paths of the repository, and lines that a test executed.
fn spectrum(followed: Followed) -> Spectrum {
    let mut files: BTreeMap<RepoPath, BTreeMap<u32, Hits>> = BTreeMap::new();
    for (path, lines) in followed.files {
        let Ok(path) = path.parse() else { continue };
        let lines = lines
            .into_iter()
            .filter(|(line, failing, _)| *line > 0 && *failing > 0)
            .map(|(line, failing, passing)| (line, Hits { failing, passing }));
        files.insert(path, lines.collect());
    }
    Spectrum {
        failing: followed.failing,
        files,
    }
}

fn lines(spectrum: &Spectrum) -> usize {
    spectrum.files.values().map(BTreeMap::len).sum()
}

/// `None` unless there is a list of equal length for each candidate.
fn comparison(behaved: Behaved, candidates: usize) -> Option<BehaviourComparison> {
    let inputs = behaved.answers.first()?.len();
    let is_whole = behaved.why.is_none()
        && behaved.answers.len() == candidates
        && behaved.without.len() <= inputs
        && (1..=MAX_ANSWERS).contains(&inputs)
        && behaved.answers.iter().all(|answers| answers.len() == inputs);
    let cut = |mut answer: String| {
        answer.truncate(answer.floor_char_boundary(MAX_ANSWER));
        answer
    };
    let kept = |answers: Vec<String>| Behaviour {
        answers: answers.into_iter().map(cut).collect(),
    };
    is_whole.then(|| BehaviourComparison {
        original: kept(behaved.without),
        candidates: behaved.answers.into_iter().map(kept).collect(),
    })
}
