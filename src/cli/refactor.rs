//! `greenlight refactor`: changes a local checkout towards a goal while its tests stay green, and asks before it writes.

use super::Exit;
use super::local::{self, Common, UpFront};
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
    let path = within.map(|path| {
        let path = path.trim_start_matches("./").trim_end_matches('/');
        path.parse::<RepoPath>()
    });
    match path.transpose() {
        Ok(path) => local::work(common, up_front, Mode::Refactor { goal, path }).await,
        Err(error) => Exit::Usage(format!("--in takes a path below the checkout: {error}")),
    }
}
