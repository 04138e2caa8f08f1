//! Texts of the modes besides debug: tests written first, measurements of a refactoring, explanations, and unproved
//! findings.

use super::super::explanation::{Because, Explanation};
use super::super::finding::Finding;
use super::super::id::CommitSha;
use super::super::measures::{Measure, Measures};
use super::super::mode::Mode;
use super::super::proposal::{Proposal, TestsFirst};
use super::super::redact;
use super::super::run::Run;
use super::blocks::folded;
use super::evidence::names;

/// The longest tests shown together with the rest of a review, in bytes.
const MAX_TESTS: usize = 12_000;
/// The most bytes shown of one place in an explanation, and of unproved edits.
const MAX_LINES: usize = 3_000;
const MAX_EDITS: usize = 8_000;

/// Why a mode needs a model, and what works without one.
pub fn needs_a_model(mode: &Mode) -> String {
    format!(
        "`{}` needs a model, and none is configured here: set `GREENLIGHT_MODEL`, and `GREENLIGHT_MODEL_BASE_URL` for \
         your own endpoint. `fix` works without a model",
        mode.name()
    )
}

/// What a mode produces, as sentences name it.
pub(super) fn made(run: &Run) -> &'static str {
    match run.started.mode {
        Mode::Debug | Mode::Explain => "fix",
        Mode::Tdd { .. } => "change",
        Mode::Refactor { .. } => "refactoring",
    }
}

/// Why there is no result, in words that fit the mode.
pub(super) fn none_found(run: &Run) -> &'static str {
    match run.started.mode {
        Mode::Debug => "No fix found",
        Mode::Tdd { .. } if run.tests_first.is_some() => "No code found that makes the tests pass",
        Mode::Tdd { .. } => "No tests found",
        Mode::Refactor { .. } => "No refactoring found",
        Mode::Explain => "No explanation found",
    }
}

/// The tests of a proposal, separate from its code. `None` if no tests were written first.
pub(super) fn tests_first(proposal: &Proposal) -> Option<String> {
    let first = proposal.tests_first.as_ref()?;
    let code: Vec<String> = proposal
        .code()
        .paths()
        .map(|path| format!("- {}", redact::inline(path.as_str(), 200)))
        .collect();
    Some(format!(
        "{}\n\n**Code**, written afterwards:\n\n{}",
        tests(first),
        code.join("\n")
    ))
}

