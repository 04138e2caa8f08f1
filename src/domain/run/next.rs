//! The one function that decides what a run does next, from its journal alone.

use super::super::execution::{Deferred, Resolution};
use super::super::gate::GateKind;
use super::super::mode::Mode;
use super::super::proposal::Proposal;
use super::super::test_run::TestRun;
use super::super::triage::{MergeState, Merged, Triage, Verdict};
use super::{Asked, End, MAX_PROPOSALS, Run, Subject};

/// How many characters of a CI step's script are shown.
const MAX_STEP: usize = 120;

/// What a run does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    ReadLog,
    Reproduce,
    /// Looks for a patch; `may_execute` says whether tests may run.
    Work {
        may_execute: bool,
    },
    PostReview,
    OpenGate(GateNeeded),
    /// Runs what the gate's approval allows.
    Verify,
    /// Returns the answer to the model's request, after executing the request if it was approved.
    Resolve(Resolution),
    Land,
    End(End),
    Announce,
    /// Waits for a person's answer.
    Wait,
    Done,
}

/// Which gate to open next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateNeeded {
    Search,
    VerifyAndLand,
    Land,
    /// Like [`Self::Land`], for a patch that claims that a test is wrong.
    ChangeTests,
    /// For the model's request.
    Execute,
    /// For the tests of a specification.
    Tests,
}

impl Run {
    /// What comes next, given whether a model is configured.
    pub fn next(&self, has_model: bool) -> Next {
        if self.end.is_some() {
            return if self.announced { Next::Done } else { Next::Announce };
        }
        if let Some(end) = self.broken_off() {
            return Next::End(end);
        }
        if let Some(last) = self.gates.last() {
            if last.is_open() {
                return Next::Wait;
            }
            if last.expired && !last.gate.kind.is_for_the_model() {
                return Next::End(End::Expired);
            }
        }
        if let Some(deferred) = &self.deferred {
            return self.next_deferred(deferred);
        }
        match &self.proposal {
            Some(proposal) => self.next_with(proposal),
            None => self.next_without(has_model),
        }
    }

