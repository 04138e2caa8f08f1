//! Reads a unified diff as the tools print it: git's own with all its headers, and the plain ones of `diff -u`,
//! formatters and linters. What it means for a tree is not decided here.

use super::Error;
use super::binary::{self, Binary};
use super::quoted::{both, unquoted};

/// Git's name of a file without content.
const EMPTY_BLOB: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

/// What a diff may say about one file.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a line that the header has or has not"
)]
pub(super) struct Section {
    /// The line of the diff where it starts, from 1.
    pub(super) line: usize,
    /// As written, prefix included; none for `/dev/null`.
    pub(super) old: Option<Vec<u8>>,
    pub(super) new: Option<Vec<u8>>,
    /// The two names of the `diff --git` line, from which prefixes can be told.
    pub(super) pair: Option<(Vec<u8>, Vec<u8>)>,
    /// Whether the time after the new name is the epoch, with which `diff -N` says that there is no file.
    pub(super) ends_at_epoch: bool,
    /// The names of a rename or a copy, which git writes without prefixes.
    pub(super) from: Option<Vec<u8>>,
    pub(super) to: Option<Vec<u8>>,
    /// Whether `from` stays.
    pub(super) copy: bool,
    pub(super) created: bool,
    pub(super) deleted: bool,
    /// The mode before, if the diff names it.
    pub(super) old_mode: Option<u32>,
    pub(super) new_mode: Option<u32>,
    /// The object names of an `index` line, perhaps shortened.
    pub(super) index: Option<(String, String)>,
    pub(super) body: Body,
}

/// What happens to the content.
#[derive(Debug, Default)]
pub(super) enum Body {
    #[default]
    Same,
    Text(Vec<Hunk>),
    Binary(Binary),
}

#[derive(Debug)]
pub(super) struct Hunk {
    /// The line of the diff with its `@@`.
    pub(super) line: usize,
    /// The first line in the old file, from 1; for a hunk without old lines the one that it comes after.
    pub(super) start: usize,
    pub(super) old_lines: usize,
    pub(super) lines: Vec<Line>,
}

/// One line of a hunk with its line end, unless it is the last of a file and has none.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) kind: Kind,
    pub(super) bytes: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Context,
    Removed,
    Added,
}

/// The lines of a diff, with a place in them.
pub(super) struct Reader<'a> {
    lines: Vec<&'a [u8]>,
    at: usize,
}

impl<'a> Reader<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self {
            lines: text.split_inclusive(|byte| *byte == b'\n').collect(),
            at: 0,
        }
    }

    /// The number of the line that comes next, from 1.
    pub(super) fn number(&self) -> usize {
        self.at + 1
    }

    /// The line that comes next, with its line end.
    fn peek(&self) -> Option<&'a [u8]> {
        self.lines.get(self.at).copied()
    }

    /// Takes the next line, without its line end.
    pub(super) fn next(&mut self) -> Option<&'a [u8]> {
        let line = self.peek()?;
        self.at += 1;
        Some(trimmed(line))
    }

    /// The line that comes next, without its line end.
    pub(super) fn peek_trimmed(&self) -> Option<&'a [u8]> {
        self.peek().map(trimmed)
    }

    fn ahead(&self, by: usize) -> &'a [u8] {
        self.lines.get(self.at + by).copied().unwrap_or_default()
    }
}

/// Reads all sections of a diff; text between them, like the message of a mail, is skipped.
///
/// # Errors
/// When a section is cut off or cannot be understood, or when there is none in a text that is not empty.
pub(super) fn parse(text: &[u8]) -> Result<Vec<Section>, Error> {
    let mut reader = Reader::new(text);
    let mut sections = Vec::new();
    while let Some(line) = reader.peek() {
        if line.starts_with(b"diff --git ") {
            sections.push(git_section(&mut reader)?);
        } else if begins_plain(&reader) {
            let mut section = Section {
                line: reader.number(),
                ..Section::default()
            };
            names(&mut reader, &mut section)?;
            section.body = Body::Text(hunks(&mut reader, &section)?);
            sections.push(section);
        } else if line.starts_with(b"@@ -") {
            return Err(wrong(
                "the diff",
                reader.number(),
                "a hunk without a file name above it",
            ));
        } else if let Some(name) = line.strip_prefix(b"Binary files ") {
            let name = shown(trimmed(name));
            return Err(wrong(
                &name,
                reader.number(),
                "holds no content for a binary file; make it with `git diff --binary`",
            ));
        } else {
            reader.at += 1;
        }
    }
    if sections.is_empty() && !text.trim_ascii().is_empty() {
        let reason = if text.starts_with(b"Diff in ") {
            "this is rustfmt's own listing; format a copy and give the output of `git diff` or `diff -u`"
        } else {
            "there is no unified diff in it"
        };
        return Err(wrong("the diff", 1, reason));
    }
    Ok(sections)
}

