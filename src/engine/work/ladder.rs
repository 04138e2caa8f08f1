//! The ladder: ways to fix failing tests without a model, cheapest first. Autofixes of tools come first, then fixes
//! that were accepted for the same failure, then small edits. The first one that is proved is proposed.

use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::super::Broken;
use super::ground::{Ground, Top};
use super::{Watch, of_repair, prove, remembered, searched};
use crate::config::flags::EnginePart;
use crate::domain::clock::millis;
use crate::domain::id::RepoPath;
use crate::domain::proposal::Proposal;
use crate::domain::search::{FoundBy, Rung};
use crate::guard;
use crate::repair::{self, FixKind, ToolFix};

/// How many tool fixes are tried. Each costs a test run.
const MAX_TOOL_FIXES: usize = 8;

/// How far up the ladder goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rungs {
    /// Up to the fixes that were accepted before.
    Memory,
    /// All of them. If a model continues afterwards, the search is short and no test is declared wrong.
    All { before_a_model: bool },
}

/// Climbs the rungs until a patch is proved.
///
/// # Errors
/// When the sandbox or the journal cannot be used.
pub(super) async fn climb(ground: Ground<'_>, rungs: Rungs, watch: &mut Watch<'_, '_>) -> Result<Top, Broken> {
    let so_far = ground.brief.search;
    if so_far.is_over {
        return Ok(Top::NotFound(Box::new(so_far.clone())));
    }
    let began = Instant::now();
    let mut of_tools = Vec::new();
    if rungs != Rungs::Memory && !ground.is_without(EnginePart::Tool) {
        of_tools = tool_fixes(ground, watch.cancel).await?;
        let fixes = of_tools.iter().filter(|fix| fix.kind == FixKind::Code);
        if let Some(proposal) = with_tools(ground, fixes, began, watch.cancel).await? {
            return Ok(Top::Proposed(proposal));
        }
    }
    let known = (ground.brief.memory, ground.brief.turned_down);
    let (worktree, suite) = (ground.worktree, ground.suite);
    if !ground.is_without(EnginePart::Memory)
        && let Some(mut proposal) = remembered::remembered(worktree, suite, known, &ground.red, watch.cancel).await?
    {
        if let Some(found_by) = &mut proposal.found_by {
            found_by.wall_ms = millis(began.elapsed());
        }
        return Ok(Top::Proposed(proposal));
    }
    if watch.cancel.is_cancelled() {
        return Ok(Top::Interrupted);
    }
    let Rungs::All { before_a_model } = rungs else {
        return Ok(Top::NotFound(Box::new(so_far.clone())));
    };
    let search = match Box::pin(searched::search(ground, before_a_model, watch)).await? {
        Top::NotFound(search) => search,
        top => return Ok(top),
    };
    // Declaring a test wrong is the last resort.
    let snapshots = of_tools.iter().filter(|fix| fix.kind == FixKind::Snapshot);
    let snapshots = snapshots.filter(|_| !before_a_model);
    if let Some(proposal) = with_tools(ground, snapshots, began, watch.cancel).await? {
        return Ok(Top::Proposed(proposal));
    }
    Ok(match watch.cancel.is_cancelled() {
        true => Top::Interrupted,
        false => Top::NotFound(search),
    })
}

/// The autofixes of tools, except those that were turned down.
async fn tool_fixes(ground: Ground<'_>, cancel: &CancellationToken) -> Result<Vec<ToolFix>, Broken> {
    let worktree = ground.worktree;
    let is_protected = |path: &RepoPath| worktree.config.protect.paths.covers(path);
    let task = ground.task(&is_protected, &[]);
    let mut fixes = repair::tool_fixes(&task, cancel).await?;
    fixes.retain(|fix| !ground.turned_down.has(worktree, &fix.patch));
    fixes.truncate(MAX_TOOL_FIXES);
    Ok(fixes)
}

/// Proposes the first of these fixes that is proved.
async fn with_tools(
    ground: Ground<'_>,
    fixes: impl Iterator<Item = &ToolFix>,
    began: Instant,
    cancel: &CancellationToken,
) -> Result<Option<Box<Proposal>>, Broken> {
    for (tried, fix) in (1..).zip(fixes) {
        if cancel.is_cancelled() {
            break;
        }
        let proved = prove(
            ground.worktree,
            ground.suite,
            (&fix.patch, of_repair::claim(fix.kind)),
            &ground.red,
            cancel,
        )
        .await?;
        if let (false, Ok(evidence)) = (cancel.is_cancelled(), proved) {
            let tool = format!("`{}`", fix.tool.replace('`', "'"));
            let summary = match fix.explanation.contains(&tool) {
                true => fix.explanation.clone(),
                false => format!("{}, as {tool} would do it", fix.explanation),
            };
            let found_by = FoundBy {
                rung: Rung::Tool,
                tried,
                wall_ms: millis(began.elapsed()),
            };
            let mut proposal = ground.proposal((fix.patch.clone(), summary), evidence, found_by);
            if fix.kind == FixKind::Snapshot {
                let inputs = ground.worktree.inputs(Some(ground.red.before));
                proposal.weakens = guard::weakenings(&fix.patch, &inputs);
            }
            return Ok(Some(Box::new(proposal)));
        }
    }
    Ok(None)
}
