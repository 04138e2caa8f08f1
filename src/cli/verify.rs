//! `greenlight verify`: recomputes the evidence of a proposal in a local checkout.
//!
//! It trusts nothing that it verifies: the head comes from the repository's objects, the patch from the working
//! directory, a commit or a file, and both trees are tested on separate copies. The working directory is only read.

mod trees;

use std::path::PathBuf;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use self::trees::{Named, Trees, read};
use super::progress::LongWork;
use super::{Exit, app, folder, ready, terminal};
use crate::checkout::Checkout;
use crate::config::environment::Environment;
use crate::config::flags::{Flags, FolderFlags, LogFlags, SandboxFlags};
use crate::config::settings::Settings;
use crate::domain::clock::millis_in_words;
use crate::domain::id::{CommitSha, RepoPath};
use crate::domain::patch::{FileChange, Patch};
use crate::domain::proposal::{self, Worse};
use crate::domain::test_run::{Outcome, TestRun, is_better};
use crate::guard::touches_tests;
use crate::suite::{self, Suite};

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
}

/// How many changed files are named.
const MAX_NAMED: usize = 10;

/// The recomputed evidence.
struct Recomputed {
    head: CommitSha,
    merged_with: Option<CommitSha>,
    patch: Patch,
    before: TestRun,
    after: TestRun,
}

fn digest(text: &str) -> Result<String, String> {
    let text = text.trim().to_ascii_lowercase();
    if text.len() == 64 && text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        Ok(text)
    } else {
        Err("a digest has 64 hexadecimal digits".into())
    }
}

pub(super) async fn verify(arguments: VerifyArguments) -> Exit {
    let cancel = CancellationToken::new();
    let (as_json, expected) = (arguments.json, arguments.digest.clone());
    let work = try_verify(arguments, &cancel);
    tokio::pin!(work);
    let result = tokio::select! {
        result = &mut work => result,
        () = terminal::stopped() => {
            cancel.cancel();
            // The sandbox ends the processes inside before this process ends.
            let _stopped = tokio::time::timeout(std::time::Duration::from_secs(3), work).await;
            Err(Exit::Stopped)
        }
    };
    let (found, exit) = match result {
        Ok(found) => {
            let exit = judge(&found, expected.as_deref());
            (Some(found), exit)
        }
        Err(exit) => (None, exit),
    };
    if as_json {
        terminal::show_document(&document(found.as_ref(), expected.as_deref(), &exit));
    } else if let Some(found) = &found {
        show(found);
        match (&exit, &expected) {
            (Exit::Done, Some(_)) => terminal::show("\nthe digest matches: this is exactly what the evidence says"),
            (Exit::Done, None) => terminal::show("\nproven: red before, green after, and no test is missing"),
            _ => {}
        }
    }
    exit
}

async fn try_verify(arguments: VerifyArguments, cancel: &CancellationToken) -> Result<Recomputed, Exit> {
    let flags = Flags {
        storage: arguments.data.clone().into(),
        sandbox: arguments.sandbox.clone(),
        log: arguments.log.clone(),
        ..Flags::default()
    };
    let settings = Settings::new(flags, &Environment::of_this_process().for_local_work())?;
    terminal::start_logging(&settings, Some("warn"));
    let root = folder::checkout(&arguments.path)?;
    let own = folder::own(&settings.data_dir()?)?;
    let packages = folder::packages(&settings.data_dir()?, &root);
    let tree = own.path().join("tree");
    let (named, into) = (Named::of(&arguments), tree.clone());
    let read = tokio::task::spawn_blocking(move || read(&root, &named, &into));
    let Trees {
        head,
        merged_with,
        patch,
        on_tree,
        left_out,
    } = read.await.map_err(|error| Exit::Fault(error.to_string()))??;
    if patch.is_empty() {
        return Err(Exit::Usage(format!(
            "there is no change to {}: name the failing commit with --head (--head HEAD~1 if the suggestions are \
             committed), or give --patch or --tree",
            head.short()
        )));
    }
    let mut worktree = app::worktree(&tree, own.path(), packages).await?;
    worktree.checkout = Checkout::exported(&tree, &left_out).map_err(|error| Exit::Fault(error.to_string()))?;
    if let Some(command) = &arguments.command {
        worktree.config.test.command = Some(command.clone());
    }
    worktree.touched = patch.paths().cloned().collect();
    let first = worktree.test_command().map_err(|nothing| {
        let looked_for = nothing.looked_for.join(", ");
        Exit::Usage(format!(
            "no tests found at {}; looked for {looked_for}; give --command",
            head.short()
        ))
    })?;
    let sandbox = app::sandbox_for(&settings, &worktree).await?;
    let merged = merged_with
        .as_ref()
        .map_or_else(String::new, |tip| format!(", both merged with {}", tip.short()));
    // In a repository with several suites, the one that the head fails.
    let mut suites = worktree.selection().wanted.into_iter().skip(1);
    let mut command = first;
    let (suite, before) = loop {
        terminal::mention(&format!(
            "running `{command}` on {} and on the patched tree{merged}",
            head.short()
        ));
        let own = worktree.clone();
        let mut suite = own.suite(&sandbox, command);
        match arguments.install {
            true => ready::install(&own, &mut suite, cancel).await?,
            false => ready::offer(&own),
        }
        let before = run(&suite, &own.checkout, cancel).await?.excusing(&arguments.excuse);
        match suites.next().filter(|_| before.is_green()) {
            Some(next) => command = next,
            None => break (suite, before),
        }
    };
    let mut patched = worktree.checkout.clone();
    patched.apply(&on_tree);
    let after = run(&suite, &patched, cancel).await?.excusing(&arguments.excuse);
    Ok(Recomputed {
        head,
        merged_with,
        patch,
        before,
        after,
    })
}

