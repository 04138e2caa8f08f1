//! Applies the sections of a unified diff to the files of a commit, exactly or not at all.
//!
//! Unlike `git apply` there is no search for a place where a hunk might fit as well: what is shown and tested later
//! must be what was given.

use std::collections::BTreeMap;
use std::path::Path;

use git2::{ObjectType, Oid};

use super::Error;
use super::binary;
use super::unified::{Body, Hunk, Kind, Section, shown, wrong};
use crate::domain::id::RepoPath;
use crate::domain::patch::{Blob, FileChange, FileMode, Patch};

/// How many bytes all sections together may write, so that many small ones cannot rewrite a large file for ever.
const MAX_WRITTEN: usize = 1 << 30;

/// The files of a commit, as the sections before have left them.
struct Files<'a, F> {
    head: F,
    /// An absolute name that begins with this is one inside the repository.
    work_tree: Option<&'a Path>,
    changes: BTreeMap<RepoPath, FileChange>,
    written: usize,
}

/// Applies all sections in their order; `head` gives the file of a path in the commit.
pub(super) fn apply<F>(sections: &[Section], work_tree: Option<&Path>, head: F) -> Result<Patch, Error>
where
    F: FnMut(&RepoPath) -> Result<Option<Blob>, Error>,
{
    let mut files = Files {
        head,
        work_tree,
        changes: BTreeMap::new(),
        written: 0,
    };
    for section in sections {
        files.take(section)?;
    }
    Ok(Patch::new(files.changes))
}

impl<F> Files<'_, F>
where
    F: FnMut(&RepoPath) -> Result<Option<Blob>, Error>,
{
    fn get(&mut self, path: &RepoPath) -> Result<Option<Blob>, Error> {
        match self.changes.get(path) {
            Some(change) => Ok(change.after.clone()),
            None => (self.head)(path),
        }
    }

    fn set(&mut self, path: &RepoPath, after: Option<Blob>) -> Result<(), Error> {
        match self.changes.get_mut(path) {
            Some(change) => change.after = after,
            None => {
                let before = (self.head)(path)?;
                self.changes.insert(path.clone(), FileChange { before, after });
            }
        }
        Ok(())
    }

    fn take(&mut self, section: &Section) -> Result<(), Error> {
        let (old, new) = self.names(section)?;
        let name = new
            .as_ref()
            .or(old.as_ref())
            .map(ToString::to_string)
            .unwrap_or_default();
        let fail = |reason: &str| Err(wrong(&name, section.line, reason));
        let before = match &old {
            Some(path) => self.get(path)?,
            None => None,
        };
        if old.is_some() && before.is_none() {
            return fail("there is no such file at the head");
        }
        if let (Some(mode), Some(before)) = (section.old_mode, &before)
            && file_mode(mode) != Some(before.mode)
        {
            return fail("the file has another mode than the diff says");
        }
        if let Some(path) = &new
            && new != old
            && self.get(path)?.is_some()
        {
            return fail("the diff makes this file, and it is there already");
        }
        let content = before.as_ref().map_or(&b""[..], |blob| &blob.bytes);
        let bytes = changed(section, content, &name)?;
        self.written += bytes.len();
        if self.written > MAX_WRITTEN {
            return fail("the diff writes more than 1 GiB in all");
        }
        let moved = !section.copy && old != new;
        let gone = section.deleted || (section.ends_at_epoch && bytes.is_empty() && section.pair.is_none());
        if gone && !bytes.is_empty() {
            return fail("the diff removes the file, but not all of its lines");
        }
        if let Some(path) = old.as_ref().filter(|_| moved || gone) {
            self.set(path, None)?;
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
        self.set(&path, Some(Blob { mode, bytes }))
    }

    /// Which files a section is about: before and after.
    fn names(&mut self, section: &Section) -> Result<(Option<RepoPath>, Option<RepoPath>), Error> {
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
            if section.old.is_some() && self.get(&path)?.is_some() {
                return Ok((Some(path.clone()), (!section.deleted).then_some(path)));
            }
            first.get_or_insert(path);
        }
        let makes = matches!(&section.body, Body::Text(hunks) if hunks.iter().all(|hunk| hunk.old_lines == 0));
        match first {
            Some(path) if makes && !section.deleted => Ok((None, Some(path))),
            Some(path) => Err(wrong(path.as_str(), section.line, "there is no such file at the head")),
            None => Err(wrong("the diff", section.line, "a file name is missing")),
        }
    }

    fn path(&self, name: &[u8], section: &Section) -> Result<RepoPath, Error> {
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
        inside.trim_start_matches("./").parse().map_err(|_| outside())
    }
}

