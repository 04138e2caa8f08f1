//! One run: what it waits for, its proposal with evidence, why tests failed, what was tried, and its timeline.

use std::time::Duration;

use askama::Template;
use axum::Extension;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use jiff::Timestamp;
use serde_json::Value;

use super::live;
use super::notice::AfterAnswer;
use super::overview::Line;
use super::text::{distance, shown, time};
use super::viewer::{Frame, Viewer, VisibleRun};
use super::{Missing, Shelf, rendered};
use crate::domain::command::MAXIMUM_TEXT;
use crate::domain::count::count;
use crate::domain::id::RunId;
use crate::domain::permission::Permission;
use crate::domain::proposal::{Author, Evidence, Proposal};
use crate::domain::run::{Run, Step};
use crate::domain::test_run::TestRun;
use crate::domain::{clock, redact, reply};
use crate::engine::App;
use crate::summary::{RunSummary, TimelineEntry, timeline};

/// How many steps are read at a time, and in all.
const STEPS: usize = 500;
const MAX_STEPS: usize = 20_000;
/// How many entries of a transcript, failures and edits are shown, and how long each is at most, in bytes.
const MAX_SAID: usize = 200;
const MAX_SAID_TEXT: usize = 4 << 10;
const MAX_FAILURES: usize = 10;
const MAX_FAILURE: usize = 4 << 10;
const MAX_LOG: usize = 16 << 10;
const MAX_DIFF: usize = 128 << 10;
const MAX_SHORT: usize = 1_000;
/// How long GitHub may take to name the branch of a pull request.
const NAMING: Duration = Duration::from_secs(3);

/// An entry of the timeline, as a bar to scale.
struct Bar {
    entry: TimelineEntry,
    at: String,
    took: String,
    /// Thousandths of the longest entry.
    width: u64,
}

struct FailureText {
    name: String,
    place: String,
    message: String,
}

/// A line of a diff with what it is.
struct DiffLine {
    class: &'static str,
    text: String,
}

struct ProposalText {
    summary: String,
    author: String,
    diff: Vec<DiffLine>,
}

struct EvidenceText {
    before: String,
    after: String,
    confirmed: String,
    digest: String,
}

/// A request, exactly as the comment shows it.
struct GateText {
    id: String,
    digest: String,
    asked: String,
    expires: String,
    request: String,
}

/// An edit that passed the tests but was not proposed, or a proposal that was rejected.
struct HeldBack {
    what: String,
    why: String,
    diff: Vec<DiffLine>,
}

struct Said {
    who: &'static str,
    text: String,
}

#[derive(Template)]
#[template(path = "run.html")]
#[expect(clippy::struct_excessive_bools, reason = "each is a condition in the template")]
struct RunPage {
    frame: Frame,
    /// What became of the viewer's answer.
    notice: String,
    /// Whether the viewer may answer here.
    may_answer: bool,
    /// Whether it is a run on a checkout of this machine.
    is_local: bool,
    max_reason: usize,
    line: Line,
    head: String,
    is_over: bool,
    /// What the page was made of, so that nothing that happens before it is told is missed.
    seen: String,
    gates: Vec<GateText>,
    failures: Vec<FailureText>,
    log: String,
    proposal: Option<ProposalText>,
    evidence: Option<EvidenceText>,
    verify: String,
    tried: u32,
    held_back: Vec<HeldBack>,
    bars: Vec<Bar>,
    said: Vec<Said>,
    left_out: usize,
    comment: String,
}

pub(super) async fn get_run(
    State(shelf): State<Shelf>,
    Extension(viewer): Extension<Viewer>,
    Path(id): Path<String>,
    after: Result<Query<AfterAnswer>, QueryRejection>,
) -> Result<Response, Missing> {
    let VisibleRun { run, permission } = shelf.run(&viewer, id).await?;
    let app = shelf.queue.app();
    let after = after.map(|Query(after)| after).unwrap_or_default();
    let notice = notice(app, (&run, &viewer), &after).await?;
    let steps = steps(app, run.id()).await?;
    Ok(show(Shown {
        run: &run,
        steps: &steps,
        branch: &branch(app, &run).await,
        frame: viewer.frame(),
        notice,
        may_answer: permission.is_some_and(Permission::may_approve),
    }))
}

/// What a page shows.
pub(super) struct Shown<'a> {
    pub(super) run: &'a Run,
    /// Each with its place.
    pub(super) steps: &'a [(usize, Step)],
    /// The branch that requests name.
    pub(super) branch: &'a str,
    pub(super) frame: Frame,
    pub(super) notice: String,
    pub(super) may_answer: bool,
}