async fn run(suite: &Suite, checkout: &Checkout, cancel: &CancellationToken) -> Result<TestRun, Exit> {
    let running = suite::run_fresh(suite, checkout, &[], cancel);
    let run = LongWork::tests(suite, None)
        .telling(running)
        .await
        .map_err(|error| Exit::Fault(error.to_string()))?;
    if cancel.is_cancelled() {
        return Err(Exit::Stopped);
    }
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
}

/// Whether this proves the patch, and matches the expected digest.
fn judge(found: &Recomputed, expected: Option<&str>) -> Exit {
    let is_the_same = expected.is_none_or(|expected| expected == found.digest());
    match is_better(&found.before, &found.after) {
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
    } else if let Err(why) = is_better(before, after) {
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

/// A changed file, with a mark if it contains tests: greenlight proposes no such changes.
fn changed(path: &RepoPath, change: &FileChange) -> String {
    if touches_tests(path, change) {
        format!("{path} (tests)")
    } else {
        path.to_string()
    }
}

fn show(found: &Recomputed) {
    let Recomputed {
        head,
        patch,
        before,
        after,
        ..
    } = found;
    let changes: Vec<String> = patch
        .files()
        .take(MAX_NAMED)
        .map(|(path, change)| changed(path, change))
        .collect();
    let more = match patch.files().count().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let worse = found.worse();
    let new = match (worse.new_failures.as_slice(), worse.missing.as_slice()) {
        ([], []) => "none".to_string(),
        ([], missing) => format!("none; gone or skipped: {}", listed(missing)),
        (new, []) => listed(new),
        (new, missing) => format!("{}; gone or skipped: {}", listed(new), listed(missing)),
    };
    let parts = [
        ("head", head.to_string()),
        (
            "merged with",
            found.merged_with.as_ref().map(ToString::to_string).unwrap_or_default(),
        ),
        ("patch", patch.digest()),
        ("changes", changes.join(", ") + &more),
        ("command", after.command.clone()),
        (
            "before",
            format!("{} ({})", before.summary(), millis_in_words(before.duration_ms)),
        ),
        (
            "after",
            format!("{} ({})", after.summary(), millis_in_words(after.duration_ms)),
        ),
        ("new failures", new),
        ("digest", found.digest()),
    ];
    for (name, value) in parts.into_iter().filter(|(_, value)| !value.is_empty()) {
        terminal::show(&format!(
            "{:<14}{}",
            format!("{name}:"),
            value.replace(['\n', '\t'], " ")
        ));
    }
}

/// The names if there are few, otherwise their number.
fn listed(names: &[String]) -> String {
    match names {
        [] => "none".into(),
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}

fn document(found: Option<&Recomputed>, expected: Option<&str>, exit: &Exit) -> Value {
    let (outcome, message) = match exit {
        Exit::Done => ("proven", None),
        Exit::NoFix(text) => ("not_proven", Some(text)),
        Exit::Usage(text) => ("usage", Some(text)),
        Exit::Refused(text) => ("refused", Some(text)),
        Exit::Limit(text) => ("limit", Some(text)),
        Exit::Environment(text) => ("environment", Some(text)),
        Exit::Fault(text) => ("fault", Some(text)),
        Exit::Stopped => ("stopped", None),
    };
    json!({
        "outcome": outcome,
        "message": message,
        "head": found.map(|found| &found.head),
        "merged_with": found.and_then(|found| found.merged_with.as_ref()),
        "patch_digest": found.map(|found| found.patch.digest()),
        "files": found.map(|found| found.patch.paths().map(ToString::to_string).collect::<Vec<_>>()),
        "test_command": found.map(|found| &found.after.command),
        "before": found.map(|found| &found.before),
        "after": found.map(|found| &found.after),
        "worse": found.map(Recomputed::worse),
        "digest": found.map(Recomputed::digest),
        "expected": expected,
        "same": found.and_then(|found| Some(expected? == found.digest())),
    })
}
