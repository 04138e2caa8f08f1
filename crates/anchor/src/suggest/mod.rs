//! Turns a patch on the head of a pull request into review suggestions, plus what suggestions cannot carry.
//!
//! GitHub takes a suggestion only for lines of the right side inside one hunk of the pull request's diff, and a
//! person who commits it must get exactly the bytes that were tested. So anything that GitHub might refuse or write in
//! another way goes to the remainder, with its reason: files that the diff does not show, new, deleted, renamed, binary
//! files, links, changes of mode, lines outside the hunks, files whose lines end in different ways, a line end that
//! comes or goes at the end of a file, and characters that a comment does not keep or a reader does not see.

mod bound;
mod fingerprint;
mod hunk;
mod left_out;
mod suggestion;
mod suggestion_state;
mod text;

use std::collections::BTreeMap;
use std::ops::Range;

pub use bound::{MAX_SUGGESTIONS, cut_within};
pub use fingerprint::Fingerprint;
pub use hunk::{DiffError, VisibleLines, added_lines, parse_hunks};
pub use left_out::LeftOut;
pub use suggestion::{ApplyError, Suggestion, apply, first_block, read_block};
pub use suggestion_state::{SuggestionState, state_after};

use self::text::{LineEnd, Text};
use crate::patch::{Blob, FileChange, FileMode, Patch};
use crate::path::RepoPath;
use crate::visible::is_visible;

/// How many characters a suggestion's block may have; GitHub takes 65,536, and a word of explanation goes with it.
const MAX_BLOCK: usize = 65_000;

/// One file of the pull request's diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffFile {
    /// Its name in the head.
    pub path: RepoPath,
    /// As [`parse_hunks`] reads them; empty if GitHub leaves the patch out.
    pub hunks: Vec<VisibleLines>,
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
    /// Why there is a remainder: each file of it with its reasons.
    pub left_out: BTreeMap<RepoPath, Vec<LeftOut>>,
}

/// A change of whole lines: which of the old ones go, and which of the new ones come for them. Counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LineEdit {
    old: Range<usize>,
    new: Range<usize>,
}

/// Splits a patch on the head into suggestions and a remainder.
pub fn cut(patch: &Patch, diff: &[DiffFile]) -> Cut {
    cut_first(patch, diff, usize::MAX)
}

/// The same with at most this many suggestions: what comes after them is left to the remainder.
fn cut_first(patch: &Patch, diff: &[DiffFile], most: usize) -> Cut {
    let mut shown: BTreeMap<&RepoPath, &[VisibleLines]> = BTreeMap::new();
    for file in diff {
        // What becomes another kind of thing, as a link that becomes a file, is listed twice, and nobody can comment on it.
        let entry = shown.entry(&file.path).and_modify(|hunks| *hunks = &[]);
        entry.or_insert(&file.hunks);
    }
    let mut suggestions = Vec::new();
    let mut left_out = BTreeMap::new();
    let mut rest = Vec::new();
    for (path, change) in patch.files() {
        let hunks = shown.get(path).copied().unwrap_or_default();
        let (mut own, mut reasons) = match suggestions_for(path, change, hunks) {
            Ok(found) => found,
            Err(reason) => (Vec::new(), vec![reason]),
        };
        let room = most - suggestions.len();
        if own.len() > room {
            own.truncate(room);
            reasons.push(LeftOut::TooMany);
        }
        let mut before = change.before.clone();
        if !own.is_empty() {
            match committed(&own, path, change) {
                Some(blob) => before = Some(blob),
                None => {
                    own.clear();
                    reasons.push(LeftOut::NotProved);
                }
            }
        }
        suggestions.append(&mut own);
        if before != change.after {
            reasons.sort_unstable();
            reasons.dedup();
            left_out.insert(path.clone(), reasons);
        }
        let after = change.after.clone();
        rest.push((path.clone(), FileChange { before, after }));
    }
    Cut {
        suggestions,
        remainder: Patch::new(rest),
        left_out,
    }
}