pub(super) fn show(of: Shown<'_>) -> Response {
    let Shown { run, steps, branch, .. } = of;
    let now = Timestamp::now();
    let all_said: Vec<&Value> = steps.iter().filter_map(|(_, step)| said(step)).collect();
    let left_out = all_said.len().saturating_sub(MAX_SAID);
    let is_local = run.started.pull_request().is_none();
    let comment = if is_local {
        String::new()
    } else {
        reply::sticky(run, branch)
    };
    rendered(&RunPage {
        frame: of.frame,
        notice: of.notice,
        may_answer: of.may_answer,
        is_local,
        max_reason: MAXIMUM_TEXT,
        line: Line::of(&RunSummary::of(run, now), now),
        head: run.started.head.as_str().into(),
        is_over: run.end.is_some(),
        seen: live::token([(run.id(), run.length)]),
        gates: gates(run, branch, now),
        failures: failures(run),
        log: log(run),
        proposal: run.proposal.as_ref().map(proposal),
        evidence: run.evidence.as_ref().map(evidence),
        verify: verify_line(&comment),
        tried: run.search.tried,
        held_back: held_back(run),
        bars: bars(timeline(steps.iter().map(|(place, step)| (*place, step)))),
        said: all_said[left_out..].iter().map(|item| transcript(item)).collect(),
        left_out,
        comment: shown(&comment, MAX_DIFF),
    })
}

/// What became of the viewer's answer. Empty if there is nothing to say.
async fn notice(app: &App, (run, viewer): (&Run, &Viewer), after: &AfterAnswer) -> Result<String, Missing> {
    let Some(person) = viewer.person() else {
        return Ok(String::new());
    };
    let is_done = match after.delivery() {
        Some(delivery) => app.journal.is_done(&delivery).await?,
        None => None,
    };
    Ok(after.notice(run, person, is_done).unwrap_or_default())
}

async fn steps(app: &App, id: &RunId) -> Result<Vec<(usize, Step)>, Missing> {
    let mut steps = Vec::new();
    let mut from = 0;
    loop {
        let some = app.journal.steps(id, from, STEPS).await?;
        let is_last = some.len() < STEPS || from >= MAX_STEPS;
        from = some.last().map_or(from, |(place, _)| place + 1);
        steps.extend(
            some.into_iter()
                .filter_map(|(place, step)| Some((place, serde_json::from_str(&step).ok()?))),
        );
        if is_last {
            return Ok(steps);
        }
    }
}

/// The branch that requests name, if GitHub says so in time.
async fn branch(app: &App, run: &Run) -> String {
    let named = async {
        let on = run.started.pull_request()?;
        let client = app.github.client(run.started.installation, &on.repository).await.ok()?;
        Some(client.pull_request(on).await.ok()?.head_branch)
    };
    let named = tokio::time::timeout(NAMING, named).await;
    named.ok().flatten().unwrap_or_else(|| "the branch".into())
}

fn gates(run: &Run, branch: &str, now: Timestamp) -> Vec<GateText> {
    let text = |gate: &crate::domain::gate::Gate| GateText {
        id: gate.id.to_string(),
        digest: gate.digest.clone(),
        asked: format!("{} ({} ago)", time(gate.opened), distance(gate.opened, now)),
        expires: format!("{} (in {})", time(gate.expires), distance(now, gate.expires)),
        request: reply::gate_request(gate, branch),
    };
    run.open_gates().iter().map(text).collect()
}

fn failures(run: &Run) -> Vec<FailureText> {
    let reproduced = run.reproduced.as_ref().map(|(before, _)| &before.failures);
    let read = run.reading.as_ref().map(|reading| &reading.failures);
    let failures = reproduced
        .filter(|failures| !failures.is_empty())
        .or(read)
        .into_iter()
        .flatten();
    let text = |failure: &crate::domain::test_run::Failure| FailureText {
        name: shown(&failure.name, MAX_SHORT),
        place: failure
            .location
            .as_ref()
            .map(|place| shown(&format!("{}:{}", place.path, place.line), MAX_SHORT))
            .unwrap_or_default(),
        message: shown(&failure.message, MAX_FAILURE),
    };
    failures.take(MAX_FAILURES).map(text).collect()
}

