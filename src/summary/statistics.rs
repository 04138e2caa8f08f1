//! What many runs of a repository show: whether fixes are accepted, how long they take, and what they cost.

mod csv;

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
use crate::domain::triage::{Judged, Rate, Verdict};

/// How many flaky and how many broken tests are listed, and how many measurements of each.
const MAX_LISTED: usize = 20;
const MAX_HISTORY: usize = 10;
/// How many tests of each kind are counted of one run.
const MAX_OF_RUN: usize = 100;
/// How much of a name is written, in bytes.
const MAX_NAME: usize = 300;
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
    /// The tests that failed on the base branch, too, when they were last compared; the newest first.
    #[serde(default)]
    pub broken_tests: Vec<BrokenTest>,
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
    /// What each of the newest of them measured, newest first.
    #[serde(default)]
    pub history: Vec<Measured>,
}

/// How often a test failed in one run of greenlight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    pub at: Timestamp,
    pub red: u32,
    pub executions: u32,
}

/// A test that fails on the base branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BrokenTest {
    pub name: String,
    /// How many runs of greenlight found that, and the newest of them.
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
    /// Runs that have ended after they proposed something.
    #[serde(default)]
    pub proposed: u64,
    /// Accepted fixes that no model made.
    #[serde(default)]
    pub accepted_without_model: u64,
    /// From the start of a run to its accepted fix: the median, in milliseconds. `None` if nothing was accepted.
    #[serde(default)]
    pub time_to_green_ms: Option<u64>,
}

impl Day {
    fn count(&mut self, run: &Counted) {
        let is_without = run.accepted.is_some_and(|accepted| accepted.is_without_model);
        self.runs += 1;
        self.accepted += u64::from(run.accepted.is_some());
        self.proposed += u64::from(run.has_proposed);
        self.accepted_without_model += u64::from(is_without);
        self.cost_micros = self.cost_micros.saturating_add(run.cost_micros.unwrap_or(0));
    }

    const fn new(day: Date) -> Self {
        Self {
            day,
            runs: 0,
            accepted: 0,
            cost_micros: 0,
            proposed: 0,
            accepted_without_model: 0,
            time_to_green_ms: None,
        }
    }
}

/// What statistics count of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    started: Timestamp,
    state: &'static str,
    /// Whether it has ended after it proposed something.
    has_proposed: bool,
    accepted: Option<AcceptedFix>,
    cost_micros: Option<u64>,
    tests: Vec<CountedTest>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AcceptedFix {
    after_ms: u64,
    is_without_model: bool,
}

/// What a run found out about one test.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CountedTest {
    name: String,
    verdict: Verdict,
    head: Rate,
}

impl Counted {
    pub fn of(run: &Run) -> Self {
        let is_of_model = |author: &Author| matches!(author, Author::Model(_));
        let is_without = || {
            run.proposal
                .as_ref()
                .is_some_and(|proposal| !is_of_model(&proposal.author))
        };
        Self {
            started: run.started.at,
            state: reply::state(run),
            has_proposed: run.end.is_some() && (run.proposal.is_some() || !run.turned_down.is_empty()),
            accepted: is_accepted(run).then(|| AcceptedFix {
                after_ms: between(run.started.at, last_recorded(run)),
                is_without_model: is_without(),
            }),
            cost_micros: run.spent.cost_micros,
            tests: tests(run),
        }
    }
}

/// The tests that are flaky or broken on the base, and those that were compared with the base and are neither.
fn tests(run: &Run) -> Vec<CountedTest> {
    let Some((_, triage)) = &run.reproduced else {
        return Vec::new();
    };
    let (mut telling, mut others): (Vec<&Judged>, Vec<&Judged>) = triage
        .tests
        .iter()
        .filter(|judged| matches!(judged.verdict, Verdict::Flaky | Verdict::BrokenOnBase) || judged.base.runs > 0)
        .partition(|judged| matches!(judged.verdict, Verdict::Flaky | Verdict::BrokenOnBase));
    telling.truncate(MAX_OF_RUN);
    others.truncate(MAX_OF_RUN);
    let counted = |judged: &Judged| CountedTest {
        name: judged.name.clone(),
        verdict: judged.verdict,
        head: judged.head,
    };
    telling.into_iter().chain(others).map(counted).collect()
}

