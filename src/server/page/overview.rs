//! The overview: what waits for somebody, what is at work, and what ended lately.

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use jiff::Timestamp;
use serde::Deserialize;

use super::text::{distance, dollars, shown, time};
use super::{Missing, Shelf, rendered};
use crate::domain::clock;
use crate::domain::id::Repository;
use crate::journal::Journal;
use crate::summary::{Filter, RunSummary};

/// How many runs of a repository, repositories and ended runs are shown at most.
const MAX_RUNS: usize = 50;
const MAX_REPOSITORIES: usize = 50;
const MAX_ENDED: usize = 50;
const MAX_TEXT: usize = 200;

#[derive(Deserialize, Default)]
pub(super) struct Chosen {
    repository: Option<String>,
    state: Option<String>,
    search: Option<String>,
}

/// A run as the overview shows it.
pub(super) struct Line {
    pub(super) id: String,
    pub(super) on: String,
    pub(super) repository: String,
    pub(super) mode: String,
    pub(super) state: String,
    pub(super) outcome: String,
    pub(super) started: String,
    pub(super) elapsed: String,
    pub(super) spent: String,
    /// What it waits for, since when, and until when.
    pub(super) waits: Vec<String>,
}

#[derive(Template)]
#[template(path = "overview.html")]
struct Overview {
    waiting: Vec<Line>,
    working: Vec<Line>,
    ended: Vec<Line>,
    repositories: Vec<String>,
    repository: String,
    state: String,
    search: String,
    states: [&'static str; 12],
}

const STATES: [&str; 12] = [
    "waiting",
    "working",
    "landed",
    "suggested",
    "explained",
    "rejected",
    "refused",
    "nothing-to-fix",
    "gave-up",
    "superseded",
    "cancelled",
    "expired",
];

pub(super) async fn get_overview(
    State(shelf): State<Shelf>,
    Query(wanted): Query<Chosen>,
) -> Result<Response, Missing> {
    let journal = &shelf.queue.app().journal;
    let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let filter = Filter {
        repository: given(&wanted.repository),
        state: given(&wanted.state),
        text: given(&wanted.search),
    };
    let repositories = journal.repositories(MAX_REPOSITORIES).await?;
    let now = Timestamp::now();
    let mut runs = newest(journal, &repositories, now).await?;
    runs.retain(|run| filter.takes(run));
    runs.sort_by_key(|run| std::cmp::Reverse(run.started));
    let lines = |is: &dyn Fn(&RunSummary) -> bool| -> Vec<Line> {
        runs.iter()
            .filter(|run| is(run))
            .map(|run| Line::of(run, now))
            .collect()
    };
    let mut ended = lines(&|run| !run.is_waiting() && !run.is_working());
    ended.truncate(MAX_ENDED);
    // The request that expires first comes first.
    let mut waiting: Vec<&RunSummary> = runs.iter().filter(|run| run.is_waiting()).collect();
    waiting.sort_by_key(|run| run.waiting.iter().map(|gate| gate.expires).min());
    Ok(rendered(&Overview {
        waiting: waiting.into_iter().map(|run| Line::of(run, now)).collect(),
        working: lines(&RunSummary::is_working),
        ended,
        repositories: repositories
            .iter()
            .map(|repository| repository.name.to_string())
            .collect(),
        repository: filter.repository.unwrap_or_default(),
        state: filter.state.unwrap_or_default(),
        search: filter.text.unwrap_or_default(),
        states: STATES,
    }))
}

/// The runs that are open, and the newest of each repository.
async fn newest(journal: &Journal, of: &[Repository], now: Timestamp) -> Result<Vec<RunSummary>, Missing> {
    let mut runs = Vec::new();
    for run in journal.open_runs().await? {
        runs.push(RunSummary::of(&run, now));
    }
    for repository in of {
        for run in journal.runs_in(repository, MAX_RUNS).await? {
            if !runs.iter().any(|known: &RunSummary| known.id == *run.id()) {
                runs.push(RunSummary::of(&run, now));
            }
        }
    }
    Ok(runs)
}

impl Line {
    pub(super) fn of(run: &RunSummary, now: Timestamp) -> Self {
        let repository = run.repository.as_ref().map(ToString::to_string).unwrap_or_default();
        let number = run.pull_request.map(|number| format!("#{number}")).unwrap_or_default();
        let waits = run.waiting.iter().map(|gate| {
            let (age, left) = (distance(gate.opened, now), distance(now, gate.expires));
            format!("{} ({}), asked {age} ago, expires in {left}", gate.gate, gate.kind)
        });
        Self {
            id: run.id.0.clone(),
            on: format!("{repository}{number}"),
            repository,
            mode: run.mode.clone(),
            state: run.state.clone(),
            outcome: shown(&run.outcome, MAX_TEXT),
            started: time(run.started),
            elapsed: clock::millis_in_words(run.elapsed_ms),
            spent: run.spent.cost_micros.map_or("–".into(), dollars),
            waits: waits.collect(),
        }
    }
}
