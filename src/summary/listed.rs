//! A run as one line of a list.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::gate::GateKind;
use crate::domain::id::{CommitSha, RepositoryName, RunId};
use crate::domain::reply;
use crate::domain::run::{End, Origin, Run};
use crate::domain::spend::Spend;

/// The state of a run on a checkout that is not over, and on which no process works.
pub const INTERRUPTED: &str = "interrupted";

/// A run in a list. Scripts rely on the JSON: fields may be added, but never change their meaning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunSummary {
    #[schemars(with = "String")]
    pub id: RunId,
    /// `None` for a run on a checkout.
    #[schemars(with = "Option<String>")]
    pub repository: Option<RepositoryName>,
    pub pull_request: Option<u64>,
    /// The folder of a run on a checkout, in lists of that machine.
    #[serde(default)]
    pub checkout: Option<String>,
    /// The commit that the run works on.
    #[schemars(with = "String")]
    pub head: CommitSha,
    /// `debug`, `tdd`, `refactor` or `explain`.
    pub mode: String,
    /// `working`, `waiting`, `landed`, `written`, `explained`, `suggested`, `rejected`, `refused`, `nothing-to-fix`,
    /// `not-judged`, `not-reproduced`, `gave-up`, `superseded`, `cancelled` or `expired`. In lists of a machine also
    /// `interrupted`, for a run on a checkout that no process works on.
    pub state: String,
    /// The state as a sentence, in plain text.
    #[serde(default)]
    pub outcome: String,
    /// What a run with the state `working` is doing now, such as `running the tests`. `None` in any other state.
    #[serde(default)]
    pub doing: Option<String>,
    pub started: Timestamp,
    /// The logins of the people who asked for it or answered, in this order.
    #[serde(default)]
    pub people: Vec<String>,
    /// From its start until now, or until the last moment that its journal records if it has ended or was interrupted.
    #[serde(default)]
    pub elapsed_ms: u64,
    /// Ids of the requests that wait for an answer.
    pub waits_for: Vec<String>,
    /// The same requests, each with its times.
    #[serde(default)]
    pub waiting: Vec<WaitsFor>,
    /// Turns, tokens, millionths of a US dollar, and milliseconds at work.
    pub spent: Spend,
}

/// A request that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitsFor {
    pub gate: String,
    /// `search`, `verify-and-land`, `land`, `change-tests`, `tests` or `execute`.
    pub kind: String,
    pub opened: Timestamp,
    pub expires: Timestamp,
}

impl RunSummary {
    /// The state of a run at a moment.
    pub fn of(run: &Run, now: Timestamp) -> Self {
        let (started, on) = (&run.started, run.started.pull_request());
        let until = if run.end.is_some() { last_recorded(run) } else { now };
        let open = run.open_gates();
        Self {
            id: run.id().clone(),
            repository: on.map(|id| id.repository.name.clone()),
            pull_request: on.map(|id| id.number),
            checkout: None,
            head: started.head.clone(),
            mode: started.mode.name().into(),
            state: reply::state(run).into(),
            outcome: without_sign(&reply::check(run, "the branch").title),
            doing: run.doing().map(Into::into),
            started: started.at,
            people: people(run),
            elapsed_ms: between(started.at, until),
            waits_for: open.iter().map(|gate| gate.id.to_string()).collect(),
            waiting: open
                .iter()
                .map(|gate| WaitsFor {
                    gate: gate.id.to_string(),
                    kind: gate.kind.name().into(),
                    opened: gate.opened,
                    expires: gate.expires,
                })
                .collect(),
            spent: run.spent,
        }
    }

    /// The state of a run on a checkout that no process works on.
    pub fn of_interrupted(run: &Run) -> Self {
        Self {
            state: INTERRUPTED.into(),
            outcome: "Interrupted; the same command resumes it".into(),
            doing: None,
            ..Self::of(run, last_recorded(run))
        }
    }

    /// The same for a run that ended at this time. Unchanged if that is unknown.
    #[must_use]
    pub fn ended(mut self, at: Option<Timestamp>) -> Self {
        if let Some(at) = at {
            self.elapsed_ms = self.elapsed_ms.max(between(self.started, at));
        }
        self
    }

    /// The same for a run on the checkout in this folder.
    #[must_use]
    pub fn in_folder(self, folder: Option<String>) -> Self {
        Self {
            checkout: folder,
            ..self
        }
    }

    /// The same at another moment: only what has not ended takes longer.
    #[must_use]
    pub fn at(mut self, now: Timestamp) -> Self {
        if self.is_waiting() || self.is_working() {
            self.elapsed_ms = between(self.started, now);
        }
        self
    }

