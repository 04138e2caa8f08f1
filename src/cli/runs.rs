//! `greenlight runs`: lists runs, and shows the timeline of one. `greenlight stats`: what the runs of a repository show.

mod journals;
mod remote;

use std::time::Duration;

use clap::builder::PossibleValuesParser;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use unicode_width::UnicodeWidthStr as _;

use super::{Exit, exit, terminal};
use crate::config::environment::Environment;
use crate::config::flags::{Flags, GithubFlags, StorageFlags};
use crate::config::settings::Settings;
use crate::domain::clock;
use crate::domain::id::RepositoryName;
use crate::domain::reply::STATES;
use crate::domain::spend::Spend;
use crate::summary::{Filter, INTERRUPTED, RunSummary, Statistics, TimelineEntry};

const MAX_LISTED: usize = 100;

/// The columns of a list of runs.
const COLUMNS: [&str; 8] = ["RUN", "STATE", "WHERE", "MODE", "STARTED", "TOOK", "COST", "WAITS FOR"];

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct RunsArguments {
    #[command(subcommand)]
    verb: Option<RunsVerb>,
    #[command(flatten)]
    list: ListArguments,
}

#[derive(Debug, clap::Subcommand)]
enum RunsVerb {
    /// Show what happened in one run, step by step
    #[command(after_help = exit::OF_READING)]
    Show(ShowArguments),
}

#[derive(Debug, clap::Args)]
struct ListArguments {
    /// Only runs of this repository
    #[arg(long, value_name = "OWNER/NAME")]
    repository: Option<RepositoryName>,
    /// Only runs in this state
    #[arg(long, ignore_case = true, value_parser = PossibleValuesParser::new(STATES.into_iter().chain([INTERRUPTED])))]
    state: Option<String>,
    /// How many runs are listed at most
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u8).range(1..=100))]
    limit: u8,
    #[command(flatten)]
    source: ReadFrom,
}

#[derive(Debug, clap::Args)]
struct ShowArguments {
    /// The id of the run, as `greenlight runs` and comments show it
    id: String,
    #[command(flatten)]
    source: ReadFrom,
}

#[derive(Debug, clap::Args)]
pub(super) struct StatsArguments {
    /// Only runs that started this recently, such as `30d`
    #[arg(long, value_name = "DURATION", default_value = "30d", value_parser = duration)]
    since: Duration,
    /// Only runs of this repository
    #[arg(long, value_name = "OWNER/NAME")]
    repository: Option<RepositoryName>,
    #[command(flatten)]
    source: ReadFrom,
}

/// Where runs are read from.
#[derive(Debug, clap::Args)]
struct ReadFrom {
    /// Ask this `greenlight serve` over REST, with your GitHub token, instead of reading this machine's journals
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// File with your GitHub token for `--server` [env: GREENLIGHT_GITHUB_TOKEN_FILE; the token itself: GREENLIGHT_GITHUB_TOKEN, GITHUB_TOKEN]
    #[arg(long, value_name = "FILE", requires = "server")]
    github_token_file: Option<std::path::PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    storage: StorageFlags,
}

fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|_| "it is not a duration; write a number and a unit, such as `30d` or `12h`".into())
}

impl ReadFrom {
    fn settings(&self) -> Result<Settings, Exit> {
        let flags = Flags {
            storage: self.storage.clone(),
            github: GithubFlags {
                github_token_file: self.github_token_file.clone(),
                ..GithubFlags::default()
            },
            ..Flags::default()
        };
        Ok(Settings::new(
            flags,
            &Environment::of_this_process().for_reading_runs(),
        )?)
    }
}

/// One run, as both sources have it.
struct Shown {
    summary: RunSummary,
    timeline: Vec<TimelineEntry>,
}

pub(super) async fn runs(arguments: RunsArguments) -> Exit {
    let done = match arguments.verb {
        None => listed(arguments.list).await,
        Some(RunsVerb::Show(arguments)) => shown(arguments).await,
    };
    done.err().unwrap_or(Exit::Done)
}

pub(super) async fn stats(arguments: StatsArguments) -> Exit {
    counted(arguments).await.err().unwrap_or(Exit::Done)
}

async fn listed(arguments: ListArguments) -> Result<(), Exit> {
    let ListArguments {
        repository,
        state,
        limit,
        source,
    } = arguments;
    let settings = source.settings()?;
    let filter = Filter {
        repository: repository.as_ref().map(ToString::to_string),
        state,
        ..Filter::default()
    };
    let all = match &source.server {
        Some(server) => remote::list(&settings, server, repository.as_ref()).await?,
        None => {
            let runs = journals::newest(&settings, repository.as_ref(), MAX_LISTED).await?;
            runs.into_iter().map(|local| local.summary(None)).collect()
        }
    };
    let runs: Vec<RunSummary> = all
        .into_iter()
        .filter(|run| filter.takes(run))
        .take(limit.into())
        .collect();
    if source.json {
        terminal::show_document(&json!({ "runs": runs }));
    } else if runs.is_empty() {
        terminal::show("no runs");
    } else {
        terminal::show(&aligned(&runs));
    }
    Ok(())
}

async fn shown(ShowArguments { id, source }: ShowArguments) -> Result<(), Exit> {
    let settings = source.settings()?;
    let found = match &source.server {
        Some(server) => remote::run(&settings, server, &id).await?,
        None => journals::run(&settings, &id).await?,
    };
    let Shown { summary, timeline } = found.ok_or_else(|| {
        Exit::Usage(format!(
            "there is no run `{}`; `greenlight runs` lists those that there are",
            short(&id)
        ))
    })?;
    if source.json {
        terminal::show_document(&json!({ "run": summary, "timeline": timeline }));
        return Ok(());
    }
    let cells: Vec<String> = cells(&summary).into_iter().filter(|cell| !cell.is_empty()).collect();
    terminal::show(&cells.join("  "));
    for entry in &timeline {
        let took = entry
            .ms
            .map(|ms| format!(" ({})", clock::millis_in_words(ms)))
            .unwrap_or_default();
        let at = entry.at.strftime("%Y-%m-%d %H:%M:%S");
        terminal::show(&format!("  {at}  {:<9} {}{took}", entry.kind, entry.what));
    }
    Ok(())
}

