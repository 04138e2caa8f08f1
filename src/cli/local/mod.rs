//! What the verbs on a local checkout have in common: flags, the way from a checkout to a proposal, and the question
//! before anything is written.

mod base;
mod changes;
pub(super) mod kept;
mod known;
mod question;
mod report;
mod tests_first;
mod write;

use std::path::PathBuf;
use std::time::Instant;

use futures::FutureExt as _;
pub(super) use question::UpFront;
use question::What;
use report::Report;
use tokio_util::sync::CancellationToken;

use super::answer::Answer;
use super::recorder::Recorder;
use super::work::{Present, work_until_done};
use super::{Exit, app, elapsed, folder, ready, terminal};
use crate::config::environment::Environment;
use crate::config::flags::{Flags, FolderFlags, LogFlags, ModelFlags, SandboxFlags};
use crate::config::settings::Settings;
use crate::domain::id::CommitSha;
use crate::domain::memory::Memory;
use crate::domain::mode::Mode;
use crate::domain::model::Who;
use crate::domain::proposal::Proposal;
use crate::domain::reply;
use crate::domain::run::{MAX_PROPOSALS, Step, TestsFirst, TurnedDown};
use crate::domain::test_run::TestRun;
use crate::domain::triage::Triage;
use crate::engine::desk::Desk;
use crate::engine::work::{self, Brief, Engine, Outcome, Wants};
use crate::openai::OpenAi;
use crate::suite::Suite;

/// What all of these verbs can be told.
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
    /// Write the run to this file, for `greenlight replay`: the journal, everything that was said, and the tree it started from
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Show what the model says and does while it works, even if standard error is not a terminal
    #[arg(long)]
    verbose: bool,
    #[command(flatten)]
    data: FolderFlags,
    #[command(flatten)]
    model: ModelFlags,
    #[command(flatten)]
    sandbox: SandboxFlags,
    #[command(flatten)]
    log: LogFlags,
}

impl Common {
    /// Whether somebody sees what the model says and does.
    fn is_watched(&self) -> bool {
        self.verbose || terminal::somebody_watches()
    }
}

/// Works on a checkout in a mode, from its tests to an answer.
pub(super) async fn work(arguments: Common, up_front: UpFront, mode: Mode) -> Exit {
    let (as_json, began) = (arguments.json, Instant::now());
    let mut report = Report::of(&mode);
    let cancel = CancellationToken::new();
    let exit = terminal::unless_stopped(try_to((arguments, up_front), &mode, &mut report, &cancel), &cancel).await;
    if as_json {
        terminal::show_document(&report.document(&exit, began.elapsed()));
    }
    exit
}

async fn try_to(
    (arguments, up_front): (Common, UpFront),
    mode: &Mode,
    report: &mut Report,
    cancel: &CancellationToken,
) -> Result<(), Exit> {
    let flags = Flags {
        storage: arguments.data.clone().into(),
        model: arguments.model.clone(),
        sandbox: arguments.sandbox.clone(),
        log: arguments.log.clone(),
        ..Flags::default()
    };
    let environment = Environment::of_this_process().for_local_work();
    let active = ready::active(&environment);
    let settings = Settings::new(flags, &environment)?;
    terminal::start_logging(&settings, Some("warn"));
    let model = chosen(&settings, mode)?;
    if let Some((model, _)) = &model {
        report.clocks.1 = model.clock().clone();
    }
    let root = folder::checkout(&arguments.path)?;
    let own = folder::own(&settings.data_dir()?)?;
    let kept = folder::packages(&settings.data_dir()?, &root);
    let memory_file = kept::file(&kept);
    let recorder = Recorder::default();
    let mut desk = app::desk(&root, own.path(), kept).await?;
    desk.memory = kept::recall(&memory_file);
    let compared = base::find(&root).await;
    if let Ok(compared) = &compared {
        changes::note(&mut desk, compared);
    }
    let command = ready::found(&desk)?;
    report.command = Some(command.to_string());
    let sandbox = app::sandbox_for(&settings, &desk).await?;
    terminal::tell(&format!("running `{command}` (from {})", command.source));
    base::tell(&compared);
    report.is_committed = base::is_committed(&compared);
    let mut suite = desk.suite(&sandbox, command);
    report.clocks.0 = suite.clock.clone();
    ready::supply(&desk, &mut suite, (arguments.install, active.as_deref()), cancel).await?;
    if !arguments.install {
        ready::offer(&desk);
    }
    let mut base = || {
        let compared = compared.as_ref().ok();
        base::lay_out(compared, (&desk, &suite), own.path(), arguments.install, cancel).boxed()
    };
    let (before, triage) = elapsed::telling(
        "running the tests",
        work::reproduce(&desk, &suite, (&mut base, Wants::AllThatIsBroken), cancel),
    )
    .await?;
    if cancel.is_cancelled() {
        return Err(Exit::Stopped);
    }
    report.ran(&desk, (&before, &triage));
    if report::is_all_said(mode, &before, &triage)? {
        report.show_not_run();
        return Ok(());
    }
    if !arguments.json {
        report::show_failures(&before);
    }
    if *mode == Mode::Explain && model.is_none() {
        let explanation = known::explain(&desk, &suite, (&before, &triage), cancel).await?;
        report::explained(report, explanation, !arguments.json);
        return Ok(());
    }
    let asked = Asked {
        arguments: &arguments,
        up_front,
        mode,
        desk: &desk,
        suite: &suite,
        before: &(before, triage),
        model: model.as_ref(),
        who: settings.engine(),
        memory: &desk.memory,
        recorder: &recorder,
    };
    let done = recorded(&asked, report, cancel).await;
    kept::learn(&memory_file, &asked, report);
    done
}

