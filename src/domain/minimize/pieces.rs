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
    /// The words that it replaces by others in lines that otherwise stay much the same.
    replaced: BTreeSet<String>,
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

/// The added lines of each file that nothing can need, counted from 0: they only print, or set what nothing reads.
pub type Leftovers = BTreeMap<RepoPath, BTreeSet<usize>>;

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
                replaced: BTreeSet::new(),
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
            replaced: replaced(&old[lines.old.clone()], &new[lines.new.clone()]),
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

/// Splits hunks at their leftovers, each of which is a piece. All other lines of a hunk stay: what the tests do not
/// need may still be right.
pub fn lines(hunks: &[PatchPiece], leftovers: &Leftovers) -> Vec<PatchPiece> {
    let mut pieces = Vec::new();
    for hunk in hunks {
        let stays = PatchPiece {
            is_silent: true,
            group: usize::MAX,
            ..hunk.clone()
        };
        let (Some(LineChange { old, new }), Some(leftovers)) = (&hunk.lines, leftovers.get(&hunk.path)) else {
            pieces.push(stays);
            continue;
        };
        let part = |old: Range<usize>, new: Range<usize>| Some(LineChange { old, new });
        let (mut rest, mut at) = (old.clone(), new.start);
        for line in leftovers.range(new.clone()) {
            pieces.push(PatchPiece {
                lines: part(rest.clone(), at..*line),
                ..stays.clone()
            });
            pieces.push(PatchPiece {
                is_silent: false,
                group: 0,
                replaced: BTreeSet::new(),
                lines: part(old.end..old.end, *line..line + 1),
                ..stays.clone()
            });
            (rest, at) = (old.end..old.end, line + 1);
        }
        pieces.push(PatchPiece {
            lines: part(rest, at..new.end),
            ..stays
        });
    }
    pieces
}

/// The words of the old lines that are missing in the new ones, where each line keeps most of its words.
fn replaced(old: &[&str], new: &[&str]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (old, new) in old.iter().zip(new).filter(|_| old.len() == new.len()) {
        let words = |line: &str| -> BTreeSet<String> {
            let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            // Two numbers may be the same by chance.
            let names = words.filter(|word| word.starts_with(|c: char| !c.is_ascii_digit()));
            names.map(str::to_string).collect()
        };
        let (old, new) = (words(old), words(new));
        let gone: BTreeSet<String> = old.difference(&new).cloned().collect();
        if gone.len() * 2 <= old.len() {
            found.extend(gone);
        }
    }
    found
}

/// The lines without what a new block around them changes.
fn trimmed<'t>(lines: &[&'t str]) -> Vec<&'t str> {
    lines.iter().map(|line| line.trim_start()).collect()
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

/// The functions of each file after the patch, as ranges of lines counted from 0.
pub type Functions = BTreeMap<RepoPath, Vec<Range<usize>>>;

