//! Finds a step by the name under which GitHub shows it.

use super::{Failed, Node, Scope, interpolate, literals};

/// The index of the step with the name of the failed one. If several have that name, the one at the same position among them.
pub(super) fn find(steps: &[Node], failed: &Failed<'_>, scope: &Scope) -> Option<usize> {
    let name = failed.steps.get(failed.failed)?;
    let before = failed.steps[..failed.failed]
        .iter()
        .filter(|other| *other == name)
        .count();
    let all = failed.steps.iter().filter(|other| *other == name).count();
    let is_same = |number: &usize| is_shown_as(&steps[*number], name, scope);
    let same: Vec<usize> = (0..steps.len()).filter(is_same).collect();
    // If their number differs, they cannot be matched.
    (same.len() == all).then(|| same.get(before).copied())?
}

/// Whether GitHub would show a step with this name: its `name`, or what it runs or uses.
fn is_shown_as(step: &Node, shown: &str, scope: &Scope) -> bool {
    let named = step.get("name").and_then(Node::scalar);
    let name = named.or_else(|| {
        let run = step.get("run").and_then(Node::text).map(|script| {
            let first = script.trim_start().lines().next().unwrap_or_default();
            first.trim_end().to_string()
        });
        let what = run.or_else(|| step.get("uses").and_then(Node::scalar))?;
        Some(format!("Run {what}"))
    });
    let Some(name) = name else { return false };
    match interpolate(&name, scope) {
        Some(name) => name.trim() == shown.trim(),
        None => fits(&literals(&name), shown.trim()),
    }
}

/// Whether a text consists of these parts with anything between them.
fn fits(parts: &[&str], text: &str) -> bool {
    let [first, middle @ .., last] = parts else {
        return parts.first() == Some(&text);
    };
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    for part in middle {
        let Some((_, after)) = rest.split_once(part) else {
            return false;
        };
        rest = after;
    }
    // Unknown parts alone would match everything.
    parts.iter().any(|part| !part.trim().is_empty()) && rest.ends_with(last)
}