impl Statistics {
    /// Of the runs that started at that moment or later.
    pub fn of<'a>(runs: impl IntoIterator<Item = &'a Run>, since: Timestamp) -> Self {
        let counted: Vec<Counted> = runs.into_iter().map(Counted::of).collect();
        Self::of_counted(&counted, since)
    }

    /// The same of runs that were counted before.
    pub fn of_counted<'a>(runs: impl IntoIterator<Item = &'a Counted>, since: Timestamp) -> Self {
        let mut counted = Self::default();
        let (mut times, mut tests, mut days) = (Vec::new(), Tests::default(), BTreeMap::new());
        for run in runs.into_iter().filter(|run| run.started >= since) {
            counted.count(run);
            times.extend(run.accepted.map(|accepted| accepted.after_ms));
            tests.count(run);
            let day = run.started.to_zoned(TimeZone::UTC).date();
            let (on, times_of_day): &mut (Day, Vec<u64>) =
                days.entry(day).or_insert_with(|| (Day::new(day), Vec::new()));
            on.count(run);
            times_of_day.extend(run.accepted.map(|accepted| accepted.after_ms));
        }
        times.sort_unstable();
        let days: BTreeMap<Date, Day> = days.into_iter().map(with_median).collect();
        counted.time_to_green = TimeToGreen {
            median_ms: quantile(&times, 50),
            p90_ms: quantile(&times, 90),
        };
        (counted.flaky_tests, counted.broken_tests) = tests.listed();
        counted.days = without_gaps(&days);
        counted.acceptance_rate = share(counted.accepted, counted.proposed);
        counted.without_model_rate = share(counted.accepted_without_model, counted.accepted);
        counted.cost_per_accepted_micros = counted.cost_micros.and_then(|cost| cost.checked_div(counted.accepted));
        counted
    }

    fn count(&mut self, run: &Counted) {
        self.runs += 1;
        *self.by_state.entry(run.state.into()).or_default() += 1;
        self.proposed += u64::from(run.has_proposed);
        self.accepted += u64::from(run.accepted.is_some() && run.has_proposed);
        let is_without = run.accepted.is_some_and(|accepted| accepted.is_without_model);
        self.accepted_without_model += u64::from(is_without);
        self.cost_micros = match (self.cost_micros, run.cost_micros) {
            (None, None) => None,
            (one, two) => Some(one.unwrap_or(0).saturating_add(two.unwrap_or(0))),
        };
    }
}

/// A day with the median of these times.
fn with_median((day, (on, mut times)): (Date, (Day, Vec<u64>))) -> (Date, Day) {
    times.sort_unstable();
    let time_to_green_ms = quantile(&times, 50);
    (day, Day { time_to_green_ms, ..on })
}

/// What all runs found out about tests.
#[derive(Default)]
struct Tests {
    flaky: BTreeMap<String, FlakyTest>,
    /// With the newest run that compared it with the base, and whether it was broken there.
    compared: BTreeMap<String, (BrokenTest, bool)>,
}

impl Tests {
    fn count(&mut self, run: &Counted) {
        for test in &run.tests {
            if test.verdict == Verdict::Flaky {
                self.count_flaky(run.started, test);
            } else {
                self.count_compared(run.started, test);
            }
        }
    }

    fn count_flaky(&mut self, at: Timestamp, test: &CountedTest) {
        if self.flaky.len() >= MAX_TESTS && !self.flaky.contains_key(&test.name) {
            return;
        }
        let flaky = self.flaky.entry(test.name.clone()).or_insert_with(|| FlakyTest {
            name: test.name.clone(),
            red: 0,
            executions: 0,
            runs: 0,
            last: at,
            history: Vec::new(),
        });
        flaky.red = flaky.red.saturating_add(test.head.red);
        flaky.executions = flaky.executions.saturating_add(test.head.runs);
        flaky.runs += 1;
        flaky.last = flaky.last.max(at);
        flaky.history.push(Measured {
            at,
            red: test.head.red,
            executions: test.head.runs,
        });
    }

    fn count_compared(&mut self, at: Timestamp, test: &CountedTest) {
        if self.compared.len() >= MAX_TESTS && !self.compared.contains_key(&test.name) {
            return;
        }
        let is_broken = test.verdict == Verdict::BrokenOnBase;
        let (compared, was_broken) = self.compared.entry(test.name.clone()).or_insert_with(|| {
            let (name, runs, last) = (test.name.clone(), 0, at);
            (BrokenTest { name, runs, last }, is_broken)
        });
        compared.runs += u32::from(is_broken);
        if at >= compared.last {
            (compared.last, *was_broken) = (at, is_broken);
        }
    }

    fn listed(self) -> (Vec<FlakyTest>, Vec<BrokenTest>) {
        let mut flaky: Vec<FlakyTest> = self.flaky.into_values().collect();
        flaky.sort_by_key(|test| std::cmp::Reverse((test.runs, test.red)));
        flaky.truncate(MAX_LISTED);
        for test in &mut flaky {
            test.history.sort_by_key(|measured| std::cmp::Reverse(measured.at));
            test.history.truncate(MAX_HISTORY);
        }
        let compared = self.compared.into_values();
        let mut broken: Vec<BrokenTest> = compared
            .filter(|(_, is_broken)| *is_broken)
            .map(|(test, _)| test)
            .collect();
        broken.sort_by_key(|test| std::cmp::Reverse(test.last));
        broken.truncate(MAX_LISTED);
        (flaky, broken)
    }
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
    // The clock of a service may have been wrong: the newest days are shown.
    let from = last
        .checked_sub(jiff::Span::new().days(MAX_DAYS as i64))
        .unwrap_or(*first)
        .max(*first);
    let all = std::iter::successors(Some(from), |day| day.tomorrow().ok()).take_while(|day| day <= last);
    all.map(|day| days.get(&day).copied().unwrap_or_else(|| Day::new(day)))
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "nobody counts that many runs")]
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests;
