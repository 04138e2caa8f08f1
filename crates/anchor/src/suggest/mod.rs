//! Turns a patch on the head of a pull request into review suggestions and a remainder.
//!
//! GitHub accepts a suggestion only for lines on the right side within one hunk of the pull request's diff, and
//! committing it must produce exactly the tested bytes. So anything that GitHub might refuse or write differently
//! goes to the remainder, with its reason: files that the diff does not show; new, deleted, renamed and binary files;
//! links; changes of mode; lines outside the hunks; files with mixed line endings; a final line end that is added or
//! removed; and characters that a comment does not keep or readers do not see.

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

/// The maximum length of a suggestion's block in characters. GitHub allows 65,536 for the comment, which also
/// contains an explanation.
const MAX_BLOCK: usize = 65_000;

/// One file of the pull request's diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffFile {
    /// Its path in the head.
    pub path: RepoPath,
    /// As parsed by [`parse_hunks`]; empty if GitHub omits the patch.
    pub hunks: Vec<VisibleLines>,
}

/// A patch split into two parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cut {
    /// In the order of files and lines. Their ranges do not overlap, so they can be committed in any order or as a
    /// batch.
    pub suggestions: Vec<Suggestion>,
    /// The change that remains after all suggestions are committed: a patch on that tree, not on the head. `before`
    /// is the file with its suggestions, `after` is the tested file.
    pub remainder: Patch,
    /// Why there is a remainder: its files, with the reasons for each.
    pub left_out: BTreeMap<RepoPath, Vec<LeftOut>>,
}

/// A change of whole lines: the range of old lines, and the range of new lines that replace them. Counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LineEdit {
    old: Range<usize>,
    new: Range<usize>,
}

/// Splits a patch on the head into suggestions and a remainder.
pub fn cut(patch: &Patch, diff: &[DiffFile]) -> Cut {
    cut_first(patch, diff, usize::MAX)
}

/// The same with at most `most` suggestions; all further changes go to the remainder.
fn cut_first(patch: &Patch, diff: &[DiffFile], most: usize) -> Cut {
    let mut shown: BTreeMap<&RepoPath, &[VisibleLines]> = BTreeMap::new();
    for file in diff {
        // An entry that changes its type, such as from a link to a file, is listed twice, and GitHub allows no
        // comments on it.
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

/// The files of a diff by name and hunks. Files whose hunks are missing or cannot be parsed have no anchors.
pub fn diff_files<'a>(files: impl IntoIterator<Item = (&'a str, Option<&'a str>)>) -> Vec<DiffFile> {
    let file = |(path, hunks): (&str, Option<&str>)| {
        Some(DiffFile {
            path: path.parse().ok()?,
            hunks: hunks.and_then(|hunks| parse_hunks(hunks).ok()).unwrap_or_default(),
        })
    };
    files.into_iter().filter_map(file).collect()
}

/// Whether committing all suggestions and then the remainder produces the same bytes as the patch.
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

/// The file after these suggestions are committed, according to their blocks as Markdown renders them.
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

/// The suggestions for one file, with the reasons if they do not cover the whole change; or why there are none.
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
    // A file with a single line keeps the line ends of a suggestion unchanged.
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

/// Whether a text has characters that a comment may not keep (control characters and the byte order mark), or
/// invisible characters that were not there before.
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

/// The smallest edits that turn the old lines into the new ones, with at least one unchanged line between any two.
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

/// The edits that fit into one hunk each, extended where GitHub needs more lines; and whether some edits do not fit.
fn placed(edits: &[LineEdit], shown: &[Range<usize>], texts: (&Text<'_>, &Text<'_>)) -> (Vec<LineEdit>, bool) {
    let mut placed: Vec<(usize, LineEdit)> = Vec::new();
    let mut is_outside = false;
    for (index, edit) in edits.iter().enumerate() {
        // An edit may only be extended by the unchanged lines between its neighbours.
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

/// Finds the hunk of an edit, and adds unchanged lines where GitHub needs them.
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
    // An insertion is attached to the line above if the diff shows it, otherwise to the line below.
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
    // GitHub treats a block of blank lines as an empty one, which deletes the lines.
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
        // A deletion that was extended by a blank line is now a block of blank lines.
        only_blank = is_blank(&old.lines[taken]) && (only_blank || edit.new.len() == 1);
    }
    (edit.old.end <= shown[hunk].end).then_some((hunk, edit))
}

/// Whether an edit must include an unchanged line.
fn needs_more(edit: &LineEdit, old: &Text<'_>) -> bool {
    // If the last line has no end, deleting it would leave a file that has one.
    let takes_open_end = edit.new.is_empty() && edit.old.end == old.lines.len() && !old.is_ended;
    // GitHub takes the line end of the new lines from the first replaced line, which has none here.
    let begins_at_open_end = !old.is_ended && edit.old.start + 1 == old.lines.len() && edit.new.len() > 1;
    edit.old.is_empty() || takes_open_end || begins_at_open_end && old.end == Some(LineEnd::Windows)
}

impl LineEdit {
    /// Merges an edit that starts at or before the end of this one.
    fn extend(&mut self, next: &LineEdit) {
        self.old.end = self.old.end.max(next.old.end);
        self.new.end = self.new.end.max(next.new.end);
    }
}

#[cfg(test)]
mod tests;
