//! The building blocks of comments: folded details, sentences, lists of failures.

use super::super::redact;
use super::super::test_run::Failure;

/// A reason that may quote a command in backticks: bounded, with mentions and markup disabled and code spans kept.
pub(super) fn sentence(text: &str) -> String {
    // Cutting the finished comment in the middle could leave a fence open.
    let text = redact::bounded(&redact::redact(&redact::visible(text)), 3_000);
    let text = spans(&text, 1_000);
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    text + end
}

/// Prose that keeps its code spans.
fn spans(text: &str, max: usize) -> String {
    let parts = text.split('`').enumerate();
    parts
        .map(|(at, part)| {
            if at % 2 == 0 {
                redact::prose(part, max)
            } else {
                redact::inline(part, 200)
            }
        })
        .collect()
}

/// Failing tests with their messages, safe to show.
pub(super) fn failures(failures: &[Failure]) -> String {
    const SHOWN: usize = 5;
    let mut parts: Vec<String> = failures
        .iter()
        .take(SHOWN)
        .map(|failure| {
            let place = failure.location.as_ref().map_or_else(String::new, |at| {
                format!(" at {}", redact::inline(&format!("{}:{}", at.path, at.line), 200))
            });
            format!(
                "{}{place}\n\n{}",
                redact::inline(&failure.name, 200),
                redact::fenced("text", &failure.message, 1_500)
            )
        })
        .collect();
    if failures.len() > SHOWN {
        parts.push(format!("… and {} more.", failures.len() - SHOWN));
    }
    parts.join("\n\n")
}

pub(super) fn folded(summary: &str, body: &str) -> String {
    format!("<details><summary>{summary}</summary>\n\n{body}\n\n</details>")
}