fn begins_plain(reader: &Reader<'_>) -> bool {
    reader.ahead(0).starts_with(b"--- ") && reader.ahead(1).starts_with(b"+++ ") && reader.ahead(2).starts_with(b"@@ -")
}

fn git_section(reader: &mut Reader<'_>) -> Result<Section, Error> {
    let line = reader.number();
    let header = reader.next().unwrap_or_default();
    let header = header.strip_prefix(b"diff --git ").unwrap_or_default();
    let mut section = Section {
        line,
        pair: both(header),
        ..Section::default()
    };
    while let Some(next) = reader.peek() {
        let line = trimmed(next);
        let field = |name: &[u8]| line.strip_prefix(name).map(<[u8]>::to_vec);
        let mode = |text: Vec<u8>| {
            std::str::from_utf8(&text)
                .ok()
                .and_then(|text| u32::from_str_radix(text, 8).ok())
        };
        if let Some(text) = field(b"old mode ") {
            section.old_mode = mode(text);
        } else if let Some(text) = field(b"new mode ") {
            section.new_mode = mode(text);
        } else if let Some(text) = field(b"new file mode ") {
            (section.created, section.new_mode) = (true, mode(text));
        } else if let Some(text) = field(b"deleted file mode ") {
            (section.deleted, section.old_mode) = (true, mode(text));
        } else if let Some(text) = field(b"rename from ").or_else(|| field(b"rename old ")) {
            section.from = Some(unquoted(&text));
        } else if let Some(text) = field(b"rename to ").or_else(|| field(b"rename new ")) {
            section.to = Some(unquoted(&text));
        } else if let Some(text) = field(b"copy from ") {
            (section.copy, section.from) = (true, Some(unquoted(&text)));
        } else if let Some(text) = field(b"copy to ") {
            section.to = Some(unquoted(&text));
        } else if let Some(text) = field(b"index ") {
            section.index = index(&text);
        } else if begins_plain(reader) {
            names(reader, &mut section)?;
            section.body = Body::Text(hunks(reader, &section)?);
            return Ok(section);
        } else if line == b"GIT binary patch" {
            reader.at += 1;
            section.body = Body::Binary(binary::parse(reader)?);
            break;
        } else if line.starts_with(b"Binary files ") {
            let reason = "holds no content for a binary file; make it with `git diff --binary`";
            return Err(wrong(&shown(header), reader.number(), reason));
        } else if !line.starts_with(b"similarity index ") && !line.starts_with(b"dissimilarity index ") {
            break;
        }
        reader.at += 1;
    }
    if section.pair.is_none() && section.to.is_none() {
        return Err(wrong(&shown(header), line, "the two file names cannot be told apart"));
    }
    let is_new = |(old, new): &(String, String)| match (section.created, section.deleted) {
        (true, _) => !EMPTY_BLOB.starts_with(&**new) || new.is_empty(),
        (_, true) => !EMPTY_BLOB.starts_with(&**old) || old.is_empty(),
        _ => old != new,
    };
    if matches!(section.body, Body::Same) && section.index.as_ref().is_some_and(is_new) {
        return Err(wrong(
            &shown(header),
            line,
            "the diff ends before it says what changes in this file",
        ));
    }
    Ok(section)
}

