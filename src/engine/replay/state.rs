//! The rest of a recording, and how new steps are matched with it.

use std::collections::VecDeque;

use serde_json::Value;

use super::Replayed;
use super::compare::{describe_run, step_told};
use crate::domain::run::{End, Run, Step};
use crate::domain::test_run::TestRun;

pub(super) struct ReplayState {
    /// The remaining steps of the recording.
    pub(super) steps: VecDeque<Step>,
    /// The number of items in this attempt's transcript.
    pub(super) item: usize,
    pub(super) replayed: Replayed,
}

impl ReplayState {
    pub(super) fn is_over(&self) -> bool {
        self.steps.is_empty()
    }

    /// The remaining steps of the current attempt, including its outcome.
    pub(super) fn attempt(&self) -> impl Iterator<Item = &Step> {
        let end = self
            .steps
            .iter()
            .position(is_answer)
            .map_or(self.steps.len(), |at| at + 1);
        self.steps.iter().take(end)
    }

    /// Adds recorded steps that are not executed again to the run: those of people, GitHub and the clock.
    pub(super) fn take_what_is_not_repeated(&mut self, run: &mut Run) -> bool {
        let mut took = false;
        while let Some(step) = self.steps.front() {
            let is_repeated = match step {
                Step::Searched(_) => !self.attempt().any(|step| said(step).is_some()),
                Step::Reproduced { .. } | Step::Said(_) => true,
                step => is_outcome(step),
            };
            if is_repeated {
                break;
            }
            self.take(run);
            took = true;
        }
        took
    }

    fn take(&mut self, run: &mut Run) {
        if let Some(step) = self.steps.pop_front() {
            if let Some(item) = said(&step) {
                self.item += 1;
                self.replayed.turns += usize::from(item.get("reply").is_some());
                self.replayed.results += usize::from(item.get("result").is_some());
            }
            run.take(step);
        }
    }

    /// Adds all remaining steps.
    pub(super) fn rest(&mut self, run: &mut Run) {
        while !self.is_over() {
            self.take(run);
        }
    }

    fn at(&self) -> String {
        format!("attempt {}", self.replayed.attempts)
    }

    /// Compares an item of the transcript with the recorded one.
    pub(super) fn said(&mut self, run: &mut Run, now: &Value) {
        while matches!(self.steps.front(), Some(Step::Searched(_) | Step::Spent(_))) {
            self.take(run);
        }
        let recorded = match self.steps.front() {
            Some(Step::Said(item)) => item.to_string(),
            _ => String::new(),
        };
        let at = format!("{}, item {}", self.at(), self.item + 1);
        self.replayed.compare(&at, &recorded, &now.to_string());
        if recorded.is_empty() {
            self.item += 1;
        } else {
            self.take(run);
        }
    }

    pub(super) fn reproduced(&mut self, run: &mut Run, now: &TestRun) {
        match self.steps.front() {
            Some(Step::Reproduced { before, .. }) => {
                let now = now.clone().excusing(&before.excused);
                let recorded = describe_run(before);
                self.replayed
                    .compare("the tests at the head", &recorded, &describe_run(&now));
                self.take(run);
            }
            _ => self.outcome(run, &describe_run(now)),
        }
    }

    /// Compares the outcome of an attempt with the recorded one. Items that were recorded before it are now missing.
    pub(super) fn outcome(&mut self, run: &mut Run, now: &str) {
        while let Some(step) = self.steps.front() {
            if is_outcome(step) {
                break;
            }
            if let Step::Said(item) = step {
                let (at, item) = (format!("{}, item {}", self.at(), self.item + 1), item.to_string());
                self.replayed.compare(&at, &item, "");
            }
            self.take(run);
        }
        let what = match self.steps.front() {
            Some(Step::Deferred(_)) => "what the model asks for",
            _ => "what came of it",
        };
        let recorded = self.steps.front().map_or("cut off".into(), step_told);
        let at = format!("{}, {what}", self.at());
        self.replayed.compare(&at, &recorded, now);
        self.take(run);
    }
}

/// Whether a step is the outcome of an attempt, or a request that it waits for.
pub(super) fn is_outcome(step: &Step) -> bool {
    is_answer(step) || matches!(step, Step::Deferred(_) | Step::NeedsExecution)
}

/// Whether a step is the outcome of an attempt.
fn is_answer(step: &Step) -> bool {
    let by_work = |end: &End| {
        matches!(
            end,
            End::GaveUp { .. }
                | End::NotFound { .. }
                | End::LimitReached { .. }
                | End::Explained(_)
                | End::Refused { .. }
                | End::NothingToFix { .. }
                | End::NotJudged { .. }
        )
    };
    match step {
        Step::Proposed(_) | Step::TestsWritten(_) => true,
        Step::Ended(end) => by_work(end),
        _ => false,
    }
}

/// The item of the transcript in a step, if any.
pub(super) fn said(step: &Step) -> Option<&Value> {
    match step {
        Step::Said(item) | Step::Resolved(item) => Some(item),
        _ => None,
    }
}
