//! `greenlight tests`: shows how the tests of a checkout are run and why, runs them in the sandbox, and shows how the
//! result was parsed, so that a person can compare it with the framework's own output.
//!
//! It judges and changes nothing: it shows a single run as it was.

mod named;
mod report;
mod whole;

use std::path::{Path, PathBuf};

use clap::builder::NonEmptyStringValueParser;
use report::TestsReport;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::failures::Detail;
use super::pace::Pace;
use super::progress::LongWork;
use super::{Exit, app, folder, ready, terminal};
use crate::config::environment::Environment;
use crate::config::flags::{Flags, FolderFlags, LogFlags, SandboxFlags};
use crate::config::settings::Settings;
use crate::domain::test_run::{Outcome, TestRun};
use crate::engine::work::why_not_judged;
use crate::engine::worktree::Worktree;
use crate::sandbox::Sandbox;
use crate::suite::TestCommand;

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct TestsArguments {
    /// The checkout
    #[arg(default_value = ".")]
    path: PathBuf,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    /// Install the dependencies first, from the registries configured for this machine's package tools
    #[arg(long)]
    install: bool,
    /// Only show what would run, and why
    #[arg(long, conflicts_with_all = ["install", "only"])]
    list: bool,
    /// Run only this test, or these: a name as the framework writes it, the end of one, the file, class or suite in it, or
    /// any other part; may be repeated
    #[arg(long = "only", value_name = "TEST", value_parser = NonEmptyStringValueParser::new())]
    only: Vec<String>,
    /// Show every failing test with its whole message
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    data: FolderFlags,
    #[command(flatten)]
    sandbox: SandboxFlags,
    #[command(flatten)]
    log: LogFlags,
}

impl TestsArguments {
    /// All suites of a checkout, without installing anything, shown as text.
    pub(super) fn of(path: PathBuf, (data, sandbox, log): (FolderFlags, SandboxFlags, LogFlags)) -> Self {
        Self {
            path,
            json: false,
            install: false,
            list: false,
            only: Vec::new(),
            verbose: false,
            data,
            sandbox,
            log,
        }
    }

    /// The same as a document, and only these tests, unless there are none.
    pub(super) fn for_program(self, only: Vec<String>, install: bool) -> Self {
        Self {
            json: true,
            only,
            install,
            ..self
        }
    }
}

pub(super) async fn tests(arguments: TestsArguments) -> Exit {
    let (as_json, cancel) = (arguments.json, CancellationToken::new());
    let (document, exit) = terminal::until_stopped(outcome(arguments, &cancel), &cancel).await;
    if as_json {
        terminal::show_document(&document);
    }
    exit
}

/// Runs the tests until they end or are cancelled. Returns the document of `--json`, which is shown by nobody yet.
pub(super) async fn outcome(arguments: TestsArguments, cancel: &CancellationToken) -> (Value, Exit) {
    let mut report = TestsReport::default();
    let result = terminal::unless_cancelled(try_tests(arguments, &mut report, cancel), cancel).await;
    let exit = result.err().unwrap_or(Exit::Done);
    (report.document(&exit), exit)
}

async fn try_tests(
    arguments: TestsArguments,
    report: &mut TestsReport,
    cancel: &CancellationToken,
) -> Result<(), Exit> {
    let flags = Flags {
        storage: arguments.data.clone().into(),
        sandbox: arguments.sandbox.clone(),
        log: arguments.log.clone(),
        ..Flags::default()
    };
    let environment = Environment::of_this_process().for_local_work();
    let active = ready::active(&environment);
    let settings = Settings::new(flags, &environment)?;
    terminal::start_logging(&settings, Some("warn"));
    let named = folder::checkout(&arguments.path)?;
    let whole = whole::of(&named);
    let (root, near) = whole.map_or((named, None), |whole| (whole.top, Some(whole.manifest)));
    if let Some(manifest) = &near {
        let top = root.display();
        terminal::mention(&format!(
            "note: {manifest} is part of a workspace, so its tests run from {top}"
        ));
    }
    let own = folder::own(&settings.data_dir()?)?;
    let stores = folder::stores(&settings.data_dir()?, &root);
    let mut worktree = app::worktree(&root, own.path(), stores).await?;
    worktree.hints.near.extend(near);
    let mut wanted = worktree.selection().wanted;
    // Names of tests, and a manifest that a person names, are about one suite.
    let is_about_one = !arguments.only.is_empty() || !worktree.hints.near.is_empty();
    wanted.truncate(if is_about_one { 1 } else { usize::MAX });
    if wanted.is_empty() {
        wanted.push(ready::found(&worktree)?);
    }
    report.others = worktree.test_commands();
    report.others.retain(|command| !wanted.contains(command));
    report.commands.clone_from(&wanted);
    if !arguments.json {
        report.show_commands(arguments.list);
    }
    if arguments.list {
        return Ok(());
    }
    let sandbox = app::sandbox_for(&settings, &worktree).await?;
    let (mut red, mut not_judged) = (Vec::new(), Vec::new());
    for command in wanted {
        // Every suite has its own dependencies.
        let own = worktree.clone();
        let (run, why) = run(&own, (&sandbox, command), (&arguments, active.as_deref()), cancel).await?;
        let is_empty = run.outcome == Outcome::NothingRan && report.commands.len() > 1;
        match why {
            _ if run.is_green() || is_empty => {}
            Some(why) => not_judged.push(why),
            None => red.push(run.summary()),
        }
        report.runs.push(run);
        if !arguments.json {
            report.show_last_run(Detail::of(arguments.verbose));
        }
    }
    let is_green = report.runs.iter().any(TestRun::is_green);
    match (red.as_slice(), not_judged.as_slice()) {
        ([], []) if is_green => Ok(()),
        ([], []) => Err(Exit::NoFix(
            report.runs.first().map(TestRun::summary).unwrap_or_default(),
        )),
        ([], why) => Err(Exit::Environment(why.join("; "))),
        (red, _) => Err(Exit::NoFix(red.join("; "))),
    }
}

/// Runs one suite, with its dependencies. Also returns why the result says nothing about the code, if so.
async fn run(
    worktree: &Worktree,
    (sandbox, command): (&Sandbox, TestCommand),
    (arguments, active): (&TestsArguments, Option<&Path>),
    cancel: &CancellationToken,
) -> Result<(TestRun, Option<String>), Exit> {
    let mut suite = worktree.suite(sandbox, command);
    ready::supply(worktree, &mut suite, (arguments.install, active), cancel).await?;
    let running = named::run(&suite, &worktree.checkout, &arguments.only, cancel);
    let is_whole = arguments.only.is_empty();
    let pace = Pace::of(&worktree.stores.repository, &suite.command.to_string());
    let last = pace.last().filter(|_| is_whole);
    let run = LongWork::tests(&suite, last).telling(running).await?;
    if cancel.is_cancelled() {
        return Err(Exit::Stopped);
    }
    if is_whole {
        pace.note(run.duration_ms);
    }
    let not_judged = why_not_judged(worktree, &suite, &run).await;
    Ok((run, not_judged))
}
