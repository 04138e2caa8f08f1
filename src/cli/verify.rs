//! `greenlight verify`: recomputes the evidence of a proposal in a local checkout.
//!
//! It trusts nothing that it verifies: the head comes from the repository's objects, the patch from the working
//! directory, a commit or a file, and both trees are tested on separate copies. The working directory is only read.

mod report;
mod trees;

use std::path::PathBuf;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use self::trees::{Named, Start};
use super::pace::Pace;
use super::progress::LongWork;
use super::{Exit, app, folder, hidden, ready, terminal};
use crate::checkout::Checkout;
use crate::config::environment::Environment;
use crate::config::flags::{Flags, FolderFlags, LogFlags, SandboxFlags};
use crate::config::settings::Settings;
use crate::domain::id::CommitSha;
use crate::domain::patch::Patch;
use crate::domain::proposal::{self, Worse};
use crate::domain::test_run::{NotBetter, Outcome, TestRun, is_better_without};
use crate::domain::weakening::{self, AllowedFinding, Weakening};
use crate::engine::worktree::Worktree;
use crate::suite::{self, NothingFound, Suite};

#[derive(Debug, clap::Args)]
pub(super) struct VerifyArguments {
    /// The checkout, or a folder in it
    #[arg(default_value = ".")]
    path: PathBuf,
    /// The failing commit. By default, the patch is what has not been committed yet
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    head: String,
    /// The patch, as a unified diff on that commit; `-` reads it from standard input. Defaults to the working
    /// directory
    #[arg(long, value_name = "FILE", conflicts_with = "tree")]
    patch: Option<PathBuf>,
    /// The patched tree, as a commit
    #[arg(long, value_name = "REV")]
    tree: Option<String>,
    /// The tip of the base branch that both trees are merged with first, if the evidence names one
    #[arg(long, value_name = "REV")]
    merged_with: Option<String>,
    /// The digest that the evidence names
    #[arg(long, value_name = "HEX", value_parser = digest)]
    digest: Option<String>,
    /// The test command named by the evidence, if the commit's own greenlight.toml does not set it
    #[arg(long, value_name = "CMD")]
    command: Option<String>,
    /// A test that the evidence excuses; may be repeated
    #[arg(long, value_name = "TEST", allow_hyphen_values = true)]
    excuse: Vec<String>,
    /// Allow how the patch weakens the tests, by the name that the refusal gives, such as `removed@tests/test_a.py`. Can
    /// be given several times
    #[arg(long, value_name = "NAME")]
    allow: Vec<AllowedFinding>,
    /// Install the dependencies first, from the registries configured for this machine's package tools
    #[arg(long)]
    install: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: FolderFlags,
    #[command(flatten)]
    sandbox: SandboxFlags,
    #[command(flatten)]
    log: LogFlags,
    /// There is no flag for it.
    #[arg(skip)]
    caller: Caller,
}

/// Who wants to know.
#[derive(Debug, Clone, Default)]
enum Caller {
    /// Somebody at a command line, who names commits and files.
    #[default]
    CommandLine,
    /// A program that works on these files: with a patch on the files as they are now, or about what is not committed.
    Program { patch: Option<String> },
}

/// The recomputed evidence.
struct Recomputed {
    head: CommitSha,
    merged_with: Option<CommitSha>,
    patch: Patch,
    before: TestRun,
    after: TestRun,
    /// How the patch weakens the tests: what nobody allowed, and what somebody did.
    weakens: Vec<Weakening>,
    allowed: Vec<Weakening>,
}

fn digest(text: &str) -> Result<String, String> {
    let text = text.trim().to_ascii_lowercase();
    if text.len() == 64 && text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        Ok(text)
    } else {
        Err("a digest has 64 hexadecimal digits".into())
    }
}

impl VerifyArguments {
    /// This patch on the files of a checkout as they are now, or what is not committed there. The installed dependencies
    /// next to the files are reused.
    pub(super) fn of_program(
        path: PathBuf,
        patch: Option<String>,
        install: bool,
        (data, sandbox, log): (FolderFlags, SandboxFlags, LogFlags),
    ) -> Self {
        Self {
            path,
            head: "HEAD".into(),
            patch: None,
            tree: None,
            merged_with: None,
            digest: None,
            command: None,
            excuse: Vec::new(),
            allow: Vec::new(),
            install,
            json: true,
            data,
            sandbox,
            log,
            caller: Caller::Program { patch },
        }
    }
}

