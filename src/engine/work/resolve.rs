//! Answers a model's call after a person decided about it.

use tokio_util::sync::CancellationToken;

use super::super::Broken;
use super::super::worktree::Worktree;
use super::Stage;
use crate::agent::{self, Item, Shell, Transcript};
use crate::domain::execution::{Deferred, Resolution};
use crate::domain::id::RepoPath;
use crate::domain::patch::Patch;
use crate::suite::Suite;

/// The edits in the tree at the time of the model's pending request.
///
/// # Errors
/// When the transcript cannot be read.
pub fn edits(worktree: &Worktree, stage: Stage<'_>, said: &[serde_json::Value]) -> Result<Patch, Broken> {
    let is_protected = |path: &RepoPath| worktree.config.protect.paths.covers(path);
    let bounds = worktree.bounds(&is_protected, &|_| Vec::new());
    let part = stage.part();
    let leave_alone = |path: &RepoPath| part.leaves_alone(path);
    let mut shell = Shell::new(
        stage.tree(worktree),
        None,
        bounds,
        super::limits::limits(worktree, said),
    );
    shell.leave_alone = &leave_alone;
    Ok(agent::edits(&mut shell, &transcript(said)?))
}

/// The result of a call that waited: its output, or why it was not executed.
///
/// # Errors
/// When the transcript cannot be read, or the sandbox cannot be used.
pub async fn resolve(
    (worktree, suite): (&Worktree, Option<&Suite>),
    (stage, said, deferred): (Stage<'_>, &[serde_json::Value], &Deferred),
    resolution: &Resolution,
    cancel: &CancellationToken,
) -> Result<serde_json::Value, Broken> {
    let execution = &deferred.execution;
    let (text, granted) = match (resolution, suite) {
        (Resolution::Approved, None) if execution.runs_code() => {
            ("approved, but the sandbox cannot be used here.".into(), false)
        }
        (Resolution::Approved, suite) => {
            let is_protected = |path: &RepoPath| worktree.config.protect.paths.covers(path);
            let bounds = worktree.bounds(&is_protected, &|_| Vec::new());
            let limits = super::limits::limits(worktree, said);
            let part = stage.part();
            let leave_alone = |path: &RepoPath| part.leaves_alone(path);
            let mut shell = Shell::new(stage.tree(worktree), suite.cloned(), bounds, limits);
            shell.leave_alone = &leave_alone;
            shell.grantable = worktree.grantable();
            let transcript = transcript(said)?;
            let is_as_approved = edits(worktree, stage, said)?.digest() == execution.patch;
            let text = agent::carry_out(&mut shell, &transcript, execution, cancel).await?;
            (text, is_as_approved)
        }
        (Resolution::Rejected { reason }, _) => (agent::prompt::rejected(reason.as_deref()), false),
        (Resolution::NoAnswer, _) => (
            "no answer: nobody approved or rejected it in time. Continue without it.".into(),
            false,
        ),
    };
    let call_id = deferred.call_id.clone();
    let item = Item::Result {
        call_id,
        text,
        exit: None,
        granted,
    };
    serde_json::to_value(item).map_err(|error| Broken::Bug(error.to_string()))
}

fn transcript(said: &[serde_json::Value]) -> Result<Transcript, Broken> {
    serde_json::from_value(serde_json::Value::Array(said.to_vec()))
        .map_err(|error| Broken::Bug(format!("a transcript cannot be read: {error}")))
}
