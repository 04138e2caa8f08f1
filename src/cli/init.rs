//! `greenlight init`: looks at a checkout, shows what it would write as a diff, and writes it: the two workflows of the
//! Action, filled in, and a minimal `greenlight.toml`; or the file by which coding agents find `greenlight mcp`.
//!
//! It commits and pushes nothing, and asks nothing of GitHub.

mod agents;
mod files;
mod found;
mod next;
mod place;
mod workflows;
mod write;

use std::path::PathBuf;

use found::Found;
use tokio_util::sync::CancellationToken;
use write::{Content, Different};

use super::{Exit, terminal, tests};
use crate::config::flags::{FolderFlags, LogFlags, SandboxFlags};
use crate::engine::worktree::CONFIG_FILE;

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct InitArguments {
    /// The checkout, or a folder in it
    #[arg(default_value = ".")]
    path: PathBuf,
    /// Set up the GitHub Action: two workflows and a greenlight.toml; this is the default
    #[arg(long, conflicts_with = "app")]
    action: bool,
    /// Set up the repository for a GitHub App, which needs no workflows: only a greenlight.toml
    #[arg(long)]
    app: bool,
    /// Set up coding agents: only an entry in .mcp.json, from which they start `greenlight mcp`
    #[arg(long, conflicts_with_all = ["action", "app"])]
    mcp: bool,
    /// Run the tests in the sandbox first, and show the result; on a terminal greenlight asks
    #[arg(long)]
    test: bool,
    /// Show what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Replace workflows that exist with other content, and write even if the checkout is not a GitHub repository. A
    /// greenlight.toml that exists always stays as it is
    #[arg(long)]
    force: bool,
    /// Keep workflows that exist with other content, and write only what is missing
    #[arg(long, conflicts_with = "force")]
    keep: bool,
    /// Write without asking; greenlight asks only on a terminal
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    data: FolderFlags,
    #[command(flatten)]
    sandbox: SandboxFlags,
    #[command(flatten)]
    log: LogFlags,
}

pub(super) async fn init(arguments: InitArguments) -> Exit {
    let cancel = CancellationToken::new();
    terminal::unless_stopped(try_to(arguments, &cancel), &cancel).await
}

async fn try_to(arguments: InitArguments, cancel: &CancellationToken) -> Result<(), Exit> {
    let found = found::look(&arguments.path).await?;
    if !arguments.mcp && !arguments.force {
        found.place.is_for_github()?;
    }
    let root = &found.place.root;
    found.show_tests();
    if !arguments.mcp {
        found.show_github();
    }
    let is_for_action = !arguments.mcp && !arguments.app;
    if let Some(system) = found.other_ci().filter(|_| is_for_action) {
        terminal::mention(&format!("note: {}", next::only_the_app(system)));
    }
    let changes = write::changes(root, wanted(&arguments, &found))?;
    if is_to_test(&arguments, &found, changes.is_empty(), cancel).await? {
        run_tests(&arguments, &found).await?;
    }
    if changes.is_empty() {
        terminal::show("nothing to do: every file is there already");
        return Ok(());
    }
    // The diff is all that a dry run is for.
    if arguments.dry_run || !terminal::is_quiet() {
        terminal::show("");
        terminal::show_diff(write::diff(&changes).trim_end());
        terminal::show("");
    }
    let different = match (arguments.force, arguments.keep) {
        (true, _) => Different::Replace,
        (false, true) => Different::Keep,
        (false, false) => Different::Refuse,
    };
    let changes = write::allowed(changes, different)?;
    let names = write::names(&changes);
    if changes.is_empty() {
        terminal::show("nothing to do: every file is there, and `--keep` keeps those with other content");
        return Ok(());
    }
    if arguments.dry_run {
        terminal::show(&format!("would write {names}; nothing was written"));
        return Ok(());
    }
    if !is_approved(&arguments, &names, cancel).await? {
        return Err(Exit::Refused("not approved, so nothing was written".into()));
    }
    write::write(root, &changes)?;
    terminal::show(&format!("wrote {names}"));
    if !terminal::is_quiet() {
        terminal::show(&format!("\n{}", next::next(&arguments, &found)));
    }
    Ok(())
}

/// The files, with their contents.
fn wanted(arguments: &InitArguments, found: &Found) -> Vec<(String, Content)> {
    if arguments.mcp {
        return vec![(agents::PATH.into(), Content::Added(agents::added))];
    }
    let blanks = found.blanks();
    // Settings are the user's own as soon as the file is there.
    let settings = (CONFIG_FILE.into(), Content::IfMissing(files::settings(&blanks)));
    if arguments.app {
        return vec![settings];
    }
    vec![
        (
            found.path_of(files::WORKFLOW_PATH),
            Content::Whole(files::workflow(&blanks)),
        ),
        (
            found.path_of(files::COMMANDS_PATH),
            Content::Whole(files::commands(&blanks)),
        ),
        settings,
    ]
}

/// Whether the tests run first: as the flag says, or as the person at the terminal answers.
async fn is_to_test(
    arguments: &InitArguments,
    found: &Found,
    is_done: bool,
    cancel: &CancellationToken,
) -> Result<bool, Exit> {
    if !found.has_tests() {
        if arguments.test {
            terminal::tell("warning: no tests were found, so none ran");
        }
        return Ok(false);
    }
    let is_settled = arguments.test || arguments.dry_run || arguments.yes || is_done;
    if is_settled || !terminal::somebody_reads_and_types() {
        return Ok(arguments.test);
    }
    is_yes(
        "Run the tests in the sandbox first, to see what greenlight makes of them? [y/N]",
        cancel,
    )
    .await
}

/// Whether the files may be written: without a terminal they may, because nobody can be asked.
async fn is_approved(arguments: &InitArguments, names: &str, cancel: &CancellationToken) -> Result<bool, Exit> {
    if arguments.yes || !terminal::somebody_reads_and_types() {
        return Ok(true);
    }
    if terminal::is_quiet() {
        terminal::tell(names);
    }
    is_yes("Write these files? [y/N]", cancel).await
}

/// Whether the person at the terminal says yes.
async fn is_yes(question: &str, cancel: &CancellationToken) -> Result<bool, Exit> {
    let answer = cancel.run_until_cancelled(terminal::ask(question)).await;
    let answer = answer.ok_or(Exit::Stopped)?.unwrap_or_default();
    Ok(matches!(answer.to_lowercase().as_str(), "y" | "yes"))
}

/// Runs the tests. What they say decides nothing: a repository with red tests is set up, too.
async fn run_tests(arguments: &InitArguments, found: &Found) -> Result<(), Exit> {
    terminal::show("");
    let flags = (arguments.data.clone(), arguments.sandbox.clone(), arguments.log.clone());
    let run = tests::TestsArguments::of(found.place.root.clone(), flags);
    match tests::tests(run).await {
        Exit::Stopped => Err(Exit::Stopped),
        exit => {
            if let Some(reason) = exit.reason() {
                terminal::mention(&format!("note: {reason}"));
            }
            Ok(())
        }
    }
}
