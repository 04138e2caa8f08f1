//! Splits a patch into pieces that can be left out alone, and puts chosen pieces together again.
//!
//! Silent lines, such as comments and blank lines, stay with the code around them: no test can say whether they are
//! needed.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

use super::super::id::RepoPath;
use super::super::patch::{Blob, FileChange, Patch};

/// A piece of a patch that can be left out alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchPiece {
    pub(super) path: RepoPath,
    /// Whether no test can judge it.
    pub(super) is_silent: bool,
    /// What a silent piece stays with: the pieces that have the same number.
    group: usize,
    /// `None`: the change of the whole file, because it is added, deleted, changes its mode or is not text.
    pub(super) lines: Option<LineChange>,
}

/// A range of lines in the old file, and the range in the new file that replaces it. Counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineChange {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

/// The silent lines of each file, counted from 0: before and after the patch.
pub type SilentLines = BTreeMap<RepoPath, [BTreeSet<usize>; 2]>;

/// Splits a patch into hunks: runs of changed lines without an unchanged line between them. Those of a file belong
/// together.
pub fn hunks(patch: &Patch, silent: &SilentLines) -> Vec<PatchPiece> {
    let mut pieces = Vec::new();
    for (group, (path, change)) in patch.files().enumerate() {
        let Some((before, after)) = texts(change) else {
            pieces.push(PatchPiece {
                path: path.clone(),
                is_silent: false,
                group,
                lines: None,
            });
            continue;
        };
        let (old, new) = (split(before), split(after));
        let piece = |lines: LineChange| PatchPiece {
            path: path.clone(),
            is_silent: is_silent(path, &lines, silent)
                || trimmed(&old[lines.old.clone()]) == trimmed(&new[lines.new.clone()]),
            group,
            lines: Some(lines),
        };
        let diff = similar::TextDiff::from_slices(&old, &new);
        let changed = diff.ops().iter().filter(|op| op.tag() != similar::DiffTag::Equal);
        let mut edits: Vec<LineChange> = Vec::new();
        for op in changed {
            let (old, new) = (op.old_range(), op.new_range());
            match edits.last_mut() {
                Some(last) if last.old.end == old.start && last.new.end == new.start => {
                    (last.old.end, last.new.end) = (old.end, new.end);
                }
                _ => edits.push(LineChange { old, new }),
            }
        }
        pieces.extend(edits.into_iter().map(piece));
    }
    pieces
}

/// Splits hunks into single lines. A line that only moves to the right or left is paired with itself, and silent like a
/// comment. Of the others, a removed line is paired with the added line that replaces it, if there is one. Those of a
/// hunk belong together.
pub fn lines(patch: &Patch, hunks: &[PatchPiece], silent: &SilentLines) -> Vec<PatchPiece> {
    let changes: BTreeMap<&RepoPath, &FileChange> = patch.files().collect();
    let mut pieces = Vec::new();
    for (group, hunk) in hunks.iter().enumerate() {
        let texts = changes.get(&hunk.path).and_then(|change| texts(change));
        let (Some(LineChange { old, new }), Some((before, after))) = (&hunk.lines, texts) else {
            pieces.push(PatchPiece { group, ..hunk.clone() });
            continue;
        };
        let (before, after) = (split(before), split(after));
        let (was, is) = (trimmed(&before[old.clone()]), trimmed(&after[new.clone()]));
        for op in similar::capture_diff_slices(similar::Algorithm::Myers, &was, &is) {
            let shifted = |range: Range<usize>, by: usize| range.start + by..range.end + by;
            let part = LineChange {
                old: shifted(op.old_range(), old.start),
                new: shifted(op.new_range(), new.start),
            };
            let stays = op.tag() == similar::DiffTag::Equal;
            pieces.extend(single(&hunk.path, part, silent).into_iter().map(|lines| PatchPiece {
                path: hunk.path.clone(),
                is_silent: stays || is_silent(&hunk.path, &lines, silent),
                group,
                lines: Some(lines),
            }));
        }
    }
    pieces
}