/// The `---` and `+++` lines.
fn names(reader: &mut Reader<'_>, section: &mut Section) -> Result<(), Error> {
    let mut epoch = false;
    let mut name = |prefix: &[u8]| {
        let number = reader.number();
        let line = reader
            .next()
            .and_then(|line| line.strip_prefix(prefix))
            .unwrap_or_default();
        let time = line.split(|byte| *byte == b'\t').nth(1).unwrap_or_default();
        epoch = time.starts_with(b"1970-01-01 ") || time.starts_with(b"1969-12-31 ");
        let name = if line.starts_with(b"\"") {
            unquoted(line)
        } else {
            // A time follows after a tab.
            line.split(|byte| *byte == b'\t')
                .next()
                .unwrap_or_default()
                .trim_ascii_end()
                .to_vec()
        };
        if name.is_empty() {
            return Err(wrong("the diff", number, "a file name is missing"));
        }
        Ok((name != b"/dev/null").then_some(name))
    };
    (section.old, section.new) = (name(b"--- ")?, name(b"+++ ")?);
    section.ends_at_epoch = epoch;
    section.created |= section.old.is_none();
    section.deleted |= section.new.is_none();
    if section.old.is_none() && section.new.is_none() {
        return Err(wrong("/dev/null", section.line, "both sides are no file"));
    }
    Ok(())
}

fn hunks(reader: &mut Reader<'_>, section: &Section) -> Result<Vec<Hunk>, Error> {
    let path = shown(section.new.as_ref().or(section.old.as_ref()).map_or(b"", Vec::as_slice));
    let mut hunks = Vec::new();
    while let Some(header) = reader.peek().filter(|line| line.starts_with(b"@@ -")) {
        let line = reader.number();
        let counts = counts(header).ok_or_else(|| wrong(&path, line, "the numbers of this hunk cannot be read"))?;
        reader.at += 1;
        let ([start, old_lines], [_, new_lines]) = counts;
        let mut hunk = Hunk {
            line,
            start,
            old_lines,
            lines: Vec::new(),
        };
        let (mut old, mut new) = (old_lines, new_lines);
        while old > 0 || new > 0 || reader.peek().is_some_and(|line| line.starts_with(b"\\")) {
            let short = || wrong(&path, reader.at + 1, "the hunk has fewer lines than it says");
            let next = reader.peek().ok_or_else(short)?;
            let (kind, bytes) = match next.first() {
                Some(b' ') => (Kind::Context, &next[1..]),
                Some(b'-') => (Kind::Removed, &next[1..]),
                Some(b'+') => (Kind::Added, &next[1..]),
                // Some mailers and editors cut trailing white space; git takes it for an empty line too.
                Some(b'\n') => (Kind::Context, next),
                Some(b'\\') => {
                    let last = hunk.lines.last_mut().ok_or_else(short)?;
                    if last.bytes.last() == Some(&b'\n') {
                        last.bytes.pop();
                    }
                    reader.at += 1;
                    continue;
                }
                _ => return Err(short()),
            };
            let (in_old, in_new) = (kind != Kind::Added, kind != Kind::Removed);
            if (in_old && old == 0) || (in_new && new == 0) {
                return Err(wrong(&path, reader.number(), "the hunk has more lines than it says"));
            }
            old -= usize::from(in_old);
            new -= usize::from(in_new);
            hunk.lines.push(Line {
                kind,
                bytes: bytes.to_vec(),
            });
            reader.at += 1;
        }
        hunks.push(hunk);
    }
    Ok(hunks)
}

/// `@@ -start,lines +start,lines @@`, where one line need not be counted.
fn counts(header: &[u8]) -> Option<([usize; 2], [usize; 2])> {
    let text = std::str::from_utf8(header.strip_prefix(b"@@ -")?.split(|byte| *byte == b'@').next()?).ok()?;
    let (old, new) = text.trim_end().split_once(" +")?;
    let pair = |text: &str| {
        let (start, lines) = text.split_once(',').unwrap_or((text, "1"));
        Some([start.parse().ok()?, lines.parse().ok()?])
    };
    Some((pair(old)?, pair(new)?))
}

/// `abc..def 100644`.
fn index(text: &[u8]) -> Option<(String, String)> {
    let names = std::str::from_utf8(text).ok()?.split(' ').next()?;
    let (old, new) = names.split_once("..")?;
    Some((old.to_string(), new.to_string()))
}

fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// A name for an error message.
pub(super) fn shown(name: &[u8]) -> String {
    super::printable(name)
}

pub(super) fn wrong(path: &str, line: usize, reason: impl Into<String>) -> Error {
    Error::DoesNotApply {
        path: path.into(),
        line,
        reason: reason.into(),
    }
}
