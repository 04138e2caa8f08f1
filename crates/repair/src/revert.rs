//! Reverts single hunks of the pull request's own diff: one of them often broke the tests.

use std::ops::Range;

use greenlight_anchor::RepoPath;
use greenlight_readers::test_path::is_test_path;
use similar::{Algorithm, ChangeTag, TextDiff};

use super::candidates::Candidate;
use crate::task::Task;
use crate::template::Template;

/// Maximum number of hunks that are tried, over all files.
const MAX_HUNKS: usize = 100;
/// A larger hunk is a deliberate change, not a slip.
const MAX_HUNK_BYTES: usize = 16 << 10;
/// A larger file is left alone; its diff would take too long.
const MAX_FILE_BYTES: usize = 1 << 20;
/// Higher than the score of any small edit.
const SCORE: f32 = 1.25;

/// A range of the current file, and the text before the pull request.
#[derive(Debug, PartialEq, Eq)]
struct RevertedRange {
    range: Range<usize>,
    original: String,
    line: u32,
}

/// A candidate for each hunk, except in tests and protected files.
pub(super) fn candidates(task: &Task<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    for (path, original) in task.originals {
        if is_test_path(path.as_str()) || (task.protected)(path) {
            continue;
        }
        let Some(now) = task.checkout.read_text(path.as_str()) else {
            continue;
        };
        found.extend(
            hunks(&now, original)
                .into_iter()
                .filter_map(|hunk| candidate(path, &now, hunk)),
        );
        if found.len() >= MAX_HUNKS {
            break;
        }
    }
    found.truncate(MAX_HUNKS);
    let is_excluded = |candidate: &Candidate| task.excluded.contains(&candidate.patch(task.checkout).digest());
    found.retain(|candidate| !is_excluded(candidate));
    found
}

fn candidate(path: &RepoPath, now: &str, hunk: RevertedRange) -> Option<Candidate> {
    let before = now.get(hunk.range.clone())?;
    let text = [now.get(..hunk.range.start)?, &hunk.original, now.get(hunk.range.end..)?].concat();
    Some(Candidate {
        path: path.clone(),
        text,
        line: hunk.line,
        within: String::new(),
        before: before.into(),
        after: hunk.original.clone(),
        others: Vec::new(),
        range: hunk.range,
        replacement: hunk.original,
        template: Template::Revert,
        weight: 1.0,
        score: SCORE,
    })
}

/// Groups of lines that changed together.
fn hunks(now: &str, original: &str) -> Vec<RevertedRange> {
    if now.len().max(original.len()) > MAX_FILE_BYTES {
        return Vec::new();
    }
    let diff = TextDiff::configure()
        .algorithm(Algorithm::Patience)
        .diff_lines(now, original);
    let mut hunks = Vec::new();
    let (mut at, mut line) = (0, 1);
    let mut open: Option<RevertedRange> = None;
    for change in diff.iter_all_changes() {
        let text = change.value();
        match change.tag() {
            ChangeTag::Equal => hunks.extend(open.take()),
            ChangeTag::Delete | ChangeTag::Insert => {
                let hunk = open.get_or_insert_with(|| RevertedRange {
                    range: at..at,
                    original: String::new(),
                    line,
                });
                match change.tag() {
                    ChangeTag::Insert => hunk.original.push_str(text),
                    _ => hunk.range.end = at + text.len(),
                }
            }
        }
        if change.tag() != ChangeTag::Insert {
            at += text.len();
            line += 1;
        }
    }
    hunks.extend(open);
    hunks.retain(|hunk| hunk.range.len().max(hunk.original.len()) <= MAX_HUNK_BYTES);
    hunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_group_of_lines_is_put_back_by_itself() {
        let original = "a\nb\nc\nd\ne\n";
        let now = "a\nB\nc\ne\nf\n";
        let applied: Vec<String> = hunks(now, original)
            .into_iter()
            .map(|hunk| [&now[..hunk.range.start], &hunk.original, &now[hunk.range.end..]].concat())
            .collect();
        assert_eq!(applied, ["a\nb\nc\ne\nf\n", "a\nB\nc\nd\ne\nf\n", "a\nB\nc\ne\n"]);
    }

    #[test]
    fn lines_are_counted_from_one_as_they_are_now() {
        let lines: Vec<u32> = hunks("x\na\n", "a\nb\n").iter().map(|hunk| hunk.line).collect();
        assert_eq!(lines, [1, 3]);
        assert_eq!(hunks("ä\n", "ä\n"), []);
        assert_eq!(hunks("", "a").len(), 1);
    }
}
