//! Fixes of this very failure that people turned down, in this run and in earlier ones that are remembered. The
//! built-in engine does not offer any of them again, not even in an equivalent spelling. A model reads the reasons
//! instead, which may well be about the spelling.

use std::collections::BTreeSet;

use super::super::Broken;
use super::super::worktree::Worktree;
use super::{Brief, WorkOutcome, on_head, remembered};
use crate::domain::patch::Patch;
use crate::domain::test_run::TestRun;
use crate::repair;

/// How many are compared for equivalent spellings, newest first.
const MAX_COMPARED: usize = 8;

/// The fixes that a search leaves out.
#[derive(Default)]
pub(super) struct Rejected {
    /// The [`Patch::digest`] of each, as it was turned down and as it is on this worktree.
    pub(super) digests: Vec<String>,
    /// Those that apply to the current tree, as patches on it.
    pub(super) patches: Vec<Patch>,
}

impl Rejected {
    /// Collects the rejected fixes of this failure.
    ///
    /// # Errors
    /// When the mirror fails.
    pub(super) async fn of(worktree: &Worktree, brief: &Brief<'_>, before: &TestRun) -> Result<Self, Broken> {
        let mut all = Self::default();
        let mine = brief.turned_down.iter().rev().map(|down| &down.proposal.patch);
        let earlier: Vec<_> = brief.memory.turned_down(before).collect();
        all.digests.extend(earlier.iter().map(|down| down.patch.clone()));
        let earlier = earlier.into_iter().filter_map(|down| down.edit.as_ref());
        for (at, patch) in mine.chain(earlier).enumerate() {
            let on_worktree = on_head::on_worktree(worktree, patch).await?;
            let patch = on_worktree.as_ref().unwrap_or(patch);
            all.digests.push(patch.digest());
            if at < MAX_COMPARED {
                all.patches.extend(remembered::fitted(patch, &worktree.checkout));
            }
        }
        all.digests
            .extend(brief.turned_down.iter().map(|down| down.proposal.patch.digest()));
        Ok(all)
    }

    /// Whether a patch on this worktree equals one of them, in any spelling.
    pub(super) fn has(&self, worktree: &Worktree, patch: &Patch) -> bool {
        self.digests.contains(&patch.digest()) || repair::is_spelled_like(&worktree.checkout, &self.patches, patch)
    }
}

/// How many different fixes of this failure were turned down.
pub fn count(brief: &Brief<'_>) -> usize {
    let earlier = brief
        .before
        .into_iter()
        .flat_map(|before| brief.memory.turned_down(before));
    let earlier = earlier.map(|down| down.patch.clone());
    let mine = brief.turned_down.iter().map(|down| down.proposal.patch.digest());
    earlier.chain(mine).collect::<BTreeSet<_>>().len()
}

/// Adds to an outcome without a fix that rejected fixes were left out.
pub(super) fn with_rejections(mut outcome: WorkOutcome, brief: &Brief<'_>) -> WorkOutcome {
    let remark = match count(brief) {
        0 => return outcome,
        _ if !brief.mode.is_debug() => return outcome,
        1 => "1 rejected fix is left out".to_string(),
        count => format!("{count} rejected fixes are left out"),
    };
    if let WorkOutcome::GaveUp { reason }
    | WorkOutcome::NotFound { reason, .. }
    | WorkOutcome::LimitReached { reason, .. } = &mut outcome
    {
        let others = reason.replace(
            "and none of them makes the tests pass",
            "and no other makes the tests pass",
        );
        *reason = format!("{}. {remark}", others.trim_end_matches('.'));
    }
    outcome
}
