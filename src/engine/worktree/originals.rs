//! The files of a pull request as they were before it, computed by reverting GitHub's hunks in the head's text.
//!
//! The pull request's author controls the hunks, so they are used only if every line of them matches the file.

use std::collections::BTreeMap;

use crate::checkout::Checkout;
use crate::domain::id::RepoPath;
use crate::domain::patch::Blob;
use crate::github::ChangedFile;

/// How many files are reverted, and the maximum size of one, in bytes.
const MAX_FILES: usize = 300;
const MAX_FILE: usize = 1 << 20;

/// The earlier text of each changed file that existed before. Files whose text cannot be computed are left out.
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
        let before = reverted(text, patch)?;
        Some((path, before))
    };
    changed.take(MAX_FILES).filter_map(original).collect()
}

/// The text with these hunks reverted. `None` if they do not match it.
fn reverted(now: &str, hunks: &str) -> Option<String> {
    let mut before = String::with_capacity(now.len());
    let mut lines = now.split_inclusive('\n');
    // The number of lines of the text that are done.
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
            // "No newline at end of file" refers to the line above.
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

/// How many lines of the text come before a hunk, by its header: `@@ -1,2 +3,4 @@`.
fn start(header: &str) -> Option<usize> {
    let (_, new) = header.split_once('+')?;
    let numbers = new.split(' ').next()?;
    let (start, count) = numbers.split_once(',').unwrap_or((numbers, "1"));
    let (start, count): (usize, usize) = (start.parse().ok()?, count.parse().ok()?);
    // The header of a hunk without lines names the line before it.
    if count == 0 { Some(start) } else { start.checked_sub(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str) {
        let hunks = crate::domain::anchor::hunks(before, after);
        assert_eq!(reverted(after, &hunks).as_deref(), Some(before), "{hunks}");
    }

    #[test]
    fn hunks_are_reverted() {
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
    fn hunks_that_do_not_match_are_rejected() {
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
            assert_eq!(reverted("a\nb\n", hunks), None, "{hunks}");
        }
    }
}
