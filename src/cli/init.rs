//! `greenlight init`: looks at a checkout, shows what it would write as a diff, and writes it: the two workflows of the
//! Action, filled in, and a minimal `greenlight.toml`; or the file by which coding agents find `greenlight mcp`.
//!
//! It commits and pushes nothing, and asks nothing of GitHub.

mod agents;
mod files;
mod found;
mod write;

use std::path::PathBuf;

use found::Found;
use tokio_util::sync::CancellationToken;
use write::{Content, Different};

use super::{Exit, terminal, tests};
use crate::config::flags::{FolderFlags, LogFlags, SandboxFlags};
use crate::engine::worktree::CONFIG_FILE;

/// The page about the App.
const OF_APP: &str = "https://github.com/greenlight-rs/greenlight/blob/main/docs/serve.md";

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
    /// Replace files that exist with other content
    #[arg(long)]
    force: bool,
    /// Keep files that exist with other content, and write only what is missing
    #[arg(long, conflicts_with = "force")]
    keep: bool,
    #[command(flatten)]
    data: FolderFlags,
    #[command(flatten)]
    sandbox: SandboxFlags,
    #[command(flatten)]
    log: LogFlags,
}

pub(super) async fn init(arguments: InitArguments) -> Exit {
    let cancel = CancellationToken::new();
    terminal::unless_stopped(try_to(arguments), &cancel).await
}

async fn try_to(arguments: InitArguments) -> Result<(), Exit> {
    let found = found::look(&arguments.path).await?;
    found.show_tests();
    if !arguments.mcp {
        found.show_github();
    }
    let changes = write::changes(&found.root, wanted(&arguments, &found))?;
    if changes.is_empty() {
        terminal::show("nothing to do: every file is there, as `greenlight init` writes it");
        return Ok(());
    }
    if found.has_tests() && is_to_test(&arguments).await {
        run_tests(&arguments, &found).await?;
    }
    terminal::show("");
    terminal::show_diff(write::diff(&changes).trim_end());
    terminal::show("");
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
    write::write(&found.root, &changes)?;
    terminal::show(&format!("wrote {names}\n\n{}", next(&arguments, &found)));
    Ok(())
}

/// The files, with their contents.
fn wanted(arguments: &InitArguments, found: &Found) -> Vec<(&'static str, Content)> {
    if arguments.mcp {
        return vec![(agents::PATH, Content::Added(agents::added))];
    }
    let blanks = found.blanks();
    let settings = (CONFIG_FILE, Content::Whole(files::settings(&blanks)));
    if arguments.app {
        return vec![settings];
    }
    vec![
        (files::WORKFLOW_PATH, Content::Whole(files::workflow(&blanks))),
        (files::COMMANDS_PATH, Content::Whole(files::commands(&blanks))),
        settings,
    ]
}

/// Whether the tests run first: as the flag says, or as the person at the terminal answers.
async fn is_to_test(arguments: &InitArguments) -> bool {
    if arguments.test || arguments.dry_run || !terminal::somebody_reads_and_types() {
        return arguments.test;
    }
    let question = "Run the tests in the sandbox first, to see what greenlight makes of them? [y/N]";
    let answer = terminal::ask(question).await.unwrap_or_default();
    matches!(answer.to_lowercase().as_str(), "y" | "yes")
}

/// Runs the tests. What they say decides nothing: a repository with red tests is set up, too.
async fn run_tests(arguments: &InitArguments, found: &Found) -> Result<(), Exit> {
    terminal::show("");
    let flags = (arguments.data.clone(), arguments.sandbox.clone(), arguments.log.clone());
    let run = tests::TestsArguments::of(found.root.clone(), flags);
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

/// What a person does next.
fn next(arguments: &InitArguments, found: &Found) -> String {
    if arguments.mcp {
        return agents::NEXT.into();
    }
    let mut steps = Vec::new();
    if !arguments.app && !found.has_workflows() {
        let problem = "no workflow was found that pull requests start";
        steps.push(format!("name yours at \"<--\" in {}: {problem}", files::WORKFLOW_PATH));
    }
    if !arguments.app && found.has_own_runners() {
        steps.push("set `runs-on` in both workflows to the labels of your runners".into());
    }
    if !arguments.app && found.needs_token() {
        let what = "a token for github.com without permissions, so that releases can be verified";
        steps.push(format!("add the secret GREENLIGHT_GITHUB_COM_TOKEN: {what}"));
    }
    let branch = found.default_branch.as_deref().unwrap_or("the default branch");
    steps.push(
        match found.current_branch.as_deref().filter(|current| *current != branch) {
            Some(current) => {
                format!("commit the files on {current}, and merge them into {branch}: they count only there")
            }
            None => format!("commit the files to {branch}: they count only there"),
        },
    );
    if arguments.app {
        steps.push(format!("create and install the App: {OF_APP}"));
    } else {
        let settings = "Settings > Actions > General";
        steps.push(format!(
            "allow the action, and workflows with write permissions, under {settings}"
        ));
    }
    steps.push("comment `/greenlight fix` on a pull request with red tests, or wait for red CI".into());
    let built = match arguments.app || files::is_release() {
        true => "",
        false => {
            "\nThis program is not from a release. Let `uses:` in both workflows name one: otherwise, the Action builds \
             greenlight\non your runner, which takes several minutes."
        }
    };
    let steps = steps
        .iter()
        .zip(1..)
        .map(|(step, number)| format!("  {number}. {step}"));
    let tests = match found.has_tests() && !arguments.test {
        true => "\n`greenlight tests` shows here and now how the tests run.",
        false => "",
    };
    format!("Next:\n{}{tests}{built}", steps.collect::<Vec<_>>().join("\n"))
}
