//! Runs and their steps: what is appended to the journal.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use super::families::{Durations, counters, durations, of_people, of_work};
use crate::domain::gate::Answer;
use crate::domain::proposal::Author;
use crate::domain::run::{End, Origin, Run, Started, Step};

/// The value of a label without anything to say.
const NONE: &str = "none";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Beginning {
    mode: &'static str,
    origin: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ending {
    mode: &'static str,
    engine: &'static str,
    rung: &'static str,
    end: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfMode {
    mode: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfStep {
    step: &'static str,
}

/// The runs of this process.
pub struct Runs {
    begun: Family<Beginning, Counter>,
    ended: Family<Ending, Counter>,
    steps: Family<OfStep, Counter>,
    took: Durations<OfStep>,
    to_proposal: Durations<OfMode>,
    to_green: Durations<OfMode>,
}

impl Runs {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let begun = "Runs that began, by mode and by what started them";
        let ended = "Runs that ended, by mode, by the engine and the rung of the ladder that made the proposal, and by \
                     how they ended";
        let steps = "Steps that were appended to journals of runs";
        let took = "Time that steps took, without waiting for people";
        let to_proposal = "Time from the start of a run to its first proposal";
        let to_green = "Time from the start of a run until its fix landed";
        Self {
            begun: counters(registry, "runs_started", begun),
            ended: counters(registry, "runs_ended", ended),
            steps: counters(registry, "steps", steps),
            took: durations(registry, ("step_duration", took), of_work),
            to_proposal: durations(registry, ("time_to_proposal", to_proposal), of_people),
            to_green: durations(registry, ("time_to_green", to_green), of_people),
        }
    }

    /// A run begins.
    pub fn begin(&self, started: &Started) {
        let origin = match started.origin {
            Origin::CommandLine => "command_line",
            Origin::Comment { .. } => "comment",
            Origin::Ci { .. } => "ci",
            Origin::Rerun { .. } => "rerun",
            Origin::Label { .. } => "label",
        };
        let mode = started.mode.name();
        self.begun.get_or_create(&Beginning { mode, origin }).inc();
    }

    /// A step was appended to a run; `run` has already taken it.
    pub(super) fn append(&self, run: &Run, Appended { step, .. }: Appended, took: Option<Duration>) {
        let labels = OfStep { step };
        self.steps.get_or_create(&labels).inc();
        if let Some(took) = took {
            self.took.get_or_create(&labels).observe(took.as_secs_f64());
        }
        let mode = run.started.mode.name();
        match step {
            PROPOSED if run.turned_down.is_empty() => {
                self.to_proposal.get_or_create(&OfMode { mode }).observe(age(run));
            }
            ENDED => self.end(run, mode),
            _ => {}
        }
    }

    fn end(&self, run: &Run, mode: &'static str) {
        let Some(end) = &run.end else { return };
        if matches!(end, End::Landed { .. } | End::Written) {
            self.to_green.get_or_create(&OfMode { mode }).observe(age(run));
        }
        let ending = Ending {
            mode,
            engine: engine(run),
            rung: rung(run),
            end: end.name(),
        };
        self.ended.get_or_create(&ending).inc();
    }
}

/// How old a run is, in seconds.
fn age(run: &Run) -> f64 {
    Timestamp::now().duration_since(run.started.at).as_secs_f64().max(0.0)
}

/// What made the proposal, or worked in vain.
fn engine(run: &Run) -> &'static str {
    match run.proposal.as_ref().map(|proposal| &proposal.author) {
        Some(Author::BuiltIn | Author::Remembered(_)) => "builtin",
        // Its name is from a configuration, and anybody's.
        Some(Author::Model(_)) => "model",
        None if run.spent.turns > 0 => "model",
        None if run.search.tried > 0 || run.search.is_over => "builtin",
        None => NONE,
    }
}

fn rung(run: &Run) -> &'static str {
    let found = run.proposal.as_ref().and_then(|proposal| proposal.found_by);
    found.map_or(NONE, |found| found.rung.name())
}

/// What is counted of a step; taken before the step is appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// The step in one word.
    step: &'static str,
    /// The kind of the gate that it opens or answers.
    pub(super) gate: Option<&'static str>,
    /// The answer to the gate.
    pub(super) answer: Option<&'static str>,
}

const PROPOSED: &str = "proposed";
const ENDED: &str = "ended";

impl Appended {
    /// What is counted of a step of this run.
    pub fn of(run: &Run, step: &Step) -> Self {
        let (gate, answer) = match step {
            Step::GateOpened(gate) => (Some(gate.kind.name()), None),
            Step::Answered { gate, answer, .. } => {
                let asked = run.gates.iter().rev().find(|asked| asked.gate.id == *gate);
                let answer = match answer {
                    Answer::Approved { .. } => "approved",
                    Answer::Rejected { .. } => "rejected",
                    Answer::Expired => "expired",
                };
                (asked.map(|asked| asked.gate.kind.name()), Some(answer))
            }
            _ => (None, None),
        };
        Self {
            step: word(step),
            gate,
            answer,
        }
    }
}

impl Appended {
    /// The step in one word.
    pub fn step(&self) -> &'static str {
        self.step
    }
}

fn word(step: &Step) -> &'static str {
    match step {
        Step::Started(_) => "started",
        Step::Read(_) => "read",
        Step::Suites { .. } => "suites",
        Step::SetAside { .. } => "set_aside",
        Step::Reproduced { .. } => "reproduced",
        Step::Said(_) => "said",
        Step::Searched(_) => "searched",
        Step::NeedsExecution => "needs_execution",
        Step::Deferred(_) => "deferred",
        Step::Resolved(_) => "resolved",
        Step::TestsWritten(_) => "tests_written",
        Step::Spent(_) => "spent",
        Step::Proposed(_) => PROPOSED,
        Step::ReviewPosted { .. } => "review_posted",
        Step::GateOpened(_) => "gate_opened",
        Step::Answered { .. } => "answered",
        Step::Unvouched { .. } => "unvouched",
        Step::Verified(_) => "verified",
        Step::Ended(_) => ENDED,
        Step::Announced => "announced",
        Step::Settled { .. } => "settled",
        Step::BaseMoved { .. } => "base_moved",
        Step::Undone { .. } => "undone",
    }
}

/// Measures how long the steps of a run take, one after another.
pub struct StepTimer(Mutex<Instant>);

impl Default for StepTimer {
    fn default() -> Self {
        Self(Mutex::new(Instant::now()))
    }
}

impl StepTimer {
    /// The next step begins now.
    pub fn restart(&self) {
        self.lap();
    }

    /// The time since the last step began or ended; the next one begins.
    pub fn lap(&self) -> Duration {
        let mut since = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *since, Instant::now()).elapsed()
    }
}
