//! What many runs of a repository show: whether fixes are accepted, how long they take, and what they cost.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::listed::{between, is_accepted, last_recorded};
use crate::domain::proposal::Author;
use crate::domain::reply;
use crate::domain::run::Run;
use crate::domain::triage::Verdict;

/// How many flaky tests are named.
const MAX_FLAKY: usize = 20;
/// How many different tests are counted. Strangers choose the names.
const MAX_TESTS: usize = 10_000;

/// Statistics of runs. Scripts rely on the JSON: fields may be added, but never change their meaning.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Statistics {
    pub runs: u64,
    /// The number of runs in each state; see [`super::RunSummary::state`].
    pub by_state: BTreeMap<String, u64>,
    /// Runs that have ended after they proposed something.
    pub proposed: u64,
    /// Those of them whose proposal people took and did not undo.
    pub accepted: u64,
    /// Accepted per proposed. `None` if nothing was proposed.
    pub acceptance_rate: Option<f64>,
    pub time_to_green: TimeToGreen,
    /// Millionths of a US dollar, as far as prices are known. `None` if none is.
    pub cost_micros: Option<u64>,
    /// The cost of all runs per accepted fix.
    pub cost_per_accepted_micros: Option<u64>,
    /// Accepted fixes that no model made.
    pub accepted_without_model: u64,
    /// Their share of the accepted fixes.
    pub without_model_rate: Option<f64>,
    /// The tests that were found to be flaky, most often first.
    pub flaky_tests: Vec<FlakyTest>,
    /// Every day from the first run to the last, in UTC.
    pub days: Vec<Day>,
}

/// From the start of a run to its accepted fix, in milliseconds, as far as journals record it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimeToGreen {
    pub median_ms: Option<u64>,
    pub p90_ms: Option<u64>,
}

/// A test with its measured results, over the runs that found it to be flaky.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlakyTest {
    pub name: String,
    /// How many executions failed, of how many on the same tree.
    pub red: u32,
    pub executions: u32,
    /// How many runs of greenlight found it to be flaky, and the newest of them.
    pub runs: u32,
    pub last: Timestamp,
}

/// One day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Day {
    pub day: Date,
    pub runs: u64,
    pub accepted: u64,
    pub cost_micros: u64,
}

impl Statistics {
    /// Of the runs that started at that moment or later.
    pub fn of<'a>(runs: impl IntoIterator<Item = &'a Run>, since: Timestamp) -> Self {
        let mut counted = Self::default();
        let (mut times, mut tests, mut days) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        for run in runs.into_iter().filter(|run| run.started.at >= since) {
            let is_accepted = is_accepted(run);
            counted.count(run, is_accepted);
            if is_accepted {
                times.push(between(run.started.at, last_recorded(run)));
            }
            count_flaky(&mut tests, run);
            let day = run.started.at.to_zoned(TimeZone::UTC).date();
            let on = days.entry(day).or_insert(Day {
                day,
                runs: 0,
                accepted: 0,
                cost_micros: 0,
            });
            on.runs += 1;
            on.accepted += u64::from(is_accepted);
            on.cost_micros = on.cost_micros.saturating_add(run.spent.cost_micros.unwrap_or(0));
        }
        times.sort_unstable();
        counted.time_to_green = TimeToGreen {
            median_ms: quantile(&times, 50),
            p90_ms: quantile(&times, 90),
        };
        counted.flaky_tests = flakiest(tests);
        counted.days = without_gaps(&days);
        counted.acceptance_rate = share(counted.accepted, counted.proposed);
        counted.without_model_rate = share(counted.accepted_without_model, counted.accepted);
        counted.cost_per_accepted_micros = counted.cost_micros.and_then(|cost| cost.checked_div(counted.accepted));
        counted
    }

    fn count(&mut self, run: &Run, is_accepted: bool) {
        self.runs += 1;
        *self.by_state.entry(reply::state(run).into()).or_default() += 1;
        let has_proposed = run.proposal.is_some() || !run.turned_down.is_empty();
        self.proposed += u64::from(run.end.is_some() && has_proposed);
        self.accepted += u64::from(is_accepted && run.end.is_some() && has_proposed);
        let is_of_model = |author: &Author| matches!(author, Author::Model(_));
        let is_without = run
            .proposal
            .as_ref()
            .is_some_and(|proposal| !is_of_model(&proposal.author));
        self.accepted_without_model += u64::from(is_accepted && is_without);
        self.cost_micros = match (self.cost_micros, run.spent.cost_micros) {
            (None, None) => None,
            (one, two) => Some(one.unwrap_or(0).saturating_add(two.unwrap_or(0))),
        };
    }

    /// The days as CSV, with a header.
    pub fn days_as_csv(&self) -> String {
        let rows = self.days.iter().map(|day| {
            let Day {
                day,
                runs,
                accepted,
                cost_micros,
            } = day;
            format!("{day},{runs},{accepted},{cost_micros}\r\n")
        });
        String::from("day,runs,accepted,cost_micros\r\n") + &rows.collect::<String>()
    }
}

fn count_flaky(tests: &mut BTreeMap<String, FlakyTest>, run: &Run) {
    let Some((_, triage)) = &run.reproduced else { return };
    for judged in triage.tests.iter().filter(|judged| judged.verdict == Verdict::Flaky) {
        if tests.len() >= MAX_TESTS && !tests.contains_key(&judged.name) {
            continue;
        }
        let test = tests.entry(judged.name.clone()).or_insert_with(|| FlakyTest {
            name: judged.name.clone(),
            red: 0,
            executions: 0,
            runs: 0,
            last: run.started.at,
        });
        test.red = test.red.saturating_add(judged.head.red);
        test.executions = test.executions.saturating_add(judged.head.runs);
        test.runs += 1;
        test.last = test.last.max(run.started.at);
    }
}

fn flakiest(tests: BTreeMap<String, FlakyTest>) -> Vec<FlakyTest> {
    let mut tests: Vec<FlakyTest> = tests.into_values().collect();
    tests.sort_by_key(|test| std::cmp::Reverse((test.runs, test.red)));
    tests.truncate(MAX_FLAKY);
    tests
}

/// The nearest-rank quantile of sorted values.
fn quantile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}

/// How many days a plot has at most.
const MAX_DAYS: usize = 400;

fn without_gaps(days: &BTreeMap<Date, Day>) -> Vec<Day> {
    let (Some((first, _)), Some((last, _))) = (days.first_key_value(), days.last_key_value()) else {
        return Vec::new();
    };
    let empty = |day| Day {
        day,
        runs: 0,
        accepted: 0,
        cost_micros: 0,
    };
    // The clock of a service may have been wrong: the newest days are shown.
    let from = last
        .checked_sub(jiff::Span::new().days(MAX_DAYS as i64))
        .unwrap_or(*first)
        .max(*first);
    let all = std::iter::successors(Some(from), |day| day.tomorrow().ok()).take_while(|day| day <= last);
    all.map(|day| days.get(&day).copied().unwrap_or_else(|| empty(day)))
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "nobody counts that many runs")]
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests;
