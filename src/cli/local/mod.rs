//! What the commands on a local checkout share: flags, the path from a checkout to a run, and its end.

mod base;
mod changes;
mod checkout;
mod ending;
mod fingerprint;
pub(super) mod memory_file;
mod next_suite;
mod open;
mod question;
mod report;
mod request;
mod write;

use std::path::{Path, PathBuf};
use std::time::Instant;

use checkout::OnCheckout;
use jiff::Timestamp;
use open::{OpenPage, RunJournal};
pub(super) use question::UpFront;
use question::{Asks, Manner};
use report::RunReport;
use request::Approver;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Exit, app, folder, hidden, ready, terminal};
use crate::config::environment::Environment;
use crate::config::flags::{EnginePart, Flags, FolderFlags, LogFlags, ModelFlags, SandboxFlags};
use crate::config::settings::Settings;
use crate::domain::id::{CommitSha, RunId};
use crate::domain::mode::Mode;
use crate::domain::model::Who;
use crate::domain::reply;
use crate::domain::run::{Consent, Origin, Run, Started, Subject};
use crate::domain::weakening::AllowedFinding;
use crate::engine::worktree::Worktree;
use crate::engine::{self, bundle};
use crate::journal::{Opened, RunFile};
use crate::openai::OpenAi;

/// The arguments that all of these commands accept.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct Common {
    /// The checkout
    #[arg(default_value = ".")]
    path: PathBuf,
    /// Install the dependencies first, from the registries configured for this machine's package tools
    #[arg(long)]
    install: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    /// Record the run in this file for `greenlight replay`: the journal, the whole conversation, and the tree it
    /// started from
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Show the run in a browser on this machine, at a link that is printed and works once
    #[arg(long)]
    open: bool,
    /// Start over, even if an earlier run of the same command was interrupted and could be resumed
    #[arg(long)]
    restart: bool,
    /// Show every failing test with its whole message, and what the model says and does, even if standard error is not
    /// a terminal
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    data: FolderFlags,
    #[command(flatten)]
    model: ModelFlags,
    #[command(flatten)]
    sandbox: SandboxFlags,
    #[command(flatten)]
    log: LogFlags,
    /// Only `fix` has a flag for it.
    #[arg(skip)]
    without: Vec<EnginePart>,
    /// The same.
    #[arg(skip)]
    allowed: Vec<AllowedFinding>,
    /// Whether the caller cannot approve anything, and wants to know what would be written.
    #[arg(skip)]
    only_proposes: bool,
}

/// The flags that a person chooses for work of which others ask for the details.
pub(super) type Chosen = (FolderFlags, ModelFlags, SandboxFlags, LogFlags);

