//! What the crate that repairs says, in the words that are stored and shown.

use crate::domain::proposal::Claim;
use crate::domain::search::{Rung, Unverified};
use crate::repair::{Finding, FixKind, Origin};

/// The rung that a patch of the search is from.
pub(super) fn rung(origin: Origin) -> Rung {
    match origin {
        Origin::Tool => Rung::Tool,
        Origin::Revert => Rung::Revert,
        Origin::Edit => Rung::Search,
    }
}

/// What a tool's fix is said to be.
pub(super) fn claim(kind: FixKind) -> Claim {
    match kind {
        FixKind::Code => Claim::Fix,
        FixKind::Snapshot => Claim::TestMayBeWrong,
    }
}

/// A patch that makes failing tests pass and is not proposed.
pub(super) fn unverified(finding: Finding) -> Unverified {
    let Finding {
        patch,
        explanation,
        still_failing,
        risks,
    } = finding;
    Unverified {
        patch,
        explanation,
        still_failing,
        risks,
    }
}
