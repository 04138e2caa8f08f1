//! Which workflows of a repository greenlight listens to.

use super::files::{COMMANDS_PATH, WORKFLOW_PATH, yaml};
use crate::domain::id::RepoPath;
use crate::engine::worktree::Worktree;
use crate::suite::{self, CiWorkflow};

/// Words in the names of workflows that run tests.
const OF_TESTS: [&str; 9] = [
    "ci",
    "test",
    "tests",
    "testing",
    "unit",
    "build",
    "check",
    "checks",
    "integration",
];

/// The workflows that greenlight listens to, and what a person should know about the others.
pub(super) struct ListenedTo {
    pub(super) workflows: Vec<CiWorkflow>,
    pub(super) notes: Vec<String>,
}

impl ListenedTo {
    /// The workflows that pull requests start and that run tests, as far as their steps or their names say. If there are
    /// none, all that pull requests start, and if there are none of those, the ones that run tests and could be started
    /// so.
    pub(super) fn of(worktree: &Worktree) -> Self {
        let checkout = &worktree.checkout;
        let (all, mut unread) = suite::ci_workflows(checkout.paths(), &mut |path| checkout.read_text(path));
        unread.retain(|path| !is_own(path));
        let others = all.into_iter().filter(|workflow| !is_own(&workflow.path));
        // GitHub refuses an expression in a name, here and in that workflow.
        let (unnamed, mut workflows): (Vec<_>, Vec<_>) = others.partition(|workflow| workflow.name.contains("${{"));
        match workflows.iter().any(|workflow| workflow.is_for_pull_requests) {
            true => workflows.retain(|workflow| workflow.is_for_pull_requests),
            false => workflows.retain(|workflow| workflow.has_tests),
        }
        let mut left_out = Vec::new();
        if workflows.iter().any(|workflow| workflow.has_tests) {
            (workflows, left_out) = workflows
                .into_iter()
                .partition(|workflow| workflow.has_tests || is_named_after_tests(workflow));
        }
        let unread = unread.iter().map(|path| {
            format!("the workflow {path} cannot be read as YAML, so greenlight does not know what it is for")
        });
        let unnamed = unnamed.iter().map(|workflow| {
            format!(
                "greenlight cannot listen to {}: GitHub allows no expression in the name of a workflow; change it to plain \
                 text and run this again",
                workflow.path
            )
        });
        let left_out = left_out.iter().map(|workflow| {
            format!(
                "greenlight does not listen to {} in {}: no step of it is known to run tests; if it runs them, add its \
                 name below `workflows:`",
                yaml(&workflow.name),
                workflow.path
            )
        });
        Self {
            notes: unread.chain(unnamed).chain(left_out).collect(),
            workflows,
        }
    }
}

fn is_named_after_tests(workflow: &CiWorkflow) -> bool {
    let file = workflow.path.as_str().rsplit('/').next().unwrap_or_default();
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let is_of_tests = |name: &str| {
        let name = name.to_ascii_lowercase();
        name.split(|c: char| !c.is_ascii_alphanumeric())
            .any(|word| OF_TESTS.contains(&word))
    };
    is_of_tests(&workflow.name) || is_of_tests(stem)
}

/// Whether a file is one of those that this command writes.
fn is_own(path: &RepoPath) -> bool {
    let own = [WORKFLOW_PATH, COMMANDS_PATH];
    own.into_iter()
        .any(|own| path.as_str() == own || path.as_str() == with_other_end(own))
}

/// GitHub reads files with either ending.
pub(super) fn with_other_end(path: &str) -> String {
    path.strip_suffix(".yml")
        .map_or_else(|| path.into(), |stem| format!("{stem}.yaml"))
}
