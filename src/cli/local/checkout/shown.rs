//! Shows at the terminal what a run has found and made, each thing once.

use super::super::super::failures::Detail;
use super::super::{memory_file, report};
use super::{OnCheckout, lock};
use crate::domain::gate::GateId;
use crate::domain::run::{End, Run};

/// What has already been shown.
#[derive(Default)]
pub(super) struct AlreadyShown {
    failures: bool,
    tests: Option<String>,
    proposal: Option<GateId>,
    explanation: bool,
}

impl OnCheckout<'_> {
    pub(super) fn is_shown(&self) -> bool {
        !self.parts.arguments.json
    }

    fn detail(&self) -> Detail {
        Detail::of(self.parts.arguments.verbose)
    }

    /// Shows the failures that are worked on, once.
    pub(super) fn show_failures(&self, run: &Run) {
        let Some((before, triage)) = &run.reproduced else {
            return;
        };
        if std::mem::replace(&mut lock(&self.shown).failures, true) {
            return;
        }
        if run.started.mode.is_debug() {
            report::tell_set_aside(triage);
        }
        if self.is_shown() {
            report::show_failures(before, self.detail());
        }
        memory_file::tell_left_out(
            memory_file::left_out(run, &self.parts.worktree.memory),
            &self.parts.arguments.path,
        );
    }

    /// Shows the proposal, the request or the explanation, once each.
    pub(super) fn show_work(&self, run: &Run) {
        let mut shown = lock(&self.shown);
        if let Some(first) = &run.tests_first {
            let digest = first.patch.digest();
            if shown.tests.as_ref() != Some(&digest) {
                report::show_tests(first, self.detail());
                shown.tests = Some(digest);
            }
        }
        if let (Some(gate), Some(proposal)) = (run.open_gates().last(), &run.proposal)
            && gate.kind.lands()
            && shown.proposal.as_ref() != Some(&gate.id)
        {
            report::show_proposal(proposal, self.parts.is_committed);
            shown.proposal = Some(gate.id.clone());
        }
        if let Some(End::Explained(explanation)) = &run.end
            && !std::mem::replace(&mut shown.explanation, true)
        {
            report::show_explanation(explanation);
        }
    }
}