/// Searches, records that, and writes what was approved.
async fn recorded(asked: &Asked<'_>, report: &mut Report, cancel: &CancellationToken) -> Result<(), Exit> {
    let Asked {
        arguments,
        recorder,
        desk,
        ..
    } = *asked;
    recorder.begin(asked.mode, &head(desk), desk)?;
    let (before, triage) = asked.before.clone();
    recorder.take(Step::Reproduced { before, triage });
    let result = search(asked, report, cancel).await;
    report.spend = recorder.spend();
    report.search = recorder.searched();
    if !arguments.json {
        report::show_unverified(report);
    }
    // Before anything is written: the bundle has the tree that the run began on.
    let began = (desk, asked.memory, question::approver(asked));
    let recorded = recorder.write(arguments.record.as_deref(), began, asked.model).await;
    let written = result.and_then(|approved| put(approved, report, desk));
    written.and(recorded)
}

fn put(approved: Option<Proposal>, report: &mut Report, desk: &Desk) -> Result<(), Exit> {
    if let Some(proposal) = approved {
        write::write(desk.checkout.root(), &proposal.patch)?;
        report.is_applied = true;
        terminal::tell(&format!(
            "written to the working tree: `git diff` shows it, `{}` runs the tests",
            report.command.as_deref().unwrap_or_default()
        ));
    }
    Ok(())
}

/// The model that works it out; none stands for the built-in engine.
fn chosen(settings: &Settings, mode: &Mode) -> Result<Option<(OpenAi, String)>, Exit> {
    let model = app::model_of(settings)?;
    if model.is_none() && !matches!(mode, Mode::Debug | Mode::Explain) {
        return Err(Exit::Usage(reply::needs_a_model(mode)));
    }
    Ok(model)
}

/// What is to be done, and with what.
struct Asked<'a> {
    arguments: &'a Common,
    up_front: UpFront,
    mode: &'a Mode,
    desk: &'a Desk,
    suite: &'a Suite,
    before: &'a (TestRun, Triage),
    model: Option<&'a (OpenAi, String)>,
    who: Who,
    memory: &'a Memory,
    recorder: &'a Recorder,
}

/// Works, and says what is left out of that because it was turned down.
async fn search(asked: &Asked<'_>, report: &mut Report, cancel: &CancellationToken) -> Result<Option<Proposal>, Exit> {
    kept::tell_left_out(asked);
    let proposal = Box::pin(approved(asked, report, cancel)).await;
    proposal.map_err(|exit| kept::with_left_out(exit, asked, report))
}

