//! The overview: what waits for somebody, what is at work, and what ended lately.

use std::collections::HashSet;

use askama::Template;
use axum::Extension;
use axum::extract::{Query, State};
use axum::response::Response;
use jiff::Timestamp;
use serde::Deserialize;

use super::text::{distance, dollars, shown, time};
use super::viewer::{Frame, Viewer};
use super::{Missing, Shelf, live, rendered};
use crate::domain::clock;
use crate::domain::id::{Repository, RunId};
use crate::domain::reply::STATES;
use crate::journal::{Journal, RunRow};
use crate::summary::{Filter, RunSummary};

/// How many repositories and ended runs are shown at most, and how many of the newest runs are searched.
const MAX_REPOSITORIES: usize = 50;
const MAX_SEARCHED: usize = 500;
/// How many runs of a repository are read at least.
const MIN_OF_REPOSITORY: usize = 4;
/// How many repositories somebody is asked about at GitHub at most, to find those that may be seen.
const MAX_LOOKED_AT: usize = 200;
const MAX_ENDED: usize = 50;
const MAX_TEXT: usize = 200;

#[derive(Deserialize, Default)]
pub(super) struct Chosen {
    repository: Option<String>,
    state: Option<String>,
    person: Option<String>,
    search: Option<String>,
}

/// A run as the overview shows it.
pub(super) struct Line {
    pub(super) id: String,
    pub(super) on: String,
    pub(super) repository: String,
    /// The pull request, such as `#7`. Empty for a run on a checkout.
    pub(super) number: String,
    pub(super) mode: String,
    pub(super) state: String,
    pub(super) outcome: String,
    /// What it is doing now. Empty if it has ended or waits.
    pub(super) doing: String,
    pub(super) started: String,
    pub(super) elapsed: String,
    pub(super) spent: String,
    /// What it waits for, since when, and until when.
    pub(super) waits: Vec<String>,
}

#[derive(Template)]
#[template(path = "overview.html")]
struct Overview {
    frame: Frame,
    /// What the page was made of.
    seen: String,
    waiting: Vec<Line>,
    working: Vec<Line>,
    ended: Vec<Line>,
    repositories: Vec<String>,
    repository: String,
    state: String,
    person: String,
    search: String,
    states: [&'static str; 15],
    is_filtered: bool,
}

pub(super) async fn get_overview(
    State(shelf): State<Shelf>,
    Extension(viewer): Extension<Viewer>,
    Query(wanted): Query<Chosen>,
) -> Result<Response, Missing> {
    let journal = &shelf.queue.app().journal;
    let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let filter = Filter {
        repository: given(&wanted.repository),
        state: given(&wanted.state),
        person: given(&wanted.person),
        text: given(&wanted.search),
    };
    let mut open = journal.open_rows(live::MAX_OPEN).await?;
    let repositories = repositories(&shelf, &viewer, &open).await?;
    if viewer.person().is_some() {
        let seen: HashSet<String> = repositories.iter().map(Repository::key).collect();
        open.retain(|row| seen.contains(&row.repository.key()));
    }
    let seen = live::token(open.iter().map(|row| (&row.id, row.length)), "");
    let now = Timestamp::now();
    let is_filtered = filter != Filter::default();
    let wanted = if is_filtered { MAX_SEARCHED } else { MAX_ENDED };
    let rows = newest(journal, open, (&repositories, filter.repository.as_deref()), wanted).await?;
    let mut runs = shelf.summaries.of(journal, &rows, now).await?;
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
        frame: viewer.frame(),
        seen,
        waiting: waiting.into_iter().map(|run| Line::of(run, now)).collect(),
        working: lines(&RunSummary::is_working),
        ended,
        repositories: repositories
            .iter()
            .map(|repository| repository.name.to_string())
            .collect(),
        repository: filter.repository.unwrap_or_default(),
        state: filter.state.unwrap_or_default(),
        person: filter.person.unwrap_or_default(),
        search: filter.text.unwrap_or_default(),
        states: STATES,
        is_filtered,
    }))
}

