//! The steps of a run in order, with durations.
//!
//! A database records when each step was appended; versions before that, and other journals, do not. Without it, known
//! are the start, requests and answers, test runs, searches, and how long the work between two of its records took, and
//! everything else is as late as what was recorded before it.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::listed::{between, earlier, later};
use crate::domain::count::count;
use crate::domain::gate::{Answer, Gate};
use crate::domain::redact;
use crate::domain::run::Step;
use crate::domain::search::Search;
use crate::domain::spend::Spend;
use crate::domain::test_run::TestRun;

/// How many entries a timeline has at most; the newest are kept.
const MAX_ENTRIES: usize = 2_000;
/// The maximum length of a text from others, in bytes.
const MAX_TEXT: usize = 300;
/// How many calls of a model are named in one entry.
const MAX_CALLS: usize = 8;

/// One or more consecutive steps of the same kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineEntry {
    /// The place of the first of them in the journal, and how many there are.
    pub place: usize,
    pub steps: usize,
    /// `started`, `log`, `clone`, `install`, `tests`, `model`, `search`, `request`, `answer`, `proposal`, `review`,
    /// `proof`, `end` or `other`.
    pub kind: String,
    /// What happened, as plain text.
    pub what: String,
    /// When, as far as it is known.
    pub at: Timestamp,
    /// How long it took: fetching, installing, test runs, searches, and how long a request waited. `None` if that was
    /// not measured.
    pub ms: Option<u64>,
    /// From the step before until this one was recorded: also what was repeated meanwhile, and the time of the model.
    /// `None` for answers, for what has its own entry because it came first, and if no times were recorded.
    #[serde(default)]
    pub since_ms: Option<u64>,
}

/// A step with its place, and when it was recorded, if that is known.
pub type PlacedStep<'a> = (usize, &'a Step, Option<Timestamp>);

/// The timeline of steps.
pub fn timeline<'a>(steps: impl IntoIterator<Item = PlacedStep<'a>>) -> Vec<TimelineEntry> {
    let mut timeline = Timeline::default();
    for step in steps {
        timeline.take(step);
    }
    timeline.entries()
}

/// When the run of this timeline ended, as far as it is known. `None` if it has not.
pub fn ended_at(entries: &[TimelineEntry]) -> Option<Timestamp> {
    entries
        .iter()
        .rev()
        .find(|entry| entry.kind == "end")
        .map(|entry| entry.at)
}

/// A timeline that grows with its run.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    entries: Vec<TimelineEntry>,
    opened: Vec<Gate>,
    /// As late as everything so far.
    clock: Timestamp,
    /// When the step of the newest entry was recorded.
    recorded: Option<Timestamp>,
    /// Whether the code comes from somewhere else, and has to be fetched.
    is_remote: bool,
}

impl Timeline {
    /// The newest entries, at most [`MAX_ENTRIES`].
    pub fn entries(&self) -> Vec<TimelineEntry> {
        self.entries[self.entries.len().saturating_sub(MAX_ENTRIES)..].to_vec()
    }

    /// Adds the next step.
    pub fn take(&mut self, (place, step, at): PlacedStep<'_>) {
        match step {
            Step::Started(started) => {
                self.clock = started.at;
                self.is_remote = started.pull_request().is_some();
            }
            Step::Spent(spent) => {
                // A recorded time already includes the work.
                self.clock = at.map_or_else(|| later(self.clock, spent.wall_ms), |at| self.clock.max(at));
                self.came_first(place, spent);
                return;
            }
            Step::GateOpened(gate) => {
                self.clock = self.clock.max(gate.opened);
                self.opened.push(gate.clone());
            }
            _ => {}
        }
        let before = self.recorded;
        if let Some(at) = at {
            (self.clock, self.recorded) = (self.clock.max(at), Some(at));
        }
        let (kind, what, ms, since_ms) = match step {
            Step::Answered {
                gate: id, answer, at, ..
            } => {
                let gate = self.opened.iter().rev().find(|gate| gate.id == *id);
                let at = match answer {
                    Answer::Expired => gate.map(|gate| gate.expires),
                    _ => *at,
                };
                self.clock = self.clock.max(at.unwrap_or(self.clock));
                let waited = at.and_then(|at| gate.map(|gate| between(gate.opened, at)));
                ("answer", answered(&id.to_string(), answer), waited, None)
            }
            step => {
                let (kind, what, ms) = described(step);
                (kind, what, ms, before.zip(at).map(|(before, at)| between(before, at)))
            }
        };
        let joins = self
            .entries
            .last_mut()
            .filter(|last| last.kind == kind && ["model", "search"].contains(&kind));
        if let Some(last) = joins {
            last.join(&what, ms, since_ms);
            return;
        }
        if self.entries.len() >= 2 * MAX_ENTRIES {
            self.entries.drain(..MAX_ENTRIES);
        }
        self.entries.push(TimelineEntry {
            place,
            steps: 1,
            kind: kind.into(),
            what,
            at: self.clock,
            ms,
            since_ms,
        });
    }

