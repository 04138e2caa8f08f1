//! The comment that carries a suggestion: how it is written, and how it is read back when it may be greenlight's own.
//!
//! The block comes first and the hidden marker is the last line, so that nothing a suggestion quotes can be taken for
//! either. Who wrote the comment is for the caller to check.

use super::SUGGESTION_MARKER;
use super::source::Source;
use crate::domain::anchor::{Fingerprint, first_block};
use crate::domain::id::CommitSha;

/// What stands where a suggestion stood that was turned down, when somebody had replied to it.
pub const WITHDRAWN: &str = "Withdrawn: this suggestion was rejected.";

/// How the line begins and ends that says on which head a suggestion was tested.
const NOTE: (&str, &str) = ("<sub>", " and not on the newer head.</sub>");
/// What a marker says once nothing more can become of its suggestion.
const SETTLED: &str = " settled";

/// A comment with a suggestion, one of several; `has_remainder` says that there is a part which none of them carries.
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

/// What stays of a comment that others replied to, when its suggestion was turned down.
pub fn withdrawn(says: &Suggested) -> String {
    format!("{WITHDRAWN}\n{}", marker(&says.id, &says.source))
}

fn marker(id: &Fingerprint, source: &Source) -> String {
    format!("{SUGGESTION_MARKER}id={id}{source} -->")
}

/// What a comment of greenlight's own says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggested {
    pub id: Fingerprint,
    pub source: Source,
    /// New text for the lines. `None` if the suggestion was withdrawn.
    pub replacement: Option<String>,
    /// Whether the comment itself says that nothing more can become of it.
    pub is_settled: bool,
}

/// Reads a comment back. `None` if its last line is no marker.
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

/// The comment with a line that says on which head it was tested. `None` if it says so already, or carries no
/// suggestion.
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

/// The comment with a marker that says that nothing more can become of it: for suggestions that belong to no run.
pub fn settled(body: &str) -> Option<String> {
    let (text, marker) = split(body)?;
    let open = marker.strip_suffix(" -->")?;
    Some(format!("{text}\n{open}{SETTLED} -->"))
}

/// The text and the line of the marker after it.
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
    fn it_is_said_once_on_which_head_it_was_tested() {
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
        // Code that says so is not a note.
        let code = suggestion(
            "```suggestion\n<sub>Tested on `a` and not on the newer head.</sub>\n```",
            &id(),
            &Source::Run,
            (1, false),
        );
        assert!(left_behind(&code, &head(), false).is_some());
    }
}
