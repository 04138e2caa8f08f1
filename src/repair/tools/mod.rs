//! Fixes that tools make automatically: a compiler, a linter, a formatter or a package manager, if its own check is
//! what failed.
//!
//! The failing command is split into programs ([`crate::suite::parts`]). A table says which of them can fix what they
//! check, and how to run the fix ([`table`]). A tool runs in the sandbox, offline, in a copy of the tree. Its results
//! are a claim: only files that its own check names are read back.

mod cargo;
mod named;
mod runner;
mod snapshots;
mod suggestions;
mod table;

use tokio_util::sync::CancellationToken;

use self::runner::ToolRunner;
use self::table::Remedy;
use super::Task;
use crate::domain::patch::Patch;
use crate::domain::proposal::Claim;
use crate::domain::test_run::Outcome;
use crate::suite;

/// Maximum number of programs of one command that are run to fix something.
const MAX_REMEDIES: usize = 8;
/// Maximum number of characters of a command that are shown.
const MAX_SHOWN: usize = 200;

/// A patch that a tool made, still unverified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFix {
    pub patch: Patch,
    /// The command as a person would type it.
    pub tool: String,
    /// One sentence without its full stop, in Markdown.
    pub explanation: String,
    /// An updated snapshot means that the test may be wrong.
    pub claim: Claim,
}

/// The fixes that tools offer for this failure, the surest first.
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
        claim: Claim::Fix,
    }))
}

/// A file and the number of further ones.
fn files(first: &str, count: usize) -> String {
    match count {
        0 | 1 => format!("`{first}`"),
        2 => format!("`{first}` and 1 more file"),
        _ => format!("`{first}` and {} more files", count - 1),
    }
}

/// A command as a person would type it.
fn typed(argv: &[String]) -> String {
    let words = argv.iter().map(|word| shlex::try_quote(word).unwrap_or_default());
    shown(&words.collect::<Vec<_>>().join(" "))
}

/// A line that cannot end a code span, truncated if it is long.
fn shown(line: &str) -> String {
    let line = crate::suite::clean(line.as_bytes()).replace(['`', '\n', '\r'], " ");
    line.chars().take(MAX_SHOWN).collect()
}
