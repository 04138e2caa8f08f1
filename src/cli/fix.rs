//! `greenlight fix`: makes the failing tests of a local checkout pass, and asks before it writes.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Exit, app, terminal};
use crate::checkout::Checkout;
use crate::config::environment::Environment;
use crate::config::flags::{Flags, LogFlags, ModelFlags, StorageFlags};
use crate::config::repository::RepoConfig;
use crate::config::settings::Settings;
use crate::domain::id::CommitSha;
use crate::domain::patch::Patch;
use crate::domain::proposal::{Author, Proposal};
use crate::domain::run::{MAX_PROPOSALS, TurnedDown};
use crate::domain::test_run::TestRun;
use crate::domain::triage::{Triage, Verdict};
use crate::engine::desk::{CONFIG_FILE, Desk};
use crate::engine::work::{self, Brief, Engine, Outcome};
use crate::openai::OpenAi;
use crate::sandbox::{self, Choice};
use crate::suite::Suite;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The checkout
    #[arg(default_value = ".")]
    path: PathBuf,
    /// Approve up front: write the fix to the working tree
    #[arg(long)]
    yes: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    /// How tests are confined; `none` runs them as you, with no protection at all
    #[arg(long, value_enum, default_value_t = Confinement::Auto)]
    sandbox: Confinement,
    /// Who works out the fix; `auto` takes the model if one is configured
    #[arg(long, value_enum, default_value_t = Choose::Auto)]
    engine: Choose,
    #[command(flatten)]
    storage: StorageFlags,
    #[command(flatten)]
    model: ModelFlags,
    #[command(flatten)]
    log: LogFlags,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Confinement {
    Auto,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Choose {
    Auto,
    Builtin,
    Model,
}

/// What is known so far; printed at the end with `--json`.
#[derive(Default)]
struct Report {
    command: Option<String>,
    before: Option<(TestRun, Triage)>,
    proposal: Option<Proposal>,
    is_applied: bool,
}

pub(super) async fn fix(arguments: Arguments) -> Exit {
    let as_json = arguments.json;
    let mut report = Report::default();
    let exit = match try_fix(arguments, &mut report).await {
        Ok(()) => Exit::Done,
        Err(exit) => exit,
    };
    if as_json {
        terminal::show(&document(&report, &exit).to_string());
    }
    exit
}

async fn try_fix(arguments: Arguments, report: &mut Report) -> Result<(), Exit> {
    let Arguments {
        storage, model, log, ..
    } = &arguments;
    let flags = Flags {
        storage: storage.clone(),
        model: model.clone(),
        log: log.clone(),
        ..Flags::default()
    };
    let settings = Settings::new(flags, &Environment::of_this_process())?;
    terminal::start_logging(&settings, Some("warn"));
    let model = match (arguments.engine, settings.model()) {
        (Choose::Builtin, _) | (Choose::Auto, None) => None,
        (_, Some(model)) => Some(app::model(model)?),
        (Choose::Model, None) => return Err(Exit::Usage("--engine model needs a model: set GREENLIGHT_MODEL, and GREENLIGHT_MODEL_BASE_URL for an endpoint of your own".into())),
    };
    let root = arguments
        .path
        .canonicalize()
        .map_err(|error| Exit::Usage(format!("{}: {error}", arguments.path.display())))?;
    let desk = desk(&root, &settings)?;
    let command = desk.test_command().map_err(|nothing| {
        Exit::Usage(format!(
            "no tests found in {}; looked for {}; set `command` under `[test]` in {CONFIG_FILE}",
            root.display(),
            nothing.looked_for.join(", ")
        ))
    })?;
    report.command = Some(command.to_string());
    let choice = if arguments.sandbox == Confinement::None {
        Choice::None
    } else {
        Choice::Auto
    };
    let sandbox = app::sandbox(choice).await?.map_err(|unusable| {
        Exit::Refused(format!(
            "{unusable}. If you trust this code as you trust your own, `--sandbox none` runs it without protection"
        ))
    })?;
    terminal::tell(&format!("running `{command}` (from {})", command.source));
    let suite = desk.suite(&sandbox, command);
    let cancel = CancellationToken::new();
    let _stop = stop_on_interrupt(&cancel);
    let (before, triage) = work::reproduce(&desk, &suite, &cancel).await?;
    report.before = Some((before.clone(), triage));
    if cancel.is_cancelled() {
        return Err(Exit::Limit("stopped".into()));
    }
    show_before(&before, triage, arguments.json)?;
    if triage.verdict == Verdict::Green {
        return Ok(());
    }
    search(&arguments, (&desk, &suite), (&before, model.as_ref()), report, &cancel).await
}

/// The user's own checkout is its own authority: its `greenlight.toml` counts as it is.
fn desk(root: &Path, settings: &Settings) -> Result<Desk, Exit> {
    let file = root.join(CONFIG_FILE);
    let config = match std::fs::read_to_string(&file) {
        Ok(text) => RepoConfig::parse(&text).map_err(|error| Exit::Usage(format!("{}: {error}", file.display())))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => RepoConfig::default(),
        Err(error) => return Err(Exit::Usage(format!("{}: {error}", file.display()))),
    };
    let workspaces = settings.data_dir()?.join("workspaces");
    Desk::local(root, config, workspaces).map_err(|error| Exit::Usage(error.to_string()))
}

fn show_before(before: &TestRun, triage: Triage, as_json: bool) -> Result<(), Exit> {
    match triage.verdict {
        Verdict::Deterministic => {}
        Verdict::Green => {
            terminal::tell(&format!("nothing to fix: {}", before.summary()));
            return Ok(());
        }
        Verdict::Flaky => {
            return Err(Exit::NoFix(format!(
                "red in {} of {} runs on the same tree: flaky, so there is nothing to search a fix for",
                triage.red_at_head, triage.runs_at_head
            )));
        }
        Verdict::Environment | Verdict::BrokenOnBase => {
            return Err(Exit::NoFix(format!(
                "the tests could not be judged here: {}\n{}",
                before.summary(),
                before.tail
            )));
        }
    }
    if !as_json {
        terminal::show(&format!("{}\n", before.summary()));
        for failure in &before.failures {
            let at = failure
                .location
                .as_ref()
                .map_or_else(String::new, |at| format!("  ({}:{})", at.path, at.line));
            terminal::show(&format!("  {}{at}", failure.name));
            for line in failure.message.lines().take(6) {
                terminal::show(&format!("    {line}"));
            }
        }
    }
    Ok(())
}

/// Proposes, asks, and tries again with the reason when there is one.
async fn search(
    arguments: &Arguments,
    (desk, suite): (&Desk, &Suite),
    (before, model): (&TestRun, Option<&(OpenAi, String)>),
    report: &mut Report,
    cancel: &CancellationToken,
) -> Result<(), Exit> {
    let head = head(desk);
    let mut turned_down: Vec<TurnedDown> = Vec::new();
    for _ in 0..MAX_PROPOSALS {
        let proposal = attempt((desk, suite), (&head, before), model, &turned_down, cancel).await?;
        if !arguments.json {
            show_proposal(&proposal);
        }
        report.proposal = Some(proposal.clone());
        let reason = match ask(arguments).await? {
            Said::Yes => {
                write(desk, &proposal.patch)?;
                report.is_applied = true;
                terminal::tell("written to the working tree");
                return Ok(());
            }
            Said::No => return Err(Exit::Refused("not approved; nothing was written".into())),
            Said::Because(reason) => reason,
        };
        terminal::tell("looking for another fix");
        turned_down.push(TurnedDown { proposal, reason });
    }
    Err(Exit::NoFix(format!(
        "{MAX_PROPOSALS} fixes were turned down; nothing was written"
    )))
}

async fn attempt(
    (desk, suite): (&Desk, &Suite),
    (head, before): (&CommitSha, &TestRun),
    model: Option<&(OpenAi, String)>,
    turned_down: &[TurnedDown],
    cancel: &CancellationToken,
) -> Result<Proposal, Exit> {
    let engine = model.map_or(Engine::BuiltIn, |(model, name)| Engine::Model { model, name });
    terminal::tell(match engine {
        Engine::BuiltIn => "searching small edits (built-in engine, no model)",
        Engine::Model { .. } => "the model is at work",
    });
    let brief = Brief {
        head,
        before: Some(before),
        reading: None,
        turned_down,
        said: &[],
    };
    let mut keep = |_| futures::FutureExt::boxed(async { Ok(()) });
    let mut next = 25;
    let mut progress = |progress: crate::repair::Progress| {
        if progress.tried >= next {
            next = progress.tried * 2;
            terminal::tell(&format!(
                "  {} of about {} edits tried",
                progress.tried, progress.total_estimate
            ));
        }
    };
    let watch = work::Watch {
        keep: &mut keep,
        progress: &mut progress,
        cancel,
    };
    match work::work(desk, Some(suite), engine, &brief, watch).await? {
        Outcome::Proposed(proposal) => Ok(*proposal),
        Outcome::GaveUp { reason } => Err(Exit::NoFix(format!("no fix found. {reason}"))),
        Outcome::LimitReached { reason } => Err(Exit::Limit(reason)),
        Outcome::Interrupted => Err(Exit::Limit("stopped".into())),
    }
}

fn show_proposal(proposal: &Proposal) {
    terminal::show(&format!(
        "\n{}\n\n{}",
        proposal.summary,
        proposal.patch.unified().trim_end()
    ));
    if let Some(evidence) = &proposal.evidence {
        terminal::show(&format!(
            "\nbefore: {} ({} ms)\nafter:  {} ({} ms), on a fresh copy\ndigest: {}",
            evidence.before.summary(),
            evidence.before.duration_ms,
            evidence.after.summary(),
            evidence.after.duration_ms,
            evidence.digest
        ));
    }
}

enum Said {
    Yes,
    No,
    Because(String),
}

async fn ask(arguments: &Arguments) -> Result<Said, Exit> {
    if arguments.yes {
        return Ok(Said::Yes);
    }
    if !terminal::somebody_is_there() {
        return Err(Exit::Refused(
            "nobody is here to approve, so nothing was written; `--yes` approves up front".into(),
        ));
    }
    Ok(
        match terminal::ask("\nWrite this to the working tree? [y]es, [n]o, or why not:")
            .await
            .as_deref()
        {
            Some("y" | "Y" | "yes") => Said::Yes,
            None | Some("" | "n" | "N" | "no") => Said::No,
            Some(reason) => Said::Because(reason.to_string()),
        },
    )
}

/// Writes the patch, if every file is still what it was tested on.
fn write(desk: &Desk, patch: &Patch) -> Result<(), Exit> {
    let root = desk.checkout.root();
    let now = Checkout::open(root).map_err(|error| Exit::Fault(error.to_string()))?;
    for (path, change) in patch.files() {
        if now.read_original(path) != change.before {
            return Err(Exit::Refused(format!(
                "{path} changed meanwhile, so nothing was written; run `greenlight fix` again"
            )));
        }
    }
    for (path, change) in patch.files() {
        let relative = Path::new(path.as_str());
        let written = match &change.after {
            Some(after) => sandbox::write_file(
                root,
                relative,
                &after.bytes,
                after.mode == crate::domain::patch::FileMode::Executable,
            )
            .map_err(|error| error.to_string()),
            None => std::fs::remove_file(root.join(relative)).map_err(|error| error.to_string()),
        };
        written.map_err(|error| Exit::Fault(format!("{path} could not be written: {error}")))?;
    }
    Ok(())
}

/// The commit the checkout is at; zeros outside of git, where evidence has no commit to name.
fn head(desk: &Desk) -> CommitSha {
    crate::git::local_head(desk.checkout.root()).unwrap_or_else(CommitSha::none)
}

fn stop_on_interrupt(cancel: &CancellationToken) -> tokio_util::sync::DropGuard {
    let (cancel, done) = (cancel.clone(), CancellationToken::new());
    let watch = done.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => cancel.cancel(),
            () = watch.cancelled() => {}
        }
    });
    done.drop_guard()
}

fn document(report: &Report, exit: &Exit) -> Value {
    let (outcome, message) = match exit {
        Exit::Done if report.proposal.is_some() => ("fixed", None),
        Exit::Done => ("nothing_to_fix", None),
        Exit::NoFix(text) => ("no_fix", Some(text)),
        Exit::Usage(text) => ("usage", Some(text)),
        Exit::Refused(text) => ("refused", Some(text)),
        Exit::Limit(text) => ("limit", Some(text)),
        Exit::Fault(text) => ("fault", Some(text)),
    };
    let proposal = report.proposal.as_ref().map(|proposal| {
        json!({
            "summary": proposal.summary,
            "author": match &proposal.author { Author::BuiltIn => "builtin", Author::Model(name) => name },
            "files": proposal.patch.paths().map(ToString::to_string).collect::<Vec<_>>(),
            "patch": proposal.patch.unified(),
            "evidence": proposal.evidence,
        })
    });
    json!({
        "outcome": outcome,
        "message": message,
        "test_command": report.command,
        "before": report.before.as_ref().map(|(before, _)| before),
        "triage": report.before.as_ref().map(|(_, triage)| triage),
        "proposal": proposal,
        "applied": report.is_applied,
    })
}
