//! Makes a patch smaller: splits it into pieces, finds those that are only formatting, and says which pieces to leave
//! out next (delta debugging, <https://www.st.cs.uni-saarland.de/papers/tse2002/>). The caller runs the tests and
//! decides when to stop.
//!
//! Silent lines, such as comments and blank lines, stay with the code around them: no test can say whether they are
//! needed.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

use super::id::RepoPath;
use super::patch::{Blob, FileChange, Patch};

/// A piece of a patch that can be left out alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchPiece {
    path: RepoPath,
    /// Whether no test can judge it.
    is_silent: bool,
    /// What a silent piece stays with: the pieces that have the same number.
    group: usize,
    /// `None`: the change of the whole file, because it is added, deleted, changes its mode or is not text.
    lines: Option<LineChange>,
}

/// A range of lines in the old file, and the range in the new file that replaces it. Counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LineChange {
    old: Range<usize>,
    new: Range<usize>,
}

/// The silent lines of each file, counted from 0: before and after the patch.
pub type SilentLines = BTreeMap<RepoPath, [BTreeSet<usize>; 2]>;

/// Splits a patch into hunks: runs of changed lines without an unchanged line between them. Those of a file belong
/// together.
pub fn hunks(patch: &Patch, silent: &SilentLines) -> Vec<PatchPiece> {
    let mut pieces = Vec::new();
    for (group, (path, change)) in patch.files().enumerate() {
        let piece = |lines: Option<LineChange>| PatchPiece {
            path: path.clone(),
            is_silent: lines.as_ref().is_some_and(|lines| is_silent(path, lines, silent)),
            group,
            lines,
        };
        let Some((before, after)) = texts(change) else {
            pieces.push(piece(None));
            continue;
        };
        let (old, new) = (split(before), split(after));
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
        pieces.extend(edits.into_iter().map(|edit| piece(Some(edit))));
    }
    pieces
}

