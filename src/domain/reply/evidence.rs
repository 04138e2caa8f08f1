//! What proves a proposal, in one line, with the rest folded away.

use super::super::proposal::Evidence;
use super::super::redact;
use super::state::folded;

/// Before and after in one line, the rest folded away.
pub(super) fn evidence(evidence: &Evidence) -> String {
    let Evidence { before, after, digest } = evidence;
    let rows = [("before", before), ("after", after)]
        .map(|(when, run)| format!("| {when} | {} | {} ms |", run.summary(), run.duration_ms))
        .join("\n");
    let names: Vec<_> = before
        .failing_names()
        .take(20)
        .map(|name| format!("- {}", redact::inline(name, 200)))
        .collect();
    let red = if names.is_empty() {
        String::new()
    } else {
        format!("\n\nRed before, green after:\n\n{}", names.join("\n"))
    };
    let table = format!(
        "{}\n\n| | result | time |\n|---|---|---|\n{rows}{red}\n\nDigest `{digest}`",
        redact::inline(&after.command, 200)
    );
    folded(&format!("Evidence: {} → {}", before.summary(), after.summary()), &table)
}