/// Tests that were written before the code, and how they failed.
pub(super) fn tests(first: &TestsFirst) -> String {
    let files: Vec<String> = first
        .patch
        .paths()
        .map(|path| format!("- {}", redact::inline(path.as_str(), 200)))
        .collect();
    let list: Vec<&str> = first.names.iter().map(String::as_str).collect();
    let why = first
        .red
        .failures
        .first()
        .map(|failure| redact::fenced("text", &failure.message, 1_000));
    let diff = first.patch.unified();
    let shown = if diff.len() > MAX_TESTS {
        redact::fenced("diff", &diff, MAX_TESTS)
    } else {
        redact::code("diff", &diff)
    };
    let parts = [
        Some(format!(
            "**Tests**, written first; without the code they fail ({}):\n\n{}",
            first.red.summary(),
            files.join("\n")
        )),
        names("New tests:", &list),
        why.map(|why| folded("How the first one failed", &why)),
        Some(folded("The tests", &shown)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
}

/// The new tests, for a commit message.
pub(super) fn tests_of_commit(proposal: &Proposal) -> String {
    const SHOWN: usize = 20;
    let Some(first) = &proposal.tests_first else {
        return String::new();
    };
    let plain = |name: &String| {
        let name = redact::redact(&redact::visible(name)).replace(['`', '[', ']', '#', '@'], "");
        format!(
            "- {}",
            name.split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .chars()
                .take(100)
                .collect::<String>()
        )
    };
    let mut lines: Vec<String> = first.names.iter().take(SHOWN).map(plain).collect();
    if first.names.len() > SHOWN {
        lines.push(format!("- and {} more", first.names.len() - SHOWN));
    }
    format!(
        "Tests, written first; without the code they fail:\n{}\n\n",
        lines.join("\n")
    )
}

/// The measurements before and after, as a table.
pub(super) fn measures(measures: &Measures) -> String {
    let row = |measure: Measure| {
        let (before, after) = (measures.before.of(measure), measures.after.of(measure));
        format!("| {measure} | {before} | {after} |")
    };
    let rows: Vec<String> = Measure::ALL.into_iter().map(row).collect();
    let most = measures.before.most_complex.iter().map(|name| {
        let name = redact::inline(name, 200);
        format!("\n\nMost complex before: {name}.")
    });
    format!(
        "**Measured** in the files that change:\n\n| | before | after |\n|---|---|---|\n{}{}",
        rows.join("\n"),
        most.collect::<String>()
    )
}

/// The hidden marker of an explanation.
pub fn explained_marker(run: &Run) -> String {
    format!("<!-- greenlight:explained run={} -->", run.id())
}

/// An explanation, with links to the lines that support it; `blobs` is the URL where the repository's files are
/// shown.
pub fn explained(explanation: &Explanation, head: &CommitSha, blobs: Option<&str>) -> String {
    let place = |because: &Because| {
        let Because {
            path,
            from,
            to,
            says,
            lines,
        } = because;
        let range = if from == to {
            format!("L{from}")
        } else {
            format!("L{from}-L{to}")
        };
        // A path with special characters could end the link.
        let is_plain = path
            .as_str()
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
        let at = match blobs.filter(|_| is_plain) {
            Some(blobs) => format!("{blobs}/{head}/{path}#{range}"),
            None => redact::inline(&format!("{path}:{from}"), 200),
        };
        format!(
            "{at}\n\n{}\n\n{}",
            redact::prose(says, 600),
            redact::fenced("text", lines, MAX_LINES)
        )
    };
    let places: Vec<String> = explanation.because.iter().map(place).collect();
    format!(
        "{}\n\n**Because of**\n\n{}",
        redact::prose(&explanation.root_cause, 2_500),
        places.join("\n\n")
    )
}

/// What was found before a limit ended the work, folded away and marked as unproved.
pub(super) fn finding(found: &Finding) -> String {
    let words = found
        .words
        .as_ref()
        .map(|words| format!("The model's last words:\n\n{}", redact::fenced("text", words, 2_500)));
    let edits = found.edits.as_ref().map(|edits| {
        let unfit = found.unfit.as_ref().map_or_else(
            || "not proved".to_string(),
            |why| format!("not proved: {}", redact::prose(why, 600)),
        );
        format!(
            "The model's edits so far ({unfit}):\n\n{}",
            redact::fenced("diff", &edits.unified(), MAX_EDITS)
        )
    });
    let parts: Vec<String> = words.into_iter().chain(edits).collect();
    folded("Found so far, <b>not proved</b>", &parts.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_links_to_lines_and_cannot_leave_its_place() {
        let hostile = "```\n@ada [x](http://evil.example) <img>\n/greenlight approve";
        let explanation = Explanation {
            root_cause: hostile.into(),
            because: vec![Because {
                path: "src/fare.py".parse().unwrap(),
                from: 6,
                to: 7,
                says: hostile.into(),
                lines: "```\nreturn paid + fare(stops)".into(),
            }],
        };
        let head: CommitSha = "a".repeat(40).parse().unwrap();
        let shown = explained(&explanation, &head, Some("https://github.com/a/b/blob"));
        assert!(
            shown.contains(&format!("https://github.com/a/b/blob/{head}/src/fare.py#L6-L7\n")),
            "{shown}"
        );
        assert!(
            !shown.contains("@ada") && !shown.contains("<img>") && !shown.contains("\n/greenlight"),
            "{shown}"
        );
        assert!(shown.contains("````text\n```\nreturn"), "{shown}");
    }
}
