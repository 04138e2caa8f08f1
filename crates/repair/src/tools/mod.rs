//! Fixes that tools make automatically: a compiler, a linter, a formatter or a package manager, if its own check is
//! what failed.
//!
//! The failing command is taken apart into programs ([`greenlight_suite::parts`]); a table says which of them check what
//! they could fix, and how they are asked to ([`table`]). A tool runs in the sandbox, offline, in a copy of the tree.
//! All that it leaves behind is a claim: only files that its own check names are read back.

mod cargo;
mod named;
mod runner;
mod snapshots;
mod suggestions;
mod table;
mod tool_fix;

use greenlight_readers::test_run::Outcome;
use greenlight_suite as suite;
use tokio_util::sync::CancellationToken;

pub(crate) use self::cargo::as_json;
pub(crate) use self::named::resolved;
pub(crate) use self::runner::ToolRunner;
pub(crate) use self::suggestions::{BuildError, Certainty, errors};
use self::table::Remedy;
pub(crate) use self::table::tool_at;
use self::tool_fix::files;
pub use self::tool_fix::{FixKind, ToolFix};
use crate::task::Task;

/// Maximum number of programs of one command that are run to fix something.
const MAX_REMEDIES: usize = 8;
/// What the tools would do about this failure, the surest first.
///
/// # Errors
/// When the tree cannot be copied, or the sandbox fails. A failing tool is not an error.
pub async fn tool_fixes(task: &Task<'_>, cancel: &CancellationToken) -> Result<Vec<ToolFix>, suite::Error> {
    let has_result = !matches!(
        task.before.outcome,
        Outcome::Passed | Outcome::NothingRan | Outcome::TimedOut | Outcome::OutOfMemory
    );
    if !has_result || cancel.is_cancelled() {
        return Ok(Vec::new());
    }
    let mut fixes = Vec::new();
    let parts = suite::parts(task.checkout, &task.suite.command);
    let mut remedies: Vec<Remedy> = parts
        .iter()
        .filter_map(table::remedy)
        .filter(|remedy| remedy.fits(task.before))
        .collect();
    remedies.truncate(MAX_REMEDIES);
    if !remedies.is_empty() {
        fixes.extend(run_remedies(task, &remedies, cancel).await?);
    }
    for part in &parts {
        fixes.extend(cargo::fix(task, part, cancel).await?);
    }
    fixes.extend(snapshots::fix(task, cancel).await?);
    if cancel.is_cancelled() {
        fixes.clear();
    }
    let mut seen = Vec::new();
    fixes.retain(|fix| {
        let digest = fix.patch.digest();
        let is_new = !task.excluded.contains(&digest) && !seen.contains(&digest);
        seen.push(digest);
        is_new
    });
    Ok(fixes)
}

/// Runs the fix of every tool whose check fails, one after the other in one copy of the tree: a chain of checks only
/// passes with all of them.
async fn run_remedies(
    task: &Task<'_>,
    remedies: &[Remedy],
    cancel: &CancellationToken,
) -> Result<Option<ToolFix>, suite::Error> {
    let mut bench = ToolRunner::new(task).await?;
    let mut applied: Vec<(String, usize)> = Vec::new();
    for remedy in remedies {
        let check = bench.run(&remedy.part, &remedy.part.to_run(), cancel).await?;
        if cancel.is_cancelled() {
            return Ok(None);
        }
        let Some(named) = remedy.named(task, &check) else {
            continue;
        };
        let fixed = bench.run(&remedy.fix, &remedy.fix.to_run(), cancel).await?;
        if !runner::ended_by_itself(&fixed) {
            tracing::info!(tool = %remedy.display(), outcome = %fixed.outcome, "a tool could not fix what it found");
            continue;
        }
        let taken = bench.take(&named);
        if taken > 0 {
            applied.push((remedy.display(), taken));
        }
    }
    let patch = bench.patch();
    let first = patch.paths().next().map(ToString::to_string);
    let (Some(first), false) = (first, applied.is_empty()) else {
        return Ok(None);
    };
    let tools: Vec<String> = applied.into_iter().map(|(tool, _)| tool).collect();
    let shown: Vec<String> = tools.iter().map(|tool| format!("`{tool}`")).collect();
    let verb = if shown.len() == 1 { "fixes" } else { "fix" };
    Ok(Some(ToolFix {
        explanation: format!(
            "{} {verb} {}",
            shown.join(" and "),
            files(&first, patch.paths().count())
        ),
        tool: tools.join(" && "),
        patch,
        kind: FixKind::Code,
    }))
}
