//! Replays a recorded run offline: the same loop and the same tree, with the model's recorded replies. Everything
//! else is executed again, and differences are reported.
//!
//! People's answers come from the recording, and so do the results of executions they approved, because nobody
//! approved them a second time.

mod compare;
mod state;

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use self::compare::{broken_told, step_told};
use self::state::{ReplayState, is_outcome, said};
use super::bundle::Manifest;
use super::work::Engine;
use super::worktree::Worktree;
use super::{Broken, Door, Turn, Waiting, budget, drive, gate};
use crate::agent::{self, Item, Live, Recorded, Reply, Speech};
use crate::domain::budget::Left;
use crate::domain::gate::Answer;
use crate::domain::id::Account;
use crate::domain::run::{End, GateNeeded, JobReading, Next, Run, Step};
use crate::suite::{self, Suite};

/// How much was compared, and what differed.
#[derive(Debug, Default, Serialize)]
pub struct Replayed {
    pub attempts: usize,
    /// The number of replies from the model.
    pub turns: usize,
    /// The number of results of its calls.
    pub results: usize,
    pub differences: Vec<Difference>,
}

/// One difference. The texts are untrusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The place in the run, such as `attempt 1, item 4`.
    pub at: String,
    pub recorded: String,
    pub now: String,
}

/// Replays the steps of a run.
///
/// # Errors
/// When the steps do not form a run.
pub async fn replay(
    (mut worktree, suite): (Worktree, Option<Suite>),
    manifest: &Manifest,
    steps: Vec<Step>,
    cancel: &CancellationToken,
) -> Result<Replayed, Broken> {
    let mut steps = VecDeque::from(steps);
    let Some(Step::Started(mut started)) = steps.pop_front() else {
        return Err(Broken::Bug("its journal does not begin with the start of a run".into()));
    };
    started.asks_nobody |= manifest.asks_nobody;
    worktree.memory = manifest.memory.clone();
    let mut run = Run::start(*started);
    let mut door = Recording {
        worktree,
        suite,
        manifest,
        model: Recorded::new(Vec::new()),
        is_by_model: false,
        cancel: cancel.clone(),
        state: Mutex::new(ReplayState {
            steps,
            item: 0,
            replayed: Replayed::default(),
        }),
    };
    while let Err(broken) = drive(&mut door, &mut run).boxed().await {
        let mut state = door.state();
        if state.is_over() || cancel.is_cancelled() {
            break;
        }
        // If the recording ends there, the model has no further reply.
        if matches!(broken, Broken::Agent(_)) && !state.steps.iter().any(is_outcome) {
            state.rest(&mut run);
            break;
        }
        state.outcome(&mut run, &broken_told(&broken));
    }
    let state = door.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(state.replayed)
}

/// The door of a replay. The recording is its journal: new results are compared with the recorded ones, which count.
struct Recording<'a> {
    worktree: Worktree,
    suite: Option<Suite>,
    manifest: &'a Manifest,
    /// The replies of the current attempt.
    model: Recorded,
    /// Whether the recorded attempt was made by a model.
    is_by_model: bool,
    cancel: CancellationToken,
    state: Mutex<ReplayState>,
}

