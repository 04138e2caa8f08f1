//! Turns a patch on the head of a pull request into review suggestions, plus what suggestions cannot carry.
//!
//! GitHub takes a suggestion only for lines of the right side inside one hunk of the pull request's diff, and a
//! person who commits it must get exactly the bytes that were tested. So whatever GitHub might refuse or write in
//! another way goes to the remainder: files that the diff does not show, new, deleted, renamed, binary files, links,
//! changes of mode, lines outside the hunks, and files with carriage returns or without a final line feed, whose line
//! ends GitHub is known to rewrite.

mod bound;
mod fate;
mod fingerprint;
mod hunk;
mod suggestion;

use std::collections::BTreeMap;
use std::ops::Range;

pub use bound::{MAX_SUGGESTIONS, cut_within};
pub use fate::{Fate, fate};
pub use fingerprint::Fingerprint;
pub use hunk::{DiffError, Hunk, added_lines, parse_hunks};
pub use suggestion::{ApplyError, Suggestion, apply};

use super::id::RepoPath;
use super::patch::{Blob, FileChange, FileMode, Patch};

/// How many characters a suggestion's block may have; GitHub takes 65,536, and a word of explanation goes with it.
const MAX_BLOCK: usize = 65_000;

/// One file of the pull request's diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffFile {
    /// Its name in the head.
    pub path: RepoPath,
    /// As [`parse_hunks`] reads them; empty if GitHub leaves the patch out.
    pub hunks: Vec<Hunk>,
}

/// A patch in two parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cut {
    /// In the order of the files and their lines. Their ranges do not overlap, so they can be committed in any order
    /// or as a batch.
    pub suggestions: Vec<Suggestion>,
    /// What is left to change once all suggestions are committed: a patch on that tree, not on the head. `before` is
    /// the file with its suggestions, `after` is the file as it was tested.
    pub remainder: Patch,
}

/// A change of whole lines: which of the old ones go, and which of the new ones come for them. Counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Edit {
    old: Range<usize>,
    new: Range<usize>,
}

/// Splits a patch on the head into suggestions and a remainder.
pub fn cut(patch: &Patch, diff: &[DiffFile]) -> Cut {
    let shown: BTreeMap<&RepoPath, &[Hunk]> = diff.iter().map(|file| (&file.path, &file.hunks[..])).collect();
    let mut suggestions = Vec::new();
    let mut rest = Vec::new();
    for (path, change) in patch.files() {
        let mut own = shown
            .get(path)
            .and_then(|hunks| suggestions_for(path, change, hunks))
            .unwrap_or_default();
        let mut before = change.before.clone();
        match committed(&own, path, change) {
            Some(blob) => before = Some(blob),
            None => own.clear(),
        }
        suggestions.append(&mut own);
        let after = change.after.clone();
        rest.push((path.clone(), FileChange { before, after }));
    }
    Cut {
        suggestions,
        remainder: Patch::new(rest),
    }
}

/// Whether committing all suggestions and then the remainder gives what the patch gives, byte for byte.
pub fn proves(cut: &Cut, patch: &Patch) -> bool {
    let changes: BTreeMap<_, _> = patch.files().collect();
    let rest: BTreeMap<_, _> = cut.remainder.files().collect();
    let mut suggestions: BTreeMap<_, Vec<Suggestion>> = BTreeMap::new();
    for suggestion in &cut.suggestions {
        suggestions
            .entry(&suggestion.path)
            .or_default()
            .push(suggestion.clone());
    }
    let in_patch = suggestions
        .keys()
        .chain(rest.keys())
        .all(|path| changes.contains_key(*path));
    in_patch
        && changes.into_iter().all(|(path, change)| {
            let reached = match suggestions.get(path) {
                None => change.before.clone(),
                Some(own) => match committed(own, path, change) {
                    None => return false,
                    reached => reached,
                },
            };
            match rest.get(path) {
                Some(rest) => rest.before == reached && rest.after == change.after,
                None => reached == change.after,
            }
        })
}

/// The file once these suggestions are committed, going by what their blocks say to a reader of Markdown.
fn committed(suggestions: &[Suggestion], path: &RepoPath, change: &FileChange) -> Option<Blob> {
    let before = change.before.as_ref()?;
    let read = suggestions.iter().map(|suggestion| {
        let replacement = suggestion::read_block(&suggestion.block())?;
        Some(Suggestion {
            replacement,
            ..suggestion.clone()
        })
    });
    let bytes = apply(&read.collect::<Option<Vec<_>>>()?, path, &before.bytes).ok()?;
    Some(Blob {
        mode: before.mode,
        bytes,
    })
}

