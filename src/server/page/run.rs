//! One run: what it waits for, its proposal with evidence, why tests failed, what was tried, and its timeline.
//!
//! Most of it is the same for everyone who may see the run, and is rendered once for each number of steps. The rest
//! depends on who looks and when: what they may answer, and how long ago things happened.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::Extension;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use jiff::Timestamp;

use super::ansi::{Part, coloured};
use super::bars::{Bar, bars, longest};
use super::diff::{DiffLine, diff};
use super::held_back::{HeldBack, held_back, tried};
use super::notice::AfterAnswer;
use super::now::{NowRow, name_of, now_row};
use super::overview::Line;
use super::text::{distance, shown, time};
use super::transcript::Said;
use super::viewer::{Frame, Viewer};
use super::{Missing, Shelf, live, rendered};
use crate::domain::anchor::SuggestionState;
use crate::domain::command::MAXIMUM_TEXT;
use crate::domain::count::count;
use crate::domain::id::CommitSha;
use crate::domain::permission::Permission;
use crate::domain::proposal::{Author, Evidence, Proposal};
use crate::domain::reply;
use crate::domain::run::Run;
use crate::domain::test_run::{Failure, TestRun};
use crate::engine::{App, UnderWayNow};
use crate::summary::{RunSummary, TimelineEntry, ended_at};

/// How many failures are shown, and how long each is at most, in bytes.
const MAX_FAILURES: usize = 10;
const MAX_FAILURE: usize = 4 << 10;
const MAX_LOG: usize = 16 << 10;
const MAX_COMMENT: usize = 128 << 10;
const MAX_SHORT: usize = 1_000;
/// How many characters of a digest identify it.
const SHORT_DIGEST: usize = 12;
/// How long GitHub may take to name the branch of a pull request.
const NAMING: Duration = Duration::from_secs(3);

struct FailureText {
    name: String,
    place: String,
    cause: String,
    message: String,
}

struct ProposalText {
    summary: String,
    author: String,
    diff: Vec<DiffLine>,
    /// How it was posted, and what became of its suggestions.
    posted: Vec<String>,
}

struct EvidenceText {
    /// `red in 2 of 2 runs`, `green in 5 of 5`.
    red: String,
    green: String,
    before: String,
    after: String,
    digest: String,
    short: String,
}

/// A request, exactly as the comment shows it.
struct GateText {
    id: String,
    digest: String,
    asked: String,
    expires: String,
    request: String,
}

#[derive(Template)]
#[template(path = "run.html")]
#[expect(clippy::struct_excessive_bools, reason = "each is a condition in the template")]
struct RunPage<'a> {
    frame: Frame,
    /// What became of the viewer's answer.
    notice: String,
    /// Whether the viewer may answer here.
    may_answer: bool,
    /// Whether it is a run on a checkout of this machine.
    is_local: bool,
    max_reason: usize,
    line: Line,
    /// The address of the pull request on GitHub. Empty for a run on a checkout.
    pull_request: String,
    /// Empty for a checkout without a commit.
    head: &'a str,
    is_over: bool,
    /// What the page was made of, so that nothing that happens before it is told is missed.
    seen: &'a str,
    gates: Vec<GateText>,
    /// What is under way.
    now: Option<NowRow>,
    /// As they were rendered.
    findings: &'a str,
    steps: &'a str,
    transcript: &'a str,
}

/// What was found out and proposed. It is the same for everyone, like the steps and the transcript.
#[derive(Template)]
#[template(path = "run-findings.html")]
struct FindingsPart {
    failures: Vec<FailureText>,
    log: Vec<Part>,
    proposal: Option<ProposalText>,
    evidence: Option<EvidenceText>,
    verify: String,
    tried: Vec<String>,
    held_back: Vec<HeldBack>,
}

/// The rows of the timeline.
#[derive(Template)]
#[template(path = "run-steps.html")]
struct StepsPart {
    bars: Vec<Bar>,
}

