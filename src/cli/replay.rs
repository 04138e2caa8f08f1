//! `greenlight replay`: replays a recorded run offline, and reports differences.

use std::io::ErrorKind;
use std::path::PathBuf;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Exit, app, folder, terminal};
use crate::config::environment::Environment;
use crate::config::flags::{Flags, FolderFlags, LogFlags, SandboxFlags};
use crate::config::repository::RepoConfig;
use crate::config::settings::Settings;
use crate::domain::run::Step;
use crate::engine::bundle;
use crate::engine::replay::{self, Replayed};
use crate::engine::worktree::Worktree;

#[derive(Debug, clap::Args)]
pub(super) struct ReplayArguments {
    /// The file that `--record` wrote
    bundle: PathBuf,
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

pub(super) async fn replay(arguments: ReplayArguments) -> Exit {
    let cancel = CancellationToken::new();
    terminal::unless_stopped(try_replay(&arguments, &cancel), &cancel).await
}

async fn try_replay(arguments: &ReplayArguments, cancel: &CancellationToken) -> Result<(), Exit> {
    let flags = Flags {
        storage: arguments.data.clone().into(),
        sandbox: arguments.sandbox.clone(),
        log: arguments.log.clone(),
        ..Flags::default()
    };
    let settings = Settings::new(flags, &Environment::of_this_process().for_local_work())?;
    terminal::start_logging(&settings, Some("warn"));
    let own = folder::own(&settings.data_dir()?)?;
    let (file, into) = (arguments.bundle.clone(), own.path().join("tree"));
    let read = tokio::task::spawn_blocking(move || bundle::read(&file, &into)).await;
    let read = read.map_err(|error| Exit::Fault(error.to_string()))?;
    let (manifest, steps, tree) = read.map_err(|error| {
        let shown = arguments.bundle.display();
        Exit::Usage(match error {
            bundle::Error::Io(error) if error.kind() == ErrorKind::NotFound => {
                format!("{shown}: there is no such file; `greenlight fix --record FILE` writes one")
            }
            bundle::Error::Io(_) if arguments.bundle.is_dir() => {
                format!("{shown} is a folder; name the file that `greenlight fix --record FILE` wrote")
            }
            error => format!("{shown}: {error}"),
        })
    })?;
    let config = RepoConfig::parse(&manifest.config)
        .map_err(|error| Exit::Usage(format!("{}: {error}", arguments.bundle.display())))?;
    let stores = folder::stores(&settings.data_dir()?, tree.root());
    let mut worktree = Worktree::over(tree, config, own.path(), stores);
    worktree.changed.clone_from(&manifest.changed);
    let recorded = steps.iter().find_map(|step| match step {
        Step::Reproduced { before, .. } => Some(before.command.as_str()),
        _ => None,
    });
    worktree.prefer(recorded.unwrap_or_default());
    let sandbox = app::sandbox_for(&settings, &worktree).await?;
    let command = worktree.test_command().map_err(|nothing| {
        let looked = nothing.looked_for.join(", ");
        Exit::Usage(format!("the tree in the bundle has no tests; looked for {looked}"))
    })?;
    terminal::mention(&format!("replaying the run, with `{command}`"));
    let suite = worktree.suite(&sandbox, command);
    let replayed = replay::replay((worktree, Some(suite)), &manifest, steps, cancel).await?;
    if cancel.is_cancelled() {
        return Err(Exit::Stopped);
    }
    show(arguments, &replayed);
    match replayed.differences.len() {
        0 => Ok(()),
        1 => Err(Exit::NoFix("1 step differed".into())),
        count => Err(Exit::NoFix(format!("{count} steps differed"))),
    }
}

fn show(arguments: &ReplayArguments, replayed: &Replayed) {
    if arguments.json {
        terminal::show_document(&json!({
            "same": replayed.differences.is_empty(),
            "attempts": replayed.attempts,
            "turns": replayed.turns,
            "results": replayed.results,
            "differences": replayed.differences,
        }));
        return;
    }
    for difference in &replayed.differences {
        terminal::show(&format!("{}\n  recorded:", difference.at));
        indented(&difference.recorded);
        terminal::show("  now:");
        indented(&difference.now);
    }
    terminal::show(&format!(
        "{}: {}, {} of the model, {} of its calls",
        if replayed.differences.is_empty() {
            "the same"
        } else {
            "not the same"
        },
        count(replayed.attempts, "attempt", "attempts"),
        count(replayed.turns, "reply", "replies"),
        count(replayed.results, "result", "results")
    ));
}

fn count(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

fn indented(text: &str) {
    for line in text.lines() {
        terminal::show_code(&format!("    {line}"));
    }
}
