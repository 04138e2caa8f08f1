//! What the runs of one repository show over weeks, as numbers, plots, tables and CSV; and what they taught.

use askama::Template;
use axum::Extension;
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use super::learned::{Learned, LearnedEntry};
use super::notice::is_sealed;
use super::plots::{Plot, plots};
use super::text::{dollars, shown};
use super::viewer::{Frame, Viewer};
use super::{Missing, Shelf, rendered};
use crate::domain::clock;
use crate::domain::id::{Repository, RepositoryName};
use crate::summary::{BrokenTest, FlakyTest, Statistics};

const MAX_REPOSITORIES: usize = 1_000;
/// How many repositories of one name are looked at.
const MAX_OF_NAME: usize = 4;
const MAX_NAME: usize = 300;
/// The periods that are offered, in days, and the one that is shown if none is chosen.
const PERIODS: [u32; 3] = [7, 30, 90];
const PERIOD: u32 = 30;

#[derive(Deserialize)]
pub(super) struct Period {
    days: Option<u32>,
    /// What became of a form.
    said: Option<String>,
    seal: Option<String>,
}

struct FlakyLine {
    name: String,
    rate: String,
    of: String,
    runs: u32,
    /// The newest measurement first.
    history: String,
}

struct BrokenLine {
    name: String,
    runs: u32,
    last: String,
}

/// What is remembered, with the day on which it was learned.
struct EntryLine {
    entry: LearnedEntry,
    day: String,
}

#[derive(Template)]
#[template(path = "repository.html")]
struct RepositoryPage {
    frame: Frame,
    name: String,
    days: u32,
    periods: [u32; 3],
    runs: u64,
    proposed: u64,
    accepted: u64,
    acceptance: String,
    median: String,
    p90: String,
    cost: String,
    cost_per_accepted: String,
    without_model: String,
    notice: &'static str,
    /// Whether the viewer may forget what is remembered.
    may_forget: bool,
    by_state: Vec<(String, u64, u64)>,
    flaky: Vec<FlakyLine>,
    broken: Vec<BrokenLine>,
    command: String,
    fixes: Vec<EntryLine>,
    rejections: Vec<EntryLine>,
    /// The first and the last day, if there are any.
    range: Option<(String, String)>,
    plots: Vec<Plot>,
}

pub(super) async fn get_repository(
    State(shelf): State<Shelf>,
    Extension(viewer): Extension<Viewer>,
    Path(name): Path<(String, String)>,
    Query(period): Query<Period>,
) -> Result<Response, Missing> {
    let days = period.days();
    let repository = named((&shelf, &viewer), &name).await?;
    let journal = &shelf.queue.app().journal;
    let learned = shelf.learned.of(journal, &repository).await?;
    let of = statistics(&learned, days);
    let recalled = learned.recalled(&journal.forgotten(&repository).await?);
    let may_forget = shelf.may_approve(&viewer, &repository).await?;
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".into());
    let percent = |rate: Option<f64>| or_dash(rate.map(|rate| format!("{:.0} %", 100.0 * rate)));
    let (fixes, rejections) = recalled.entries.into_iter().partition(|entry| entry.is_fix);
    Ok(rendered(&RepositoryPage {
        frame: viewer.frame(),
        name: repository.name.to_string(),
        days,
        periods: PERIODS,
        runs: of.runs,
        proposed: of.proposed,
        accepted: of.accepted,
        acceptance: percent(of.acceptance_rate),
        median: or_dash(of.time_to_green.median_ms.map(clock::millis_in_words)),
        p90: or_dash(of.time_to_green.p90_ms.map(clock::millis_in_words)),
        cost: or_dash(of.cost_micros.map(dollars)),
        cost_per_accepted: or_dash(of.cost_per_accepted_micros.map(dollars)),
        without_model: percent(of.without_model_rate),
        notice: period.notice(&viewer),
        may_forget,
        by_state: outcomes(&of),
        flaky: of.flaky_tests.iter().map(FlakyLine::of).collect(),
        broken: of.broken_tests.iter().map(BrokenLine::of).collect(),
        command: shown(&recalled.command.unwrap_or_default(), MAX_NAME),
        fixes: lines(fixes),
        rejections: lines(rejections),
        range: days_of(&of),
        plots: plots(&of, days),
    }))
}

impl Period {
    fn days(&self) -> u32 {
        self.days.filter(|days| PERIODS.contains(days)).unwrap_or(PERIOD)
    }

    /// What became of a form that the viewer sent.
    fn notice(&self, viewer: &Viewer) -> &'static str {
        let (Some(said), Some(person)) = (self.said.as_deref(), viewer.person()) else {
            return "";
        };
        match said {
            _ if !is_sealed(person, said, self.seal.as_deref()) => "",
            "forgotten" => "Forgotten. greenlight no longer uses it.",
            "forbidden" => "Nothing was forgotten: that needs write access to the repository.",
            _ => "",
        }
    }
}