pub(super) async fn verify(arguments: VerifyArguments) -> Exit {
    let cancel = CancellationToken::new();
    let (as_json, expected) = (arguments.json, arguments.digest.clone());
    let (found, exit) = terminal::until_stopped(recomputed(arguments, &cancel), &cancel).await;
    if as_json {
        terminal::show_document(&report::document(found.as_ref(), expected.as_deref(), &exit));
    } else if let Some(found) = &found {
        report::show(found);
        match (&exit, &expected) {
            (Exit::Done, Some(_)) => terminal::show("\nthe digest matches: this is exactly what the evidence says"),
            (Exit::Done, None) => terminal::show("\nproven: red before, green after, and no test is missing"),
            _ => {}
        }
    }
    exit
}

/// Recomputes the evidence until it is done or cancelled. Returns the document of `--json`, which is shown by nobody yet.
pub(super) async fn outcome(arguments: VerifyArguments, cancel: &CancellationToken) -> (Value, Exit) {
    let expected = arguments.digest.clone();
    let (found, exit) = recomputed(arguments, cancel).await;
    (report::document(found.as_ref(), expected.as_deref(), &exit), exit)
}

async fn recomputed(arguments: VerifyArguments, cancel: &CancellationToken) -> (Option<Recomputed>, Exit) {
    let expected = arguments.digest.clone();
    match terminal::unless_cancelled(try_verify(arguments, cancel), cancel).await {
        Ok(found) => {
            let exit = judge(&found, expected.as_deref());
            (Some(found), exit)
        }
        Err(exit) => (None, exit),
    }
}

async fn try_verify(arguments: VerifyArguments, cancel: &CancellationToken) -> Result<Recomputed, Exit> {
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
    let root = folder::checkout(&arguments.path)?;
    hidden::check_outside(&settings, &root)?;
    let own = folder::own(&settings.data_dir()?)?;
    let stores = folder::stores(&settings.data_dir()?, &root);
    let places = (own.path(), stores);
    let Start {
        mut worktree,
        place,
        head,
        merged_with,
        patch,
        on_tree,
    } = match &arguments.caller {
        Caller::Program { patch: Some(text) } => trees::of_files(&root, text.clone(), places).await?,
        Caller::CommandLine | Caller::Program { patch: None } => {
            trees::of_commit(&root, Named::of(&arguments), places).await?
        }
    };
    if patch.is_empty() {
        return Err(nothing_to_verify(&arguments.caller, &place));
    }
    if let Some(command) = &arguments.command {
        worktree.config.test.command = Some(command.clone());
    }
    worktree.allowed.clone_from(&arguments.allow);
    worktree.touched = patch.paths().cloned().collect();
    let nothing = |nothing: NothingFound| no_tests(&arguments.caller, &place, &nothing);
    let first = worktree.test_command().map_err(nothing)?;
    let sandbox = app::sandbox_for(&settings, &worktree).await?;
    let merged = merged_with
        .as_ref()
        .map_or_else(String::new, |tip| format!(", both merged with {}", tip.short()));
    // In a repository with several suites, the one that the head fails.
    let mut suites = worktree.selection().wanted.into_iter().skip(1);
    let mut command = first;
    let (suite, before) = loop {
        terminal::mention(&format!(
            "running `{command}` on {place} and on the patched tree{merged}"
        ));
        let own = worktree.clone();
        let mut suite = own.suite(&sandbox, command);
        match (arguments.install, &arguments.caller) {
            (true, _) => ready::install(&own, &mut suite, cancel).await?,
            (false, Caller::Program { .. }) => ready::reuse(&root, &mut suite, active.as_deref()),
            (false, Caller::CommandLine) => ready::offer(&own),
        }
        let before = run(&own, &suite, &own.checkout, cancel)
            .await?
            .excusing(&arguments.excuse);
        match suites.next().filter(|_| before.is_green()) {
            Some(next) => command = next,
            None => break (suite, before),
        }
    };
    let mut patched = worktree.checkout.clone();
    patched.apply(&on_tree);
    let after = run(&worktree, &suite, &patched, cancel)
        .await?
        .excusing(&arguments.excuse);
    let inputs = worktree.inputs(Some(&before));
    Ok(Recomputed {
        head,
        merged_with,
        weakens: worktree.weakenings(&on_tree, &inputs),
        allowed: worktree.overruled(&on_tree, &inputs),
        patch,
        before,
        after,
    })
}