/// Proposes, asks, and tries again with the reason when there is one. What it gives is approved, and not yet written.
async fn approved(
    asked: &Asked<'_>,
    report: &mut Report,
    cancel: &CancellationToken,
) -> Result<Option<Proposal>, Exit> {
    let arguments = asked.arguments;
    let head = head(asked.desk);
    let tests_first = match asked.mode {
        Mode::Tdd { .. } => Some(tests_first::written(asked, &head, report, cancel).await?),
        _ => None,
    };
    let mut turned_down: Vec<TurnedDown> = Vec::new();
    for _ in 0..MAX_PROPOSALS {
        report.proposal = None;
        let so_far = SoFar {
            tests_first: tests_first.as_ref(),
            turned_down: &turned_down,
            ..SoFar::default()
        };
        let proposal = match attempt(asked, &head, so_far, cancel).await? {
            Outcome::Proposed(proposal) => *proposal,
            Outcome::Explained(explanation) => {
                if !arguments.json {
                    report::show_explanation(&explanation);
                }
                report.explanation = Some(*explanation);
                return Ok(None);
            }
            outcome => return Err(unfinished(outcome, report)),
        };
        report.proposal = Some(proposal.clone());
        if !arguments.json {
            report::show_proposal(&proposal, report.is_committed);
        }
        let reason = match question::ask(asked, What::Result(proposal.claim()), cancel).await? {
            Answer::Yes => return Ok(Some(proposal)),
            Answer::No => return Err(Exit::Refused("not approved; nothing was written".into())),
            Answer::Because(reason) => reason,
        };
        terminal::tell(&format!("looking for another {}", made(asked.mode)));
        asked.recorder.rejected(&reason, false)?;
        report.turned_down.push((proposal.clone(), reason.clone()));
        turned_down.push(TurnedDown { proposal, reason });
    }
    Err(Exit::Refused(format!(
        "{MAX_PROPOSALS} {}s were turned down; nothing was written",
        made(asked.mode)
    )))
}

/// What a mode makes, as sentences name it.
fn made(mode: &Mode) -> &'static str {
    match mode {
        Mode::Debug | Mode::Explain => "fix",
        Mode::Tdd { .. } => "change",
        Mode::Refactor { .. } => "refactoring",
    }
}

/// How a verb ends when there is neither a proposal nor an explanation.
fn unfinished(outcome: Outcome, report: &mut Report) -> Exit {
    match outcome {
        Outcome::GaveUp { reason } => Exit::NoFix(match report.mode {
            "debug" => format!("no fix found. {reason}"),
            _ => reason,
        }),
        Outcome::NotFound { reason, is_limit, .. } => match is_limit {
            true => Exit::Limit(format!("no fix found. {reason}")),
            false => Exit::NoFix(format!("no fix found. {reason}")),
        },
        Outcome::Refused { reason } => Exit::Refused(reason),
        Outcome::NothingToDo { reason } => {
            terminal::tell(&reason);
            Exit::Done
        }
        Outcome::LimitReached { reason, found } => {
            report.found = found.map(|found| *found);
            Exit::Limit(reason)
        }
        Outcome::Interrupted => Exit::Stopped,
        Outcome::Proposed(_)
        | Outcome::TestsWritten(_)
        | Outcome::Explained(_)
        | Outcome::Deferred(_)
        | Outcome::ActsByCode => Exit::Fault("the work ended in a way that this verb does not know".into()),
    }
}

/// What earlier attempts left.
#[derive(Clone, Copy, Default)]
struct SoFar<'a> {
    tests_first: Option<&'a TestsFirst>,
    turned_down_tests: &'a [String],
    turned_down: &'a [TurnedDown],
}

async fn attempt(
    asked: &Asked<'_>,
    head: &CommitSha,
    so_far: SoFar<'_>,
    cancel: &CancellationToken,
) -> Result<Outcome, Exit> {
    let (before, triage) = asked.before;
    let engine = match asked.model {
        None => Engine::BuiltIn,
        Some((model, name)) if asked.who == Who::Model => Engine::Model { model, name },
        Some((model, name)) => Engine::Auto { model, name },
    };
    let search = asked.recorder.search();
    terminal::tell(match engine {
        Engine::BuiltIn => "searching small edits (built-in engine, no model)",
        Engine::Auto { .. } if asked.mode.is_debug() && !search.is_over => {
            "searching small edits (built-in engine); the model goes on if nothing is found"
        }
        Engine::Auto { .. } | Engine::Model { .. } | Engine::Recorded { .. } => "the model is at work",
    });
    let brief = Brief {
        mode: asked.mode,
        tests_first: so_far.tests_first,
        turned_down_tests: so_far.turned_down_tests,
        may_ask: 0,
        memory: asked.memory,
        head,
        before: Some(before),
        triage: Some(triage),
        reading: None,
        turned_down: so_far.turned_down,
        uncounted: asked.recorder.spend(),
        search: &search,
        said: &[],
    };
    let present = Present {
        approver: question::approver(asked),
        is_shown: asked.arguments.is_watched(),
        recorder: asked.recorder,
    };
    work_until_done((asked.desk, Some(asked.suite)), engine, &brief, present, cancel).await
}

/// The commit the checkout is at; zeros outside of git, where evidence has no commit to name.
fn head(desk: &Desk) -> CommitSha {
    crate::git::local_head(desk.checkout.root()).unwrap_or_else(CommitSha::none)
}