/// States with their numbers of runs, and the lengths of their bars in percent of the longest.
fn outcomes(of: &Statistics) -> Vec<(String, u64, u64)> {
    let most = of.by_state.values().copied().max().unwrap_or(0).max(1);
    let bar = |runs: u64| (runs.saturating_mul(100) / most).max(1);
    let states = of
        .by_state
        .iter()
        .map(|(state, runs)| (state.clone(), *runs, bar(*runs)));
    states.collect()
}

fn lines(entries: Vec<LearnedEntry>) -> Vec<EntryLine> {
    let line = |entry: LearnedEntry| EntryLine {
        day: entry.at.strftime("%Y-%m-%d").to_string(),
        entry,
    };
    entries.into_iter().map(line).collect()
}

impl FlakyLine {
    fn of(test: &FlakyTest) -> Self {
        let measured = test
            .history
            .iter()
            .map(|one| format!("{}: {} of {}", one.at.strftime("%Y-%m-%d"), one.red, one.executions));
        let rate = 100.0 * f64::from(test.red) / f64::from(test.executions.max(1));
        Self {
            name: shown(&test.name, MAX_NAME),
            rate: format!("{rate:.0} %"),
            of: format!("{} of {}", test.red, test.executions),
            runs: test.runs,
            history: measured.collect::<Vec<_>>().join("; "),
        }
    }
}

impl BrokenLine {
    fn of(test: &BrokenTest) -> Self {
        Self {
            name: shown(&test.name, MAX_NAME),
            runs: test.runs,
            last: test.last.strftime("%Y-%m-%d").to_string(),
        }
    }
}

fn days_of(of: &Statistics) -> Option<(String, String)> {
    Some((of.days.first()?.day.to_string(), of.days.last()?.day.to_string()))
}

type Name = Path<(String, String)>;

/// The days as CSV.
pub(super) async fn get_days(
    State(shelf): State<Shelf>,
    Extension(viewer): Extension<Viewer>,
    Path(name): Name,
    Query(period): Query<Period>,
) -> Result<Response, Missing> {
    csv((&shelf, &viewer, &name), &period, ("days.csv", Statistics::days_as_csv)).await
}

/// The outcomes as CSV.
pub(super) async fn get_outcomes(
    State(shelf): State<Shelf>,
    Extension(viewer): Extension<Viewer>,
    Path(name): Name,
    Query(period): Query<Period>,
) -> Result<Response, Missing> {
    csv(
        (&shelf, &viewer, &name),
        &period,
        ("outcomes.csv", Statistics::outcomes_as_csv),
    )
    .await
}

/// The flaky and the broken tests as CSV.
pub(super) async fn get_tests(
    State(shelf): State<Shelf>,
    Extension(viewer): Extension<Viewer>,
    Path(name): Name,
    Query(period): Query<Period>,
) -> Result<Response, Missing> {
    csv(
        (&shelf, &viewer, &name),
        &period,
        ("tests.csv", Statistics::tests_as_csv),
    )
    .await
}

async fn csv(
    (shelf, viewer, name): (&Shelf, &Viewer, &(String, String)),
    period: &Period,
    (file, text): (&str, fn(&Statistics) -> String),
) -> Result<Response, Missing> {
    let repository = named((shelf, viewer), name).await?;
    let learned = shelf.learned.of(&shelf.queue.app().journal, &repository).await?;
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8".to_string()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{file}\"")),
    ];
    Ok((headers, text(&statistics(&learned, period.days()))).into_response())
}

/// The repository of this name, if it has runs and may be seen.
pub(super) async fn named(
    (shelf, viewer): (&Shelf, &Viewer),
    (owner, name): &(String, String),
) -> Result<Repository, Missing> {
    let name = RepositoryName::new(owner, name)
        .map_err(|_| Missing::Nothing)?
        .to_string();
    let journal = &shelf.queue.app().journal;
    let known = journal.repositories(MAX_REPOSITORIES).await?;
    // A name may be that of several, one after the other.
    let of_that_name = known
        .into_iter()
        .filter(|known| known.name.to_string().eq_ignore_ascii_case(&name));
    let visible = shelf.visible(viewer, of_that_name.take(MAX_OF_NAME).collect()).await?;
    visible.into_iter().next().ok_or(Missing::Nothing)
}

fn statistics(learned: &Learned, days: u32) -> Statistics {
    let since = Timestamp::now().checked_sub(SignedDuration::from_hours(24 * i64::from(days)));
    Statistics::of_counted(learned.counted(), since.unwrap_or(Timestamp::MIN))
}