fn no_tests(caller: &Caller, place: &str, nothing: &NothingFound) -> Exit {
    let looked_for = nothing.looked_for.join(", ");
    let what = match caller {
        Caller::Program { .. } => "set `command` under `[test]` in greenlight.toml",
        Caller::CommandLine => "give --command",
    };
    Exit::Usage(format!("no tests found at {place}; looked for {looked_for}; {what}"))
}

fn nothing_to_verify(caller: &Caller, place: &str) -> Exit {
    Exit::Usage(match caller {
        Caller::CommandLine => format!(
            "there is no change to {place}: name the failing commit with --head (--head HEAD~1 if the suggestions are \
             committed), or give --patch or --tree"
        ),
        Caller::Program { patch: None } => {
            "everything is committed, so there is no change to verify; edit the files, or give `patch`".into()
        }
        Caller::Program { patch: Some(_) } => "`patch` changes nothing; expected a diff as `git diff` prints it".into(),
    })
}

async fn run(
    worktree: &Worktree,
    suite: &Suite,
    checkout: &Checkout,
    cancel: &CancellationToken,
) -> Result<TestRun, Exit> {
    let running = suite::run_fresh(suite, checkout, &[], cancel);
    let pace = Pace::of(&worktree.stores.repository, &suite.command.to_string());
    let run = LongWork::tests(suite, pace.last())
        .telling(running)
        .await
        .map_err(|error| Exit::Fault(error.to_string()))?;
    if cancel.is_cancelled() {
        return Err(Exit::Stopped);
    }
    pace.note(run.duration_ms);
    Ok(run)
}

impl Recomputed {
    fn digest(&self) -> String {
        let head = (&self.head, self.merged_with.as_ref());
        proposal::digest_of_merge(head, &self.patch, &self.before, &self.after)
    }

    fn worse(&self) -> Worse {
        proposal::worse(&self.before, &self.after)
    }

    fn is_better(&self) -> Result<(), NotBetter> {
        let may_go = |name: &str| self.allowed.iter().any(|finding| finding.lets_go(name));
        is_better_without(&self.before, &self.after, &may_go)
    }
}

/// Whether this proves the patch, and matches the expected digest. Weakened tests prove nothing, but evidence that a
/// person approved is what it is.
fn judge(found: &Recomputed, expected: Option<&str>) -> Exit {
    let is_the_same = expected.is_none_or(|expected| expected == found.digest());
    match found.is_better() {
        Ok(()) if expected.is_none() && !found.weakens.is_empty() => Exit::Refused(format!(
            "the patch weakens the tests: {}. Change the code instead. {}",
            weakening::listed(&found.weakens),
            weakening::how_to_allow(&found.weakens, "verify")
        )),
        Ok(()) if is_the_same => Exit::Done,
        _ if !is_the_same => Exit::NoFix(format!(
            "the digest differs from the one in the evidence. {}",
            suspects(found).join("; ")
        )),
        Err(why) => Exit::NoFix(format!("the patch could not be proven here: {why}")),
        Ok(()) => Exit::Done,
    }
}

/// What may differ: a digest matches or not, but most differences show on one side.
fn suspects(found: &Recomputed) -> Vec<String> {
    let Recomputed { before, after, .. } = found;
    let mut suspects = Vec::new();
    let could_not_run = |run: &TestRun| {
        matches!(
            run.outcome,
            Outcome::NothingRan | Outcome::DidNotStart | Outcome::TimedOut | Outcome::Crashed
        )
    };
    if could_not_run(before) || could_not_run(after) {
        suspects.push(format!(
            "the results: before {}, after {}; the tests may lack something that was available when the evidence was \
             made (`--install`)",
            before.summary(),
            after.summary()
        ));
    } else if before.is_green() {
        suspects.push("the result before: the head is green here".into());
    } else if let Err(why) = found.is_better() {
        suspects.push(format!("the result after: {why}"));
    }
    if suspects.is_empty() {
        suspects.push(format!(
            "both results look right, so compare these with the evidence: the head {}, the patch {}, the command \
             `{}`, before {}, after {}",
            found.head.short(),
            &found.patch.digest()[..12],
            after.command,
            before.summary(),
            after.summary()
        ));
    }
    suspects
}