    /// Adds entries for fetching and installing in front of the newest entry, whose work needed them.
    fn came_first(&mut self, place: usize, spent: &Spend) {
        let fetch_ms = if self.is_remote { spent.fetch_ms } else { 0 };
        let parts = [
            ("clone", "The code was fetched", fetch_ms),
            ("install", "The dependencies were installed", spent.install_ms),
        ];
        let parts = parts.into_iter().filter(|(.., ms)| *ms > 0);
        let Some(mut work) = self.entries.pop() else { return };
        let mut at = work.since_ms.map_or(work.at, |since| earlier(work.at, since));
        for (kind, what, ms) in parts {
            work.since_ms = work.since_ms.map(|since| since.saturating_sub(ms));
            at = later(at, ms).min(work.at);
            self.entries.push(TimelineEntry {
                place,
                steps: 1,
                kind: kind.into(),
                what: what.into(),
                at,
                ms: Some(ms),
                since_ms: None,
            });
        }
        self.entries.push(work);
    }
}

impl TimelineEntry {
    fn join(&mut self, what: &str, ms: Option<u64>, since_ms: Option<u64>) {
        let sum = |one: Option<u64>, two: Option<u64>| match (one, two) {
            (None, None) => None,
            (one, two) => Some(one.unwrap_or(0).saturating_add(two.unwrap_or(0))),
        };
        self.steps += 1;
        self.ms = sum(self.ms, ms);
        self.since_ms = sum(self.since_ms, since_ms);
        if !what.is_empty() && self.what.matches(", ").count() + 1 < MAX_CALLS {
            let between = if self.what.is_empty() { "" } else { ", " };
            self.what = format!("{}{between}{what}", self.what);
        }
    }
}

fn answered(gate: &str, answer: &Answer) -> String {
    match answer {
        Answer::Approved { by } => format!("{gate} was approved by {}", plain(by.login.as_str())),
        Answer::Rejected { by, reason: None } => format!("{gate} was rejected by {}", plain(by.login.as_str())),
        Answer::Rejected {
            by,
            reason: Some(reason),
        } => format!("{gate} was rejected by {}: {}", plain(by.login.as_str()), plain(reason)),
        Answer::Expired => format!("{gate} expired"),
    }
}

/// The kind of a step, what happened, and how long it took.
fn described(step: &Step) -> (&'static str, String, Option<u64>) {
    let other = |what: &str| ("other", what.into(), None);
    match step {
        Step::Started(started) => (
            "started",
            format!("{} on {}", started.mode.name(), started.head.short()),
            None,
        ),
        Step::Read(reading) => (
            "log",
            format!("Log of the failed job: {}", failing(reading.failures.len())),
            None,
        ),
        Step::Suites { wanted, .. } => other(&format!("{} suites were selected", wanted.len())),
        Step::SetAside { before, .. } | Step::Reproduced { before, .. } => {
            ("tests", tests(before), Some(before.duration_ms))
        }
        Step::Said(item) => ("model", calls(item), None),
        Step::Resolved(_) => ("model", String::new(), None),
        Step::Searched(part) => ("search", tried(part), Some(part.wall_ms)),
        Step::NeedsExecution => other("The model needs to run code"),
        Step::Deferred(_) => other("The model asked for something that needs permission"),
        Step::TestsWritten(first) => (
            "tests",
            format!("{} new tests were seen to fail", first.names.len()),
            Some(first.red.duration_ms),
        ),
        Step::Spent(_) => other(""),
        Step::Proposed(proposal) => ("proposal", plain(&proposal.summary), None),
        Step::ReviewPosted { parts, .. } => (
            "review",
            format!("A review with {} was posted", count(*parts as u64, "part")),
            None,
        ),
        Step::GateOpened(gate) => (
            "request",
            format!("{} waits for an approval: {}", gate.id, gate.kind.name()),
            None,
        ),
        Step::Answered { gate, answer, .. } => ("answer", answered(&gate.to_string(), answer), None),
        Step::Unvouched { gate, .. } => other(&format!("Approvals of {gate} do not count")),
        Step::Verified(evidence) => (
            "proof",
            format!("{} before, {} after", tests(&evidence.before), tests(&evidence.after)),
            Some(evidence.after.duration_ms),
        ),
        Step::Ended(end) => ("end", end.name().into(), None),
        Step::Announced => other("The end was announced"),
        Step::Settled { suggestions, .. } => {
            other(&format!("{} settled", count(suggestions.len() as u64, "suggestion")))
        }
        Step::BaseMoved { tip } => other(&format!("The base branch moved to {}", tip.short())),
        Step::Undone { commit } => other(&format!("Reverted with {}", commit.short())),
    }
}

fn failing(failures: usize) -> String {
    count(failures as u64, "failure")
}

fn tests(run: &TestRun) -> String {
    format!(
        "{} passed and {} failed in `{}`",
        run.passed,
        run.failed,
        plain(&run.command)
    )
}

fn tried(part: &Search) -> String {
    match part.tried {
        0 => String::new(),
        tried => format!("{tried} edits"),
    }
}

/// The names of the tools that a model called.
fn calls(item: &Value) -> String {
    let calls = item["reply"]["calls"].as_array().into_iter().flatten();
    let names = calls.filter_map(|call| call["name"].as_str()).take(MAX_CALLS);
    names.map(plain).collect::<Vec<_>>().join(", ")
}

/// A text from others: one line, without secrets or hidden characters, and bounded.
fn plain(text: &str) -> String {
    let text = redact::redact(&redact::visible(&redact::bounded(text, 8 * MAX_TEXT)));
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(MAX_TEXT).collect()
}
