//! Converts what is left for a run into the agent's limits, and reports which limit was reached.

use std::time::Duration;

use serde_json::Value;

use super::super::worktree::Worktree;
use crate::agent::{AgentLimits, LimitKind};
use crate::domain::budget::BudgetKind;
use crate::domain::spend::Spend;

/// The limits of one attempt. The agent counts its whole transcript, including the part from before a restart, so
/// that part is added back to what is left.
pub(super) fn limits(worktree: &Worktree, said: &[Value]) -> AgentLimits {
    let so_far: Spend = said.iter().map(Spend::of_item).sum();
    let left = &worktree.left;
    let turns = left.turns.map_or(u64::MAX, |amount| amount.left);
    let tokens = left.tokens.map_or(u64::MAX, |amount| amount.left);
    AgentLimits {
        turns: u32::try_from(turns).unwrap_or(u32::MAX).saturating_add(so_far.turns),
        tokens: tokens.saturating_add(so_far.tokens()),
        cost_micros: left
            .cost_micros
            .map(|amount| amount.left.saturating_add(so_far.cost_micros.unwrap_or(0))),
        wall: Duration::from_millis(left.wall_ms.map_or(u64::MAX, |amount| amount.left)),
    }
}

/// Names the limit that was reached, and whose it is.
pub(super) fn reached(worktree: &Worktree, limit: LimitKind) -> String {
    worktree.left.reached(match limit {
        LimitKind::Turns => BudgetKind::Turns,
        LimitKind::Tokens => BudgetKind::Tokens,
        LimitKind::Money => BudgetKind::Money,
        LimitKind::Wall => BudgetKind::Wall,
    })
}
