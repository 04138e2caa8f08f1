//! The steps of a run in order, with durations.
//!
//! A database records when each step was appended; versions before that, and other journals, do not. Without it, known
//! are the start, requests and answers, test runs, searches, and how long the work between two of its records took, and
//! everything else is as late as what was recorded before it.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::listed::{between, earlier, later};
use super::rows::{self, MAX_CALLS, Row};
use crate::domain::gate::{Answer, Gate};
use crate::domain::run::Step;
use crate::domain::spend::Spend;

/// How many entries a timeline has at most; the newest are kept.
const MAX_ENTRIES: usize = 2_000;

/// What happened in a step, or in consecutive ones of the same kind: a turn of the model and its calls, or a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineEntry {
    /// The place of the first of them in the journal, and how many there are.
    pub place: usize,
    pub steps: usize,
    /// `started`, `log`, `clone`, `install`, `tests`, `base`, `triage`, `model`, `search`, `request`, `answer`, `proposal`,
    /// `review`, `proof`, `landing`, `end` or `other`.
    pub kind: String,
    /// What happened, as plain text.
    pub what: String,
    /// When, as far as it is known.
    pub at: Timestamp,
    /// How long it took: fetching, installing, test runs, searches, what a model needed for its turn, and how long a
    /// request waited. `None` if that was not measured.
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
    /// How many entries the newest step has.
    newest: usize,
    /// Whether the model has had its turn in the newest entry.
    has_replied: bool,
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
        if let Step::Answered {
            gate: id, answer, at, ..
        } = step
        {
            let gate = self.opened.iter().rev().find(|gate| gate.id == *id);
            let at = match answer {
                // Where nobody can answer, a request ends at once.
                Answer::Expired => gate.map(|gate| at.map_or(gate.expires, |at| at.min(gate.expires))),
                _ => *at,
            };
            self.clock = self.clock.max(at.unwrap_or(self.clock));
            let waited = at.and_then(|at| gate.map(|gate| between(gate.opened, at)));
            let what = rows::answered(&id.to_string(), answer);
            let kind = "answer";
            self.add(place, vec![Row { kind, what, ms: waited }], None);
            return;
        }
        let since = before.zip(at).map(|(before, at)| between(before, at));
        let mut rows = rows::rows(step);
        let is_reply = matches!(step, Step::Said(item) if rows::is_reply(item));
        if let ([row], true) = (rows.as_mut_slice(), is_reply) {
            row.ms = since;
        }
        // What a model's calls returned belongs to the turn in which it made them.
        let is_new_turn = is_reply && self.has_replied;
        let joins = self.entries.last_mut().filter(|last| {
            let is_same = |row: &Row| last.kind == row.kind && ["model", "search"].contains(&row.kind);
            rows.first().is_some_and(is_same) && !is_new_turn
        });
        self.has_replied = is_reply || (joins.is_some() && self.has_replied);
        match (joins, rows.as_slice()) {
            (Some(last), [row]) => {
                self.newest = 1;
                last.join(&row.what, row.ms, since);
            }
            _ => self.add(place, rows, since),
        }
    }

    /// Adds the entries of a step that took so long.
    fn add(&mut self, place: usize, rows: Vec<Row>, since: Option<u64>) {
        if self.entries.len() >= 2 * MAX_ENTRIES {
            self.entries.drain(..MAX_ENTRIES);
        }
        self.newest = rows.len();
        let at = self.clock;
        self.entries.extend(rows.into_iter().map(|row| TimelineEntry {
            place,
            steps: 1,
            kind: row.kind.into(),
            what: row.what,
            at,
            ms: row.ms,
            since_ms: None,
        }));
        self.share(since);
    }

    /// Shares the time that the newest step took between its entries: each has what was measured of it, and one has the
    /// rest.
    fn share(&mut self, since: Option<u64>) {
        let Some(mut left) = since else { return };
        let first = self.entries.len().saturating_sub(self.newest);
        let entries = &mut self.entries[first..];
        let takes_rest = entries.iter().rposition(|entry| entry.kind != "end").unwrap_or(0);
        let until = entries.last().map_or(self.clock, |entry| entry.at);
        for (nth, entry) in entries.iter_mut().enumerate() {
            let part = match nth == takes_rest {
                true => Some(left),
                false => entry.ms.map(|ms| ms.min(left)),
            };
            left = left.saturating_sub(part.unwrap_or(0));
            (entry.since_ms, entry.at) = (part, earlier(until, left));
        }
    }

    /// Adds entries for fetching and installing in front of those of the newest step, whose work needed them.
    fn came_first(&mut self, place: usize, spent: &Spend) {
        let fetch_ms = if self.is_remote { spent.fetch_ms } else { 0 };
        let parts = [
            ("clone", "The code was fetched", fetch_ms),
            ("install", "The dependencies were installed", spent.install_ms),
        ];
        let parts: Vec<_> = parts.into_iter().filter(|(.., ms)| *ms > 0).collect();
        if parts.is_empty() {
            return;
        }
        let work = self.entries.split_off(self.entries.len().saturating_sub(self.newest));
        let Some(last) = work.last().map(|entry| entry.at) else {
            return;
        };
        let since = work.iter().filter_map(|entry| entry.since_ms);
        let mut since = since.reduce(u64::saturating_add);
        let mut at = since.map_or(last, |since| earlier(last, since));
        for (kind, what, ms) in parts {
            since = since.map(|since| since.saturating_sub(ms));
            at = later(at, ms).min(last);
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
        self.entries.extend(work);
        self.share(since);
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
