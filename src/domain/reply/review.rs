//! The review of a proposal: suggestions on the lines they replace, and the rest as a patch.

use super::super::proposal::{Author, Proposal};
use super::super::redact;
use super::{SUGGESTION_MARKER, review_marker};
use crate::domain::anchor::Cut;

/// What stands under a suggestion block.
pub fn suggestion(block: &str, of: usize) -> String {
    let together = match of {
        0 | 1 => String::new(),
        of => format!("\n\n<sub>One of {of} suggestions that are only right together.</sub>"),
    };
    format!("{block}{together}\n{SUGGESTION_MARKER}")
}

/// The body of a review; `can_land` says whether greenlight may push to the branch.
pub fn review_body(proposal: &Proposal, cut: &Cut, can_land: bool) -> String {
    let mut parts = vec![review_marker(&proposal.head)];
    let state = if proposal.evidence.is_some() {
        "tested"
    } else {
        "**not executed** yet: made from reading the log and the code"
    };
    parts.push(format!("{} ({state})", summary(proposal)));
    parts.extend(super::remainder::remainder(cut, can_land));
    if let Some(evidence) = &proposal.evidence {
        parts.push(super::evidence::evidence(evidence));
    }
    // Two proposals may say the same in words; the review is brought up to date when its text differs.
    parts.push(format!("<sub>Patch `{}`.</sub>", &proposal.patch.digest()[..12]));
    if can_land {
        parts.push(
            "Commit the suggestions, or comment `/greenlight approve`: what exactly that does stands in the comment below."
                .into(),
        );
    }
    redact::bounded(&parts.join("\n\n"), super::MAX_BODY)
}

fn summary(proposal: &Proposal) -> String {
    match &proposal.author {
        Author::BuiltIn => proposal.summary.clone(),
        Author::Model(_) => redact::prose(&proposal.summary, 1_500),
    }
}

/// The message of the commit that lands a proposal; the trailer with the run is added where it is committed.
pub fn commit_message(proposal: &Proposal, approved_by: &[crate::domain::id::Login]) -> String {
    // What stands in brackets can tell CI to skip the commit, `#` closes issues, and `@` calls people.
    let plain = redact::visible(&proposal.summary).replace(['`', '[', ']', '#', '@'], "");
    let first = plain.lines().next().unwrap_or_default().trim().trim_end_matches('.');
    let subject: String = if first.is_empty() {
        "Fix the failing tests".into()
    } else {
        shortened(first, 72)
    };
    let by: Vec<_> = approved_by
        .iter()
        .map(|login| format!("Approved-by: {login}"))
        .collect();
    let who = match &proposal.author {
        Author::BuiltIn => "the built-in repair engine".to_string(),
        Author::Model(name) => redact::visible(name),
    };
    format!(
        "{}\n\nWorked out by greenlight ({who}).\n\n{}",
        redact::redact(&subject),
        by.join("\n")
    )
}

/// At most `max` characters, cut between words.
fn shortened(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.into();
    }
    let cut: String = text.chars().take(max - 1).collect();
    let whole = cut.rsplit_once(' ').map_or(cut.as_str(), |(words, _)| words);
    format!("{whole}…")
}