async fn counted(arguments: StatsArguments) -> Result<(), Exit> {
    let StatsArguments {
        since,
        repository,
        source,
    } = arguments;
    let settings = source.settings()?;
    let too_long = |_| Exit::Usage("--since is too long".into());
    let statistics = match (&source.server, &repository) {
        (Some(server), Some(repository)) => remote::statistics(&settings, server, (repository, since)).await?,
        (Some(_), None) => return Err(needs_repository()),
        (None, _) => {
            let since = SignedDuration::try_from(since).map_err(too_long)?;
            let since = Timestamp::now().checked_sub(since).map_err(too_long)?;
            let runs = journals::newest(&settings, repository.as_ref(), journals::MAX_COUNTED).await?;
            Statistics::of(runs.iter().map(|local| &local.run), since)
        }
    };
    if source.json {
        terminal::show_document(&json!({ "repository": repository, "statistics": statistics }));
    } else if statistics.runs == 0 {
        terminal::show("no runs started in this time");
    } else {
        terminal::show(&table(&statistics));
    }
    Ok(())
}

fn needs_repository() -> Exit {
    Exit::Usage("a server answers for one repository at a time: say which, with --repository OWNER/NAME".into())
}

/// Runs below each other, in columns with headings.
fn aligned(runs: &[RunSummary]) -> String {
    let headings = COLUMNS.map(str::to_owned);
    let rows: Vec<[String; COLUMNS.len()]> = [headings].into_iter().chain(runs.iter().map(cells)).collect();
    let mut widths = [0; COLUMNS.len()];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.width().max(*width);
        }
    }
    let line = |row: &[String; COLUMNS.len()]| {
        let padded = row.iter().zip(widths).map(|(cell, width)| {
            let missing = width - cell.width();
            format!("{cell}{}", " ".repeat(missing))
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// A run, by column.
fn cells(run: &RunSummary) -> [String; COLUMNS.len()] {
    let on = match (&run.repository, run.pull_request) {
        (Some(repository), Some(number)) => format!("{repository}#{number}"),
        _ => run.checkout.clone().unwrap_or_else(|| "a checkout".into()),
    };
    let waits = run
        .waiting
        .iter()
        .map(|gate| format!("{} until {}", gate.gate, gate.expires.strftime("%Y-%m-%d %H:%M UTC")));
    [
        run.id.to_string(),
        run.state.clone(),
        on,
        run.mode.clone(),
        run.started.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        clock::millis_in_words(run.elapsed_ms),
        cost(&run.spent),
        waits.collect::<Vec<_>>().join("; "),
    ]
}

fn cost(spent: &Spend) -> String {
    match spent.cost_micros {
        Some(micros) => dollars(micros),
        None if spent.turns == 0 => "no model".into(),
        None => format!("{} tokens", spent.tokens()),
    }
}

fn dollars(micros: u64) -> String {
    format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000)
}

fn table(of: &Statistics) -> String {
    let percent = |rate: Option<f64>| rate.map_or("–".into(), |rate| format!("{:.0} %", 100.0 * rate));
    let time = |ms: Option<u64>| ms.map_or("–".into(), clock::millis_in_words);
    let money = |micros: Option<u64>| micros.map_or("–".into(), dollars);
    let mut lines = vec![
        format!("Runs                {}", of.runs),
        format!(
            "Accepted            {} of {} proposed ({})",
            of.accepted,
            of.proposed,
            percent(of.acceptance_rate)
        ),
        format!(
            "Time to green       {} median, {} p90",
            time(of.time_to_green.median_ms),
            time(of.time_to_green.p90_ms)
        ),
        format!("Fixed without model {}", percent(of.without_model_rate)),
        format!(
            "Cost                {}, {} per accepted fix",
            money(of.cost_micros),
            money(of.cost_per_accepted_micros)
        ),
    ];
    lines.extend(of.by_state.iter().map(|(state, runs)| format!("  {state:<17} {runs}")));
    if !of.flaky_tests.is_empty() {
        lines.push("Flaky tests".into());
    }
    let flaky = of.flaky_tests.iter();
    lines.extend(flaky.map(|test| format!("  {} of {} failed: {}", test.red, test.executions, test.name)));
    lines.join("\n")
}

/// An id that somebody typed, within a message.
fn short(id: &str) -> String {
    id.chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_of_a_run_can_be_asked_for() {
        let ends = include_str!("../domain/run/step.rs");
        let (_, names) = ends
            .split_once("pub fn name(&self) -> &'static str {\n        match self {\n            Self::Landed")
            .unwrap();
        let (names, _) = names.split_once("\n        }\n").unwrap();
        let quoted: Vec<&str> = names.split('"').skip(1).step_by(2).collect();
        assert!(quoted.len() > 10, "{quoted:?}");
        for name in quoted.into_iter().chain(["waiting", "working", "not-reproduced"]) {
            assert!(STATES.contains(&name), "{name}");
        }
    }

    #[test]
    fn a_duration_that_is_none_says_how_one_is_written() {
        assert_eq!(duration("2d"), Ok(Duration::from_secs(2 * 24 * 60 * 60)));
        assert!(duration("foo").unwrap_err().contains("`30d`"));
    }
}