/// Pairs the lines of a change in their order. Silent lines are paired with none.
fn single(path: &RepoPath, change: LineChange, silent: &SilentLines) -> Vec<LineChange> {
    let LineChange { old, new } = change;
    let (mut i, mut j) = (old.start, new.start);
    let mut pairs = Vec::new();
    while i < old.end || j < new.end {
        let one = |old: Range<usize>, new: Range<usize>| LineChange { old, new };
        let (gone, come) = (one(i..i + 1, j..j), one(i..i, j..j + 1));
        let lines = if j < new.end && is_silent(path, &come, silent) {
            come
        } else if i < old.end && (j >= new.end || is_silent(path, &gone, silent)) {
            gone
        } else if i < old.end {
            one(i..i + 1, j..j + 1)
        } else {
            come
        };
        (i, j) = (lines.old.end, lines.new.end);
        pairs.push(lines);
    }
    pairs
}

fn trimmed<'t>(lines: &[&'t str]) -> Vec<&'t str> {
    lines.iter().map(|line| line.trim()).collect()
}

fn is_silent(path: &RepoPath, lines: &LineChange, silent: &SilentLines) -> bool {
    silent.get(path).is_some_and(|[before, after]| {
        lines.old.clone().all(|line| before.contains(&line)) && lines.new.clone().all(|line| after.contains(&line))
    })
}

/// The pieces that tests can judge.
pub fn judged(pieces: &[PatchPiece]) -> Vec<PatchPiece> {
    pieces.iter().filter(|piece| !piece.is_silent).cloned().collect()
}

/// The chosen pieces, with the silent ones that belong to any of them, or only to other silent ones.
pub fn with_silent(pieces: &[PatchPiece], chosen: &[PatchPiece]) -> Vec<PatchPiece> {
    let groups = |pieces: &[PatchPiece]| -> HashSet<usize> { pieces.iter().map(|piece| piece.group).collect() };
    let (code, kept) = (groups(&judged(pieces)), groups(chosen));
    let stays = |piece: &&PatchPiece| match piece.is_silent {
        true => kept.contains(&piece.group) || !code.contains(&piece.group),
        false => chosen.contains(piece),
    };
    pieces.iter().filter(stays).cloned().collect()
}

/// The patch with only these pieces.
pub fn only(patch: &Patch, pieces: &[PatchPiece]) -> Patch {
    let mut kept: BTreeMap<&RepoPath, Vec<&LineChange>> = BTreeMap::new();
    for piece in pieces {
        let edits = kept.entry(&piece.path).or_default();
        edits.extend(piece.lines.as_ref());
    }
    Patch::new(patch.files().filter_map(|(path, change)| {
        let edits = kept.get_mut(path)?;
        let change = match (texts(change), &change.after) {
            (Some((before, after)), Some(blob)) => {
                edits.sort_by_key(|edit| (edit.old.start, edit.new.start));
                let bytes = spliced(&split(before), &split(after), edits);
                FileChange {
                    before: change.before.clone(),
                    after: Some(Blob { mode: blob.mode, bytes }),
                }
            }
            _ => change.clone(),
        };
        Some((path.clone(), change))
    }))
}

fn spliced(old: &[&str], new: &[&str], edits: &[&LineChange]) -> Vec<u8> {
    let (mut out, mut at) = (String::new(), 0);
    let mut push = |lines: &[&str]| {
        for line in lines {
            // A line that was the last of its file, without a line end, may be followed by another one now.
            if !out.is_empty() && !out.ends_with('\n') {
                out.push('\n');
            }
            out.push_str(line);
        }
    };
    for edit in edits {
        push(old.get(at..edit.old.start).unwrap_or_default());
        push(new.get(edit.new.clone()).unwrap_or_default());
        at = edit.old.end;
    }
    push(old.get(at..).unwrap_or_default());
    out.into_bytes()
}

/// Both sides as text, if lines can be compared: a text file that stays one and keeps its mode.
pub(super) fn texts(change: &FileChange) -> Option<(&str, &str)> {
    let (before, after) = (change.before.as_ref()?, change.after.as_ref()?);
    (before.mode == after.mode).then(|| Some((before.text()?, after.text()?)))?
}

