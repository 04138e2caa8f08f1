//! `apply_patch`: changes to several files at once, either all of them or none.
//!
//! [`read`] parses patches. The lines of a hunk decide where it goes. Models miscount line numbers, so these only
//! choose between several matching places.

mod read;

use schemars::JsonSchema;
use serde::Deserialize;

use self::read::{Change, LineChange};
use super::edit::{all_edits, broken, not_found};
use super::look::{PAGE, numbered};
use crate::agent::Shell;
use crate::agent::shell::NotWritten;
use crate::domain::id::RepoPath;

/// How many lines are shown before and after a change.
const AROUND: usize = 2;
/// How many places are named if the lines of a hunk occur several times.
const MAX_PLACES: usize = 10;

/// Arguments of `apply_patch`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::agent) struct ApplyPatch {
    /// A unified diff, or `*** Begin Patch` with `*** Update File: path` and `*** Add File: path`.
    patch: String,
}

/// A file after the patch.
struct Patched {
    path: RepoPath,
    before: String,
    after: String,
    /// The first and last line, from 1, that the patch touched.
    touched: (usize, usize),
}

/// Makes every change of the patch, or none.
pub(super) fn apply_patch(wanted: &ApplyPatch, shell: &mut Shell<'_>, granted: bool) -> Result<String, NotWritten> {
    let changes = read::changes(&wanted.patch).map_err(refused)?;
    let patched = changes.iter().map(|change| patched(change, shell));
    let patched: Vec<Patched> = patched.collect::<Result<_, _>>().map_err(refused)?;
    let untouched = shell.checkout.clone();
    for file in &patched {
        let written = shell.write(&file.path, file.after.clone(), granted);
        if let Err(not_written) = written {
            shell.checkout = untouched;
            return Err(match not_written {
                NotWritten::Beyond(_) if patched.len() > 1 => {
                    refused(format!("`{}` is protected; change it in a separate call.", file.path))
                }
                NotWritten::Never(sentence) => refused(sentence),
                beyond @ NotWritten::Beyond(_) => beyond,
            });
        }
    }
    let room = PAGE / 2 / patched.len().max(1);
    let mut told = String::new();
    for file in &patched {
        let (first, last) = file.touched;
        let excerpt = numbered(&file.after, first.saturating_sub(AROUND), last + AROUND, room);
        told += &format!("`{}` is changed. It now reads:\n{excerpt}\n", file.path);
        if let Some(note) = broken(&file.path, &file.before, &file.after) {
            told += &format!("{note}\n");
        }
    }
    Ok(told + &all_edits(shell))
}

fn refused(sentence: String) -> NotWritten {
    NotWritten::Never(format!("nothing was changed: {sentence}"))
}

fn patched(change: &Change, shell: &Shell<'_>) -> Result<Patched, String> {
    let path = super::repo_path(&change.path)?;
    let is_there = shell.checkout.contains(path.as_str());
    if change.is_new {
        if is_there {
            return Err(format!("`{path}` already exists; update it."));
        }
        let lines: Vec<&str> = change
            .hunks
            .iter()
            .flat_map(|hunk| &hunk.new)
            .map(String::as_str)
            .collect();
        return Ok(Patched {
            path,
            before: String::new(),
            touched: (1, lines.len().max(1)),
            after: lines.join("\n") + "\n",
        });
    }
    let Some(before) = shell.checkout.read_text(path.as_str()) else {
        return Err(format!("there is no text file `{path}`; see list_files."));
    };
    let (after, touched) = applied(&before, &change.hunks).map_err(|why| format!("in `{path}`, {why}"))?;
    Ok(Patched {
        path,
        before,
        after,
        touched,
    })
}

/// The text with all hunks applied, and the range of lines from the first to the last change.
fn applied(text: &str, hunks: &[LineChange]) -> Result<(String, (usize, usize)), String> {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let lines: Vec<&str> = text.lines().collect();
    let (mut out, mut from, mut touched) = (Vec::new(), 0, None);
    for hunk in hunks {
        let at =
            place(&lines, from, hunk).map_err(|why| why.unwrap_or_else(|| not_found(text, &hunk.old.join("\n"))))?;
        out.extend(lines[from..at].iter().map(|line| (*line).to_owned()));
        let first = out.len() + 1;
        out.extend(hunk.new.iter().cloned());
        touched = Some((touched.map_or(first, |(first, _)| first), out.len().max(first)));
        from = at + hunk.old.len();
    }
    out.extend(lines[from..].iter().map(|line| (*line).to_owned()));
    let mut after = out.join(end);
    if !after.is_empty() && (text.ends_with('\n') || text.is_empty()) {
        after += end;
    }
    Ok((after, touched.unwrap_or((1, 1))))
}

