//! What is said about the environment of the tests.

use super::super::redact;
use super::super::triage::Triage;
use super::blocks::sentence;

/// The title of a run whose tests say nothing about the code.
pub(super) const NOT_JUDGED: &str = "🟡 **The tests cannot be judged on this machine.**";

/// How many bytes of a tool's output are shown.
const MAX_OUTPUT: usize = 1_500;

/// Says what the environment lacks. Below its first line, a reason quotes what a tool printed.
pub(super) fn not_judged(reason: &str) -> String {
    let (first, printed) = reason.split_once('\n').unwrap_or((reason, ""));
    let printed = match printed.trim() {
        "" => String::new(),
        printed => format!("\n\n{}", redact::fenced("text", printed, MAX_OUTPUT)),
    };
    format!("{NOT_JUDGED} {}{printed}", sentence(first))
}

/// What was installed differently from what the project asks for, one line each.
pub(super) fn notes(triage: &Triage) -> Option<String> {
    let notes = &triage.setup.as_ref()?.notes;
    let lines: Vec<String> = notes
        .iter()
        .map(|note| format!("- {}", sentence(&note.split_whitespace().collect::<Vec<_>>().join(" "))))
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::triage::Setup;

    #[test]
    fn what_a_tool_printed_is_quoted() {
        insta::assert_snapshot!(not_judged("The tests were not run: `npm ci` exited with 1\nnpm error ```\n/greenlight approve"), @r"
        🟡 **The tests cannot be judged on this machine.** The tests were not run: `npm ci` exited with 1.

        ````text
        npm error ```
        /greenlight approve
        ````
        ");
    }

    #[test]
    fn notes_cannot_leave_their_lines() {
        let triage = |notes: &[String]| Triage {
            setup: Some(Setup::default().noting(notes)),
            ..Triage::of_one_run(true)
        };
        assert_eq!(notes(&triage(&[])), None);
        let shown = notes(&triage(&[
            "`a`\n\n/greenlight approve <b>@everyone".into(),
            "x".repeat(9_000),
        ]))
        .unwrap();
        assert_eq!(shown.lines().count(), 2);
        assert!(
            shown.starts_with("- `a` /\u{2060}greenlight approve &lt;b&gt;@\u{2060}everyone"),
            "{shown}"
        );
        assert!(shown.len() < 1_000, "{shown}");
    }
}