pub(super) fn split(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn patch(before: &str, after: &str) -> Patch {
        Patch::new([(
            "a.py".parse().unwrap(),
            FileChange {
                before: Some(Blob::regular(before)),
                after: Some(Blob::regular(after)),
            },
        )])
    }

    fn after(patch: &Patch) -> String {
        let text = |(_, change): (_, &FileChange)| change.after.as_ref().unwrap().text().unwrap().to_string();
        patch.files().map(text).collect()
    }

    #[test]
    fn each_hunk_and_each_line_can_be_left_out() {
        let patch = patch("a\nb\nc\nd\ne\n", "A\nb\nc\nD\nx\ne\n");
        let none = SilentLines::new();
        let hunks = hunks(&patch, &none);
        assert_eq!(hunks.len(), 2);
        assert_eq!(after(&only(&patch, &hunks[..1])), "A\nb\nc\nd\ne\n");
        assert_eq!(after(&only(&patch, &hunks[1..])), "a\nb\nc\nD\nx\ne\n");
        let lines = lines(&patch, &hunks, &none);
        assert_eq!(lines.len(), 3);
        assert_eq!(after(&only(&patch, &lines[1..2])), "a\nb\nc\nD\ne\n");
        assert_eq!(after(&only(&patch, &lines[2..])), "a\nb\nc\nd\nx\ne\n");
        assert!(only(&patch, &[]).is_empty());
    }

    #[test]
    fn silent_lines_stay_with_their_code() {
        let patch = patch("a\nb\nc\nd\n", "# why\n\nA\nb\n# left\nc\nD\n");
        let silent = SilentLines::from([("a.py".parse().unwrap(), [BTreeSet::new(), BTreeSet::from([0, 1, 4])])]);
        let hunks = hunks(&patch, &silent);
        let code = judged(&hunks);
        assert_eq!((hunks.len(), code.len()), (3, 2));
        assert_eq!(
            after(&only(&patch, &with_silent(&hunks, &code[1..]))),
            "a\nb\n# left\nc\nD\n"
        );
        let lines = lines(&patch, &hunks, &silent);
        let code = judged(&lines);
        assert_eq!(code.len(), 2);
        assert_eq!(
            after(&only(&patch, &with_silent(&lines, &code[..1]))),
            "# why\n\nA\nb\n# left\nc\nd\n"
        );
        assert_eq!(with_silent(&lines, &code), lines);
    }

    #[test]
    fn lines_that_only_move_to_the_right_stay_with_what_moved_them() {
        let patch = patch("a\nb\n\nc\n", "if x:\n  a\n  b2\n\n  c\n");
        let none = SilentLines::new();
        let hunks = hunks(&patch, &none);
        assert_eq!((hunks.len(), judged(&hunks).len()), (2, 1));
        let lines = lines(&patch, &hunks, &none);
        let code = judged(&lines);
        assert_eq!(code.len(), 2);
        assert_eq!(
            after(&only(&patch, &with_silent(&lines, &code[..1]))),
            "if x:\n  a\nb\n\n  c\n"
        );
    }

    #[test]
    fn a_new_file_is_one_piece() {
        let blob = Some(Blob::regular("x\n"));
        let patch = Patch::new([(
            "n".parse().unwrap(),
            FileChange {
                before: None,
                after: blob,
            },
        )]);
        let none = SilentLines::new();
        let pieces = hunks(&patch, &none);
        assert_eq!((pieces.len(), lines(&patch, &pieces, &none).len()), (1, 1));
        assert_eq!(only(&patch, &pieces), patch);
    }

    proptest! {
        #[test]
        fn all_pieces_together_are_the_patch_and_any_of_them_apply(
            before in "([ab]\n){0,12}[ab]?",
            now in "([abc]\n){0,12}[abc]?",
            chosen in proptest::collection::vec(any::<bool>(), 40),
            silent in proptest::collection::vec(any::<bool>(), 26),
        ) {
            let patch = patch(&before, &now);
            let of = |side: usize| (0..13).filter(|line| silent[side * 13 + line]).collect();
            let silent = SilentLines::from([("a.py".parse().unwrap(), [of(0), of(1)])]);
            let hunks = hunks(&patch, &silent);
            prop_assert_eq!(only(&patch, &hunks), patch.clone());
            prop_assert_eq!(&with_silent(&hunks, &judged(&hunks)), &hunks);
            let lines = lines(&patch, &hunks, &silent);
            prop_assert_eq!(only(&patch, &lines), patch.clone());
            prop_assert_eq!(&with_silent(&lines, &judged(&lines)), &lines);
            let some: Vec<_> = lines.into_iter().zip(chosen).filter(|(_, chosen)| *chosen).map(|(line, _)| line).collect();
            let part = only(&patch, &some);
            prop_assert!(part.changed_lines() <= before.lines().count() + now.lines().count());
        }
    }
}