/// Where a hunk goes, as an index of lines; `Err(None)` if its lines are not in the file.
fn place(lines: &[&str], from: usize, hunk: &LineChange) -> Result<usize, Option<String>> {
    let from = match &hunk.below {
        None => from,
        Some(line) => {
            let below = (from..lines.len()).find(|&at| lines[at].trim() == line.trim());
            below.ok_or_else(|| {
                Some(format!(
                    "there is no line `{}`.",
                    line.chars().take(100).collect::<String>()
                ))
            })?
        }
    };
    if hunk.old.is_empty() {
        // The hunk only adds lines: they go after the line that the header names, or at the end.
        return Ok(hunk.near.map_or(lines.len(), |near| near.clamp(from, lines.len())));
    }
    let last = lines.len().checked_sub(hunk.old.len()).ok_or(None)?;
    let places = |same: &dyn Fn(&str, &str) -> bool| -> Vec<usize> {
        let fits = |at: &usize| lines[*at..].iter().zip(&hunk.old).all(|(line, old)| same(line, old));
        (from..=last).filter(fits).collect()
    };
    let mut found = places(&|line, old| line == old);
    if found.is_empty() {
        found = places(&|line, old| line.trim_end() == old.trim_end());
    }
    let near = hunk.near.map(|near| near.saturating_sub(1));
    match (found.as_slice(), near) {
        ([], _) => Err(None),
        ([at], _) => Ok(*at),
        (_, Some(near)) => Ok(found
            .iter()
            .copied()
            .min_by_key(|at| at.abs_diff(near))
            .unwrap_or(found[0])),
        _ => {
            let lines: Vec<_> = found.iter().take(MAX_PLACES).map(|at| (at + 1).to_string()).collect();
            Err(Some(format!(
                "the lines of a hunk occur several times, at lines {}; give more lines around it.",
                lines.join(", ")
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, patch: &str, expected: &str) {
        let got = read::changes(patch)
            .and_then(|changes| applied(text, &changes[0].hunks))
            .map_or_else(|sentence| sentence, |(text, _)| text);
        assert_eq!(got, expected);
    }

    const TEXT: &str = "def a():\n    return 1\n\ndef b():\n    return 1\n";

    #[test]
    fn a_unified_diff_goes_where_its_lines_are() {
        let diff = |hunk: &str| format!("--- a/x.py\n+++ b/x.py\n{hunk}");
        check(
            TEXT,
            &diff("@@ -90,2 +90,2 @@ miscounted\n def b():\n-    return 1\n+    return 2\n"),
            "def a():\n    return 1\n\ndef b():\n    return 2\n",
        );
        check(
            TEXT,
            &diff("@@ -5 +5 @@\n-    return 1\n+    return 2\n"),
            "def a():\n    return 1\n\ndef b():\n    return 2\n",
        );
        check(
            TEXT,
            &diff("@@ -1,0 +2 @@\n+    # one\n"),
            "def a():\n    # one\n    return 1\n\ndef b():\n    return 1\n",
        );
        check("a\r\nb\r\n", &diff("@@ -1,2 +1,2 @@\n a\n-b\n+c\n"), "a\r\nc\r\n");
        check(
            "a\nb",
            &diff("@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"),
            "a\nc",
        );
        check(
            TEXT,
            &diff("@@ -1 +1 @@\n-def c():\n+def d():\n"),
            "that text is not in the file. Closest is:\n2\t    return 1\n3\t\n4\tdef b():\n5\t    return 1\n",
        );
    }

    #[test]
    fn the_other_style_goes_where_its_lines_are() {
        let patch = |hunk: &str| format!("*** Begin Patch\n*** Update File: x.py\n{hunk}*** End Patch\n");
        let second = "def a():\n    return 1\n\ndef b():\n    return 2\n";
        check(TEXT, &patch("@@ def b():\n-    return 1\n+    return 2\n"), second);
        check(TEXT, &patch("@@\n def b():\n-    return 1\n+    return 2\n"), second);
        check(
            TEXT,
            &patch("@@\n-    return 1\n+    return 2\n"),
            "the lines of a hunk occur several times, at lines 2, 5; give more lines around it.",
        );
        check(
            TEXT,
            &patch("@@ def z():\n-    return 1\n"),
            "there is no line `def z():`.",
        );
    }
}