#[derive(Template)]
#[template(path = "run-transcript.html")]
struct TranscriptPart<'a> {
    said: &'a VecDeque<Said>,
    left_out: usize,
    comment: String,
}

/// What only the page of a run on a pull request shows.
#[derive(Default)]
pub(super) struct OnGitHub {
    /// What became of the viewer's answer.
    notice: String,
    /// Whether the viewer may answer here.
    may_answer: bool,
    /// The address of the pull request.
    pull_request: String,
}

/// A run as pages show it, as of a number of steps.
pub(super) struct RunView {
    pub(super) run: Arc<Run>,
    summary: RunSummary,
    /// The branch that requests name.
    branch: String,
    /// When the newest step was recorded, and how long the longest one took, in milliseconds.
    newest: Timestamp,
    longest: u64,
    findings: String,
    steps: String,
    transcript: String,
}

impl RunView {
    /// `entries` are its timeline; `said` are the newest entries of its transcript, without this many.
    pub(super) fn new(
        run: Arc<Run>,
        (entries, said, left_out): (Vec<TimelineEntry>, &VecDeque<Said>, usize),
        branch: &str,
    ) -> Result<Self, Missing> {
        let ended = ended_at(&entries);
        let comment = match run.started.pull_request() {
            Some(_) => reply::sticky(&run, branch),
            None => String::new(),
        };
        let newest = entries.last().map_or(run.started.at, |entry| entry.at);
        let longest = longest(&entries);
        let findings = FindingsPart {
            failures: failures(&run),
            log: log(&run),
            proposal: run.proposal.as_ref().map(|proposed| proposal(proposed, &run)),
            evidence: run.evidence.as_ref().map(evidence),
            verify: verify_line(&comment),
            tried: tried(&run),
            held_back: held_back(&run),
        };
        let transcript = TranscriptPart {
            said,
            left_out,
            comment: shown(&comment, MAX_COMMENT),
        };
        Ok(Self {
            summary: RunSummary::of(&run, run.started.at).ended(ended),
            branch: branch.into(),
            newest,
            longest,
            findings: part(&findings)?,
            steps: part(&StepsPart { bars: bars(entries) })?,
            transcript: part(&transcript)?,
            run,
        })
    }

    /// About how much memory it needs besides the run.
    pub(super) fn bytes(&self) -> usize {
        self.findings.len() + self.steps.len() + self.transcript.len()
    }

    /// The page for somebody, now. `activity` is what this process knows of what is under way.
    pub(super) fn page(&self, frame: Frame, on: &OnGitHub, activity: Option<UnderWayNow>) -> Response {
        let (run, now) = (&*self.run, Timestamp::now());
        let mut line = Line::of(&self.summary.clone().at(now), now);
        if let Some(activity) = activity.filter(|_| !line.doing.is_empty()) {
            line.doing = activity.what.into();
        }
        rendered(&RunPage {
            frame,
            notice: on.notice.clone(),
            may_answer: on.may_answer,
            is_local: run.started.pull_request().is_none(),
            max_reason: MAXIMUM_TEXT,
            line,
            pull_request: on.pull_request.clone(),
            head: Some(&run.started.head)
                .filter(|head| **head != CommitSha::none())
                .map_or("", CommitSha::as_str),
            is_over: run.end.is_some(),
            seen: &live::token([(run.id(), run.length)], name_of(activity)),
            gates: gates(run, &self.branch, now),
            now: now_row(run, activity, (self.newest, self.longest), now),
            findings: &self.findings,
            steps: &self.steps,
            transcript: &self.transcript,
        })
    }
}

pub(super) async fn get_run(
    State(shelf): State<Shelf>,
    Extension(viewer): Extension<Viewer>,
    Path(id): Path<String>,
    after: Result<Query<AfterAnswer>, QueryRejection>,
) -> Result<Response, Missing> {
    let visible = shelf.run(&viewer, id).await?;
    let app = shelf.queue.app();
    let view = shelf.folds.view(app, &visible.row).await?;
    let after = after.map(|Query(after)| after).unwrap_or_default();
    let notice = notice(app, (&view.run, &viewer), &after).await?;
    let on = view.run.started.pull_request();
    let on = OnGitHub {
        notice,
        may_answer: visible.permission.is_some_and(Permission::may_approve),
        pull_request: on.map_or_else(String::new, |on| app.github.page_of(on).into()),
    };
    Ok(view.page(viewer.frame(), &on, app.activities.now(view.run.id())))
}

