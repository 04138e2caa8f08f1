//! What the runs of one repository show over weeks, as numbers, plots, tables and CSV.

use askama::Template;
use axum::Extension;
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use super::plot::{self, Bar};
use super::text::{dollars, shown};
use super::viewer::{Frame, Viewer};
use super::{Missing, Shelf, rendered};
use crate::domain::clock;
use crate::domain::id::{Repository, RepositoryName};
use crate::summary::{Day, Statistics};

const MAX_COUNTED: usize = 2_000;
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
}

struct Flaky {
    name: String,
    red: u32,
    executions: u32,
    runs: u32,
}

/// A day in words.
struct DayLine {
    day: String,
    runs: u64,
    accepted: u64,
    cost: String,
}

/// A plot with the value of its highest bar.
struct Plot {
    title: &'static str,
    most: String,
    bars: Vec<Bar>,
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
    by_state: Vec<(String, u64)>,
    flaky: Vec<Flaky>,
    table: Vec<DayLine>,
    /// The first and the last day, if there are any.
    range: Option<(String, String)>,
    plots: Vec<Plot>,
    width: u64,
    height: u64,
}

pub(super) async fn get_repository(
    State(shelf): State<Shelf>,
    Extension(viewer): Extension<Viewer>,
    Path(name): Path<(String, String)>,
    Query(Period { days }): Query<Period>,
) -> Result<Response, Missing> {
    let days = days.filter(|days| PERIODS.contains(days)).unwrap_or(PERIOD);
    let (repository, of) = statistics((&shelf, &viewer), &name, days).await?;
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".into());
    let percent = |rate: Option<f64>| or_dash(rate.map(|rate| format!("{:.0} %", 100.0 * rate)));
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
        by_state: of.by_state.clone().into_iter().collect(),
        flaky: of
            .flaky_tests
            .iter()
            .map(|test| Flaky {
                name: shown(&test.name, MAX_NAME),
                red: test.red,
                executions: test.executions,
                runs: test.runs,
            })
            .collect(),
        table: of
            .days
            .iter()
            .map(|day| DayLine {
                day: day.day.to_string(),
                runs: day.runs,
                accepted: day.accepted,
                cost: dollars(day.cost_micros),
            })
            .collect(),
        range: days_of(&of),
        plots: [
            plot("Runs a day", &of, |day| day.runs, |runs| runs.to_string()),
            plot("Accepted a day", &of, |day| day.accepted, |runs| runs.to_string()),
            plot("Cost a day", &of, |day| day.cost_micros, dollars),
        ]
        .into_iter()
        .filter(|plot| plot.bars.iter().any(|bar| bar.height > 0))
        .collect(),
        width: plot::WIDTH,
        height: plot::HEIGHT,
    }))
}

fn days_of(of: &Statistics) -> Option<(String, String)> {
    Some((of.days.first()?.day.to_string(), of.days.last()?.day.to_string()))
}

fn plot(title: &'static str, of: &Statistics, value: fn(&Day) -> u64, in_words: fn(u64) -> String) -> Plot {
    let label = |day: &Day| (format!("{}: {}", day.day, in_words(value(day))), value(day));
    Plot {
        title,
        most: in_words(of.days.iter().map(value).max().unwrap_or(0)),
        bars: plot::bars(&of.days.iter().map(label).collect::<Vec<_>>()),
    }
}

/// The days as CSV.
pub(super) async fn get_days(
    State(shelf): State<Shelf>,
    Extension(viewer): Extension<Viewer>,
    Path(name): Path<(String, String)>,
    Query(Period { days }): Query<Period>,
) -> Result<Response, Missing> {
    let days = days.filter(|days| PERIODS.contains(days)).unwrap_or(PERIOD);
    let (_, of) = statistics((&shelf, &viewer), &name, days).await?;
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"days.csv\""),
    ];
    Ok((headers, of.days_as_csv()).into_response())
}

async fn statistics(
    (shelf, viewer): (&Shelf, &Viewer),
    (owner, name): &(String, String),
    days: u32,
) -> Result<(Repository, Statistics), Missing> {
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
    let repository = visible.into_iter().next().ok_or(Missing::Nothing)?;
    let runs = journal.runs_in(&repository, MAX_COUNTED).await?;
    let since = Timestamp::now().checked_sub(SignedDuration::from_hours(24 * i64::from(days)));
    Ok((repository, Statistics::of(&runs, since.unwrap_or(Timestamp::MIN))))
}
