//! The changes in a local checkout since its base, where faults are looked for first.

use std::ops::RangeInclusive;

use super::base::Compared;
use crate::domain::anchor;
use crate::domain::id::RepoPath;
use crate::domain::patch::Blob;
use crate::engine::worktree::Worktree;

/// A change of more files, or of larger files in bytes, says nothing about where a fault is.
const MAX_FILES: usize = 300;
const MAX_FILE: usize = 1 << 20;

/// Records in the worktree what was touched, the changed lines, and the original text of those files.
pub(super) fn note(worktree: &mut Worktree, compared: &Compared) {
    let patch = &compared.patch;
    let Some(inside) = compared.inside.to_str() else { return };
    worktree.touched = patch.paths().filter_map(|path| below(inside, path)).collect();
    if patch.paths().count() > MAX_FILES {
        return;
    }
    for (path, change) in patch.files() {
        let Some(path) = below(inside, path) else { continue };
        let text = |blob: &Option<Blob>| {
            let text = blob.as_ref()?.text().filter(|text| text.len() <= MAX_FILE)?;
            Some(text.to_string())
        };
        let before = text(&change.before);
        if let Some(after) = text(&change.after) {
            let lines = changed_lines(before.as_deref().unwrap_or_default(), &after);
            worktree.changed.insert(path.clone(), lines);
        }
        worktree.originals.extend(before.map(|before| (path, before)));
    }
}

fn below(inside: &str, path: &RepoPath) -> Option<RepoPath> {
    let path = path.as_str();
    let path = match inside {
        "" => path,
        inside => path.strip_prefix(inside)?.strip_prefix('/')?,
    };
    path.parse().ok()
}

/// The lines of a text that are new relative to another text.
fn changed_lines(before: &str, after: &str) -> Vec<RangeInclusive<u32>> {
    anchor::added_lines(&anchor::hunks(before, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_those_of_the_new_text() {
        assert_eq!(changed_lines("a\nb\nc\n", "a\nB\nc\nd\n"), [2..=2, 4..=4]);
        assert_eq!(changed_lines("", "a\nb\n"), [1..=2]);
        assert_eq!(changed_lines("a\nb\n", "a\n"), Vec::<RangeInclusive<u32>>::new());
        assert_eq!(changed_lines("a\n", "a\nb"), [2..=2]);
    }

    #[test]
    fn paths_are_those_below_the_folder() {
        let path = |text: &str| text.parse::<RepoPath>().ok();
        let of = |inside: &str, text: &str| below(inside, &path(text)?);
        assert_eq!(of("", "a/b.py"), path("a/b.py"));
        assert_eq!(of("a", "a/b.py"), path("b.py"));
        assert_eq!(of("a", "ab/b.py"), None);
        assert_eq!(of("a", "c.py"), None);
    }
}