/// The suggestions for one file; none if the file is of a kind that GitHub may not keep as it is.
fn suggestions_for(path: &RepoPath, change: &FileChange, hunks: &[Hunk]) -> Option<Vec<Suggestion>> {
    let (before, after) = (change.before.as_ref()?, change.after.as_ref()?);
    if before.mode != after.mode || before.mode == FileMode::Symlink {
        return None;
    }
    let (old, new) = (plain_lines(before)?, plain_lines(after)?);
    let shown = shown_lines(hunks, &old)?;
    let edits = edits(&old, &new);
    let placed = placed(&edits, &shown, &new);
    let suggestions = placed.into_iter().filter_map(|edit| {
        let suggestion = Suggestion {
            path: path.clone(),
            start_line: u32::try_from(edit.old.start + 1).ok()?,
            line: u32::try_from(edit.old.end).ok()?,
            replacement: new[edit.new].concat(),
        };
        let fits = suggestion.block().chars().count() <= MAX_BLOCK;
        (fits && !suggestion.replacement.contains(is_odd)).then_some(suggestion)
    });
    Some(suggestions.collect())
}

/// Characters that a comment may not keep: controls and the byte order mark.
fn is_odd(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t') || c == '\u{feff}'
}

/// The lines with their line feeds, of a text in which nothing about line ends is in doubt.
fn plain_lines(blob: &Blob) -> Option<Vec<&str>> {
    let text = blob.text()?;
    let certain = text.ends_with('\n') && !text.contains('\r');
    certain.then(|| text.split_inclusive('\n').collect())
}

/// The ranges of lines, from 0, that the hunks show; none if they show other lines than the head has.
fn shown_lines(hunks: &[Hunk], head: &[&str]) -> Option<Vec<Range<usize>>> {
    let mut shown = Vec::new();
    for hunk in hunks.iter().filter(|hunk| !hunk.right.is_empty()) {
        let start = (hunk.new_start as usize).checked_sub(1)?;
        let range = start..start.checked_add(hunk.right.len())?;
        let lines = head
            .get(range.clone())?
            .iter()
            .filter_map(|line| line.strip_suffix('\n'));
        if !lines.eq(hunk.right.iter().map(String::as_str)) {
            return None;
        }
        shown.push(range);
    }
    shown.is_sorted_by(|a, b| a.end <= b.start).then_some(shown)
}

/// The smallest changes that lead from the old lines to the new, with unchanged lines between any two.
fn edits(old: &[&str], new: &[&str]) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    for op in similar::capture_diff_slices(similar::Algorithm::Myers, old, new) {
        if op.tag() == similar::DiffTag::Equal {
            continue;
        }
        let edit = Edit {
            old: op.old_range(),
            new: op.new_range(),
        };
        match edits.last_mut() {
            Some(last) if last.old.end == edit.old.start && last.new.end == edit.new.start => last.extend(&edit),
            _ => edits.push(edit),
        }
    }
    edits
}

/// The edits that fit into one hunk each, grown where GitHub wants more lines than change.
fn placed(edits: &[Edit], shown: &[Range<usize>], new: &[&str]) -> Vec<Edit> {
    let mut placed: Vec<(usize, Edit)> = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        // Unchanged lines, which alone an edit may grow into, reach from the edit before to the one after.
        let free = Range {
            start: index.checked_sub(1).map_or(0, |before| edits[before].old.end),
            end: edits.get(index + 1).map_or(usize::MAX, |after| after.old.start),
        };
        let Some((hunk, edit)) = place(edit, shown, &free, new) else {
            continue;
        };
        match placed.last_mut() {
            Some((last_hunk, last)) if *last_hunk == hunk && last.old.end >= edit.old.start => last.extend(&edit),
            _ => placed.push((hunk, edit)),
        }
    }
    placed.into_iter().map(|(_, edit)| edit).collect()
}

/// Finds the hunk of an edit, and gives it lines to stand on.
fn place(edit: &Edit, shown: &[Range<usize>], free: &Range<usize>, new: &[&str]) -> Option<(usize, Edit)> {
    let hunk_of = |line: usize| {
        let hunk = shown.partition_point(|range| range.end <= line);
        shown
            .get(hunk)
            .is_some_and(|range| range.contains(&line))
            .then_some(hunk)
    };
    // An insertion belongs to the line above if the diff shows it, otherwise to the one below.
    let above = edit.old.start.checked_sub(1).and_then(hunk_of);
    let hunk = if edit.old.is_empty() {
        above.or_else(|| hunk_of(edit.old.start))?
    } else {
        hunk_of(edit.old.start)?
    };
    let room = Range {
        start: shown[hunk].start.max(free.start),
        end: shown[hunk].end.min(free.end),
    };
    let mut edit = edit.clone();
    // A block of nothing but blank lines is taken for an empty one, which deletes.
    while edit.old.is_empty() || !edit.new.is_empty() && new[edit.new.clone()].iter().all(|line| line.trim().is_empty())
    {
        if edit.old.start > room.start {
            edit.old.start -= 1;
            edit.new.start -= 1;
        } else if edit.old.end < room.end {
            edit.old.end += 1;
            edit.new.end += 1;
        } else {
            return None;
        }
    }
    (edit.old.end <= shown[hunk].end).then_some((hunk, edit))
}

impl Edit {
    /// Takes in an edit that starts where this one ends, or before.
    fn extend(&mut self, next: &Edit) {
        self.old.end = self.old.end.max(next.old.end);
        self.new.end = self.new.end.max(next.new.end);
    }
}

#[cfg(test)]
mod tests;