/// Splits hunks into single lines. A removed line is paired with the added line that replaces it, if there is one, and
/// silent lines are paired with none. Those of a hunk belong together.
pub fn lines(hunks: &[PatchPiece], silent: &SilentLines) -> Vec<PatchPiece> {
    let mut pieces = Vec::new();
    for (group, hunk) in hunks.iter().enumerate() {
        let Some(LineChange { old, new }) = &hunk.lines else {
            pieces.push(PatchPiece { group, ..hunk.clone() });
            continue;
        };
        let (mut i, mut j) = (old.start, new.start);
        while i < old.end || j < new.end {
            let one = |old: Range<usize>, new: Range<usize>| LineChange { old, new };
            let (gone, come) = (one(i..i + 1, j..j), one(i..i, j..j + 1));
            let lines = if j < new.end && is_silent(&hunk.path, &come, silent) {
                come
            } else if i < old.end && (j >= new.end || is_silent(&hunk.path, &gone, silent)) {
                gone
            } else if i < old.end {
                one(i..i + 1, j..j + 1)
            } else {
                come
            };
            (i, j) = (lines.old.end, lines.new.end);
            pieces.push(PatchPiece {
                path: hunk.path.clone(),
                is_silent: is_silent(&hunk.path, &lines, silent),
                group,
                lines: Some(lines),
            });
        }
    }
    pieces
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

/// Which of these hunks are only formatting, as far as the text can tell: they differ only in white space, or the
/// hunks of a file only move its imports. White space matters in Python and in strings, so the tests decide in the
/// end. Lines that only move to the right or left follow another change of their file, such as a new condition.
pub fn noise(patch: &Patch, hunks: &[PatchPiece]) -> Vec<bool> {
    let changes: BTreeMap<&RepoPath, &FileChange> = patch.files().collect();
    let sides = |piece: &PatchPiece| {
        let (before, after) = texts(changes.get(&piece.path)?)?;
        let edit = piece.lines.as_ref()?;
        let owned = |text: &str, range: &Range<usize>| -> Vec<String> {
            let lines = split(text);
            lines
                .get(range.clone())
                .unwrap_or_default()
                .iter()
                .map(ToString::to_string)
                .collect()
        };
        Some((owned(before, &edit.old), owned(after, &edit.new)))
    };
    let bare = |lines: &[String]| -> String {
        lines
            .iter()
            .flat_map(|line| line.chars())
            .filter(|c| !c.is_whitespace())
            .collect()
    };
    let sides: Vec<_> = hunks.iter().map(sides).collect();
    // Removed and added imports of each file, from all hunks that contain nothing else.
    let mut moved: BTreeMap<&RepoPath, [Vec<String>; 2]> = BTreeMap::new();
    let imports: Vec<bool> = sides
        .iter()
        .map(|sides| {
            sides
                .as_ref()
                .is_some_and(|(old, new)| old.iter().chain(new).all(|line| is_import(line)))
        })
        .collect();
    for ((hunk, sides), _) in hunks.iter().zip(&sides).zip(&imports).filter(|(_, imports)| **imports) {
        let Some((old, new)) = sides else { continue };
        let both = moved.entry(&hunk.path).or_default();
        for (into, lines) in both.iter_mut().zip([old, new]) {
            into.extend(
                lines
                    .iter()
                    .map(|line| line.trim().to_string())
                    .filter(|line| !line.is_empty()),
            );
        }
    }
    for both in moved.values_mut() {
        both.iter_mut().for_each(|side| side.sort_unstable());
    }
    let only_moved = |path: &RepoPath| moved.get(path).is_some_and(|[old, new]| old == new);
    let is_white = |at: usize| sides[at].as_ref().is_some_and(|(old, new)| bare(old) == bare(new));
    let is_formatting =
        |at: usize| !hunks[at].is_silent && (is_white(at) || (imports[at] && only_moved(&hunks[at].path)));
    let is_shifted = |at: usize| {
        let trimmed = |lines: &[String]| lines.iter().map(|line| line.trim().to_string()).collect::<Vec<_>>();
        sides[at]
            .as_ref()
            .is_some_and(|(old, new)| trimmed(old) == trimmed(new))
    };
    let changed: HashSet<&RepoPath> = (0..hunks.len())
        .filter(|at| !hunks[*at].is_silent && !is_formatting(*at))
        .map(|at| &hunks[at].path)
        .collect();
    (0..hunks.len())
        .map(|at| is_formatting(at) && !(is_shifted(at) && changed.contains(&hunks[at].path)))
        .collect()
}

fn is_import(line: &str) -> bool {
    let line = line.trim();
    line.is_empty()
        || ["import ", "from ", "use ", "#include ", "require ", "require("]
            .iter()
            .any(|word| line.starts_with(word))
}

/// Both sides as text, if lines can be compared: a text file that stays one and keeps its mode.
fn texts(change: &FileChange) -> Option<(&str, &str)> {
    let (before, after) = (change.before.as_ref()?, change.after.as_ref()?);
    (before.mode == after.mode).then(|| Some((before.text()?, after.text()?)))?
}

fn split(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Finds which of several parts are needed by leaving out ever smaller groups of them. It never asks about the same
/// set twice, nor about the empty set.
#[derive(Debug, Clone)]
pub struct Minimization {
    kept: Vec<usize>,
    /// The number of groups that the kept parts are divided into.
    groups: usize,
    /// The group that is left out next.
    at: usize,
    refuted: HashSet<Vec<usize>>,
}

impl Minimization {
    /// Starts with this many parts, which are known to work together.
    pub fn new(parts: usize) -> Self {
        Self {
            kept: (0..parts).collect(),
            groups: 2,
            at: 0,
            refuted: HashSet::new(),
        }
    }

    /// The smallest set known to work.
    pub fn kept(&self) -> &[usize] {
        &self.kept
    }

    /// The set to try next. `None` if no single part can be left out.
    pub fn ask(&mut self) -> Option<Vec<usize>> {
        while self.kept.len() > 1 {
            let groups = self.groups.min(self.kept.len());
            if self.at >= groups {
                if groups >= self.kept.len() {
                    return None;
                }
                (self.groups, self.at) = ((groups * 2).min(self.kept.len()), 0);
                continue;
            }
            let (start, end) = (
                self.kept.len() * self.at / groups,
                self.kept.len() * (self.at + 1) / groups,
            );
            let candidate = [&self.kept[..start], &self.kept[end..]].concat();
            if !self.refuted.contains(&candidate) {
                return Some(candidate);
            }
            self.at += 1;
        }
        None
    }

    /// Records whether the set that [`Minimization::ask`] named works.
    pub fn learn(&mut self, candidate: Vec<usize>, does: bool) {
        if does {
            self.groups = self.groups.saturating_sub(1).max(2);
            (self.kept, self.at) = (candidate, 0);
        } else {
            self.refuted.insert(candidate);
            self.at += 1;
        }
    }
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

    /// Searches to the end; also returns how often it asked.
    fn search(parts: usize, does: impl Fn(&[usize]) -> bool) -> (Vec<usize>, usize) {
        let (mut search, mut asked) = (Minimization::new(parts), 0);
        while let Some(candidate) = search.ask() {
            asked += 1;
            let does = does(&candidate);
            search.learn(candidate, does);
        }
        (search.kept().to_vec(), asked)
    }

    #[test]
    fn each_hunk_and_each_line_can_be_left_out() {
        let patch = patch("a\nb\nc\nd\ne\n", "A\nb\nc\nD\nx\ne\n");
        let none = SilentLines::new();
        let hunks = hunks(&patch, &none);
        assert_eq!(hunks.len(), 2);
        assert_eq!(after(&only(&patch, &hunks[..1])), "A\nb\nc\nd\ne\n");
        assert_eq!(after(&only(&patch, &hunks[1..])), "a\nb\nc\nD\nx\ne\n");
        let lines = lines(&hunks, &none);
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
        let lines = lines(&hunks, &silent);
        let code = judged(&lines);
        assert_eq!(code.len(), 2);
        assert_eq!(
            after(&only(&patch, &with_silent(&lines, &code[..1]))),
            "# why\n\nA\nb\n# left\nc\nd\n"
        );
        assert_eq!(with_silent(&lines, &code), lines);
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
        assert_eq!((pieces.len(), lines(&pieces, &none).len()), (1, 1));
        assert_eq!(only(&patch, &pieces), patch);
    }

    #[test]
    fn formatting_is_told_from_change() {
        for (before, after, expected) in [
            ("a = 1\n", "a=1\n", &[true][..]),
            ("a\n\n\nb\n", "a\n\nb\n", &[true]),
            ("f(a, b)\n", "f(\n    a, b\n)\n", &[true]),
            ("a \nb\nc\n", "a\nb\nC\n", &[true, false]),
            ("import b\nimport a\n\nx\n", "import a\nimport b\n\nx\n", &[true, true]),
            (
                "import b\nimport a\n\nx\n",
                "import a\nimport c\n\nx\n",
                &[false, false],
            ),
            ("a\n", "b\n", &[false]),
            ("a\n\nb\n", "if x:\n    a\n\n    b\n", &[false, false]),
            ("a\nb\n", "a\n    b\n", &[true]),
        ] {
            let patch = patch(before, after);
            let hunks = hunks(&patch, &SilentLines::new());
            assert_eq!(noise(&patch, &hunks), expected, "{before:?} {after:?}");
        }
    }

    #[test]
    fn two_needles_in_a_large_stack_are_found_quickly() {
        let (kept, asked) = search(64, |kept| kept.contains(&7) && kept.contains(&50));
        assert_eq!(kept, [7, 50]);
        assert!(asked <= 64, "{asked}");
        assert_eq!(search(1, |_| true), (vec![0], 0));
        assert_eq!(search(0, |_| true), (vec![], 0));
    }

    proptest! {
        #[test]
        fn what_is_kept_does_and_no_single_part_can_go(
            parts in 1_usize..24,
            needed in proptest::collection::vec(proptest::collection::vec(0_usize..24, 1..4), 1..4),
        ) {
            // Any one of several groups of parts, each complete. This is not monotone, because a search may be half
            // way when it meets it.
            let does = |kept: &[usize]| needed.iter().any(|group| group.iter().all(|part| kept.contains(&(part % parts))));
            let (kept, asked) = search(parts, does);
            prop_assert!(does(&kept));
            for leave_out in 0..kept.len() {
                let fewer: Vec<_> = kept.iter().enumerate().filter(|(at, _)| *at != leave_out).map(|(_, part)| *part).collect();
                prop_assert!(fewer.is_empty() || !does(&fewer));
            }
            prop_assert!(asked <= parts * parts + 3 * parts);
        }

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
            let lines = lines(&hunks, &silent);
            prop_assert_eq!(only(&patch, &lines), patch.clone());
            prop_assert_eq!(&with_silent(&lines, &judged(&lines)), &lines);
            let some: Vec<_> = lines.into_iter().zip(chosen).filter(|(_, chosen)| *chosen).map(|(line, _)| line).collect();
            let part = only(&patch, &some);
            prop_assert!(part.changed_lines() <= before.lines().count() + now.lines().count());
        }
    }
}