fn log(run: &Run) -> String {
    let tail = run.reproduced.as_ref().map(|(before, _)| before.tail.as_str());
    let read = run.reading.as_ref().map(|reading| reading.excerpt.as_str());
    shown(
        tail.filter(|tail| !tail.is_empty()).or(read).unwrap_or_default(),
        MAX_LOG,
    )
}

fn proposal(proposal: &Proposal) -> ProposalText {
    ProposalText {
        summary: shown(&proposal.summary, MAX_SHORT),
        author: match &proposal.author {
            Author::BuiltIn => "the built-in engine".into(),
            Author::Model(name) => shown(name, MAX_SHORT),
            Author::Remembered(run) => format!("remembered from run {}", shown(run, MAX_SHORT)),
        },
        diff: diff(&proposal.patch.unified()),
    }
}

fn diff(unified: &str) -> Vec<DiffLine> {
    let text = redact::bounded(unified, MAX_DIFF);
    let class = |line: &str| match line {
        line if line.starts_with("+++") || line.starts_with("---") || line.starts_with("diff ") => "file",
        line if line.starts_with('+') => "added",
        line if line.starts_with('-') => "removed",
        line if line.starts_with("@@") => "hunk",
        _ => "same",
    };
    text.lines()
        .map(|line| DiffLine {
            class: class(line),
            text: shown(line, MAX_FAILURE),
        })
        .collect()
}

fn evidence(evidence: &Evidence) -> EvidenceText {
    let counts = |run: &TestRun| format!("{} passed, {} failed", run.passed, run.failed);
    EvidenceText {
        before: match &evidence.triage {
            Some(triage) => format!(
                "{}; red in {} of {} runs",
                counts(&evidence.before),
                triage.red_at_head,
                triage.runs_at_head
            ),
            None => counts(&evidence.before),
        },
        after: counts(&evidence.after),
        confirmed: match evidence.confirmed {
            0 => String::new(),
            times => count(times.into(), "more time"),
        },
        digest: evidence.digest.clone(),
    }
}

/// The command in the comment that recomputes the evidence.
fn verify_line(comment: &str) -> String {
    let line = comment
        .lines()
        .find(|line| line.trim_start().starts_with("greenlight verify"));
    shown(line.unwrap_or_default().trim(), MAX_SHORT)
}

fn held_back(run: &Run) -> Vec<HeldBack> {
    let rejected = run.turned_down.iter().map(|down| HeldBack {
        what: shown(&down.proposal.summary, MAX_SHORT),
        why: format!("rejected: {}", shown(&down.reason, MAX_SHORT)),
        diff: diff(&down.proposal.patch.unified()),
    });
    let unverified = run.search.unverified.iter().map(|edit| HeldBack {
        what: shown(&edit.explanation, MAX_SHORT),
        why: shown(&edit.risks.join(". "), MAX_SHORT),
        diff: diff(&edit.patch.unified()),
    });
    rejected.chain(unverified).take(MAX_FAILURES).collect()
}

fn bars(entries: Vec<TimelineEntry>) -> Vec<Bar> {
    let longest = entries.iter().filter_map(|entry| entry.ms).max().unwrap_or(0).max(1);
    let bar = |entry: TimelineEntry| Bar {
        at: time(entry.at),
        took: entry.ms.map(clock::millis_in_words).unwrap_or_default(),
        width: entry.ms.map_or(0, |ms| (ms.saturating_mul(1_000) / longest).max(1)),
        entry,
    };
    entries.into_iter().map(bar).collect()
}

fn said(step: &Step) -> Option<&Value> {
    match step {
        Step::Said(item) | Step::Resolved(item) => Some(item),
        _ => None,
    }
}

fn transcript(item: &Value) -> Said {
    let string = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let call = |call: &Value| format!("{}({})", string(&call["name"]), string(&call["arguments"]));
    let (who, text) = if item["reply"].is_object() {
        let calls = item["reply"]["calls"].as_array().into_iter().flatten().map(call);
        let lines = std::iter::once(string(&item["reply"]["text"])).chain(calls);
        let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
        ("model", lines.join("\n"))
    } else if item["result"].is_object() {
        ("result", string(&item["result"]["text"]))
    } else if item["task"].is_object() {
        ("task", string(&item["task"]["task"]))
    } else if item["called"].is_object() {
        ("call", call(&item["called"]["call"]))
    } else {
        ("greenlight", string(&item["note"]))
    };
    Said {
        who,
        text: shown(&text, MAX_SAID_TEXT),
    }
}
