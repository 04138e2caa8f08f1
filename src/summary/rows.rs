//! What happened in each step of a run, in words.

use serde_json::Value;

use crate::domain::count::count;
use crate::domain::gate::Answer;
use crate::domain::redact;
use crate::domain::run::{End, Step};
use crate::domain::search::Search;
use crate::domain::test_run::TestRun;
use crate::domain::triage::{Triage, Verdict};

/// The maximum length of a text from others, in bytes.
const MAX_TEXT: usize = 300;
/// How many calls of a model are named in one entry.
pub(super) const MAX_CALLS: usize = 8;

/// One thing that happened in a step.
pub(super) struct Row {
    pub(super) kind: &'static str,
    pub(super) what: String,
    /// How long it took, if that was measured.
    pub(super) ms: Option<u64>,
}

/// What happened in a step, in order. The last of several has the time that was not measured, except that an end takes
/// none.
pub(super) fn rows(step: &Step) -> Vec<Row> {
    let (kind, what, ms) = described(step);
    let row = Row { kind, what, ms };
    match step {
        Step::SetAside { triage, .. } | Step::Reproduced { triage, .. } => {
            let measured = |ms: u64| Some(ms).filter(|ms| *ms > 0);
            let on_base = measured(triage.base_ms).map(|ms| Row {
                kind: "base",
                what: "The failing tests ran on the base".into(),
                ms: Some(ms),
            });
            let judged = judged(triage).map(|what| Row {
                kind: "triage",
                what,
                ms: measured(triage.repeats_ms),
            });
            std::iter::once(row).chain(on_base).chain(judged).collect()
        }
        Step::Ended(End::Landed { commit }) => {
            let landing = Row {
                kind: "landing",
                what: format!("Committed as {}", commit.short()),
                ms: None,
            };
            vec![landing, row]
        }
        _ => vec![row],
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

/// What became of a request.
pub(super) fn answered(gate: &str, answer: &Answer) -> String {
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

/// The names of the tools that a model called. Empty for what is not a model's turn.
fn calls(item: &Value) -> String {
    if !is_reply(item) {
        return String::new();
    }
    let calls = item["reply"]["calls"].as_array().into_iter().flatten();
    let names = calls.filter_map(|call| call["name"].as_str()).take(MAX_CALLS);
    let names: Vec<String> = names.map(plain).collect();
    match names.is_empty() {
        true => "answered".into(),
        false => names.join(", "),
    }
}

/// Whether an item of a transcript is a model's turn.
pub(super) fn is_reply(item: &Value) -> bool {
    item["reply"].is_object()
}

/// What the repeated runs and those on the base showed. `None` if there was only one run.
fn judged(triage: &Triage) -> Option<String> {
    let on_base = triage.tests.iter().find(|test| test.base.runs > 0);
    if triage.runs_at_head < 2 && on_base.is_none() {
        return None;
    }
    let verdict = match triage.verdict {
        Verdict::Deterministic => "A failure to work on",
        Verdict::Flaky => "Flaky",
        Verdict::BrokenOnBase => "Broken on the base branch",
        Verdict::Environment => "Not the code but this machine",
        Verdict::Mixed => "Several failures with different causes",
        Verdict::Green => "No failure",
    };
    let of = |red: u32, runs: u32| format!("{red} of {}", count(runs.into(), "run"));
    let head = of(triage.red_at_head, triage.runs_at_head);
    let base = on_base.map(|test| format!(", {} on the base", of(test.base.red, test.base.runs)));
    Some(format!(
        "{verdict}: {head} failed at the head{}",
        base.unwrap_or_default()
    ))
}

/// A text from others: one line, without secrets or hidden characters, and bounded.
fn plain(text: &str) -> String {
    let text = redact::redact(&redact::visible(&redact::bounded(text, 8 * MAX_TEXT)));
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(MAX_TEXT).collect()
}