/// The files of a diff by name and hunks; those whose hunks are not there, or cannot be read, have no anchors.
pub fn diff_files<'a>(files: impl IntoIterator<Item = (&'a str, Option<&'a str>)>) -> Vec<DiffFile> {
    let file = |(path, hunks): (&str, Option<&str>)| {
        Some(DiffFile {
            path: path.parse().ok()?,
            hunks: hunks.and_then(|hunks| parse_hunks(hunks).ok()).unwrap_or_default(),
        })
    };
    files.into_iter().filter_map(file).collect()
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

/// The suggestions for one file, with the reasons why they are not all of the change; or why there are none.
fn suggestions_for(
    path: &RepoPath,
    change: &FileChange,
    hunks: &[VisibleLines],
) -> Result<(Vec<Suggestion>, Vec<LeftOut>), LeftOut> {
    let (before, after) = match (&change.before, &change.after) {
        (Some(before), Some(after)) => (before, after),
        (None, _) => return Err(LeftOut::New),
        (_, None) => return Err(LeftOut::Deleted),
    };
    if [before, after].iter().any(|blob| blob.mode == FileMode::Symlink) {
        return Err(LeftOut::Link);
    }
    let (old, new) = (text::read(before)?, text::read(after)?);
    // A file of one line takes the line ends of a suggestion as they are.
    let end = old.end.unwrap_or(LineEnd::LineFeed);
    if new.end.is_some_and(|new| new != end) {
        return Err(LeftOut::LineEnds);
    }
    let shown = shown_lines(hunks, &old.lines)?;
    let mut left_out = Vec::new();
    left_out.extend((before.mode != after.mode).then_some(LeftOut::Mode));
    left_out.extend((old.is_ended != new.is_ended).then_some(LeftOut::LastLineEnd));
    let edits = edits(&old.lines, &new.lines);
    let (placed, outside) = placed(&edits, &shown, (&old, &new));
    left_out.extend(outside.then_some(LeftOut::OutsideHunks));
    let mut suggestions = Vec::with_capacity(placed.len());
    for edit in placed {
        let lines = |lines: &[&str]| lines.iter().flat_map(|line| [*line, "\n"]).collect::<String>();
        let replaced = lines(&old.lines[edit.old.clone()]);
        let suggestion = Suggestion {
            path: path.clone(),
            start_line: u32::try_from(edit.old.start + 1).map_err(|_| LeftOut::TooLong)?,
            line: u32::try_from(edit.old.end).map_err(|_| LeftOut::TooLong)?,
            replacement: lines(&new.lines[edit.new]),
        };
        if suggestion.block().chars().count() > MAX_BLOCK {
            left_out.push(LeftOut::TooLong);
        } else if is_odd(&suggestion.replacement, &replaced) {
            left_out.push(LeftOut::OddCharacters);
        } else {
            suggestions.push(suggestion);
        }
    }
    Ok((suggestions, left_out))
}

/// Whether there are characters that a comment may not keep, controls and the byte order mark, or such that nobody sees
/// and that were not there before.
fn is_odd(text: &str, before: &str) -> bool {
    let is_lost = |c: char| c.is_control() && !matches!(c, '\n' | '\t') || c == '\u{feff}';
    let is_hidden = |c: char| !is_visible(c);
    text.contains(|c| is_lost(c) || is_hidden(c) && !before.contains(c))
}

/// The ranges of lines, from 0, that the hunks show.
fn shown_lines(hunks: &[VisibleLines], head: &[&str]) -> Result<Vec<Range<usize>>, LeftOut> {
    if hunks.is_empty() {
        return Err(LeftOut::NotInDiff);
    }
    let mut shown: Vec<Range<usize>> = Vec::new();
    for hunk in hunks.iter().filter(|hunk| !hunk.right.is_empty()) {
        let start = (hunk.new_start as usize).checked_sub(1).ok_or(LeftOut::OtherHead)?;
        let end = start.checked_add(hunk.right.len()).ok_or(LeftOut::OtherHead)?;
        let lines = head.get(start..end).ok_or(LeftOut::OtherHead)?;
        let is_same = |(line, right): (&&str, &String)| right.strip_suffix('\r').unwrap_or(right) == *line;
        if !lines.iter().zip(&hunk.right).all(is_same) || shown.last().is_some_and(|last| last.end > start) {
            return Err(LeftOut::OtherHead);
        }
        shown.push(start..end);
    }
    Ok(shown)
}

