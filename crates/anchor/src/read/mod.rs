//! Parses a unified diff as tools print it: git's with all its headers, and the plain ones of `diff -u`, formatters
//! and linters. `apply` applies it to a tree.

mod apply;
mod binary;
mod hunk;
mod quoted;
mod reader;

pub use self::apply::apply;
use self::binary::Binary;
use self::hunk::{Hunk, hunks};
use self::quoted::{bare, both, unquoted};
use self::reader::{LineReader, shown, too_large, trimmed, wrong};
use crate::error::ReadError as Error;

/// The maximum number of files in a diff.
const MAX_FILES: usize = 20_000;

/// Git's object name of an empty file.
const EMPTY_BLOB: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

/// What a diff says about one file.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an optional line of the header")]
struct Section<'a> {
    /// The line of the diff where it starts, from 1.
    line: usize,
    /// As written, including the prefix. `None` for `/dev/null`.
    old: Option<Vec<u8>>,
    new: Option<Vec<u8>>,
    /// The two names of the `diff --git` line, which show whether names have prefixes.
    pair: Option<(Vec<u8>, Vec<u8>)>,
    /// Whether the timestamp after the new name is the epoch. `diff -N` marks a missing file that way.
    ends_at_epoch: bool,
    /// The names of a rename or a copy, which git writes without prefixes.
    from: Option<Vec<u8>>,
    to: Option<Vec<u8>>,
    /// Whether `from` is removed (a rename) or stays (a copy).
    rename: bool,
    copy: bool,
    created: bool,
    deleted: bool,
    /// The mode before, if the diff names it.
    old_mode: Option<u32>,
    new_mode: Option<u32>,
    /// The object names in an `index` line, possibly abbreviated.
    index: Option<(String, String)>,
    body: ContentChange<'a>,
}

impl Section<'_> {
    /// The best name for an error message.
    fn shown(&self) -> String {
        let pair = self.pair.as_ref().map(|(_, new)| new);
        let name = self.to.as_ref().or(self.new.as_ref()).or(self.old.as_ref()).or(pair);
        shown(name.map_or(b"", Vec::as_slice))
    }
}

/// How the content changes.
#[derive(Debug, Default)]
enum ContentChange<'a> {
    #[default]
    Same,
    Text(Vec<Hunk<'a>>),
    Binary(Binary),
}

/// Parses all sections of a diff. Text between sections, such as a mail's message, is skipped, unless it looks like
/// part of the section above it.
///
/// # Errors
/// When a section is cut off or invalid, or a text that is not empty has no section.
fn parse(text: &[u8]) -> Result<Vec<Section<'_>>, Error> {
    let mut reader = LineReader::new(text)?;
    let mut sections = Vec::new();
    while let Some(line) = reader.peek() {
        if sections.len() > MAX_FILES {
            return Err(too_large("the number of files in the diff", MAX_FILES));
        }
        if line.starts_with(b"diff --git ") {
            sections.push(git_section(&mut reader)?);
            nothing_left_over(&mut reader, &sections)?;
        } else if begins_plain(&reader) {
            let mut section = Section {
                line: reader.number(),
                ..Section::default()
            };
            names(&mut reader, &mut section)?;
            section.body = ContentChange::Text(hunks(&mut reader, &section.shown())?);
            sections.push(section);
            nothing_left_over(&mut reader, &sections)?;
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
                "has no content for a binary file; make it with `git diff --binary`",
            ));
        } else {
            reader.skip();
        }
    }
    if sections.is_empty() && !text.trim_ascii().is_empty() {
        let reason = if text.starts_with(b"Diff in ") {
            "this is rustfmt's own listing, not a diff; format a copy and give the output of `git diff` or `diff -u`"
        } else {
            "it contains no unified diff"
        };
        return Err(wrong("the diff", 1, reason));
    }
    Ok(sections)
}

/// Refuses lines that would belong to the section above if its line counts were right.
fn nothing_left_over(reader: &mut LineReader<'_>, sections: &[Section<'_>]) -> Result<(), Error> {
    while reader.peek_trimmed().is_some_and(<[u8]>::is_empty) {
        reader.skip();
    }
    // Two dashes and a space introduce the signature of a mail.
    let above = sections.last();
    let bare_header =
        above.is_some_and(|section| section.pair.is_some() && matches!(section.body, ContentChange::Same));
    let free = (begins_plain(reader) && !bare_header) || reader.peek_trimmed() == Some(b"-- ");
    let next = reader.peek_trimmed().unwrap_or_default();
    let is_header = field(&mut Section::default(), next, reader.number())?;
    if free || !(is_header || matches!(next.first(), Some(b'+' | b'-' | b' '))) {
        return Ok(());
    }
    let name = above.map(Section::shown).unwrap_or_default();
    let reason = "this line belongs to no hunk; check the header, or the numbers of the hunk, above it";
    Err(wrong(&name, reader.number(), reason))
}

fn begins_plain(reader: &LineReader<'_>) -> bool {
    reader.ahead(0).starts_with(b"--- ") && reader.ahead(1).starts_with(b"+++ ") && reader.ahead(2).starts_with(b"@@ -")
}

