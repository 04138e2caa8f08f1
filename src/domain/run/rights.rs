//! What a run may do, and on whose authority.

use jiff::Timestamp;

use super::{Asked, Consent, Run};
use crate::domain::gate::{GateKind, Terms};
use crate::domain::id::Account;
use crate::domain::mode::Mode;

/// The configuration's rules for the gates of a run.
#[derive(Debug, Clone, Copy)]
pub struct GateRules {
    pub approvers: u32,
    pub gate_seconds: u64,
    pub asks_about_tests: bool,
}

impl Run {
    /// Whether a person with write access asked for its next part: they began it, or approved something in it.
    pub fn is_asked_for(&self) -> bool {
        self.started.is_asked_for() || self.gates.iter().any(|asked| !asked.approvals.is_empty())
    }

    /// Whether anybody approved landing the proposal.
    pub fn is_landing_approved(&self) -> bool {
        self.gates
            .iter()
            .any(|asked| asked.gate.kind.lands() && !asked.approvals.is_empty())
    }

    /// Removes a consent by configuration, however it got into the journal. It never covers a head that people
    /// without write access can push to. Approved gates remain approved.
    pub fn forget_consent_by_config(&mut self) {
        if matches!(self.started.consent, Consent::Config { .. }) {
            self.started.consent = Consent::None;
            self.started.asks_first = true;
        }
    }

    /// Whether code of the pull request may run, by the consent that the run started with or by an approved search.
    pub fn may_execute(&self) -> bool {
        self.started.consent != Consent::None
            || self
                .gates
                .iter()
                .any(|asked| matches!(asked.gate.kind, GateKind::Search { .. }) && asked.is_approved())
    }

    /// The people on whose authority code may run. Their permissions are checked again each time.
    pub fn vouched_by(&self) -> Vec<&Account> {
        let consent = match &self.started.consent {
            Consent::None | Consent::CommandLine => None,
            Consent::Command { by } | Consent::Config { author: by } => Some(by),
        };
        consent
            .into_iter()
            .chain(self.relied_on().flat_map(Asked::approved_by))
            .collect()
    }

    /// The approved gates that still permit something.
    pub fn relied_on(&self) -> impl Iterator<Item = &Asked> {
        // An approved execution permits nothing more once it is done.
        let is_used_up = |at: usize, asked: &Asked| at < self.resolved_gates && asked.gate.kind.is_for_the_model();
        let gates = self.gates.iter().enumerate();
        gates
            .filter(move |(at, asked)| asked.is_approved() && !is_used_up(*at, asked))
            .map(|(_, asked)| asked)
    }

    /// Replaces rules in a journal that others can write to by those of the configuration. This never makes anything
    /// easier: the larger number of approvers counts.
    pub fn hold_to(&mut self, rules: &GateRules) {
        self.started.approvers = rules.approvers;
        self.started.gate_seconds = rules.gate_seconds;
        self.started.asks_about_tests |= rules.asks_about_tests && matches!(self.started.mode, Mode::Tdd { .. });
        for asked in &mut self.gates {
            asked.gate.approvers = asked.gate.approvers.max(rules.approvers);
        }
    }

    /// Forgets test results and CI logs that others recorded, so that greenlight fetches them again.
    pub fn forget_sightings(&mut self, is_own: impl Fn(usize) -> bool) {
        if !self.places.reproduced.is_some_and(&is_own) {
            self.reproduced = None;
            self.suites = None;
        }
        if !self.places.reading.is_some_and(&is_own) {
            self.reading = None;
        }
    }

    /// The command that an approved gate permits, and its minutes. `None` if a consent permits any command, or no
    /// gate permits one.
    pub fn granted(&self) -> Option<(&GateKind, &str, u64)> {
        let approved = self.gates.iter().rev().filter(|asked| asked.is_approved());
        let mut commands = approved.filter_map(|asked| match &asked.gate.kind {
            GateKind::Search { command, minutes } | GateKind::VerifyAndLand { command, minutes, .. } => {
                Some((&asked.gate.kind, command.as_str(), *minutes))
            }
            GateKind::Land { .. } | GateKind::ChangeTests { .. } | GateKind::Execute(_) | GateKind::Tests { .. } => {
                None
            }
        });
        commands.next().filter(|_| self.started.consent == Consent::None)
    }

    /// The terms of a gate opened now.
    pub fn terms(&self, now: Timestamp) -> Terms {
        let seconds = i64::try_from(self.started.gate_seconds).unwrap_or(i64::MAX);
        let expires = now
            .checked_add(jiff::SignedDuration::from_secs(seconds))
            .unwrap_or(Timestamp::MAX);
        Terms {
            head: self.started.head.clone(),
            approvers: self.started.approvers,
            opened: now,
            expires,
        }
    }
}
