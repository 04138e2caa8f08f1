//! Applies the sections of a unified diff to the files of a commit, exactly or not at all.
//!
//! Unlike `git apply`, it does not search for other places where a hunk might fit: what is shown and tested later
//! must be exactly the given diff. It does not check whether a tree can contain the resulting files.

use std::collections::BTreeMap;
use std::path::Path;

use super::hunk::{Hunk, HunkLine, LineKind};
use super::quoted::bare;
use super::reader::{shown, too_large, wrong};
use super::{ContentChange, Section, parse};
use crate::error::ReadError as Error;
use crate::object::object_name;
use crate::patch::{Blob, FileChange, FileMode, Patch};
use crate::path::RepoPath;

/// How many bytes all contents of a change may have, before and after it.
const MAX_HELD: usize = 128 << 20;
/// How many bytes may be read and written in total, so that many small sections cannot keep rewriting a large file.
const MAX_WORK: usize = 1 << 30;

/// The files that earlier sections have touched.
struct TouchedFiles<'a, F> {
    head: F,
    /// An absolute path with this prefix is a path inside the repository.
    work_tree: Option<&'a Path>,
    touched: BTreeMap<RepoPath, Touched>,
    held: usize,
    worked: usize,
}

/// The changes of one file so far. A diff may move a file away and create another in its place, in any order, since
/// both start from the head; changes of its content build on each other.
#[derive(Default)]
struct Touched {
    before: Option<Blob>,
    after: Option<Blob>,
    /// The line of the diff that creates it as a new file.
    made: Option<usize>,
    changed: bool,
    removed: bool,
}

/// Parses a unified diff and applies all of it; `head` returns a file of the commit by path. A path that begins with
/// `work_tree` is inside the repository.
///
/// # Errors
/// When the diff cannot be parsed, does not fit, or is too large.
pub fn apply<F, E>(diff: &[u8], work_tree: Option<&Path>, head: F) -> Result<Patch, E>
where
    F: FnMut(&RepoPath) -> Result<Option<Blob>, E>,
    E: From<Error>,
{
    let sections = parse(diff)?;
    let mut files = TouchedFiles {
        head,
        work_tree,
        touched: BTreeMap::new(),
        held: 0,
        worked: 0,
    };
    for section in &sections {
        files.take(section)?;
    }
    for (path, file) in &files.touched {
        if let Some(line) = file.made
            && file.before.is_some()
            && !file.removed
        {
            let reason = "the diff creates this file, but it already exists";
            return Err(wrong(path.as_str(), line, reason).into());
        }
    }
    let changes = files.touched.into_iter();
    Ok(Patch::new(changes.map(|(path, Touched { before, after, .. })| {
        (path, FileChange { before, after })
    })))
}