/// The smallest changes that lead from the old lines to the new, with unchanged lines between any two.
fn edits(old: &[&str], new: &[&str]) -> Vec<LineEdit> {
    let mut edits: Vec<LineEdit> = Vec::new();
    for op in similar::capture_diff_slices(similar::Algorithm::Myers, old, new) {
        if op.tag() == similar::DiffTag::Equal {
            continue;
        }
        let edit = LineEdit {
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

/// The edits that fit into one hunk each, grown where GitHub wants more lines than change; and whether some do not.
fn placed(edits: &[LineEdit], shown: &[Range<usize>], texts: (&Text<'_>, &Text<'_>)) -> (Vec<LineEdit>, bool) {
    let mut placed: Vec<(usize, LineEdit)> = Vec::new();
    let mut is_outside = false;
    for (index, edit) in edits.iter().enumerate() {
        // Unchanged lines, which alone an edit may grow into, reach from the edit before to the one after.
        let free = Range {
            start: index.checked_sub(1).map_or(0, |before| edits[before].old.end),
            end: edits.get(index + 1).map_or(usize::MAX, |after| after.old.start),
        };
        let Some((hunk, edit)) = place(edit, shown, &free, texts) else {
            is_outside = true;
            continue;
        };
        match placed.last_mut() {
            Some((last_hunk, last)) if *last_hunk == hunk && last.old.end >= edit.old.start => last.extend(&edit),
            _ => placed.push((hunk, edit)),
        }
    }
    (placed.into_iter().map(|(_, edit)| edit).collect(), is_outside)
}

/// Finds the hunk of an edit, and gives it lines to stand on.
fn place(
    edit: &LineEdit,
    shown: &[Range<usize>],
    free: &Range<usize>,
    (old, new): (&Text<'_>, &Text<'_>),
) -> Option<(usize, LineEdit)> {
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
    let is_blank = |line: &&str| line.trim().is_empty();
    let mut only_blank = !edit.new.is_empty() && new.lines[edit.new.clone()].iter().all(is_blank);
    while only_blank || needs_more(&edit, old) {
        let taken = if edit.old.start > room.start {
            edit.old.start -= 1;
            edit.new.start -= 1;
            edit.old.start
        } else if edit.old.end < room.end {
            edit.old.end += 1;
            edit.new.end += 1;
            edit.old.end - 1
        } else {
            return None;
        };
        // With a line that is not one, what was to be deleted is a block of blank lines now.
        only_blank = is_blank(&old.lines[taken]) && (only_blank || edit.new.len() == 1);
    }
    (edit.old.end <= shown[hunk].end).then_some((hunk, edit))
}

/// Whether an edit has to take in an unchanged line.
fn needs_more(edit: &LineEdit, old: &Text<'_>) -> bool {
    // Without its last line, a file whose last line has no end would end in one.
    let takes_open_end = edit.new.is_empty() && edit.old.end == old.lines.len() && !old.is_ended;
    // The first line tells how the new ones end, and this one does not.
    let begins_at_open_end = !old.is_ended && edit.old.start + 1 == old.lines.len() && edit.new.len() > 1;
    edit.old.is_empty() || takes_open_end || begins_at_open_end && old.end == Some(LineEnd::Windows)
}

impl LineEdit {
    /// Takes in an edit that starts where this one ends, or before.
    fn extend(&mut self, next: &LineEdit) {
        self.old.end = self.old.end.max(next.old.end);
        self.new.end = self.new.end.max(next.new.end);
    }
}

#[cfg(test)]
mod tests;