fn git_section<'a>(reader: &mut LineReader<'a>) -> Result<Section<'a>, Error> {
    let line = reader.number();
    let header = reader.next().unwrap_or_default();
    let header = header.strip_prefix(b"diff --git ").unwrap_or_default();
    let mut section = Section {
        line,
        pair: both(header),
        ..Section::default()
    };
    while let Some(next) = reader.peek_trimmed() {
        if begins_plain(reader) {
            let declared = (section.created, section.deleted);
            names(reader, &mut section)?;
            if declared != (section.old.is_none(), section.new.is_none()) {
                let reason = "the header creates or removes the file, but `---` and `+++` say otherwise";
                return Err(wrong(&shown(header), line, reason));
            }
            section.body = ContentChange::Text(hunks(reader, &section.shown())?);
            break;
        } else if next == b"GIT binary patch" {
            reader.skip();
            section.body = ContentChange::Binary(binary::parse(reader)?);
            break;
        } else if next.starts_with(b"Binary files ") {
            let reason = "has no content for a binary file; make it with `git diff --binary`";
            return Err(wrong(&shown(header), reader.number(), reason));
        } else if !field(&mut section, next, reader.number())? {
            break;
        }
        reader.skip();
    }
    if let Some(reason) = contradiction(&section) {
        return Err(wrong(&shown(header), line, reason));
    }
    let is_new = |(old, new): &(String, String)| match (section.created, section.deleted) {
        (true, _) => !EMPTY_BLOB.starts_with(&**new) || new.is_empty(),
        (_, true) => !EMPTY_BLOB.starts_with(&**old) || old.is_empty(),
        _ => old != new,
    };
    if matches!(section.body, ContentChange::Same) && section.index.as_ref().is_some_and(is_new) {
        return Err(wrong(
            &shown(header),
            line,
            "the diff ends before it says what changes in this file",
        ));
    }
    Ok(section)
}

/// Parses one line of git's header; false if it is not one.
fn field(section: &mut Section<'_>, line: &[u8], number: usize) -> Result<bool, Error> {
    let mode = |text: &[u8]| {
        let mode = std::str::from_utf8(text)
            .ok()
            .and_then(|text| u32::from_str_radix(text, 8).ok());
        mode.map(Some)
            .ok_or_else(|| wrong("the diff", number, "the mode of this file cannot be read"))
    };
    let rest = |name: &[u8]| line.strip_prefix(name);
    if let Some(text) = rest(b"old mode ") {
        section.old_mode = mode(text)?;
    } else if let Some(text) = rest(b"new mode ") {
        section.new_mode = mode(text)?;
    } else if let Some(text) = rest(b"new file mode ") {
        (section.created, section.new_mode) = (true, mode(text)?);
    } else if let Some(text) = rest(b"deleted file mode ") {
        (section.deleted, section.old_mode) = (true, mode(text)?);
    } else if let Some(text) = rest(b"rename from ").or_else(|| rest(b"rename old ")) {
        (section.rename, section.from) = (true, Some(unquoted(text)));
    } else if let Some(text) = rest(b"rename to ").or_else(|| rest(b"rename new ")) {
        (section.rename, section.to) = (true, Some(unquoted(text)));
    } else if let Some(text) = rest(b"copy from ") {
        (section.copy, section.from) = (true, Some(unquoted(text)));
    } else if let Some(text) = rest(b"copy to ") {
        (section.copy, section.to) = (true, Some(unquoted(text)));
    } else if let Some(text) = rest(b"index ") {
        section.index = index(text);
    } else {
        return Ok(line.starts_with(b"similarity index ") || line.starts_with(b"dissimilarity index "));
    }
    Ok(true)
}

/// Why the lines of git's header contradict each other. `None` if they do not.
fn contradiction(section: &Section<'_>) -> Option<&'static str> {
    if section.from.is_some() != section.to.is_some() {
        return Some("a rename or a copy needs both names, `from` and `to`");
    }
    let kinds = [section.created, section.deleted, section.rename, section.copy];
    if kinds.iter().filter(|kind| **kind).count() > 1 {
        return Some("it is more than one of new, removed, renamed and copied");
    }
    let one_mode = section.old_mode.is_some() != section.new_mode.is_some();
    if one_mode && !section.created && !section.deleted {
        return Some("a change of the mode needs both modes, `old` and `new`");
    }
    let (old, new) = match (&section.pair, &section.to) {
        (Some((old, new)), _) => (Some(old), Some(new)),
        (None, Some(_)) => (section.old.as_ref(), section.new.as_ref()),
        (None, None) => return Some("the end of the first file name is ambiguous"),
    };
    let agrees =
        |written: Option<&Vec<u8>>, name: Option<&Vec<u8>>| written.is_none() || name.is_none() || written == name;
    if !agrees(section.old.as_ref(), old) || !agrees(section.new.as_ref(), new) {
        return Some("`---` and `+++` name different files than `diff --git`");
    }
    // Names of renames and copies have no prefixes.
    let is_of = |name: &Vec<u8>, full: Option<&Vec<u8>>| {
        full.is_none_or(|full| {
            full.strip_suffix(&name[..])
                .is_some_and(|prefix| prefix.is_empty() || prefix.ends_with(b"/"))
        })
    };
    match (&section.from, &section.to) {
        (Some(from), Some(to)) if is_of(from, old) && is_of(to, new) => None,
        (Some(_), _) => Some("`from` and `to` name different files than the lines around them"),
        _ if old == new || old.map(|name| bare(name)) == new.map(|name| bare(name)) => None,
        _ => Some("the two file names differ, and nothing says that it is a rename"),
    }
}

/// The `---` and `+++` lines.
fn names(reader: &mut LineReader<'_>, section: &mut Section<'_>) -> Result<(), Error> {
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
            // A tab separates the name from a timestamp.
            line.split(|byte| *byte == b'\t').next().unwrap_or_default().to_vec()
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
        return Err(wrong("/dev/null", section.line, "neither side is a file"));
    }
    Ok(())
}

/// `abc..def 100644`.
fn index(text: &[u8]) -> Option<(String, String)> {
    let names = std::str::from_utf8(text).ok()?.split(' ').next()?;
    let (old, new) = names.split_once("..")?;
    Some((old.to_string(), new.to_string()))
}
