//! Says what a candidate does, in one sentence of Markdown. The code it quotes is untrusted: it stays inside code
//! spans and on one line.

use super::candidates::Candidate;

/// Characters of code that are quoted at most, on each side.
const MAX_QUOTED: usize = 80;

/// `` `a < b` became `a <= b` in `src/lib.rs:12` (`last_index`) ``, for any candidate.
pub(super) fn sentence(candidate: &Candidate) -> String {
    let place = code(&format!("{}:{}", candidate.path, candidate.line));
    let within = if candidate.within.is_empty() {
        String::new()
    } else {
        format!(" ({})", code(&candidate.within))
    };
    format!(
        "{} became {} in {place}{within}",
        code(&candidate.before),
        code(&candidate.after)
    )
}

/// A code span that its content cannot end: <https://spec.commonmark.org/0.31.2/#code-spans>.
fn code(text: &str) -> String {
    let mut line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MAX_QUOTED)
        .collect();
    if text.chars().nth(MAX_QUOTED).is_some() {
        line.push('…');
    }
    let longest = line.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if line.starts_with('`') || line.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{pad}{line}{pad}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repair::templates::Template;

    fn candidate(before: &str, after: &str) -> Candidate {
        Candidate {
            path: "src/lib.rs".parse().unwrap(),
            text: String::new(),
            range: 0..1,
            replacement: after.into(),
            template: Template::Bound,
            weight: 1.0,
            score: 1.0,
            line: 12,
            within: "last_index".into(),
            before: before.into(),
            after: after.into(),
        }
    }

    #[test]
    fn the_sentence_names_edit_and_place() {
        assert_eq!(
            sentence(&candidate("a < b", "a <= b")),
            "`a < b` became `a <= b` in `src/lib.rs:12` (`last_index`)"
        );
    }

    #[test]
    fn quoted_code_cannot_leave_its_span_or_line() {
        let hostile = "`@everyone\n\n/greenlight approve\u{1b}[31m`";
        let sentence = sentence(&candidate(hostile, &"x".repeat(500)));
        assert_eq!(sentence.lines().count(), 1);
        assert!(sentence.starts_with("`` `@everyone  /greenlight approve [31m` `` became `xxx"));
        assert!(sentence.chars().count() < 200);
    }
}
