//! The plots of a repository's page: what happened on each day.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

use super::plot;
use super::text::dollars;
use crate::domain::clock;
use crate::summary::{Day, Statistics};

/// A plot with the value of its highest bar, and its numbers.
pub(super) struct Plot {
    pub(super) title: &'static str,
    pub(super) most: String,
    /// As plotters wrote it, which escapes every label; empty if it could not be drawn.
    pub(super) svg: String,
    pub(super) rows: Vec<(String, String)>,
}

/// The plots of the last `period` days.
pub(super) fn plots(of: &Statistics, period: u32) -> Vec<Plot> {
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    let days: Vec<Date> = (0..=period)
        .rev()
        .map(|ago| today.saturating_sub(Span::new().days(ago)))
        .collect();
    let of = (of, days.as_slice());
    let plots = [
        plot("Runs per day", of, |day| Some(day.runs), number),
        plot("Accepted per day", of, |day| Some(day.accepted), number),
        plot("Acceptance rate per day", of, accepted_of_proposed, percent),
        plot(
            "Time to green per day (median)",
            of,
            |day| day.time_to_green_ms,
            clock::millis_in_words,
        ),
        plot("Fixed without a model per day", of, without_model, percent),
        plot("Cost per day", of, |day| Some(day.cost_micros), dollars),
        plot("Cost per accepted fix per day", of, per_accepted, dollars),
    ];
    plots.into_iter().flatten().collect()
}

fn number(of: u64) -> String {
    of.to_string()
}

fn percent(of: u64) -> String {
    format!("{of} %")
}

fn accepted_of_proposed(day: &Day) -> Option<u64> {
    share(day.accepted, day.proposed)
}

fn without_model(day: &Day) -> Option<u64> {
    share(day.accepted_without_model, day.accepted)
}

fn per_accepted(day: &Day) -> Option<u64> {
    day.cost_micros.checked_div(day.accepted)
}

/// In percent, at most all. `None` of nothing.
fn share(part: u64, whole: u64) -> Option<u64> {
    Some(part.saturating_mul(100).checked_div(whole)?.min(100))
}

/// `None` if nothing but zeros would be drawn.
fn plot(
    title: &'static str,
    (of, days): (&Statistics, &[Date]),
    value: fn(&Day) -> Option<u64>,
    in_words: fn(u64) -> String,
) -> Option<Plot> {
    let of_day = |day: &Date| {
        let found = of.days.binary_search_by_key(day, |known| known.day);
        found.ok().and_then(|nth| value(&of.days[nth])).unwrap_or(0)
    };
    let label = |day: &Date| day.strftime("%b %-d").to_string();
    let all: Vec<_> = days.iter().map(|day| (label(day), of_day(day))).collect();
    let most = all.iter().map(|(_, value)| *value).max().filter(|most| *most > 0)?;
    let svg = plot::bars(&all, in_words).unwrap_or_else(|error| {
        tracing::error!(%error, title, "cannot draw a plot");
        String::new()
    });
    let cell = |day: &Day| value(day).map_or_else(|| "–".into(), in_words);
    Some(Plot {
        title,
        most: in_words(most),
        svg,
        rows: of.days.iter().map(|day| (day.day.to_string(), cell(day))).collect(),
    })
}
