//! Describes a candidate's edit in one sentence of Markdown. The code that it quotes is untrusted: it stays inside
//! code spans and on one line.

use std::time::Duration;

use greenlight_units::count::count;
use similar::{ChangeTag, TextDiff};

use super::candidates::Candidate;
use crate::template::EditKind;

/// Maximum number of characters of code quoted on each side.
const MAX_QUOTED: usize = 80;
/// Maximum number of changed lines that are quoted one by one.
const MAX_LINES: usize = 3;
/// How long lines are compared. After that, those that are left count as changed.
const MAX_COMPARING: Duration = Duration::from_millis(100);

/// `` `a < b` became `a <= b` in `src/lib.rs:12` (`last_index`) ``, for any candidate. Pure insertions and removals
/// are worded differently.
pub(super) fn sentence(candidate: &Candidate) -> String {
    let changed = ChangedLines::of(candidate);
    let place = code(&format!("{}:{}", candidate.path, changed.line));
    let within = if candidate.within.is_empty() {
        String::new()
    } else {
        format!(" ({})", code(&candidate.within))
    };
    let is_put_back = candidate.template.kind() == EditKind::Revert;
    let edit = match (lines(&changed.before), lines(&changed.after)) {
        (Some(before), Some(after)) if before == after => format!("changed the white space around {after} in"),
        (Some(before), Some(after)) if is_put_back => format!("{after} restored in place of {before} in"),
        _ if let Some(pairs) = changed.line_by_line() => pairs,
        (Some(before), Some(after)) => format!("{before} became {after} in"),
        (None, Some(after)) if is_put_back => format!("put back {after} in"),
        (None, Some(after)) => format!("added {after} in"),
        (Some(before), None) => format!("removed {before} from"),
        (None, None) => "changed blank lines in".into(),
    };
    let others: Vec<String> = candidate.others.iter().map(|(path, _)| code(path.as_str())).collect();
    let others = match others.as_slice() {
        [] => String::new(),
        [one] => format!(", and {one} changed with it"),
        [first, more @ ..] => format!(
            ", and {first} and {} changed with it",
            count(more.len() as u64, "more file")
        ),
    };
    format!("{edit} {place}{within}{others}")
}

/// The lines of an edit that differ, and the number of the first. An edit within a line stays as it is.
struct ChangedLines {
    before: String,
    after: String,
    line: u32,
}

impl ChangedLines {
    /// What each line became, if there are a few and none is added or removed.
    fn line_by_line(&self) -> Option<String> {
        let filled = |text: &'_ str| text.lines().filter(|line| !line.trim().is_empty()).count();
        let lines = filled(&self.before);
        if !(2..=MAX_LINES).contains(&lines) || filled(&self.after) != lines {
            return None;
        }
        let before = self.before.lines().filter(|line| !line.trim().is_empty());
        let after = self.after.lines().filter(|line| !line.trim().is_empty());
        let pairs = before.zip(after).map(|(before, after)| (code(before), code(after)));
        let pairs: Vec<(String, String)> = pairs.collect();
        // Lines that only move say nothing one by one.
        if pairs
            .iter()
            .any(|(before, after)| pairs.iter().any(|(_, other)| other == before) || before == after)
        {
            return None;
        }
        let pairs: Vec<String> = pairs
            .into_iter()
            .map(|(before, after)| format!("{before} became {after}"))
            .collect();
        let (last, first) = pairs.split_last()?;
        Some(format!("{} and {last} in", first.join(", ")))
    }

    fn of(candidate: &Candidate) -> Self {
        let (before, after) = (&candidate.before, &candidate.after);
        let mut changed = Self {
            before: before.clone(),
            after: after.clone(),
            line: candidate.line,
        };
        if before.lines().count() < 2 && after.lines().count() < 2 {
            return changed;
        }
        let mut comparison = TextDiff::configure();
        let diff = comparison
            .timeout(MAX_COMPARING)
            .diff_lines(before.as_str(), after.as_str());
        changed.before.clear();
        changed.after.clear();
        let (mut unchanged, mut is_first) = (0, true);
        for change in diff.iter_all_changes() {
            match change.tag() {
                ChangeTag::Equal => unchanged += u32::from(is_first),
                ChangeTag::Delete => changed.before.push_str(change.value()),
                ChangeTag::Insert => changed.after.push_str(change.value()),
            }
            is_first &= change.tag() == ChangeTag::Equal;
        }
        changed.line = changed.line.saturating_add(unchanged);
        changed
    }
}