impl Common {
    /// Work that results in a document, asks nobody, and only proposes what it would write.
    pub(super) fn only_proposing(path: PathBuf, install: bool, (data, model, sandbox, log): Chosen) -> Self {
        Self {
            path,
            install,
            json: true,
            record: None,
            open: false,
            restart: false,
            verbose: false,
            data,
            model,
            sandbox,
            log,
            without: Vec::new(),
            allowed: Vec::new(),
            only_proposes: true,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The same, with these findings of the guard allowed.
    pub(super) fn allowing(self, allowed: Vec<AllowedFinding>) -> Self {
        Self { allowed, ..self }
    }

    /// The same, for a built-in engine that leaves these out.
    pub(super) fn without(self, without: Vec<EnginePart>) -> Self {
        Self { without, ..self }
    }

    fn flags(&self) -> Flags {
        Flags {
            storage: self.data.clone().into(),
            model: self.model.clone(),
            sandbox: self.sandbox.clone(),
            log: self.log.clone(),
            ..Flags::default()
        }
    }

    /// Whether somebody sees what the model says and does.
    fn is_watched(&self) -> bool {
        self.verbose || terminal::somebody_watches()
    }
}

/// Works on a checkout in a mode, from its tests to an answer.
pub(super) async fn work(arguments: Common, up_front: UpFront, mode: Mode) -> Exit {
    let (as_json, cancel) = (arguments.json, CancellationToken::new());
    let work = outcome_and_page((arguments, up_front), mode, &cancel);
    let (document, exit, page) = terminal::until_stopped(work, &cancel).await;
    if as_json {
        terminal::show_document(&document);
    }
    let Some(page) = page.filter(|_| !matches!(exit, Exit::Stopped)) else {
        return exit;
    };
    let exit = exit.told();
    page.stay().await;
    exit
}

/// The same until it ends or is cancelled. Returns the document of `--json`, which is shown by nobody yet.
pub(super) async fn outcome(work: (Common, UpFront), mode: Mode, cancel: &CancellationToken) -> (Value, Exit) {
    let (document, exit, _) = outcome_and_page(work, mode, cancel).await;
    (document, exit)
}

/// The same, with the page of the run if it has one.
async fn outcome_and_page(
    (arguments, up_front): (Common, UpFront),
    mode: Mode,
    cancel: &CancellationToken,
) -> (Value, Exit, Option<OpenPage>) {
    let began = Instant::now();
    let mut report = RunReport::of(&mode);
    let work = try_to((arguments, up_front), &mode, &mut report, cancel);
    let result = terminal::unless_cancelled(work, cancel).await;
    let exit = result.err().unwrap_or(Exit::Done);
    (report.document(&exit, began.elapsed()), exit, report.page)
}

async fn try_to(
    (arguments, up_front): (Common, UpFront),
    mode: &Mode,
    report: &mut RunReport,
    cancel: &CancellationToken,
) -> Result<(), Exit> {
    let environment = Environment::of_this_process().for_local_work();
    let active = ready::active(&environment);
    let settings = Settings::new(arguments.flags(), &environment)?;
    terminal::start_logging(&settings, Some("warn"));
    let model = chosen(&settings, mode)?;
    if let Some((model, _)) = &model {
        report.clocks.1 = model.clock().clone();
    }
    let (root, data) = (folder::checkout(&arguments.path)?, settings.data_dir()?);
    check_files(&settings, &root, arguments.record.as_deref())?;
    let (own, stores) = (folder::own(&data)?, folder::stores(&data, &root));
    let (memory_file, run_file) = memory_file::with_run(&stores.repository);
    let mut worktree = app::worktree(&root, own.path(), stores).await?;
    worktree.memory = memory_file::recall(&memory_file);
    worktree.without.clone_from(&arguments.without);
    worktree.allowed.clone_from(&arguments.allowed);
    let compared = base::find(&root).await;
    if let Ok(compared) = &compared {
        changes::note(&mut worktree, compared);
    }
    let command = ready::found(&worktree)?;
    report.command = Some(command.to_string());
    let sandbox = app::sandbox_for(&settings, &worktree).await?;
    terminal::mention(&format!("running `{command}` (from {})", command.source));
    base::tell(&compared);
    report.is_committed = base::is_committed(&compared);
    let mut suite = worktree.suite(&sandbox, command);
    report.clocks.0 = suite.clock.clone();
    ready::supply(&worktree, &mut suite, (arguments.install, active.as_deref()), cancel).await?;
    if !arguments.install {
        ready::offer(&worktree);
    }
    let approver = Approver::of(up_front.all_but_tests, arguments.json);
    let request = (mode, approver, arguments.install);
    let identity = fingerprint::of(
        &worktree,
        &suite,
        request,
        model.as_ref().map(|(_, name)| name.as_str()),
    );
    let files = (run_file, own.path().join("run.jsonl"));
    let start = || started(mode, &worktree, compared.as_ref().ok(), approver);
    let (journal, mut run) = begin(files, (&identity, &root), arguments.restart, start)?;
    let memory = worktree.memory.clone();
    let mut door = OnCheckout::new(checkout::Parts {
        journal: RunJournal::of(journal, arguments.open, &environment).await?,
        worktree,
        suite,
        active,
        compared: compared.ok(),
        own: own.path(),
        model,
        who: settings.engine(),
        approver,
        manner: Manner {
            up_front,
            asks: Asks::of(arguments.only_proposes, arguments.json),
            has_model: false,
            is_debug: mode.is_debug(),
        },
        arguments: &arguments,
        is_committed: report.is_committed,
        cancel: cancel.clone(),
    });
    let driven = engine::drive(&mut door, &mut run).await;
    let (mut left, recorded) = door.close(&run, &folder::ended_runs(&data)).await;
    report.take(&run, &mut left, memory_file::left_out(&run, &memory));
    memory_file::learn(&memory_file, &run, &memory);
    if run.end.is_none() && !arguments.only_proposes {
        terminal::mention("the same command resumes this run; `--restart` starts over");
    }
    driven?;
    if !arguments.json {
        report::show_unverified(report);
    }
    let ended = left.exit.map_or_else(|| ending::of(&run, report), Err);
    let ended = ended.map_err(|exit| memory_file::with_left_out(exit, report.left_out, &arguments.path));
    ended.and(recorded)
}

/// Checks, before anything is created, that the data folder is outside of the checkout, and that a recording replaces no
/// other file.
fn check_files(settings: &Settings, root: &Path, recording: Option<&Path>) -> Result<(), Exit> {
    hidden::check_outside(settings, root)?;
    recording
        .map_or(Ok(()), bundle::may_write)
        .map_err(|error| Exit::Usage(format!("--record: {error}")))
}

/// Resumes the interrupted run of this checkout, unless it should restart, or starts a new one.
fn begin(
    (file, otherwise): (PathBuf, PathBuf),
    checkout: (&str, &Path),
    restart: bool,
    started: impl FnOnce() -> Started,
) -> Result<(RunFile, Run), Exit> {
    let (journal, interrupted) = open(file, otherwise, checkout.0)?;
    let run = match interrupted.filter(|_| !restart) {
        Some(run) => resumed(*run),
        None => journal.begin(started(), checkout).map_err(engine::Broken::from)?,
    };
    Ok((journal, run))
}

/// Opens the journal of this checkout. If another process uses it, or a newer version wrote it, this run cannot be
/// resumed later, and its journal is in `otherwise`.
fn open(file: PathBuf, otherwise: PathBuf, identity: &str) -> Result<(RunFile, Option<Box<Run>>), Exit> {
    let cannot = |file: &PathBuf, error: std::io::Error| Exit::Usage(format!("{}: {error}", file.display()));
    match RunFile::open(&file, identity).map_err(|error| cannot(&file, error))? {
        Opened::Mine(journal, run) => return Ok((journal, run)),
        Opened::InUse => {}
        Opened::Newer(newer) => terminal::tell(&format!("note: {} is left alone: {newer}", file.display())),
    }
    match RunFile::open(&otherwise, identity).map_err(|error| cannot(&otherwise, error))? {
        Opened::Mine(journal, run) => Ok((journal, run)),
        Opened::InUse | Opened::Newer(_) => Err(Exit::Fault(format!("{} is in use", otherwise.display()))),
    }
}

/// Resumes an interrupted run. The installed packages may have changed meanwhile, so the tests run again, unless the
/// run waits for an answer about something that was already tested.
fn resumed(mut run: Run) -> Run {
    terminal::mention(&format!(
        "resuming the run that was interrupted, started at {}; `--restart` starts over",
        run.started.at.strftime("%Y-%m-%d %H:%M UTC")
    ));
    if run.proposal.is_none() {
        run.forget_sightings(|_| false);
    }
    run
}

/// Begins a run on this machine. There is no pull request, and the person who started the run approves.
fn started(mode: &Mode, worktree: &Worktree, compared: Option<&base::Compared>, approver: Approver) -> Started {
    let at = Timestamp::now();
    let base = compared.map_or_else(|| head(worktree), base::Compared::commit);
    Started {
        run: RunId(format!("local-{}", at.as_millisecond())),
        subject: Subject::Checkout,
        installation: None,
        head: head(worktree),
        base,
        base_branch: None,
        origin: Origin::CommandLine,
        consent: Consent::CommandLine,
        asks_first: false,
        mode: mode.clone(),
        asks_about_tests: worktree.config.gate.tests && matches!(mode, Mode::Tdd { .. }),
        asks_nobody: approver == Approver::Nobody,
        approvers: 1,
        gate_seconds: worktree.config.gate.expires.as_secs(),
        writes_as: None,
        at,
    }
}

/// The model that works. `None` leaves the work to the built-in engine.
fn chosen(settings: &Settings, mode: &Mode) -> Result<Option<(OpenAi, String)>, Exit> {
    let model = app::model_of(settings)?;
    if model.is_none() && !matches!(mode, Mode::Debug | Mode::Explain) {
        // It may be configured, and left out.
        return Err(Exit::Usage(match settings.engine() {
            Who::BuiltIn => format!(
                "`{}` needs a model, and `--engine builtin` (GREENLIGHT_ENGINE) uses none",
                mode.name()
            ),
            _ => reply::needs_a_model(mode),
        }));
    }
    Ok(model)
}

/// The commit of the checkout. Outside of git it is all zeros, because the evidence has no commit to name.
fn head(worktree: &Worktree) -> CommitSha {
    crate::git::local_head(worktree.checkout.root()).unwrap_or_else(CommitSha::none)
}
