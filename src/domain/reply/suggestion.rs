//! The comment that carries a suggestion: how it is written, and how greenlight's own comments are parsed.
//!
//! The suggestion block comes first, and the hidden marker is the last line, so nothing that a suggestion quotes can
//! be mistaken for either. The caller must check the author.

use super::SUGGESTION_MARKER;
use super::source::Source;
use crate::domain::anchor::{Fingerprint, first_block};
use crate::domain::id::CommitSha;

/// The text that replaces a rejected suggestion if somebody had replied to it.
pub const WITHDRAWN: &str = "Withdrawn: this suggestion was rejected.";

/// How the line that names the tested head of a suggestion begins and ends.
const NOTE: (&str, &str) = ("<sub>", " and not on the newer head.</sub>");
/// The part of a marker that says that its suggestion has reached its final state.
const SETTLED: &str = " settled";

/// A comment with one of `of` suggestions; `has_remainder` says that they do not contain the whole patch.
pub fn suggestion(block: &str, id: &Fingerprint, source: &Source, (of, has_remainder): (usize, bool)) -> String {
    let patch = "with the patch in the text of this review";
    let together = match (of, has_remainder) {
        (0 | 1, false) => String::new(),
        (0 | 1, true) => format!("\n\n<sub>Only correct together {patch}.</sub>"),
        (of, false) => format!("\n\n<sub>One of {of} suggestions that are only correct together.</sub>"),
        (of, true) => format!("\n\n<sub>One of {of} suggestions that are only correct together, and {patch}.</sub>"),
    };
    format!("{block}{together}\n{}", marker(id, source))
}

/// What remains of a comment that others replied to, after its suggestion was rejected.
pub fn withdrawn(says: &Suggested) -> String {
    format!("{WITHDRAWN}\n{}", marker(&says.id, &says.source))
}

fn marker(id: &Fingerprint, source: &Source) -> String {
    format!("{SUGGESTION_MARKER}id={id}{source} -->")
}

/// The contents of one of greenlight's own comments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggested {
    pub id: Fingerprint,
    pub source: Source,
    /// The new text for the lines. `None` if the suggestion was withdrawn.
    pub replacement: Option<String>,
    /// Whether the comment says that its suggestion has reached its final state.
    pub is_settled: bool,
}

/// Parses a comment. `None` if its last line is not a marker.
pub fn read_suggestion(body: &str) -> Option<Suggested> {
    let (text, marker) = split(body)?;
    let inside = marker.strip_prefix(SUGGESTION_MARKER)?.strip_suffix(" -->")?;
    let (inside, is_settled) = match inside.strip_suffix(SETTLED) {
        Some(inside) => (inside, true),
        None => (inside, false),
    };
    let inside = inside.strip_prefix("id=")?;
    let (id, source) = inside.split_at(inside.find(' ').unwrap_or(inside.len()));
    Some(Suggested {
        id: id.parse().ok()?,
        source: Source::read(source)?,
        replacement: first_block(&text.replace("\r\n", "\n")),
        is_settled,
    })
}

/// The comment with an added line that says on which head it was tested. `None` if it already has that line, or has
/// no marker.
pub fn left_behind(body: &str, head: &CommitSha, is_tested: bool) -> Option<String> {
    let (text, marker) = split(body)?;
    let last = text.lines().next_back().unwrap_or_default().trim_end();
    if last.starts_with(NOTE.0) && last.ends_with(NOTE.1) {
        return None;
    }
    let what = if is_tested { "Tested on" } else { "Made for" };
    Some(format!(
        "{text}\n\n{}{what} `{}`{}\n{marker}",
        NOTE.0,
        head.short(),
        NOTE.1
    ))
}

/// The comment with a marker that says that its suggestion has reached its final state, for suggestions that belong
/// to no run.
pub fn settled(body: &str) -> Option<String> {
    let (text, marker) = split(body)?;
    let open = marker.strip_suffix(" -->")?;
    Some(format!("{text}\n{open}{SETTLED} -->"))
}

/// The text, and the marker line after it.
fn split(body: &str) -> Option<(&str, &str)> {
    let (text, last) = body.trim_end().rsplit_once('\n')?;
    last.starts_with(SUGGESTION_MARKER).then(|| (text.trim_end(), last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> Fingerprint {
        "0123456789ab".parse().unwrap()
    }

    fn head() -> CommitSha {
        "a".repeat(40).parse().unwrap()
    }

    #[test]
    fn what_is_written_is_read_back() {
        for of in [(1, false), (1, true), (3, true)] {
            let body = suggestion("```suggestion\na\n\n```", &id(), &Source::Run, of);
            let read = read_suggestion(&format!("{}\r\n", body.replace('\n', "\r\n"))).unwrap();
            assert_eq!((read.id, read.replacement.as_deref()), (id(), Some("a\n\n")));
            assert!(!read.is_settled);
            assert!(read_suggestion(&settled(&body).unwrap()).unwrap().is_settled);
        }
        assert_eq!(
            read_suggestion(&withdrawn(
                &read_suggestion(&suggestion("```suggestion\n```", &id(), &Source::Run, (1, false))).unwrap()
            ))
            .unwrap()
            .replacement,
            None
        );
    }

    #[test]
    fn a_marker_counts_only_as_the_last_line() {
        let inside = suggestion("```suggestion\na\n```", &id(), &Source::Run, (1, false));
        for body in [
            format!("```suggestion\n{inside}\n```"),
            format!("{inside}\nand more"),
            format!("> {}", inside.replace('\n', "\n> ")),
            "<!-- greenlight:suggestion id=0123456789ab -->".into(),
            "a\n<!-- greenlight:suggestion -->".into(),
            "a\n<!-- greenlight:suggestion id=0123 -->".into(),
            "a\n<!-- greenlight:suggestion id=0123456789ab --> b".into(),
        ] {
            assert_eq!(read_suggestion(&body), None, "{body}");
        }
    }

    #[test]
    fn the_tested_head_is_noted_once() {
        let body = suggestion("```suggestion\na\n```", &id(), &Source::Run, (2, false));
        let said = left_behind(&body, &head(), true).unwrap();
        insta::assert_snapshot!(said, @r"
        ```suggestion
        a
        ```

        <sub>One of 2 suggestions that are only correct together.</sub>

        <sub>Tested on `aaaaaaa` and not on the newer head.</sub>
        <!-- greenlight:suggestion id=0123456789ab -->
        ");
        assert_eq!(left_behind(&said, &head(), true), None);
        assert_eq!(read_suggestion(&said), read_suggestion(&body));
        // Code that contains such a line is not a note.
        let code = suggestion(
            "```suggestion\n<sub>Tested on `a` and not on the newer head.</sub>\n```",
            &id(),
            &Source::Run,
            (1, false),
        );
        assert!(left_behind(&code, &head(), false).is_some());
    }
}
