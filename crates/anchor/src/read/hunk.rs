//! Parses the hunks of one file in a unified diff; `apply` applies them.

use super::reader::{LineReader, wrong};
use crate::error::ReadError as Error;

#[derive(Debug)]
pub(super) struct Hunk<'a> {
    /// The line of the diff with its `@@`.
    pub(super) line: usize,
    /// The first line in the old file, from 1; for a hunk without old lines, the line before it.
    pub(super) start: usize,
    pub(super) old_lines: usize,
    pub(super) lines: Vec<HunkLine<'a>>,
}

/// One line of a hunk with its line end, unless it is the last line of a file without one.
#[derive(Debug)]
pub(super) struct HunkLine<'a> {
    pub(super) kind: LineKind,
    pub(super) bytes: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    Context,
    Removed,
    Added,
}

/// Parses all hunks after the two names of a file. Errors name the file as `path`.
///
/// # Errors
/// When a hunk does not have the lines that its header announces.
pub(super) fn hunks<'a>(reader: &mut LineReader<'a>, path: &str) -> Result<Vec<Hunk<'a>>, Error> {
    let mut hunks = Vec::new();
    while let Some(header) = reader.peek().filter(|line| line.starts_with(b"@@ -")) {
        let line = reader.number();
        let counts = counts(header).ok_or_else(|| wrong(path, line, "the numbers of this hunk cannot be read"))?;
        reader.skip();
        let ([start, old_lines], [_, new_lines]) = counts;
        let mut hunk = Hunk {
            line,
            start,
            old_lines,
            lines: Vec::new(),
        };
        let (mut old, mut new) = (old_lines, new_lines);
        while old > 0 || new > 0 || reader.peek().is_some_and(|line| line.starts_with(b"\\")) {
            let short = || wrong(path, reader.number(), "the hunk has fewer lines than its header says");
            let next = reader.peek().ok_or_else(short)?;
            let (kind, bytes) = match next.first() {
                Some(b' ') => (LineKind::Context, &next[1..]),
                Some(b'-') => (LineKind::Removed, &next[1..]),
                Some(b'+') => (LineKind::Added, &next[1..]),
                // Some mailers and editors strip trailing white space; git also treats this as an empty line.
                Some(b'\n') => (LineKind::Context, next),
                Some(b'\\') => {
                    let last = hunk.lines.last_mut().ok_or_else(short)?;
                    last.bytes = last.bytes.strip_suffix(b"\n").unwrap_or(last.bytes);
                    reader.skip();
                    continue;
                }
                _ => return Err(short()),
            };
            let (in_old, in_new) = (kind != LineKind::Added, kind != LineKind::Removed);
            if (in_old && old == 0) || (in_new && new == 0) {
                return Err(wrong(
                    path,
                    reader.number(),
                    "the hunk has more lines than its header says",
                ));
            }
            old -= usize::from(in_old);
            new -= usize::from(in_new);
            hunk.lines.push(HunkLine { kind, bytes });
            reader.skip();
        }
        hunks.push(hunk);
    }
    Ok(hunks)
}

/// `@@ -start,lines +start,lines @@`, where a count of one may be omitted.
fn counts(header: &[u8]) -> Option<([usize; 2], [usize; 2])> {
    let text = std::str::from_utf8(header.strip_prefix(b"@@ -")?.split(|byte| *byte == b'@').next()?).ok()?;
    let (old, new) = text.trim_end().split_once(" +")?;
    let pair = |text: &str| {
        let (start, lines) = text.split_once(',').unwrap_or((text, "1"));
        Some([start.parse().ok()?, lines.parse().ok()?])
    };
    Some((pair(old)?, pair(new)?))
}
