//! The ladder: what can make red tests green without a model, the cheapest first. What a tool would do alone, what
//! was accepted for the same failure before, and small edits. The first that proves itself is proposed.

use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::super::Broken;
use super::ground::{Ground, Top};
use super::{Watch, prove, remembered, searched};
use crate::config::flags::EnginePart;
use crate::domain::clock::millis;
use crate::domain::id::RepoPath;
use crate::domain::proposal::{Claim, Proposal};
use crate::domain::search::{FoundBy, Rung};
use crate::guard;
use crate::repair::{self, ToolFix};

/// At most this many fixes of tools are tried; each costs a run of the tests.
const MAX_TOOL_FIXES: usize = 8;

/// How far up it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rungs {
    /// No further than what was accepted before.
    Memory,
    /// All of them; where a model continues, the search is short and no test is said to be wrong.
    All { before_a_model: bool },
}

/// Goes up until something holds.
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
        let fixes = of_tools.iter().filter(|fix| fix.claim == Claim::Fix);
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
    // That a test is wrong is the last thing to think of.
    let snapshots = of_tools.iter().filter(|fix| fix.claim == Claim::TestMayBeWrong);
    let snapshots = snapshots.filter(|_| !before_a_model);
    if let Some(proposal) = with_tools(ground, snapshots, began, watch.cancel).await? {
        return Ok(Top::Proposed(proposal));
    }
    Ok(match watch.cancel.is_cancelled() {
        true => Top::Interrupted,
        false => Top::NotFound(search),
    })
}

/// What tools would do, but for what was turned down.
async fn tool_fixes(ground: Ground<'_>, cancel: &CancellationToken) -> Result<Vec<ToolFix>, Broken> {
    let worktree = ground.worktree;
    let is_protected = |path: &RepoPath| worktree.config.protect.paths.covers(path);
    let task = ground.task(&is_protected, &[]);
    let mut fixes = repair::tool_fixes(&task, cancel).await?;
    fixes.retain(|fix| !ground.turned_down.has(worktree, &fix.patch));
    fixes.truncate(MAX_TOOL_FIXES);
    Ok(fixes)
}

/// Proposes the first of these that holds.
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
            (&fix.patch, fix.claim),
            &ground.red,
            cancel,
        )
        .await?;
        if let (false, Ok(evidence)) = (cancel.is_cancelled(), proved) {
            let tool = format!("`{}`", fix.tool.replace('`', "'"));
            let summary = match fix.explanation.contains(&tool) {
                true => fix.explanation.clone(),
                false => format!("{}, as {tool} does it", fix.explanation),
            };
            let found_by = FoundBy {
                rung: Rung::Tool,
                tried,
                wall_ms: millis(began.elapsed()),
            };
            let mut proposal = ground.proposal((fix.patch.clone(), summary), evidence, found_by);
            if fix.claim == Claim::TestMayBeWrong {
                let inputs = ground.worktree.inputs(Some(ground.red.before));
                proposal.weakens = guard::weakenings(&fix.patch, &inputs);
            }
            return Ok(Some(Box::new(proposal)));
        }
    }
    Ok(None)
}
