//! What greenlight remembers about a repository, as `/greenlight status` shows it.

use super::super::memory::{Fix, Memory, Rejection};
use super::super::redact;
use super::super::search::Rung;
use super::blocks::folded;

/// How many fixes and how many rejections are shown.
const SHOWN: usize = 5;

/// What greenlight learned about a repository. `None` if it learned nothing.
pub fn memory(memory: &Memory) -> Option<String> {
    if memory.is_empty() {
        return None;
    }
    let mut lines = Vec::new();
    if let Some(command) = &memory.test_command {
        let setup = memory.setup.as_ref().map_or_else(String::new, |setup| {
            format!(", after installing {}", redact::inline(setup, 200))
        });
        lines.push(format!("- Tests ran with {}{setup}.", redact::inline(command, 200)));
    }
    lines.extend(memory.fixes.iter().take(SHOWN).map(accepted));
    lines.extend(more(memory.fixes.len(), "accepted fixes"));
    lines.extend(left_out(memory));
    lines.extend(memory.rejections.iter().take(SHOWN).map(turned_down));
    lines.extend(more(memory.rejections.len(), "rejections"));
    lines.extend(shares(memory));
    let note = "These fixes are tried first when the same failure comes back, and verified again like any other.";
    Some(folded(
        "What I remember about this repository",
        &format!("{}\n\n{note}", lines.join("\n")),
    ))
}

/// How many proposals needed no model, and which rungs made them.
fn shares(memory: &Memory) -> Option<String> {
    let of = |rung| memory.rungs.get(&rung).copied().unwrap_or_default();
    let without: u32 = memory.rungs.values().sum();
    (without > 0).then(|| {
        format!(
            "- Proposals: {} from tools' autofixes, {} from accepted fixes, {} from reverting part of the pull \
             request, {} from small edits, {} from a model.",
            of(Rung::Tool),
            of(Rung::Memory),
            of(Rung::Revert),
            of(Rung::Search),
            memory.by_a_model
        )
    })
}

fn accepted(fix: &Fix) -> String {
    let landed = fix
        .commit
        .as_ref()
        .map_or_else(|| "as suggestions".into(), |commit| format!("as {}", commit.short()));
    let files: Vec<&str> = fix.patch.paths().map(super::super::id::RepoPath::as_str).collect();
    format!(
        "- Accepted {landed} on {}, in {}: {}",
        fix.at.strftime("%Y-%m-%d"),
        redact::inline(&files.join(", "), 200),
        redact::prose(&fix.summary, 200)
    )
}

fn turned_down(rejection: &Rejection) -> String {
    format!(
        "- Rejected on {}: {}",
        rejection.at.strftime("%Y-%m-%d"),
        redact::prose(&rejection.reason, 200)
    )
}

/// How many fixes are not offered again.
fn left_out(memory: &Memory) -> Option<String> {
    match memory.rejections.len() {
        0 => None,
        1 => Some("- 1 fix was rejected and is not offered again when the same tests fail in the same way:".into()),
        count => Some(format!(
            "- {count} fixes were rejected and are not offered again when the same tests fail in the same way:"
        )),
    }
}

fn more(count: usize, what: &str) -> Option<String> {
    (count > SHOWN).then(|| format!("- … and {} more {what}", count - SHOWN))
}
