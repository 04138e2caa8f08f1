//! Parses the diff of a pull request in the form of GitHub's API: the hunks of one file, without file headers.
//!
//! Only the right side is kept, because suggestions are only possible there.
//! <https://docs.github.com/en/rest/pulls/pulls#list-pull-requests-files>

use std::ops::RangeInclusive;

/// A run of lines of the head that the diff shows, added or as context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisibleLines {
    /// The number of the first line, from 1; 0 if the hunk shows no line of the head.
    pub new_start: u32,
    /// The lines, without their line feeds.
    pub right: Vec<String>,
    /// The numbers of the lines that the pull request adds.
    pub added: Vec<RangeInclusive<u32>>,
}

/// The numbers of the lines that a pull request adds to a file; empty if the text does not consist of complete hunks.
pub fn added_lines(patch: &str) -> Vec<RangeInclusive<u32>> {
    let hunks = parse_hunks(patch).unwrap_or_default();
    hunks.into_iter().flat_map(|hunk| hunk.added).collect()
}

/// Why a text is not the hunks of a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiffError {
    /// The number of the line, from 1.
    #[error("line {0} is not part of a diff")]
    Unexpected(usize),
    /// The line of the hunk's header.
    #[error("the hunk at line {0} does not have as many lines as its header says")]
    Count(usize),
    /// The line of the hunk's header.
    #[error("the hunk at line {0} overlaps the one before")]
    Order(usize),
}

/// Parses the `patch` field of one file.
///
/// # Errors
/// When the text is anything but complete hunks in order, for example if it was cut off.
pub fn parse_hunks(patch: &str) -> Result<Vec<VisibleLines>, DiffError> {
    let mut hunks: Vec<VisibleLines> = Vec::new();
    let mut lines = (1..)
        .zip(patch.strip_suffix('\n').unwrap_or(patch).split('\n'))
        .peekable();
    // An empty patch field is a diff without hunks, such as that of a rename.
    while let Some((number, header)) = lines.next_if(|(_, line)| !patch.is_empty() && line.starts_with("@@")) {
        let (old, new) = parse_header(header).ok_or(DiffError::Unexpected(number))?;
        let (mut left, mut right, mut added) = (0_u64, Vec::new(), Vec::new());
        while let Some((number, line)) = lines.next_if(|(_, line)| !line.starts_with("@@")) {
            match line.as_bytes().first() {
                Some(b' ') => {
                    left += 1;
                    right.push(line[1..].to_string());
                }
                Some(b'+') => {
                    let line_number = u32::try_from(right.len())
                        .ok()
                        .and_then(|shown| new.start.checked_add(shown));
                    add(&mut added, line_number.ok_or(DiffError::Count(number))?);
                    right.push(line[1..].to_string());
                }
                Some(b'-') => left += 1,
                Some(b'\\') => {}
                _ => return Err(DiffError::Unexpected(number)),
            }
        }
        if left != u64::from(old.count) || right.len() as u64 != u64::from(new.count) {
            return Err(DiffError::Count(number));
        }
        let before = hunks.last().map_or(0, end);
        if !right.is_empty() && u64::from(new.start) <= before {
            return Err(DiffError::Order(number));
        }
        hunks.push(VisibleLines {
            new_start: new.start,
            right,
            added,
        });
    }
    match lines.next() {
        Some((number, _)) if !patch.is_empty() => Err(DiffError::Unexpected(number)),
        _ => Ok(hunks),
    }
}

/// Extends the last run of lines, or begins a new one.
fn add(runs: &mut Vec<RangeInclusive<u32>>, line: u32) {
    match runs.last_mut() {
        Some(run) if run.end().checked_add(1) == Some(line) => *run = *run.start()..=line,
        _ => runs.push(line..=line),
    }
}

/// The number of the last line that a hunk shows.
fn end(hunk: &VisibleLines) -> u64 {
    let shown = u64::from(hunk.new_start) + hunk.right.len() as u64;
    // A hunk without lines on the right names the line after which lines were removed.
    if hunk.right.is_empty() { shown } else { shown - 1 }
}

#[derive(Debug, Clone, Copy)]
struct Side {
    start: u32,
    count: u32,
}

/// `@@ -1,2 +3,4 @@` and any text after it.
fn parse_header(line: &str) -> Option<(Side, Side)> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    Some((parse_side(old)?, parse_side(new)?))
}

fn parse_side(text: &str) -> Option<Side> {
    let (start, count) = text.split_once(',').unwrap_or((text, "1"));
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?;
    Some(Side {
        start: number(start)?,
        count: number(count)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(patch: &str, expected: &[(u32, &[&str])]) {
        let hunks = parse_hunks(patch).unwrap();
        let found: Vec<_> = hunks
            .iter()
            .map(|hunk| {
                (
                    hunk.new_start,
                    hunk.right.iter().map(String::as_str).collect::<Vec<_>>(),
                )
            })
            .collect();
        let expected: Vec<_> = expected.iter().map(|(start, lines)| (*start, lines.to_vec())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_right_side_of_each_hunk_is_kept() {
        check(
            "@@ -1,3 +1,3 @@ fn main() {\n a\n-b\n+B\n c\n@@ -9,0 +10,2 @@\n+x\n+@@ y",
            &[(1, &["a", "B", "c"]), (10, &["x", "@@ y"])],
        );
        check("@@ -0,0 +1 @@\n+only\n\\ No newline at end of file", &[(1, &["only"])]);
        check("@@ -1,2 +0,0 @@\n-a\n-b", &[(0, &[])]);
        check("@@ -1 +1 @@\n-a\r\n+\u{c}b\u{2028}\r", &[(1, &["\u{c}b\u{2028}\r"])]);
        check("@@ -1,2 +1,1 @@\n-@@ -1 +1 @@\n \n", &[(1, &[""])]);
        check("", &[]);
    }

    #[test]
    fn added_lines_come_in_runs() {
        let patch = "@@ -1,3 +1,4 @@\n a\n-b\n+B\n+C\n c\n@@ -9,2 +10,3 @@\n+x\n y\n z\n@@ -20 +22,0 @@\n-w";
        assert_eq!(added_lines(patch), [2..=3, 10..=10]);
        assert_eq!(added_lines("@@ -1 +1 @@\n+cut off"), []);
        assert_eq!(added_lines("Binary files differ"), []);
    }

    #[test]
    fn incomplete_hunks_are_refused() {
        for bad in [
            "a",
            " a",
            "diff --git a/a b/a\n@@ -1 +1 @@\n-a\n+b",
            "@@ -1 +1 @\n-a\n+b",
            "@@@ -1 -1 +1 @@@\n- a\n+ b",
            "@@ -1,2 +1,2 @@\n a\n-b",
            "@@ -1 +1 @@\n-a\n+b\n+c",
            "@@ -1 +1 @@\n-a\n+b\n\n",
            "@@ -x +1 @@\n-a\n+b",
            "@@ -1 +-1 @@\n-a\n+b",
            "@@ -1 +99999999999 @@\n-a\n+b",
            "@@ -1,0 +4294967295,4294967295 @@\n+a",
            "@@ -0,0 +0,1 @@\n+a",
            "@@ -5 +5 @@\n-a\n+b\n@@ -5 +5 @@\n-a\n+b",
            "\n",
        ] {
            assert!(parse_hunks(bad).is_err(), "{bad:?}");
        }
    }
}
