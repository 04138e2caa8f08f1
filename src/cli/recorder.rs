//! Writes down what a local verb does, as the journal of a run has it, for a bundle.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;

use super::work::Approver;
use super::{Exit, terminal};
use crate::domain::gate::{Answer, Gate, GateKind};
use crate::domain::id::{Account, CommitSha, PullRequestId, RunId};
use crate::domain::memory::Memory;
use crate::domain::mode::Mode;
use crate::domain::run::{Consent, End, Origin, Run, Started, Step};
use crate::domain::search::Search;
use crate::domain::spend::Spend;
use crate::engine::bundle;
use crate::engine::desk::Desk;
use crate::engine::work::Outcome;
use crate::openai::OpenAi;

/// What happened so far; nothing relies on it.
#[derive(Default)]
pub(super) struct Recorder {
    steps: Mutex<Vec<Step>>,
}

impl Recorder {
    pub(super) fn take(&self, step: Step) {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner).push(step);
    }

    /// A run on this machine: there is no pull request, and the person at the terminal is its authority.
    pub(super) fn begin(&self, mode: &Mode, head: &CommitSha, desk: &Desk) -> Result<(), Exit> {
        let fault = |error: &dyn std::fmt::Display| Exit::Fault(error.to_string());
        let by = me();
        let at = Timestamp::now();
        self.take(Step::Started(Box::new(Started {
            run: RunId(format!("local-{}", at.as_millisecond())),
            pull_request: PullRequestId {
                repository: "local/checkout".parse().map_err(|error| fault(&error))?,
                number: 0,
            },
            installation: None,
            head: head.clone(),
            base: head.clone(),
            base_branch: None,
            origin: Origin::Comment { id: 0, by: by.clone() },
            consent: Consent::Command { by },
            asks_first: false,
            mode: mode.clone(),
            asks_about_tests: desk.config.gate.tests,
            approvers: 1,
            gate_seconds: 0,
            writes_as: None,
            at,
        })));
        Ok(())
    }

    /// What the model used up so far, in all attempts.
    pub(super) fn spend(&self) -> Spend {
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let said = steps.iter().filter_map(|step| match step {
            Step::Said(item) => Some(Spend::of_item(item)),
            _ => None,
        });
        said.sum()
    }

    /// The search as the next attempt goes on with it.
    pub(super) fn search(&self) -> Search {
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        Run::fold(steps.iter().cloned()).map_or_else(|_| Search::default(), |run| run.search)
    }

    /// All that was searched, in all attempts; none if nothing was.
    pub(super) fn searched(&self) -> Option<Search> {
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = steps.iter().filter_map(|step| match step {
            Step::Searched(part) => Some(part.told()),
            _ => None,
        });
        parts.reduce(|mut whole, part| {
            whole.join(part);
            whole
        })
    }

    /// What came of an attempt.
    pub(super) fn outcome(&self, outcome: &Outcome) {
        let step = match outcome {
            Outcome::Proposed(proposal) => Step::Proposed(proposal.clone()),
            Outcome::TestsWritten(tests) => Step::TestsWritten(tests.clone()),
            Outcome::Explained(explanation) => Step::Ended(End::Explained(explanation.clone())),
            Outcome::Deferred(deferred) => Step::Deferred(deferred.clone()),
            Outcome::ActsByCode => Step::NeedsExecution,
            Outcome::GaveUp { reason } | Outcome::LimitReached { reason, found: None } => {
                Step::Ended(End::GaveUp { reason: reason.clone() })
            }
            Outcome::NotFound { reason, search, .. } => Step::Ended(End::NotFound {
                reason: reason.clone(),
                search: Box::new(search.told()),
            }),
            Outcome::Refused { reason } => Step::Ended(End::Refused { reason: reason.clone() }),
            Outcome::NothingToDo { reason } => Step::Ended(End::NothingToFix { reason: reason.clone() }),
            Outcome::LimitReached {
                reason,
                found: Some(found),
            } => Step::Ended(End::LimitReached {
                reason: reason.clone(),
                found: found.clone(),
            }),
            Outcome::Interrupted => Step::Ended(End::Cancelled { by: None }),
        };
        self.take(step);
    }

    /// Somebody had something against what was proposed last.
    pub(super) fn rejected(&self, reason: &str, tests: bool) -> Result<(), Exit> {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let run = Run::fold(steps.iter().cloned()).map_err(|error| Exit::Fault(error.to_string()))?;
        let kind = match tests {
            true => GateKind::Tests { files: 0, tests: 0 },
            false => GateKind::Land { files: 0 },
        };
        let gate = Gate::open(run.id(), run.gates.len(), kind, "", run.terms(Timestamp::now()));
        let by = me();
        let answer = Answer::Rejected {
            by,
            reason: Some(reason.into()),
        };
        let id = gate.id.clone();
        steps.push(Step::GateOpened(gate));
        steps.push(Step::Answered {
            gate: id,
            answer,
            comment: None,
            at: Some(Timestamp::now()),
        });
        Ok(())
    }

    /// Puts it into a file, if there is to be one, with the tree it began on, which nobody may have changed yet.
    pub(super) async fn write(
        &self,
        file: Option<&Path>,
        (desk, memory, approver): (&Desk, &Memory, Approver),
        model: Option<&(OpenAi, String)>,
    ) -> Result<(), Exit> {
        let Some(file) = file else { return Ok(()) };
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let cannot = |error: &dyn std::fmt::Display| {
            Exit::Usage(format!(
                "{} cannot be written: {error}; name another file",
                file.display()
            ))
        };
        let run = Run::fold(steps.iter().cloned()).map_err(|error| Exit::Fault(error.to_string()))?;
        let mut manifest = bundle::manifest(&run, desk, model, memory)
            .await
            .map_err(|error| cannot(&error))?;
        manifest.asks_nobody = approver == Approver::Nobody;
        bundle::write(file, &manifest, &steps, &desk.checkout).map_err(|error| cannot(&error))?;
        let file = file.display();
        terminal::tell(&format!(
            "recorded in {file}; `greenlight replay {file}` goes through it again"
        ));
        Ok(())
    }
}

/// The person at this terminal.
fn me() -> Account {
    Account::new("local")
}