    pub fn is_waiting(&self) -> bool {
        self.state == "waiting"
    }

    pub fn is_working(&self) -> bool {
        self.state == "working"
    }
}

/// Which runs a list contains.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// The whole name, in any case.
    pub repository: Option<String>,
    pub state: Option<String>,
    /// The login of somebody who asked for the run or answered, in any case.
    pub person: Option<String>,
    /// A part of any text of the line, in any case.
    pub text: Option<String>,
}

impl Filter {
    pub fn takes(&self, run: &RunSummary) -> bool {
        let repository = run.repository.as_ref().map(ToString::to_string).unwrap_or_default();
        let is = |wanted: &Option<String>, value: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(value))
        };
        let has_text = self.text.as_ref().is_none_or(|text| {
            let number = run.pull_request.map(|number| format!("#{number}")).unwrap_or_default();
            let line = [
                &run.id.0,
                &repository,
                &number,
                run.head.as_str(),
                &run.mode,
                &run.state,
                &run.outcome,
            ];
            let line = line.map(String::from).join(" ").to_lowercase();
            line.contains(&text.to_lowercase())
        });
        let has_person = self.person.as_ref().is_none_or(|wanted| {
            let mut people = run.people.iter();
            people.any(|login| login.eq_ignore_ascii_case(wanted.trim_start_matches('@')))
        });
        is(&self.repository, &repository) && is(&self.state, &run.state) && has_person && has_text
    }
}

fn people(run: &Run) -> Vec<String> {
    let began = match &run.started.origin {
        Origin::Comment { by, .. } | Origin::Rerun { by, .. } | Origin::Label { by } => Some(by),
        Origin::CommandLine | Origin::Ci { .. } => None,
    };
    let answered = run.gates.iter().flat_map(|asked| {
        let rejected = asked.rejected.iter().map(|(by, _)| by);
        asked.approved_by().chain(rejected)
    });
    let mut people: Vec<String> = Vec::new();
    for by in began.into_iter().chain(answered) {
        if !people.iter().any(|known| known.eq_ignore_ascii_case(by.as_str())) {
            people.push(by.to_string());
        }
    }
    people
}

/// The last moment that the journal of a run is known to have reached. Steps carry no times, so this is a lower bound:
/// the requests and their answers, and the work after the start.
pub(super) fn last_recorded(run: &Run) -> Timestamp {
    let at_work = later(run.started.at, run.spent.wall_ms);
    let of_gates = run.gates.iter().flat_map(|asked| {
        let answered = asked.approvals.iter().filter_map(|approval| approval.at);
        // Only an approval starts a run of the tests.
        let tested = match (&asked.gate.kind, &run.evidence) {
            (GateKind::VerifyAndLand { .. }, Some(evidence)) if asked.is_approved() => evidence.after.duration_ms,
            _ => 0,
        };
        let answered = answered.map(move |at| later(at, tested));
        // On a checkout, a request without anybody to answer it ends at once.
        let is_awaited = asked.expired && run.started.pull_request().is_some();
        let expired = is_awaited.then_some(asked.gate.expires);
        answered.chain(expired).chain([asked.gate.opened])
    });
    of_gates.fold(at_work, Timestamp::max)
}

/// Whether people took what the run proposed, and did not undo it.
pub(super) fn is_accepted(run: &Run) -> bool {
    let is_taken = matches!(run.end, Some(End::Landed { .. } | End::Written));
    (is_taken || run.is_accepted_by_writers()) && run.undone.is_none()
}

/// A headline without the sign before it, which not every terminal and browser has.
fn without_sign(headline: &str) -> String {
    headline.trim_start_matches(|c: char| !c.is_alphanumeric()).into()
}

pub(super) fn later(at: Timestamp, millis: u64) -> Timestamp {
    let millis = i64::try_from(millis).unwrap_or(i64::MAX);
    at.checked_add(jiff::SignedDuration::from_millis(millis)).unwrap_or(at)
}

pub(super) fn earlier(at: Timestamp, millis: u64) -> Timestamp {
    let millis = i64::try_from(millis).unwrap_or(i64::MAX);
    at.checked_sub(jiff::SignedDuration::from_millis(millis)).unwrap_or(at)
}

pub(super) fn between(from: Timestamp, until: Timestamp) -> u64 {
    u64::try_from(until.as_millisecond().saturating_sub(from.as_millisecond())).unwrap_or(0)
}