impl<F, E> TouchedFiles<'_, F>
where
    F: FnMut(&RepoPath) -> Result<Option<Blob>, E>,
    E: From<Error>,
{
    fn at_head(&mut self, path: &RepoPath) -> Result<Option<Blob>, E> {
        let blob = (self.head)(path)?;
        self.work(size(blob.as_ref()))?;
        Ok(blob)
    }

    fn work(&mut self, bytes: usize) -> Result<(), E> {
        self.worked += bytes;
        if self.worked > MAX_WORK {
            return Err(too_large("the amount of data that the diff reads and writes", MAX_WORK).into());
        }
        Ok(())
    }

    fn hold(&mut self, bytes: usize) -> Result<(), E> {
        self.held += bytes;
        if self.held > MAX_HELD {
            return Err(too_large("the change", MAX_HELD).into());
        }
        Ok(())
    }

    fn exists(&mut self, path: &RepoPath) -> Result<bool, E> {
        match self.touched.get(path) {
            Some(file) => Ok(file.before.is_some() || file.after.is_some()),
            None => Ok(self.at_head(path)?.is_some()),
        }
    }

    fn touch(&mut self, path: &RepoPath) -> Result<&mut Touched, E> {
        if !self.touched.contains_key(path) {
            let before = self.at_head(path)?;
            self.hold(size(before.as_ref()))?;
            let file = Touched {
                before,
                ..Touched::default()
            };
            self.touched.insert(path.clone(), file);
        }
        Ok(self.touched.entry(path.clone()).or_default())
    }

    /// The content that a section starts from. A rename, copy or removal starts from the head, no matter what other
    /// sections do to the file, as in git: <https://git-scm.com/docs/diff-format#generate_patch_text_with_p>, 4.
    fn source(&mut self, path: &RepoPath, in_place: bool) -> Result<Option<Blob>, E> {
        let blob = match self.touched.get(path) {
            Some(file) if in_place && file.after.is_some() => file.after.clone(),
            Some(file) => file.before.clone(),
            None => return self.at_head(path),
        };
        self.work(size(blob.as_ref()))?;
        Ok(blob)
    }

    fn take(&mut self, section: &Section<'_>) -> Result<(), E> {
        let (old, new) = self.names(section)?;
        let name = new
            .as_ref()
            .or(old.as_ref())
            .map(ToString::to_string)
            .unwrap_or_default();
        let fail = |reason: &str| Err(wrong(&name, section.line, reason).into());
        let in_place = old == new && !section.copy;
        let before = match &old {
            Some(path) => self.source(path, in_place)?,
            None => None,
        };
        if old.is_some() && before.is_none() {
            return fail("there is no such file at the head");
        }
        if let (Some(mode), Some(before)) = (section.old_mode, &before)
            && file_mode(mode) != Some(before.mode)
        {
            return fail("the file's mode is not the one in the diff");
        }
        let bytes = self.changed(section, before.as_ref(), &name)?;
        let gone = section.deleted || (section.ends_at_epoch && bytes.is_empty() && section.pair.is_none());
        if gone && !bytes.is_empty() {
            return fail("the diff removes the file, but not all of its lines");
        }
        if let Some(path) = old.as_ref().filter(|_| gone || !(in_place || section.copy)) {
            let file = self.touch(path)?;
            if file.removed || file.changed {
                let reason = "the diff removes or renames this file after it has changed it or removed it";
                return Err(wrong(path.as_str(), section.line, reason).into());
            }
            file.removed = true;
        }
        let Some(path) = new.filter(|_| !gone) else {
            return Ok(());
        };
        let mode = match section.new_mode {
            Some(mode) => match file_mode(mode) {
                Some(mode) => mode,
                None => return fail("only files and links can be changed, no submodules"),
            },
            None => before.map_or(FileMode::Regular, |blob| blob.mode),
        };
        self.hold(bytes.len())?;
        let file = self.touch(&path)?;
        if in_place && file.removed {
            return fail("the diff changes this file after it has removed or renamed it");
        }
        if !in_place && file.made.is_some() {
            return fail("the diff creates this file twice");
        }
        if in_place {
            file.changed = true;
        } else {
            file.made = Some(section.line);
        }
        let former = file.after.replace(Blob { mode, bytes });
        self.held -= size(former.as_ref());
        Ok(())
    }

    /// The content after a section.
    fn changed(&mut self, section: &Section<'_>, before: Option<&Blob>, name: &str) -> Result<Vec<u8>, E> {
        let before = before.map_or(&b""[..], |blob| &blob.bytes);
        let most = MAX_HELD - self.held;
        let bytes = match &section.body {
            ContentChange::Same => (before.len() <= most).then(|| before.to_vec()),
            ContentChange::Text(hunks) => spliced(hunks, before, most, name)?,
            ContentChange::Binary(binary) => {
                self.work(binary.size())?;
                let fail = |reason: &str| wrong(name, section.line, reason);
                let (old, new) = section
                    .index
                    .as_ref()
                    .filter(|(old, new)| old.len() >= 40 && new.len() >= 40)
                    .ok_or_else(|| {
                        fail("a binary change needs the full `index` line; make it with `git diff --binary`")
                    })?;
                if !is_named(before, old) {
                    return Err(fail("the binary change is for different content").into());
                }
                let bytes = binary.result(before, most, name)?;
                if bytes.as_ref().is_some_and(|bytes| !is_named(bytes, new)) {
                    return Err(fail("the binary change does not produce the content that it names").into());
                }
                bytes
            }
        };
        let bytes = bytes.ok_or_else(|| too_large("the change", MAX_HELD))?;
        self.work(bytes.len())?;
        Ok(bytes)
    }

    /// The paths of a section's file, before and after.
    fn names(&mut self, section: &Section<'_>) -> Result<(Option<RepoPath>, Option<RepoPath>), E> {
        if let (Some(from), Some(to)) = (&section.from, &section.to) {
            return Ok((Some(self.path(from, section)?), Some(self.path(to, section)?)));
        }
        if let Some((old, new)) = &section.pair {
            let name = if old == new { new } else { bare(new) };
            let path = self.path(name, section)?;
            return Ok((
                (!section.created).then(|| path.clone()),
                (!section.deleted).then_some(path),
            ));
        }
        let candidates: Vec<&[u8]> = match (&section.old, &section.new) {
            (Some(old), Some(new)) if old == new => vec![new, bare(new)],
            (Some(old), Some(new)) if bare(old) == bare(new) => vec![bare(new), new, old],
            (Some(old), Some(new)) => vec![new, bare(new), old, bare(old)],
            (Some(old), None) if old.starts_with(b"a/") => vec![bare(old), old],
            (Some(old), None) => vec![old, bare(old)],
            (None, Some(new)) if new.starts_with(b"b/") => vec![bare(new)],
            (None, Some(new)) => vec![new],
            (None, None) => Vec::new(),
        };
        let mut first = None;
        for candidate in candidates {
            let path = self.path(candidate, section)?;
            if section.old.is_some() && self.exists(&path)? {
                return Ok((Some(path.clone()), (!section.deleted).then_some(path)));
            }
            first.get_or_insert(path);
        }
        let makes = matches!(&section.body, ContentChange::Text(hunks) if hunks.iter().all(|hunk| hunk.old_lines == 0));
        match first {
            Some(path) if makes && !section.deleted => Ok((None, Some(path))),
            Some(path) => Err(wrong(path.as_str(), section.line, "there is no such file at the head").into()),
            None => Err(wrong("the diff", section.line, "a file name is missing").into()),
        }
    }

    fn path(&self, name: &[u8], section: &Section<'_>) -> Result<RepoPath, E> {
        let outside = || wrong(&shown(name), section.line, "is not a path inside the repository");
        let text = std::str::from_utf8(name).map_err(|_| outside())?;
        let inside = match self.work_tree {
            Some(root) => Path::new(text)
                .strip_prefix(root)
                .ok()
                .and_then(Path::to_str)
                .unwrap_or(text),
            None => text,
        };
        Ok(inside.trim_start_matches("./").parse().map_err(|_| outside())?)
    }
}

