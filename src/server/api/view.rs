//! The JSON views of a run. Scripts rely on them: fields may be added, but never change their meaning.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::execution::Execution;
use crate::domain::gate::{Circumstances, GateId};
use crate::domain::id::{CommitSha, Login, RunId};
use crate::domain::reply;
use crate::domain::run::{Asked, End, Run};
use crate::journal::Unreadable;
use crate::summary::{RunSummary, TimelineEntry, ended_at};

/// The runs of a repository.
#[derive(Serialize, JsonSchema)]
pub(super) struct RunList {
    pub(super) runs: Vec<RunSummary>,
    /// Those that this version cannot read.
    pub(super) unreadable: Vec<UnreadableRun>,
}

/// An answer of a person that was recorded.
#[derive(Serialize, JsonSchema)]
pub(super) struct Accepted {
    #[schemars(with = "String")]
    run: RunId,
    /// The request that was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    gate: Option<GateId>,
    /// `approve`, `reject` or `cancel`.
    accepted: &'static str,
}

impl Accepted {
    pub(super) fn of(run: &Run, gate: Option<&GateId>, accepted: &'static str) -> Self {
        Self {
            run: run.id().clone(),
            gate: gate.cloned(),
            accepted,
        }
    }
}

/// An unreadable run in a list.
#[derive(Serialize, JsonSchema)]
pub(super) struct UnreadableRun {
    #[schemars(with = "String")]
    id: RunId,
    pull_request: u64,
    /// Why, as a sentence without its full stop.
    reason: String,
}

impl UnreadableRun {
    pub(super) fn of(run: &Unreadable) -> Self {
        Self {
            id: run.run.clone(),
            pull_request: run.number,
            reason: run.why.to_string(),
        }
    }
}

/// A run with everything that its comment shows.
#[derive(Serialize, JsonSchema)]
pub(super) struct RunView {
    #[serde(flatten)]
    summary: RunSummary,
    /// Every request so far, oldest first.
    gates: Vec<GateView>,
    /// What found the proposal, if no model did: `tool`, `memory`, `revert` or `search`.
    rung: Option<&'static str>,
    /// The commit that landed.
    #[schemars(with = "Option<String>")]
    commit: Option<CommitSha>,
    /// The comment of the pull request, in GitHub's Markdown.
    comment: String,
    /// What happened, with durations as far as they are recorded.
    timeline: Vec<TimelineEntry>,
    /// The number of steps in its journal: `events` with a `Last-Event-ID` of one less begins after them.
    steps: usize,
}

/// A request for a green light.
#[derive(Serialize, JsonSchema)]
struct GateView {
    id: String,
    /// `search`, `verify-and-land`, `land`, `change-tests`, `tests` or `execute`.
    kind: &'static str,
    /// `open`, `approved`, `rejected`, `expired`, or `void` when the run ended before an answer.
    state: &'static str,
    /// The request in GitHub's Markdown: exactly what an approval triggers.
    request: String,
    /// The same in a machine-readable form, if a model asks for something.
    execution: Option<Execution>,
    circumstances: Option<Circumstances>,
    #[schemars(with = "String")]
    head: CommitSha,
    /// SHA-256 of the head and exactly what will run or land, in hex.
    digest: String,
    /// How many people have to approve, and who has approved.
    approvers: u32,
    #[schemars(with = "Vec<String>")]
    approved_by: Vec<Login>,
    #[schemars(with = "Option<String>")]
    rejected_by: Option<Login>,
    reason: Option<String>,
    opened: Timestamp,
    expires: Timestamp,
}

impl RunView {
    pub(super) fn of(run: &Run, timeline: Vec<TimelineEntry>, branch: &str) -> Self {
        let found_by = run.proposal.as_ref().and_then(|proposal| proposal.found_by.as_ref());
        Self {
            summary: RunSummary::of(run, Timestamp::now()).ended(ended_at(&timeline)),
            gates: run.gates.iter().map(|asked| GateView::of(run, asked, branch)).collect(),
            rung: found_by.map(|found_by| found_by.rung.name()),
            commit: match &run.end {
                Some(End::Landed { commit }) => Some(commit.clone()),
                _ => None,
            },
            comment: reply::sticky(run, branch),
            timeline,
            steps: run.length,
        }
    }
}

impl GateView {
    fn of(run: &Run, asked: &Asked, branch: &str) -> Self {
        let gate = &asked.gate;
        let execution = gate.kind.execution().cloned();
        Self {
            id: gate.id.to_string(),
            kind: gate.kind.name(),
            state: match asked {
                asked if asked.is_approved() => "approved",
                asked if asked.rejected.is_some() => "rejected",
                asked if asked.expired => "expired",
                _ if run.end.is_some() => "void",
                _ => "open",
            },
            request: reply::gate_request(gate, branch),
            circumstances: execution.is_some().then(|| gate.circumstances.clone()),
            execution,
            head: gate.head.clone(),
            digest: gate.digest.clone(),
            approvers: gate.approvers,
            approved_by: asked.approved_by().map(|by| by.login.clone()).collect(),
            rejected_by: asked.rejected.as_ref().map(|(by, _)| by.login.clone()),
            reason: asked.rejected.as_ref().and_then(|(_, reason)| reason.clone()),
            opened: gate.opened,
            expires: gate.expires,
        }
    }
}
