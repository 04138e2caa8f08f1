//! The review of a proposal: suggestions on the lines they replace, and the rest as a patch.

use super::super::proposal::{Author, Proposal};
use super::super::redact;
use super::layout::Layout;
use super::source::Source;
use super::{modes, part_marker, review_marker};
use crate::domain::id::CommitSha;
use crate::domain::patch::Patch;
use crate::domain::weakening::Weakening;

/// The body of the review of a proposal.
pub fn review_body(proposal: &Proposal, layout: &Layout<'_>) -> String {
    let mut parts = vec![review_marker(&proposal.head, &Source::Run)];
    let state = if proposal.evidence.is_some() {
        "tested"
    } else {
        "**not executed** yet: based only on reading the log and the code"
    };
    parts.extend(weakened(proposal));
    parts.push(format!("{} ({state})", summary(proposal)));
    let found = proposal.found_by.as_ref();
    parts.extend(found.map(|how| {
        format!(
            "Found without a model: {}.",
            super::search::found_by(how, "the pull request")
        )
    }));
    parts.extend(by_pull_request(proposal));
    parts.extend(modes::tests_first(proposal));
    parts.extend(proposal.measures.as_deref().map(modes::measures));
    parts.extend(laid_out(layout));
    if let Some(evidence) = &proposal.evidence {
        parts.push(super::evidence::evidence(evidence));
    }
    // Two proposals may have the same text. The review is updated when its text differs.
    parts.push(format!("<sub>Patch `{}`.</sub>", &proposal.patch.digest()[..12]));
    if layout.can_land {
        parts.push(if proposal.weakens.is_empty() {
            "Commit the suggestions, or comment `/greenlight approve` (the comment below says exactly what that does)."
                .into()
        } else {
            "None of this lands until somebody approves the request by name; the name is in the comment below.".into()
        });
    }
    redact::bounded(&parts.join("\n\n"), super::MAX_BODY)
}

/// The headline of a proposal that changes tests, followed by how it weakens them.
fn weakened(proposal: &Proposal) -> Option<String> {
    const SHOWN: usize = 20;
    if proposal.weakens.is_empty() {
        return None;
    }
    let line = |weakening: &Weakening| {
        let Weakening {
            path, line, test, what, ..
        } = weakening;
        let test = match test.as_str() {
            "" => String::new(),
            test => format!(" {}:", redact::inline(test, 120)),
        };
        format!(
            "- {}:{test} {}",
            redact::inline(&format!("{path}:{line}"), 200),
            redact::inline(what, 300)
        )
    };
    let mut lines: Vec<String> = proposal.weakens.iter().take(SHOWN).map(line).collect();
    if proposal.weakens.len() > SHOWN {
        lines.push(format!("- … and {} more", proposal.weakens.len() - SHOWN));
    }
    Some(format!(
        "### The test may be wrong\n\nThis does not fix the code. It changes the tests, and makes them \
         weaker:\n\n{}\n\n\
         It is posted only as a patch, so that no part of it is committed by accident.",
        lines.join("\n")
    ))
}

/// How the pull request itself weakens tests, which makes a green run mean less.
fn by_pull_request(proposal: &Proposal) -> Option<String> {
    const SHOWN: usize = 3;
    let weakened = &proposal.evidence.as_ref()?.triage.as_ref()?.weakened;
    let shown: Vec<String> = weakened
        .iter()
        .take(SHOWN)
        .map(|weakening| redact::inline(&weakening.to_string(), 300))
        .collect();
    let more = match weakened.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    (!shown.is_empty()).then(|| {
        format!(
            "⚠️ This pull request itself weakens tests compared with the base branch: {}{more}. Green here means \
             green by these weaker tests.",
            shown.join(", ")
        )
    })
}

/// The body of the review of a patch that somebody supplied and that greenlight did not run.
pub fn given_body((head, source): (&CommitSha, &Source), summary: &str, patch: &Patch, layout: &Layout<'_>) -> String {
    let mut parts = vec![review_marker(head, source)];
    let summary = redact::prose(summary, 1_500);
    let state = "**not executed** by greenlight: it was given this patch";
    parts.push(if summary.trim().is_empty() {
        format!("A patch for {} ({state})", head.short())
    } else {
        format!("{summary} ({state})")
    });
    parts.extend(laid_out(layout));
    parts.push(format!("<sub>Patch `{}`.</sub>", &patch.digest()[..12]));
    redact::bounded(&parts.join("\n\n"), super::MAX_BODY)
}

/// The body of a further review of the same head. The first review says everything else.
pub fn review_part(head: &CommitSha, source: &Source, part: usize, parts: usize) -> String {
    format!(
        "{}\nSuggestions, part {part} of {parts}.",
        part_marker(head, source, part, parts)
    )
}

/// What readers must know about suggestions in earlier threads, and about the remainder.
fn laid_out(layout: &Layout<'_>) -> Vec<String> {
    let mut parts = Vec::new();
    match layout.carried {
        0 => {}
        1 => parts.push("One of the suggestions is already open in an earlier review, and still applies.".into()),
        carried => parts.push(format!(
            "{carried} of the suggestions are already open in an earlier review, and still apply."
        )),
    }
    parts.extend(super::remainder::remainder(layout));
    parts
}

fn summary(proposal: &Proposal) -> String {
    match &proposal.author {
        Author::BuiltIn => proposal.summary.clone(),
        Author::Model(_) => redact::prose(&proposal.summary, 1_500),
        Author::Remembered(run) => format!(
            "{}\n\nThis fix was accepted before for the same failure, in run {}, so I tried it first",
            redact::prose(&proposal.summary, 1_500),
            redact::inline(run, 40)
        ),
    }
}

/// The message of the commit that lands a proposal. The code that commits adds the trailer with the run.
pub fn commit_message(proposal: &Proposal, approved_by: &[crate::domain::id::Account]) -> String {
    // Text in brackets can tell CI to skip the commit, `#` closes issues, and `@` notifies people.
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
        Author::Remembered(run) => format!("memory: accepted for the same failure in run {run}"),
    };
    let what = match proposal.weakens.len() {
        0 => "",
        _ => "This changes tests, because the test may be wrong. The code does not change.\n\n",
    };
    let tests = modes::tests_of_commit(proposal);
    format!(
        "{}\n\n{what}{tests}Found by greenlight ({who}).\n\n{}",
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