fn size(blob: Option<&Blob>) -> usize {
    blob.map_or(0, |blob| blob.bytes.len())
}

fn file_mode(mode: u32) -> Option<FileMode> {
    match mode {
        0o100_644 | 0o100_664 => Some(FileMode::Regular),
        0o100_755 => Some(FileMode::Executable),
        0o120_000 => Some(FileMode::Symlink),
        _ => None,
    }
}

/// Whether this is the content's object name in git. The object name of a missing file consists of zeros.
fn is_named(bytes: &[u8], id: &str) -> bool {
    (bytes.is_empty() && id.bytes().all(|digit| digit == b'0')) || object_name(bytes) == *id
}

/// The remaining lines of a text.
struct Lines<'a> {
    rest: &'a [u8],
    /// How many lines were read.
    at: usize,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let end = match self.rest.iter().position(|byte| *byte == b'\n') {
            Some(at) => at + 1,
            None => self.rest.len(),
        };
        let (line, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.at += usize::from(!line.is_empty());
        (!line.is_empty()).then_some(line)
    }
}

/// Whether a hunk must be at the end of the file: it has context before its change but none after it, as in `git
/// apply`. A diff without any context does not say what follows.
/// <https://git-scm.com/docs/git-apply#Documentation/git-apply.txt---unidiff-zero>
fn ends_the_file(hunk: &Hunk<'_>) -> bool {
    let is_context = |line: Option<&HunkLine<'_>>| line.is_some_and(|line| line.kind == LineKind::Context);
    is_context(hunk.lines.first()) && !is_context(hunk.lines.last())
}

/// A text with the hunks applied at exactly the lines that they name. `None` if it exceeds `most` bytes.
fn spliced(hunks: &[Hunk<'_>], before: &[u8], most: usize, name: &str) -> Result<Option<Vec<u8>>, Error> {
    let mut lines = Lines { rest: before, at: 0 };
    let mut out = Vec::with_capacity(before.len().min(most));
    for hunk in hunks {
        let start = if hunk.old_lines == 0 {
            hunk.start
        } else {
            hunk.start.saturating_sub(1)
        };
        let rest = lines.rest;
        while lines.at < start && lines.next().is_some() {}
        if lines.at != start {
            let reason = "the hunk is beyond the end of the file, or before the hunk above it";
            return Err(wrong(name, hunk.line, reason));
        }
        out.extend_from_slice(&rest[..rest.len() - lines.rest.len()]);
        for (offset, line) in hunk.lines.iter().enumerate() {
            let number = hunk.line + 1 + offset;
            let at = lines.at + 1;
            if line.kind != LineKind::Added && lines.next() != Some(line.bytes) {
                let reason = format!("line {at} of the file does not match the diff");
                return Err(wrong(name, number, reason));
            }
            if line.kind != LineKind::Removed {
                if out.last().is_some_and(|byte| *byte != b'\n') {
                    return Err(wrong(name, number, "a line comes after one without a line end"));
                }
                out.extend_from_slice(line.bytes);
            }
        }
        if ends_the_file(hunk) && !lines.rest.is_empty() {
            let reason = "the hunk ends the file, but the file continues there; is the patch already applied?";
            return Err(wrong(name, hunk.line, reason));
        }
        if out.len() > most {
            return Ok(None);
        }
    }
    if !lines.rest.is_empty() && out.last().is_some_and(|byte| *byte != b'\n') {
        let line = hunks.last().map_or(1, |hunk| hunk.line);
        return Err(wrong(name, line, "a line comes after one without a line end"));
    }
    out.extend_from_slice(lines.rest);
    Ok((out.len() <= most).then_some(out))
}
