//! Writes a patch as a diff for `git apply` that preserves every byte: text as hunks, everything else as a binary
//! patch.
//!
//! Only line feeds end lines, and a missing line feed at the end of a file is marked. The diff crates print some
//! files wrongly in this respect.

use std::io::Write as _;
use std::ops::Range;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use similar::{Algorithm, DiffTag, capture_diff_slices, group_diff_ops};

use crate::base85;
use crate::object::object_name;
use crate::patch::{Blob, FileChange, FileMode, Patch};
use crate::path::RepoPath;

/// How many unchanged lines surround a change, as in git.
const CONTEXT: usize = 3;

impl Patch {
    /// A unified diff for `git apply`, including binary files.
    pub fn unified(&self) -> String {
        self.files().map(|(path, change)| file(path, change)).collect()
    }
}

fn file(path: &RepoPath, change: &FileChange) -> String {
    let is_link = |blob: &Blob| blob.mode == FileMode::Symlink;
    if let (Some(before), Some(after)) = (&change.before, &change.after)
        && is_link(before) != is_link(after)
    {
        // If an entry changes its type, the diff deletes it and creates it anew.
        let (before, after) = (change.before.clone(), change.after.clone());
        return file(path, &FileChange { before, after: None }) + &file(path, &FileChange { before: None, after });
    }
    let (old, new) = (quote("a/", path), quote("b/", path));
    let mut text = format!("diff --git {old} {new}\n");
    match (&change.before, &change.after) {
        (None, Some(after)) => text += &format!("new file mode {}\n", after.mode.octal()),
        (Some(before), None) => text += &format!("deleted file mode {}\n", before.mode.octal()),
        (Some(before), Some(after)) if before.mode != after.mode => {
            text += &format!("old mode {}\nnew mode {}\n", before.mode.octal(), after.mode.octal());
        }
        _ => {}
    }
    let [before, after] = [&change.before, &change.after].map(|side| side.as_ref().map_or(&[][..], |blob| &blob.bytes));
    if before == after && change.before.is_some() && change.after.is_some() {
        return text;
    }
    let texts = [&change.before, &change.after].map(|side| side.as_ref().map_or(Some(""), Blob::text));
    match texts {
        [Some(""), Some("")] => text + &index(change),
        [Some(before), Some(after)] => {
            let old = change.before.as_ref().map_or("/dev/null", |_| &old);
            let new = change.after.as_ref().map_or("/dev/null", |_| &new);
            text + &format!("--- {old}\n+++ {new}\n{}", hunks(before, after))
        }
        _ => text + &index(change) + &binary(after),
    }
}

/// The object names of both sides. Without them, git accepts neither a binary patch nor an empty file.
fn index(change: &FileChange) -> String {
    let name = |side: &Option<Blob>| {
        side.as_ref()
            .map_or_else(|| "0".repeat(40), |blob| object_name(&blob.bytes))
    };
    format!("index {}..{}\n", name(&change.before), name(&change.after))
}

/// The hunks that turn one text into the other, without file headers.
pub fn hunks(before: &str, after: &str) -> String {
    let [old, new] = [before, after].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let ops = capture_diff_slices(Algorithm::Myers, &old, &new);
    let mut text = String::new();
    for group in group_diff_ops(ops, CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let old_range = first.old_range().start..last.old_range().end;
        let new_range = first.new_range().start..last.new_range().end;
        text += &format!("@@ -{} +{} @@\n", side(&old_range), side(&new_range));
        for op in &group {
            if op.tag() == DiffTag::Equal {
                lines(&mut text, ' ', &old[op.old_range()]);
            } else {
                lines(&mut text, '-', &old[op.old_range()]);
                lines(&mut text, '+', &new[op.new_range()]);
            }
        }
    }
    text
}

/// A range in a hunk's header. An empty range names the line before it.
fn side(range: &Range<usize>) -> String {
    format!("{},{}", range.start + usize::from(!range.is_empty()), range.len())
}

fn lines(text: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        text.push(sign);
        text.push_str(line);
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// The new content as git's binary patch: deflated, in base 85, each line after a letter for its length.
/// <https://git-scm.com/docs/diff-format#_generating_patch_text_with_p>; the reverse half, which is optional, is left
/// out.
fn binary(after: &[u8]) -> String {
    let mut deflated = ZlibEncoder::new(Vec::new(), Compression::best());
    let deflated = deflated.write_all(after).and_then(|()| deflated.finish());
    // Writing to memory does not fail.
    let deflated = deflated.unwrap_or_default();
    let mut text = format!("GIT binary patch\nliteral {}\n", after.len());
    for line in deflated.chunks(base85::LINE) {
        base85::encode(&mut text, line);
        text.push('\n');
    }
    text + "\n"
}

/// Quotes a path like git if it has characters that would end a header line early.
/// <https://git-scm.com/docs/git-diff#_generating_patch_text_with_p>
fn quote(prefix: &str, path: &RepoPath) -> String {
    let path = path.as_str();
    if !path.contains(|c: char| c == '"' || c == '\\' || c.is_control()) {
        return format!("{prefix}{path}");
    }
    let escaped: String = path
        .bytes()
        .map(|b| match b {
            b'"' => "\\\"".to_string(),
            b'\\' => "\\\\".to_string(),
            b'\t' => "\\t".to_string(),
            0x20..=0x7e => char::from(b).to_string(),
            other => format!("\\{other:03o}"),
        })
        .collect();
    format!("\"{prefix}{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_without_lines_names_the_line_before() {
        assert_eq!(hunks("", "a\n"), "@@ -0,0 +1,1 @@\n+a\n");
        assert_eq!(hunks("a", ""), "@@ -1,1 +0,0 @@\n-a\n\\ No newline at end of file\n");
    }

    #[test]
    fn lines_end_at_line_feeds_only() {
        let expected = "@@ -1,3 +1,3 @@\n a\rb\r\n-c\u{2028}d\n+c\n x\n\\ No newline at end of file\n";
        assert_eq!(hunks("a\rb\r\nc\u{2028}d\nx", "a\rb\r\nc\nx"), expected);
    }
}
