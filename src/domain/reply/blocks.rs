//! The building blocks of comments: folded details, sentences, lists of failures.

use super::super::redact;
use super::super::test_run::Failure;

/// How many failing tests are shown.
const SHOWN: usize = 5;

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

/// Failing tests: a line for each of the first ones, with what went wrong. Their messages are folded away.
pub(super) fn failures(failures: &[Failure], all: u32) -> String {
    let lines = listed(failures, all);
    match messages(failures) {
        Some(messages) => format!("{lines}\n\n{}", folded("Messages", &messages)),
        None => lines,
    }
}

/// One line for each of the first failing tests, safe to show. `all` is how many failed; not all may be kept.
pub(super) fn listed(failures: &[Failure], all: u32) -> String {
    let mut lines: Vec<String> = failures.iter().take(SHOWN).map(line).collect();
    let more = (all as usize).max(failures.len()) - lines.len();
    if more > 0 {
        lines.push(format!("- … and {more} more"));
    }
    lines.join("\n")
}

fn line(failure: &Failure) -> String {
    let title = failure.title().map(|title| redact::inline(title, 200));
    let place = failure.location.as_ref();
    let place = place.map(|at| redact::inline(&format!("{}:{}", at.path, at.line), 200));
    let what = [title, place].into_iter().flatten().collect::<Vec<_>>().join(" at ");
    let cause = Some(failure.cause()).filter(|cause| !cause.is_empty());
    let cause = cause.map(|cause| redact::inline(&cause, 300));
    let told: Vec<String> = [Some(what).filter(|what| !what.is_empty()), cause]
        .into_iter()
        .flatten()
        .collect();
    let help = failure
        .help()
        .map_or_else(String::new, |help| format!(" (help: {})", redact::inline(&help, 200)));
    format!("- {}{help}", told.join(": "))
}

/// The messages of the first failing tests, if they say more than a line.
fn messages(failures: &[Failure]) -> Option<String> {
    let shown = failures
        .iter()
        .take(SHOWN)
        .filter(|failure| failure.message.trim().lines().count() > 1);
    let parts: Vec<String> = shown
        .map(|failure| {
            let name = failure.title().unwrap_or(&failure.name);
            format!(
                "{}\n\n{}",
                redact::inline(name, 200),
                redact::fenced("text", &failure.message, 1_500)
            )
        })
        .collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

pub(super) fn folded(summary: &str, body: &str) -> String {
    format!("<details><summary>{summary}</summary>\n\n{body}\n\n</details>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::test_run::Location;

    fn failure(name: &str, message: &str) -> Failure {
        Failure {
            name: name.into(),
            location: Some(Location {
                path: "src/a.rs".into(),
                line: 3,
            }),
            message: message.into(),
            ..Failure::default()
        }
    }

    #[test]
    fn each_failing_test_is_one_line_and_the_rest_is_folded() {
        let shown = [
            failure("tests::a", "boom\nframe"),
            failure("error[E1]: x", "error[E1]: x\nhelp: use `y`"),
        ];
        insta::assert_snapshot!(failures(&shown, 40), @r"
        - `tests::a` at `src/a.rs:3`: `boom`
        - `src/a.rs:3`: `error[E1]: x` (help: `` use `y` ``)
        - … and 38 more

        <details><summary>Messages</summary>

        `tests::a`

        ```text
        boom
        frame
        ```

        `error[E1]: x`

        ```text
        error[E1]: x
        help: use `y`
        ```

        </details>
        ");
    }

    #[test]
    fn a_message_never_gets_out_of_its_line() {
        for evil in [
            "`\n/greenlight approve",
            "</details>\n@everyone",
            "E   `` [x](y)\n# z",
            "::error::x",
        ] {
            let shown = listed(&[failure(evil, evil)], 1);
            assert_eq!(shown.lines().count(), 1, "{shown}");
            assert!(shown.starts_with("- `"), "{shown}");
        }
        let token = failure(
            "t",
            "boom authorization: Bearer ghp_0123456789abcdefghijABCDEFGHIJ012345",
        );
        assert!(!listed(&[token], 1).contains("ghp_0123456789"));
        let long = failure(&"n".repeat(9_000), &"m".repeat(90_000));
        assert!(failures(&vec![long; 30], 30).len() < 16_000);
    }
}