/// The pieces that tests can judge, in groups that are only left out together: what changes in one function is one
/// thought, of which the tests may need only a part, and so is replacing the same word in several places of a file.
pub fn units(pieces: &[PatchPiece], functions: &Functions) -> Vec<Vec<PatchPiece>> {
    let around = |piece: &PatchPiece| {
        let lines = piece.lines.as_ref()?;
        let mut functions = functions.get(&piece.path)?.iter();
        functions.position(|around| around.contains(&lines.new.start) && lines.new.end <= around.end)
    };
    let belong_together = |(one, function): &(PatchPiece, Option<usize>),
                           (other, its): &(PatchPiece, Option<usize>)| {
        let is_same_function = function.is_some() && function == its;
        one.path == other.path && (is_same_function || !one.replaced.is_disjoint(&other.replaced))
    };
    let mut units: Vec<Vec<(PatchPiece, Option<usize>)>> = Vec::new();
    for piece in judged(pieces) {
        let function = around(&piece);
        let found = (piece, function);
        let (with, others): (Vec<_>, Vec<_>) = std::mem::take(&mut units)
            .into_iter()
            .partition(|unit| unit.iter().any(|other| belong_together(&found, other)));
        units = others;
        units.push(with.into_iter().flatten().chain([found]).collect());
    }
    let pieces = |unit: Vec<(PatchPiece, _)>| unit.into_iter().map(|(piece, _)| piece).collect();
    units.into_iter().map(pieces).collect()
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
    fn each_hunk_and_each_leftover_can_be_left_out() {
        let patch = patch("a\nb\nc\nd\ne\n", "A\nb\nc\nx\nD\ny\nz\ne\n");
        let hunks = hunks(&patch, &SilentLines::new());
        assert_eq!(hunks.len(), 2);
        assert_eq!(after(&only(&patch, &hunks[..1])), "A\nb\nc\nd\ne\n");
        assert_eq!(after(&only(&patch, &hunks[1..])), "a\nb\nc\nx\nD\ny\nz\ne\n");
        let lines = lines(&hunks, &Leftovers::from([("a.py".parse().unwrap(), [3, 5].into())]));
        let leftovers = judged(&lines);
        assert_eq!(leftovers.len(), 2);
        let with = |chosen: &[PatchPiece]| after(&only(&patch, &with_silent(&lines, chosen)));
        assert_eq!(with(&[]), "A\nb\nc\nD\nz\ne\n");
        assert_eq!(with(&leftovers[..1]), "A\nb\nc\nx\nD\nz\ne\n");
        assert_eq!(with(&leftovers[1..]), "A\nb\nc\nD\ny\nz\ne\n");
        assert!(only(&patch, &[]).is_empty());
    }

    #[test]
    fn what_changes_in_one_function_is_left_out_together() {
        let patch = patch("a\nb\nc\nd\ne\nf\ng\n", "A\nb\nC\nd\nE\nf\nG\n");
        let hunks = hunks(&patch, &SilentLines::new());
        let functions = Functions::from([("a.py".parse().unwrap(), vec![1..5, 5..7])]);
        let units = units(&hunks, &functions);
        let texts: Vec<String> = units.iter().map(|unit| after(&only(&patch, unit))).collect();
        assert_eq!(
            texts,
            [
                "A\nb\nc\nd\ne\nf\ng\n",
                "a\nb\nC\nd\nE\nf\ng\n",
                "a\nb\nc\nd\ne\nf\nG\n"
            ]
        );
    }

    #[test]
    fn what_replaces_the_same_word_is_left_out_together() {
        let before = "for k in self.list:\n\nreturn repr(self.list)\n\nother(a, b)\n\ndrop\n";
        let now = "for k in self.items():\n\nreturn repr(list(self))\n\nother(b, b)\n\n";
        let patch = patch(before, &now.replace("list(self)", "tuple(self)"));
        let units = units(&hunks(&patch, &SilentLines::new()), &Functions::new());
        assert_eq!(units.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1, 1]);
    }

    #[test]
    fn silent_hunks_stay_with_their_code() {
        let patch = patch("a\nb\nc\nd\n", "# why\n\nA\nb\n# left\nc\nD\n");
        let silent = SilentLines::from([("a.py".parse().unwrap(), [BTreeSet::new(), BTreeSet::from([0, 1, 4])])]);
        let hunks = hunks(&patch, &silent);
        let code = judged(&hunks);
        assert_eq!((hunks.len(), code.len()), (3, 2));
        assert_eq!(
            after(&only(&patch, &with_silent(&hunks, &code[1..]))),
            "a\nb\n# left\nc\nD\n"
        );
        assert!(with_silent(&hunks, &[]).is_empty());
    }

    #[test]
    fn lines_that_only_move_to_the_right_stay_with_what_moved_them() {
        let patch = patch("a\nb\n\nc\n", "if x:\n  a\n  b2\n\n  c\n");
        let hunks = hunks(&patch, &SilentLines::new());
        assert_eq!((hunks.len(), judged(&hunks).len()), (2, 1));
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
        let pieces = hunks(&patch, &SilentLines::new());
        assert_eq!((pieces.len(), lines(&pieces, &Leftovers::new()).len()), (1, 1));
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
            let of = |side: usize| -> BTreeSet<usize> { (0..13).filter(|line| silent[side * 13 + line]).collect() };
            let leftovers = Leftovers::from([("a.py".parse().unwrap(), of(1))]);
            let silent = SilentLines::from([("a.py".parse().unwrap(), [of(0), of(1)])]);
            let hunks = hunks(&patch, &silent);
            prop_assert_eq!(only(&patch, &hunks), patch.clone());
            prop_assert_eq!(&with_silent(&hunks, &judged(&hunks)), &hunks);
            let lines = lines(&hunks, &leftovers);
            prop_assert_eq!(only(&patch, &lines), patch.clone());
            prop_assert_eq!(&with_silent(&lines, &judged(&lines)), &lines);
            let some: Vec<_> = lines.into_iter().zip(chosen).filter(|(_, chosen)| *chosen).map(|(line, _)| line).collect();
            let part = only(&patch, &some);
            // A last line without a line end changes as well if a line follows it now.
            let most = before.lines().count() + now.lines().count() + usize::from(!before.ends_with('\n'));
            prop_assert!(part.changed_lines() <= most);
        }
    }
}
