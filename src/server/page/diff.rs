//! A diff as GitHub shows it: line numbers of both sides, and notes at the lines that a suggestion replaces.

use super::text::shown;
use crate::domain::run::SuggestedLines;

const MAX_DIFF: usize = 128 << 10;

/// A line of a diff with what it is.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct DiffLine {
    pub(super) class: &'static str,
    /// The line's number on each side. Empty where it is not.
    pub(super) old: String,
    pub(super) new: String,
    pub(super) text: String,
    /// The number of the suggestion that ends here, counted from 1, with its lines.
    pub(super) suggestion: Option<(usize, String)>,
}

/// The lines of a unified diff on the head, each suggestion after its lines.
pub(super) fn diff(unified: &str, suggested: &[SuggestedLines]) -> Vec<DiffLine> {
    let text = shown(unified, MAX_DIFF);
    let mut reader = DiffReader {
        lines: Vec::new(),
        hunk: None,
        file: String::new(),
        suggested: suggested.iter().enumerate().collect(),
    };
    for line in text.lines() {
        reader.take(line);
    }
    reader.end_hunk();
    reader.lines
}

/// The next line numbers, and how many lines of each side are left.
struct HunkPlace {
    old: (u32, u32),
    new: (u32, u32),
}

struct DiffReader<'a> {
    lines: Vec<DiffLine>,
    hunk: Option<HunkPlace>,
    file: String,
    /// Those that have no note yet.
    suggested: Vec<(usize, &'a SuggestedLines)>,
}

impl DiffReader<'_> {
    fn take(&mut self, line: &str) {
        let place = self.hunk.as_ref().map(|hunk| (hunk.old, hunk.new));
        let (class, is_old, is_new) = match (line.as_bytes().first(), place) {
            (Some(b'-'), Some(((_, 1..), _))) => ("removed", true, false),
            (Some(b'+'), Some((_, (_, 1..)))) => ("added", false, true),
            (Some(b' '), Some(((_, 1..), (_, 1..)))) => ("same", true, true),
            (Some(b'\\'), Some(_)) => ("same", false, false),
            _ => return self.header(line),
        };
        if is_old && let Some(((number, _), _)) = place {
            self.note_before(number);
        }
        let mut shown = DiffLine {
            class,
            text: line.into(),
            ..DiffLine::default()
        };
        if let Some(hunk) = &mut self.hunk {
            let step = |(number, left): &mut (u32, u32)| {
                let now = number.to_string();
                (*number, *left) = (number.saturating_add(1), left.saturating_sub(1));
                now
            };
            if is_old {
                shown.old = step(&mut hunk.old);
            }
            if is_new {
                shown.new = step(&mut hunk.new);
            }
        }
        self.lines.push(shown);
    }

    /// A line between hunks.
    fn header(&mut self, line: &str) {
        self.end_hunk();
        self.hunk = place(line);
        if let Some(path) = line.strip_prefix("--- a/") {
            self.file = path.into();
        }
        let class = match &self.hunk {
            Some(_) => "hunk",
            None => "file",
        };
        self.lines.push(DiffLine {
            class,
            text: line.into(),
            ..DiffLine::default()
        });
    }

    fn end_hunk(&mut self) {
        if let Some(HunkPlace { old: (next, _), .. }) = self.hunk.take() {
            self.note_before(next);
        }
    }

    /// Puts the notes of suggestions for lines before this one.
    fn note_before(&mut self, number: u32) {
        let file = &self.file;
        let (now, later) = std::mem::take(&mut self.suggested)
            .into_iter()
            .partition(|(_, lines)| lines.path.as_str() == file && lines.last < number);
        self.suggested = later;
        let now: Vec<(usize, &SuggestedLines)> = now;
        for (index, lines) in now {
            let lines = match lines.first == lines.last {
                true => format!("line {}", lines.last),
                false => format!("lines {} to {}", lines.first, lines.last),
            };
            if let Some(line) = self.lines.last_mut().filter(|line| line.suggestion.is_none()) {
                line.suggestion = Some((index + 1, lines));
            }
        }
    }
}

/// `@@ -1,2 +3,4 @@`.
fn place(line: &str) -> Option<HunkPlace> {
    let (old, new) = line.strip_prefix("@@ -")?.split_once(" @@")?.0.split_once(" +")?;
    let side = |text: &str| -> Option<(u32, u32)> {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    Some(HunkPlace {
        old: side(old)?,
        new: side(new)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::patch::{Blob, FileChange, Patch};

    fn patch(before: &str, after: &str) -> String {
        let change = FileChange {
            before: Some(Blob::regular(before)),
            after: Some(Blob::regular(after)),
        };
        Patch::new([("a.py".parse().unwrap(), change)]).unified()
    }

    fn at(first: u32, last: u32) -> SuggestedLines {
        SuggestedLines {
            path: "a.py".parse().unwrap(),
            first,
            last,
        }
    }

    #[test]
    fn a_suggestion_is_at_its_lines() {
        let unified = patch("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\nTWO\n2b\n3\n4\n5\n6\n7\n8\n9b\n");
        let lines = diff(&unified, &[at(2, 2), at(9, 9), at(40, 41)]);
        let shown: Vec<String> = lines
            .iter()
            .filter(|line| line.class != "same")
            .map(|line| {
                format!(
                    "{} {}|{}|{} {:?}",
                    line.class, line.old, line.new, line.text, line.suggestion
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                "file ||diff --git a/a.py b/a.py None",
                "file ||--- a/a.py None",
                "file ||+++ b/a.py None",
                "hunk ||@@ -1,9 +1,10 @@ None",
                "removed 2||-2 None",
                "added |2|+TWO None",
                "added |3|+2b Some((1, \"line 2\"))",
                "removed 9||-9 None",
                "added |10|+9b Some((2, \"line 9\"))",
            ]
        );
    }

    #[test]
    fn a_line_cannot_pose_as_a_header() {
        let unified = patch("-- a/b.py\n@@ -1 +1 @@\n", "++ b\ndiff --git\n");
        let lines = diff(&unified, &[]);
        let classes: Vec<&str> = lines.iter().map(|line| line.class).collect();
        assert_eq!(
            classes,
            ["file", "file", "file", "hunk", "removed", "removed", "added", "added"]
        );
        let endless = "@@ -1,4294967295 +1,4294967295 @@\n".to_string() + &"-x\n".repeat(200_000);
        assert!(diff(&endless, &[]).len() < 100_000);
    }
}
