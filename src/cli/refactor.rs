//! `greenlight refactor`: changes a local checkout towards a goal while its tests stay green, and asks before it writes.

use std::path::Path;

use super::local::{self, Common, UpFront};
use super::{Exit, folder};
use crate::domain::id::RepoPath;
use crate::domain::mode::Mode;

#[derive(Debug, clap::Args)]
pub(super) struct RefactorArguments {
    /// What to improve; if it names a measure (complexity, duplication, long functions), that measure has to improve
    goal: String,
    /// Change only this file or folder of the checkout
    #[arg(long = "in", value_name = "PATH")]
    within: Option<String>,
    /// Approve up front: what the model asks to execute, and writing the result to the working tree
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    common: Common,
}

pub(super) async fn refactor(arguments: RefactorArguments) -> Exit {
    let RefactorArguments {
        goal,
        within,
        yes,
        common,
    } = arguments;
    let up_front = UpFront {
        all_but_tests: yes,
        tests: false,
    };
    let goal = goal.trim().to_string();
    if goal.is_empty() {
        return Exit::Usage("the goal is empty; say what should improve".into());
    }
    let path = within.map(|path| below(&path, common.path())).transpose();
    match path {
        Ok(path) => local::work(common, up_front, Mode::Refactor { goal, path }).await,
        Err(exit) => exit,
    }
}

/// The path within a checkout. It may be written from the root of the machine.
fn below(path: &str, checkout: &Path) -> Result<RepoPath, Exit> {
    let root = folder::checkout(checkout)?;
    let absolute = Path::new(path).canonicalize().ok().filter(|_| path.starts_with('/'));
    let within = absolute
        .as_ref()
        .and_then(|path| path.strip_prefix(&root).ok()?.to_str());
    let within = within.unwrap_or(path);
    let within = within.trim_start_matches("./").trim_end_matches('/');
    let path: RepoPath = within
        .parse()
        .map_err(|error| Exit::Usage(format!("--in takes a path below the checkout: {error}")))?;
    match root.join(path.as_str()).exists() {
        true => Ok(path),
        false => Err(Exit::Usage(format!("--in: there is no {path} in {}", root.display()))),
    }
}