/// Quotes code in a sentence: its only line, or its first line and the number of lines that follow. `None` for blank
/// code.
fn lines(text: &str) -> Option<String> {
    let mut filled = text.lines().filter(|line| !line.trim().is_empty());
    let first = code(filled.next()?);
    Some(match filled.count() {
        0 => first,
        more => format!("{first} and {}", count(more as u64, "more line")),
    })
}

/// A code span that its content cannot end: <https://spec.commonmark.org/0.31.2/#code-spans>. Runs of whitespace are
/// collapsed.
fn code(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut quoted: String = line.chars().take(MAX_QUOTED).collect();
    if line.chars().nth(MAX_QUOTED).is_some() {
        quoted.push('…');
    }
    let longest = quoted.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if quoted.starts_with('`') || quoted.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{pad}{quoted}{pad}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Template;

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
            others: Vec::new(),
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
    fn what_is_added_or_removed_or_long_is_said_in_words() {
        let import = "from dataclasses import dataclass\n";
        let mut back = candidate("", import);
        back.template = Template::Revert;
        assert_eq!(
            sentence(&back),
            "put back `from dataclasses import dataclass` in `src/lib.rs:12` (`last_index`)"
        );
        assert_eq!(
            sentence(&candidate("", import)),
            "added `from dataclasses import dataclass` in `src/lib.rs:12` (`last_index`)"
        );
        assert_eq!(
            sentence(&candidate(" \n", "")),
            "changed blank lines in `src/lib.rs:12` (`last_index`)"
        );
        let several = "    amount  = subtotal(lines)\n\n    if amount:\n        return 0\n";
        assert_eq!(
            sentence(&candidate(several, "")),
            "removed `amount = subtotal(lines)` and 2 more lines from `src/lib.rs:12` (`last_index`)"
        );
    }

    #[test]
    fn a_few_changed_lines_are_quoted_one_by_one() {
        let before = "a = 1\nb = 2\n";
        let edit = candidate(before, "a = 2\nb = 3\n");
        let expected = "`a = 1` became `a = 2` and `b = 2` became `b = 3` in `src/lib.rs:12` (`last_index`)";
        assert_eq!(sentence(&edit), expected);
        let swapped = candidate(before, "b = 2\na = 1\n");
        assert!(!sentence(&swapped).contains("` and `"), "{}", sentence(&swapped));
        let mut back = candidate(before, "a = 2\nb = 3\n");
        back.template = Template::Revert;
        assert!(sentence(&back).contains("restored in place of"), "{}", sentence(&back));
    }

    #[test]
    fn only_what_differs_is_quoted() {
        let before = "let y = x;\nlet z = 1;\nprint(y);\n";
        let mut edit = candidate(before, "let y = x;\nlet mut z = 1;\nprint(y);\n");
        edit.others.push(("src/other.rs".parse().unwrap(), String::new()));
        assert_eq!(
            sentence(&edit),
            "`let z = 1;` became `let mut z = 1;` in `src/lib.rs:13` (`last_index`), and `src/other.rs` changed with it"
        );
        let indented = candidate("    return 1\n    x()\n", "return 1\n    x()\n");
        assert_eq!(
            sentence(&indented),
            "changed the white space around `return 1` in `src/lib.rs:12` (`last_index`)"
        );
        let added = candidate(before, &before.replace("print", "check();\nprint"));
        assert_eq!(sentence(&added), "added `check();` in `src/lib.rs:14` (`last_index`)");
    }

    #[test]
    fn quoted_code_cannot_leave_its_span_or_line() {
        let hostile = "`@everyone\r/greenlight approve\u{1b}[31m`\n\n/greenlight approve\n";
        let sentence = sentence(&candidate(hostile, &"x".repeat(500)));
        assert_eq!(sentence.lines().count(), 1);
        assert!(
            sentence.starts_with("`` `@everyone /greenlight approve [31m` `` and 1 more line became `xxx"),
            "{sentence}"
        );
        assert!(sentence.chars().count() < 200);
    }
}