impl Recording<'_> {
    fn state(&self) -> MutexGuard<'_, ReplayState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Door for Recording<'_> {
    async fn append(&self, run: &mut Run, step: Step) -> Result<(), Broken> {
        let mut state = self.state();
        match &step {
            // The timing of a search and its progress differ every time.
            Step::Searched(_) | Step::Spent(_) => {}
            Step::Said(item) => state.said(run, item),
            Step::Reproduced { before, .. } => state.reproduced(run, before),
            outcome if is_outcome(outcome) => state.outcome(run, &step_told(outcome)),
            _ => run.take(step),
        }
        Ok(())
    }

    fn has_reader(&self, run: &Run) -> bool {
        self.manifest.model.is_some() && !run.needs_execution && (run.may_execute() || !run.started.asks_first)
    }

    async fn turn(&mut self, run: &mut Run, next: Next) -> Result<Turn, Broken> {
        let mut state = self.state();
        if state.is_over() || self.cancel.is_cancelled() {
            return Ok(Turn::Leave);
        }
        if state.take_what_is_not_repeated(run) {
            return Ok(Turn::Again);
        }
        if matches!(next, Next::Work { .. }) && run.said.is_empty() {
            state.item = 0;
            state.replayed.attempts += 1;
            let attempt: Vec<Step> = state.attempt().cloned().collect();
            drop(state);
            self.is_by_model = attempt.iter().any(|step| said(step).is_some());
            self.model = recorded(&attempt, self.manifest.speech, self.manifest.context);
        }
        Ok(Turn::Take(next))
    }

    async fn announce(&self, _run: &Run) -> Result<(), Broken> {
        Ok(())
    }

    async fn set_up(&self, _run: &Run) -> Result<Result<Worktree, End>, Broken> {
        Ok(Ok(self.worktree.clone()))
    }

    fn still_fits(&self, _worktree: &Worktree, _run: &Run) -> bool {
        true
    }

    fn cancel(&self) -> CancellationToken {
        self.cancel.clone()
    }

    async fn left(&self, run: &Run, worktree: &Worktree) -> Result<Left, Broken> {
        Ok(budget::of_run(run, &worktree.config.limits))
    }

    async fn suite(&self, _worktree: &Worktree) -> Result<Result<Option<Suite>, End>, Broken> {
        Ok(Ok(self.suite.clone()))
    }

    async fn read_log(&self, _run: &Run) -> Result<JobReading, Broken> {
        Ok(JobReading::default())
    }

    async fn reproduce(&self, _run: &Run, worktree: &Worktree, suite: &Suite) -> Result<Step, Broken> {
        let workspace = worktree.checkout.fresh_copy(&suite.workspaces).await?;
        let before = suite::run(suite, &workspace, &[], &self.cancel)
            .await
            .map_err(suite::Error::from)?;
        // The recorded triage counts.
        let triage = match self.state().steps.front() {
            Some(Step::Reproduced { triage, .. }) => triage.clone(),
            _ => {
                return Ok(Step::Ended(End::GaveUp {
                    reason: before.summary(),
                }));
            }
        };
        Ok(Step::Reproduced { before, triage })
    }

    async fn verify(&self, _run: &mut Run, _worktree: &Worktree, _suite: &Suite) -> Result<Step, Broken> {
        Ok(Step::Ended(End::GaveUp {
            reason: "the recording does not contain the result of the approved run".into(),
        }))
    }

    fn engine(&self, _run: &Run, _worktree: &Worktree, _may_execute: bool) -> Result<Engine<'_>, End> {
        Ok(match self.is_by_model {
            true => Engine::Recorded { model: &self.model },
            false => Engine::BuiltIn,
        })
    }

    fn live(&self, _run: &Run) -> Box<Live> {
        Box::new(|_| {})
    }

    async fn post_review(&self, _run: &Run) -> Result<Step, Broken> {
        Ok(Step::ReviewPosted {
            review: 0,
            parts: 0,
            carried: Vec::new(),
            suggested: Vec::new(),
        })
    }

    async fn open_gate(&self, run: &Run, needed: GateNeeded, worktree: Option<&Worktree>) -> Result<Step, Broken> {
        let command = run
            .reproduced
            .as_ref()
            .map_or_else(String::new, |(before, _)| before.command.clone());
        Ok(Step::GateOpened(gate::open(
            run,
            needed,
            Some((command, 0)),
            worktree,
            self.now(),
        )?))
    }

    /// Recordings of earlier versions lack an answer at gates where the run continued.
    async fn wait(&mut self, run: &Run) -> Result<Waiting, Broken> {
        let Some(gate) = run.open_gates().into_iter().next_back() else {
            return Ok(Waiting::Leave);
        };
        let by = Account::new("local");
        Ok(Waiting::Answered(Step::Answered {
            gate: gate.id,
            answer: Answer::Approved { by },
            comment: None,
            at: None,
        }))
    }

    async fn land(&self, _run: &Run) -> Result<Step, Broken> {
        Ok(Step::Ended(End::Written))
    }
}

/// The recorded model. If it began with tools and switched to acting by code, it refuses tools first.
fn recorded(attempt: &[Step], speech: Speech, context: u64) -> Recorded {
    let model = Recorded::new(replies(attempt)).with_context(context);
    let first = attempt
        .iter()
        .find_map(said)
        .map(|item| serde_json::from_value::<Item>(item.clone()));
    match (speech, first) {
        (Speech::Code, Some(Ok(task))) if !agent::acts_by_code(&vec![task.clone()].into()) => model.refusing_tools(),
        (speech, _) => model.speaking(speech),
    }
}

fn replies(attempt: &[Step]) -> Vec<Reply> {
    let items = attempt
        .iter()
        .filter_map(said)
        .map(|value| serde_json::from_value(value.clone()));
    items
        .filter_map(|item| match item {
            Ok(Item::Reply(reply)) => Some(reply),
            _ => None,
        })
        .collect()
}