fn part(template: &impl Template) -> Result<String, Missing> {
    template.render().map_err(|error| {
        tracing::error!(%error, "a page could not be rendered");
        Missing::Broken
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

/// The branch that requests name, if GitHub says so in time.
pub(super) async fn branch(app: &App, run: &Run) -> String {
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
        request: match run.started.pull_request() {
            Some(_) => reply::gate_request(gate, branch),
            None => reply::gate_request_here(gate, branch),
        },
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
    let text = |failure: &Failure| FailureText {
        name: shown(&failure.name, MAX_SHORT),
        place: failure
            .location
            .as_ref()
            .map(|place| shown(&format!("{}:{}", place.path, place.line), MAX_SHORT))
            .unwrap_or_default(),
        cause: shown(&failure.cause(), MAX_SHORT),
        message: shown(&failure.message, MAX_FAILURE),
    };
    failures.take(MAX_FAILURES).map(text).collect()
}

fn log(run: &Run) -> Vec<Part> {
    let before = run.reproduced.as_ref().map(|(before, _)| before);
    let tail = before.map(|before| before.coloured.as_ref().unwrap_or(&before.tail));
    let read = run.reading.as_ref().map(|reading| &reading.excerpt);
    let text = tail.filter(|tail| !tail.is_empty()).or(read);
    text.filter(|text| !text.is_empty())
        .map_or_else(Vec::new, |text| coloured(text, MAX_LOG))
}

fn proposal(proposal: &Proposal, run: &Run) -> ProposalText {
    ProposalText {
        summary: shown(&proposal.summary, MAX_SHORT),
        author: match &proposal.author {
            Author::BuiltIn => "the built-in engine".into(),
            Author::Model(name) => shown(name, MAX_SHORT),
            Author::Remembered(run) => format!("remembered from run {}", shown(run, MAX_SHORT)),
        },
        diff: diff(&proposal.patch.unified(), &run.suggested),
        posted: posted(run),
    }
}

fn posted(run: &Run) -> Vec<String> {
    let suggestions = run.suggested.len();
    if suggestions == 0 {
        return Vec::new();
    }
    let rest = match run.parts > suggestions {
        true => ", and the rest as a patch in the review",
        false => "",
    };
    let as_what = count(suggestions as u64, "suggestion");
    let mut sentences = vec![format!("Posted as {as_what}{rest}.")];
    match (run.count(SuggestionState::Applied), run.parts) {
        (0, _) => {}
        (1, 1) => sentences.push("It was committed.".into()),
        (taken, parts) if taken == parts => sentences.push(format!("All {parts} parts were committed.")),
        (1, parts) => sentences.push(format!("1 of {parts} parts was committed.")),
        (taken, parts) => sentences.push(format!("{taken} of {parts} parts were committed.")),
    }
    sentences
}

fn evidence(evidence: &Evidence) -> EvidenceText {
    let counts = |run: &TestRun| format!("{} passed, {} failed", run.passed, run.failed);
    let (red, of) = match &evidence.triage {
        Some(triage) => (triage.red_at_head, triage.runs_at_head),
        None => (u32::from(!evidence.before.is_green()), 1),
    };
    let green = evidence.confirmed.saturating_add(u32::from(evidence.after.is_green()));
    let runs = evidence.confirmed.saturating_add(1);
    EvidenceText {
        red: format!("red in {red} of {of} runs"),
        green: format!("green in {green} of {runs}"),
        before: counts(&evidence.before),
        after: counts(&evidence.after),
        short: evidence.digest.chars().take(SHORT_DIGEST).collect(),
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
