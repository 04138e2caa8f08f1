//! The files of a pull request as they were before it: GitHub's own hunks, taken back from the head's text.
//!
//! The hunks are the pull request's to write, and are believed only where every line of them is in the file.

use std::collections::BTreeMap;

use crate::checkout::Checkout;
use crate::domain::id::RepoPath;
use crate::domain::patch::Blob;
use crate::github::ChangedFile;

/// How many files are taken back, and how long one of them is at most, in bytes.
const MAX_FILES: usize = 300;
const MAX_FILE: usize = 1 << 20;

/// Of each changed file that was there before, its text then; what cannot be told is left out.
pub(super) fn originals(files: &[ChangedFile], head: &Checkout) -> BTreeMap<RepoPath, String> {
    let changed = files
        .iter()
        .filter(|file| file.status != "added" && file.status != "removed");
    let original = |file: &ChangedFile| {
        let (path, patch) = (file.path()?, file.patch.as_deref()?);
        let now = head.read_original(&path);
        let text = now
            .as_ref()
            .and_then(Blob::text)
            .filter(|text| text.len() <= MAX_FILE)?;
        let before = taken_back(text, patch)?;
        Some((path, before))
    };
    changed.take(MAX_FILES).filter_map(original).collect()
}

/// A text without what these hunks added and with what they removed. `None` if they are not of this text.
fn taken_back(now: &str, hunks: &str) -> Option<String> {
    let mut before = String::with_capacity(now.len());
    let mut lines = now.split_inclusive('\n');
    // Of the text, this many lines are done.
    let mut done = 0_usize;
    let mut is_inside = false;
    let mut last = ' ';
    for line in hunks.strip_suffix('\n').unwrap_or(hunks).split('\n') {
        if line.starts_with("@@") {
            let start = start(line)?;
            for _ in 0..start.checked_sub(done)? {
                before += lines.next()?;
                done += 1;
            }
            is_inside = true;
            continue;
        }
        let sign = line.chars().next().filter(|_| is_inside)?;
        let text = line.get(1..)?;
        match sign {
            ' ' | '+' => {
                let here = lines.next()?;
                done += 1;
                if here.strip_suffix('\n').unwrap_or(here) != text {
                    return None;
                }
                if sign == ' ' {
                    before += here;
                }
            }
            '-' => {
                before += text;
                before.push('\n');
            }
            // "No newline at end of file", of the line above.
            '\\' if last == '-' => {
                before.pop();
            }
            '\\' => {}
            _ => return None,
        }
        last = sign;
    }
    before.extend(lines);
    Some(before)
}

/// How many lines of the text stand before a hunk, by its header: `@@ -1,2 +3,4 @@`.
fn start(header: &str) -> Option<usize> {
    let (_, new) = header.split_once('+')?;
    let numbers = new.split(' ').next()?;
    let (start, count) = numbers.split_once(',').unwrap_or((numbers, "1"));
    let (start, count): (usize, usize) = (start.parse().ok()?, count.parse().ok()?);
    // A hunk without lines names the line that it comes after.
    if count == 0 { Some(start) } else { start.checked_sub(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str) {
        let hunks = crate::domain::anchor::hunks(before, after);
        assert_eq!(taken_back(after, &hunks).as_deref(), Some(before), "{hunks}");
    }

    #[test]
    fn hunks_are_taken_back() {
        let lines: String = (0..40).map(|line| format!("{line}\n")).collect();
        check(&lines, &lines.replace("7\n", "seven\n"));
        check(&lines, &lines.replace("\n5\n", "\n"));
        check(&lines, &format!("new\n{lines}last"));
        check("a\nb", "a\nb\n");
        check("a\nb\n", "a\nb");
        check("a\nb", "a\nc");
        check("", "a\n");
        check("a\n", "");
    }

    #[test]
    fn what_is_not_of_this_text_is_not_believed() {
        for hunks in [
            "@@ -1 +1 @@\n-a\n+other",
            "@@ -1,2 +99,2 @@\n a\n-b",
            "@@ -1 +1 @@\nnonsense",
            "+a",
            "@@ nonsense @@",
            "@@ -1 +99999999999999999999999 @@\n a",
            "@@ -1 +1 @@\n a\n@@ -1 +1 @@\n a",
            "",
        ] {
            assert_eq!(taken_back("a\nb\n", hunks), None, "{hunks}");
        }
    }
}
