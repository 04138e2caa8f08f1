//! Finds the pieces of a patch that are only formatting.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use super::super::id::RepoPath;
use super::super::patch::{FileChange, Patch};
use super::pieces::{PatchPiece, split, texts};

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
    let is_moved = |at: usize| imports[at] && only_moved(&hunks[at].path);
    let judged: HashSet<&RepoPath> = hunks
        .iter()
        .filter(|hunk| !hunk.is_silent)
        .map(|hunk| &hunk.path)
        .collect();
    let speaks = |at: usize| {
        let is_blank = |lines: &[String]| lines.iter().all(|line| line.trim().is_empty());
        sides[at]
            .as_ref()
            .is_some_and(|(old, new)| !is_blank(old) || !is_blank(new))
    };
    (0..hunks.len())
        .map(|at| match hunks[at].is_silent {
            true => is_white(at) && speaks(at) && !judged.contains(&hunks[at].path),
            false => is_white(at) || is_moved(at),
        })
        .collect()
}

fn is_import(line: &str) -> bool {
    let line = line.trim();
    line.is_empty()
        || ["import ", "from ", "use ", "#include ", "require ", "require("]
            .iter()
            .any(|word| line.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::super::super::patch::Blob;
    use super::super::pieces::{SilentLines, hunks};
    use super::*;

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
            ("a\n\n\nb\n", "a\n\n\n\nb\n", &[true]),
        ] {
            let patch = Patch::new([(
                "a.py".parse().unwrap(),
                FileChange {
                    before: Some(Blob::regular(before)),
                    after: Some(Blob::regular(after)),
                },
            )]);
            let hunks = hunks(&patch, &SilentLines::new());
            assert_eq!(noise(&patch, &hunks), expected, "{before:?} {after:?}");
        }
    }
}
