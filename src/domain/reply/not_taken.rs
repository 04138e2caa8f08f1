//! Texts for a commit that GitHub or the branch's rules refuse.

use super::super::id::CommitSha;
use super::super::redact;
use super::super::run::Run;
use super::modes;

/// How many bytes of the reason are shown: people write rules and their names.
const MAX_REASON: usize = 1_500;

/// The headline of a proposal that the rules of its branch refuse.
pub(super) fn headline(run: &Run, reason: &str) -> String {
    let weakens = run
        .proposal
        .as_ref()
        .is_some_and(|proposal| !proposal.weakens.is_empty());
    let what = match &run.evidence {
        _ if weakens => "🟠 **The test may be wrong:** this is a change to a test, not a fix of the code.".to_string(),
        None => "🟡 **A fix is suggested, not executed.**".into(),
        Some(_) => format!("🟡 **A tested {} is suggested.**", modes::made(run)),
    };
    let why = if run.is_landing_approved() {
        "GitHub rejected the commit and says:"
    } else {
        "The rules of this branch do not let greenlight commit:"
    };
    format!(
        "{what} {why}\n\n{}\n\nAnyone who may push to the branch can commit the suggestions. Once the rules allow \
         greenlight's account, `/greenlight fix` starts again.",
        redact::fenced("text", reason.trim(), MAX_REASON)
    )
}

/// The answer to an `undo` that GitHub refused.
pub fn not_taken_back(commit: &CommitSha, why: &str) -> String {
    format!(
        "{} was not reverted. GitHub rejected the commit and says:\n\n{}",
        commit.short(),
        redact::fenced("text", why.trim(), MAX_REASON)
    )
}