/// A name without its first part.
fn bare(name: &[u8]) -> &[u8] {
    match name.iter().position(|byte| *byte == b'/') {
        Some(at) if at > 0 => &name[at + 1..],
        _ => name,
    }
}

fn file_mode(mode: u32) -> Option<FileMode> {
    match mode {
        0o100_644 | 0o100_664 => Some(FileMode::Regular),
        0o100_755 => Some(FileMode::Executable),
        0o120_000 => Some(FileMode::Symlink),
        _ => None,
    }
}

fn changed(section: &Section, before: &[u8], name: &str) -> Result<Vec<u8>, Error> {
    match &section.body {
        Body::Same => Ok(if section.deleted && before.is_empty() {
            Vec::new()
        } else {
            before.to_vec()
        }),
        Body::Text(hunks) => spliced(hunks, before, name),
        Body::Binary(binary) => {
            let fail = |reason: &str| wrong(name, section.line, reason);
            let (old, new) = section
                .index
                .as_ref()
                .filter(|(old, new)| old.len() >= 40 && new.len() >= 40)
                .ok_or_else(|| fail("a binary change needs the full `index` line; make it with `git diff --binary`"))?;
            // An absent file has the name of nothing but zeros.
            let is = |bytes: &[u8], id: &str| {
                (bytes.is_empty() && id.bytes().all(|digit| digit == b'0'))
                    || Oid::hash_object(ObjectType::Blob, bytes).is_ok_and(|oid| oid.to_string() == *id)
            };
            if !is(before, old) {
                return Err(fail("the binary change is for another content"));
            }
            let bytes = binary::result(binary, before, name)?;
            if !is(&bytes, new) {
                return Err(fail("the binary change does not give the content that it names"));
            }
            Ok(bytes)
        }
    }
}

/// A text with the hunks applied at exactly the lines that they name.
fn spliced(hunks: &[Hunk], before: &[u8], name: &str) -> Result<Vec<u8>, Error> {
    let lines: Vec<&[u8]> = before.split_inclusive(|byte| *byte == b'\n').collect();
    let mut out = Vec::with_capacity(before.len());
    let mut at = 0;
    for hunk in hunks {
        let start = if hunk.old_lines == 0 {
            hunk.start
        } else {
            hunk.start.saturating_sub(1)
        };
        let between = lines.get(at..start).ok_or_else(|| {
            wrong(
                name,
                hunk.line,
                "the hunk is beyond the end of the file, or before the hunk above it",
            )
        })?;
        between.iter().for_each(|line| out.extend_from_slice(line));
        at = start;
        for (offset, line) in hunk.lines.iter().enumerate() {
            if line.kind != Kind::Added {
                if lines.get(at) != Some(&&line.bytes[..]) {
                    let reason = format!("line {} of the file is not the one that the diff says", at + 1);
                    return Err(wrong(name, hunk.line + 1 + offset, reason));
                }
                at += 1;
            }
            if line.kind != Kind::Removed {
                if out.last().is_some_and(|byte| *byte != b'\n') {
                    return Err(wrong(
                        name,
                        hunk.line + 1 + offset,
                        "a line follows one without a line end",
                    ));
                }
                out.extend_from_slice(&line.bytes);
            }
        }
    }
    let rest = lines.get(at..).unwrap_or_default();
    if !rest.is_empty() && out.last().is_some_and(|byte| *byte != b'\n') {
        return Err(wrong(
            name,
            hunks.last().map_or(1, |hunk| hunk.line),
            "a line follows one without a line end",
        ));
    }
    rest.iter().for_each(|line| out.extend_from_slice(line));
    Ok(out)
}
