//! Writes a patch as the diff that `git apply` takes, with every byte: text as hunks, everything else as a binary patch.
//!
//! Lines end at line feeds and nowhere else, and a missing line feed at the end of a file is said, which is what the
//! printers of the diff crates get wrong for some files.

use std::io::Write as _;
use std::ops::Range;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use sha1::{Digest as _, Sha1};
use similar::{Algorithm, DiffTag, capture_diff_slices, group_diff_ops};

use super::id::RepoPath;
use super::patch::{Blob, FileChange, FileMode, Patch};

/// Unchanged lines around a change, as git has them.
const CONTEXT: usize = 3;

/// The digits of git's base 85, those of RFC 1924.
const DIGITS: &[u8; 85] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// How many bytes stand in one line of a binary patch.
const BINARY_LINE: usize = 52;

impl Patch {
    /// A unified diff that `git apply` takes, binary files included.
    pub fn unified(&self) -> String {
        self.files().map(|(path, change)| file(path, change)).collect()
    }
}

fn file(path: &RepoPath, change: &FileChange) -> String {
    let is_link = |blob: &Blob| blob.mode == FileMode::Symlink;
    if let (Some(before), Some(after)) = (&change.before, &change.after)
        && is_link(before) != is_link(after)
    {
        // What becomes another kind of thing goes and comes anew.
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

/// The names of both sides' contents, without which git takes neither a binary patch nor an empty file.
fn index(change: &FileChange) -> String {
    let name = |side: &Option<Blob>| {
        side.as_ref()
            .map_or_else(|| "0".repeat(40), |blob| object_name(&blob.bytes))
    };
    format!("index {}..{}\n", name(&change.before), name(&change.after))
}

/// The name of a blob in a repository of the usual kind.
/// <https://git-scm.com/book/en/v2/Git-Internals-Git-Objects#_object_storage>
fn object_name(bytes: &[u8]) -> String {
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", bytes.len()));
    hash.update(bytes);
    hex::encode(hash.finalize())
}

/// The hunks that lead from one text to the other, without file headers.
pub(super) fn hunks(before: &str, after: &str) -> String {
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

/// A range in a hunk's header; one without lines names the line before it.
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

/// The new content as git's binary patch: deflated, in base 85, each line behind a letter that says its length.
/// <https://git-scm.com/docs/diff-format#_generating_patch_text_with_p>; the reverse, which git can do without, is left out.
fn binary(after: &[u8]) -> String {
    let mut deflated = ZlibEncoder::new(Vec::new(), Compression::best());
    let deflated = deflated.write_all(after).and_then(|()| deflated.finish());
    // Writing to memory does not fail.
    let deflated = deflated.unwrap_or_default();
    let mut text = format!("GIT binary patch\nliteral {}\n", after.len());
    for line in deflated.chunks(BINARY_LINE) {
        // At most 52 of them, so that neither sum leaves the alphabet.
        let length = u8::try_from(line.len()).unwrap_or(u8::MAX);
        text.push(char::from(if length <= 26 {
            b'A' + length - 1
        } else {
            b'a' + length - 27
        }));
        line.chunks(4).for_each(|four| base85(&mut text, four));
        text.push('\n');
    }
    text + "\n"
}

/// Up to four bytes as five digits, the greatest first.
fn base85(text: &mut String, bytes: &[u8]) {
    let mut four = [0; 4];
    four[..bytes.len()].copy_from_slice(bytes);
    let number = u32::from_be_bytes(four);
    for power in (0..5).rev() {
        let digit = number / 85_u32.pow(power) % 85;
        text.push(char::from(DIGITS[digit as usize]));
    }
}

/// Quotes a path the way git does when it has characters that would end a header line early.
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

    #[test]
    fn objects_are_named_as_git_names_them() {
        assert_eq!(object_name(b""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(object_name(b"hello\n"), "ce013625030ba8dba906f756967f9e9ca394464a");
    }
}