    /// What the run is doing now, in words. `None` if it has ended or waits for a person.
    pub fn doing(&self) -> Option<&'static str> {
        // Whether there is a model only matters to a run without one, which asks for an approval and then waits.
        Some(match self.next(true) {
            Next::Wait | Next::Done | Next::Announce | Next::End(_) => return None,
            Next::ReadLog => "reading the log of the failed job",
            Next::Reproduce => "running the tests",
            Next::Work { .. } => "looking for a fix",
            Next::PostReview => "posting the review",
            Next::OpenGate(_) => "asking for an approval",
            Next::Verify => "running the tests on the proposal",
            Next::Resolve(_) => "answering the model",
            Next::Land => "committing the fix",
        })
    }

    /// The newest gate whose answer decides how the run continues.
    fn last_gate(&self) -> Option<&Asked> {
        self.gates.iter().rfind(|asked| !asked.gate.kind.is_for_the_model())
    }

    fn next_deferred(&self, deferred: &Deferred) -> Next {
        let Some(asked) = self.request() else {
            // No matter what made the request, nobody is asked to approve what cannot be shown, nor more often than a
            // run may ask.
            if let Some(why) = deferred.execution.unfit() {
                let reason = Some(format!("nobody was asked: {why}"));
                return Next::Resolve(Resolution::Rejected { reason });
            }
            return match self.may_ask() {
                0 => Next::Resolve(Resolution::NoAnswer),
                _ => Next::OpenGate(GateNeeded::Execute),
            };
        };
        Next::Resolve(match &asked.rejected {
            Some((_, reason)) => Resolution::Rejected { reason: reason.clone() },
            None if asked.is_approved() => Resolution::Approved,
            None => Resolution::NoAnswer,
        })
    }

    fn next_with(&self, proposal: &Proposal) -> Next {
        // On a checkout, the request itself shows the proposal.
        if self.review.is_none() && self.started.subject != Subject::Checkout {
            return Next::PostReview;
        }
        let is_about_it = |asked: &&Asked| !matches!(asked.gate.kind, GateKind::Search { .. } | GateKind::Tests { .. });
        let gate = self.last_gate().filter(is_about_it);
        match gate.filter(|asked| asked.is_approved()) {
            None if !proposal.weakens.is_empty() => Next::OpenGate(GateNeeded::ChangeTests),
            None if proposal.evidence.is_some() => Next::OpenGate(GateNeeded::Land),
            None => Next::OpenGate(GateNeeded::VerifyAndLand),
            Some(_) if self.evidence.is_none() => Next::Verify,
            Some(_) => Next::Land,
        }
    }

    fn next_after_tests(&self) -> Next {
        let wants_a_gate = self.tests_first.is_some() && self.started.asks_about_tests;
        let is_about_tests = |asked: &&Asked| matches!(asked.gate.kind, GateKind::Tests { .. });
        // The newest gate of this kind, because a rejection of the code says nothing about the tests.
        let gate = self.gates.iter().rfind(is_about_tests);
        if wants_a_gate && !gate.is_some_and(Asked::is_approved) {
            return Next::OpenGate(GateNeeded::Tests);
        }
        Next::Work { may_execute: true }
    }

    /// Why there is nothing to work on. If CI failed although the tests pass here, it adds what may differ in CI.
    fn why_not(&self, before: &TestRun, triage: &Triage) -> String {
        let others = self.suites.iter().flat_map(|suites| suites.others(before));
        let why = others.fold(triage.why_not(before), |all, other| {
            format!("{}. {other}", all.trim_end_matches('.'))
        });
        let is_conflict = matches!(
            triage.merged.as_deref(),
            Some(Merged {
                state: MergeState::Conflict { .. },
                ..
            })
        );
        if !self.is_ci_red() || triage.verdict != Verdict::Green || is_conflict {
            return why;
        }
        let step = self.reading.as_ref().and_then(|reading| reading.step.as_ref());
        let step = step.and_then(|step| step.script.lines().find(|line| !line.trim().is_empty()));
        let step = step.map_or_else(String::new, |line| {
            let line: String = line.trim().replace('`', "'").chars().take(MAX_STEP).collect();
            format!(" The step that failed in CI runs `{line}`.")
        });
        format!(
            "{}. So CI differs from this machine (versions, services, secrets, time), or it ran something else.{step}",
            why.trim_end_matches('.')
        )
    }

    fn next_without(&self, has_model: bool) -> Next {
        if let Some((by, reason)) = self.last_gate().and_then(|asked| asked.rejected.clone()) {
            let of_a_search = self
                .last_gate()
                .is_some_and(|asked| matches!(asked.gate.kind, GateKind::Search { .. }));
            let attempts = self.turned_down.len().max(self.turned_down_tests.len());
            if of_a_search || reason.is_none() || attempts >= MAX_PROPOSALS {
                return Next::End(End::Rejected { by, reason });
            }
        }
        // This comes before everything that depends on it: the failed step may show how the tests are run, and a gate
        // names that command.
        let has_ci = self.started.subject != Subject::Checkout;
        if has_ci && self.reading.is_none() && self.reproduced.is_none() && self.gates.is_empty() {
            return Next::ReadLog;
        }
        if self.may_execute() {
            return match &self.reproduced {
                None => Next::Reproduce,
                // In these modes, the work itself decides what failing tests mean.
                Some(_) if self.started.mode != Mode::Debug => self.next_after_tests(),
                Some((_, triage)) if triage.has_regression() => Next::Work { may_execute: true },
                Some((before, triage)) if triage.is_not_judged() => Next::End(End::NotJudged {
                    reason: triage.why_not(before),
                }),
                Some((before, triage)) => Next::End(End::NothingToFix {
                    reason: self.why_not(before, triage),
                }),
            };
        }
        if has_model {
            Next::Work { may_execute: false }
        } else {
            Next::OpenGate(GateNeeded::Search)
        }
    }
}