/// Makes the lines that the overview will show, so that the first who looks need not wait for them. If the journal cannot
/// be read, that person is told.
pub(super) async fn warm(shelf: Shelf) {
    let journal = &shelf.queue.app().journal;
    let warmed: Result<(), Missing> = async {
        let open = journal.open_rows(live::MAX_OPEN).await?;
        let repositories = journal.repositories(MAX_REPOSITORIES).await?;
        let rows = newest(journal, open, (&repositories, None), MAX_ENDED).await?;
        shelf.summaries.of(journal, &rows, Timestamp::now()).await?;
        Ok(())
    }
    .await;
    if let Err(error) = warmed {
        tracing::debug!(?error, "the overview is not prepared");
    }
}

/// The repositories that may be seen: those with open runs, and those with the newest runs.
async fn repositories(shelf: &Shelf, viewer: &Viewer, open: &[RunRow]) -> Result<Vec<Repository>, Missing> {
    let journal = &shelf.queue.app().journal;
    let wanted = match viewer.person() {
        None => MAX_REPOSITORIES,
        Some(_) => MAX_LOOKED_AT,
    };
    let mut all = journal.repositories(wanted).await?;
    let known: HashSet<String> = all.iter().map(Repository::key).collect();
    let of_open = open.iter().map(|row| row.repository.clone());
    let of_open: HashSet<Repository> = of_open.filter(|one| !known.contains(&one.key())).collect();
    if viewer.person().is_some() {
        all.extend(of_open.into_iter().take(MAX_LOOKED_AT));
    }
    shelf.visible(viewer, all).await
}

/// The runs that are open, and this many of the newest ones in some repositories, or in the one with this name. Of each
/// repository only a few are read, and more only where they are among the newest.
async fn newest(
    journal: &Journal,
    open: Vec<RunRow>,
    (of, name): (&[Repository], Option<&str>),
    wanted: usize,
) -> Result<Vec<RunRow>, Missing> {
    let is_wanted =
        |repository: &&Repository| name.is_none_or(|name| repository.name.to_string().eq_ignore_ascii_case(name));
    let mut left: Vec<&Repository> = of.iter().filter(is_wanted).collect();
    let mut each = (2 * wanted / left.len().max(1)).clamp(MIN_OF_REPOSITORY, wanted);
    let mut known: HashSet<RunId> = open.iter().map(|row| row.id.clone()).collect();
    let mut newest: Vec<RunRow> = Vec::new();
    while !left.is_empty() {
        let mut more = Vec::new();
        for repository in left {
            let rows = journal.rows_in(repository, each).await?;
            if let Some(last) = rows.last().filter(|_| rows.len() == each && each < wanted) {
                more.push((repository, last.started.clone()));
            }
            newest.extend(rows.into_iter().filter(|row| known.insert(row.id.clone())));
        }
        newest.sort_by(|one, other| other.started.cmp(&one.started));
        newest.truncate(wanted);
        let oldest = newest.get(wanted - 1).map(|row| row.started.clone());
        let is_newer = |end: &String| oldest.as_ref().is_none_or(|oldest| end > oldest);
        left = more
            .into_iter()
            .filter(|(_, end)| is_newer(end))
            .map(|(repository, _)| repository)
            .collect();
        each = (4 * each).min(wanted);
    }
    let mut rows = open;
    rows.extend(newest);
    Ok(rows)
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
            number,
            mode: run.mode.clone(),
            state: run.state.clone(),
            outcome: shown(&run.outcome, MAX_TEXT),
            doing: run.doing.clone().unwrap_or_default(),
            started: time(run.started),
            elapsed: clock::millis_in_words(run.elapsed_ms),
            spent: run.spent.cost_micros.map_or("–".into(), dollars),
            waits: waits.collect(),
        }
    }
}
