//! What is left for a run, as the agent counts it, and what is said when it is used up.

use std::time::Duration;

use serde_json::Value;

use super::super::desk::Desk;
use crate::agent::{LimitKind, Limits};
use crate::domain::budget::Kind;
use crate::domain::spend::Spend;

/// The limits of one attempt. The agent counts its whole transcript, and what is left was counted with the part that is
/// there already.
pub(super) fn limits(desk: &Desk, said: &[Value]) -> Limits {
    let so_far: Spend = said.iter().map(Spend::of_item).sum();
    let left = &desk.left;
    let turns = left.turns.map_or(u64::MAX, |amount| amount.left);
    let tokens = left.tokens.map_or(u64::MAX, |amount| amount.left);
    Limits {
        turns: u32::try_from(turns).unwrap_or(u32::MAX).saturating_add(so_far.turns),
        tokens: tokens.saturating_add(so_far.tokens()),
        cost_micros: left
            .cost_micros
            .map(|amount| amount.left.saturating_add(so_far.cost_micros.unwrap_or(0))),
        wall: Duration::from_millis(left.wall_ms.map_or(u64::MAX, |amount| amount.left)),
    }
}

/// Which limit was reached, and whose it is.
pub(super) fn reached(desk: &Desk, limit: LimitKind) -> String {
    desk.left.reached(match limit {
        LimitKind::Turns => Kind::Turns,
        LimitKind::Tokens => Kind::Tokens,
        LimitKind::Money => Kind::Money,
        LimitKind::Wall => Kind::Wall,
    })
}
