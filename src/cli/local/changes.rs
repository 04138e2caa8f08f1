//! What was changed in a local checkout last, where faults are looked for first: what is not committed yet, or else what
//! the commits of this branch are ahead of where it came from. Where that is not clear, nothing is said to be changed.

use std::ops::RangeInclusive;
use std::path::Path;

use crate::domain::anchor;
use crate::domain::id::RepoPath;
use crate::domain::patch::{Blob, Patch};
use crate::engine::desk::Desk;
use crate::git::LocalRepository;

/// A change of more files than this tells nothing about where a fault is; nor does one of larger files, in bytes.
const MAX_FILES: usize = 300;
const MAX_FILE: usize = 1 << 20;

/// Where a branch usually comes from, the surest first.
const UPSTREAMS: [&str; 2] = ["@{upstream}", "refs/remotes/origin/HEAD"];

/// Notes on the desk what was changed, and how those files were.
pub(super) async fn note(desk: &mut Desk) {
    let root = desk.checkout.root().to_owned();
    let found = tokio::task::spawn_blocking(move || changes(&root)).await;
    let Ok(Some((patch, inside))) = found else { return };
    if patch.paths().count() > MAX_FILES {
        return;
    }
    for (path, change) in patch.files() {
        let Some(path) = below(&inside, path) else { continue };
        let text = |blob: &Option<Blob>| {
            let text = blob.as_ref()?.text().filter(|text| text.len() <= MAX_FILE)?;
            Some(text.to_string())
        };
        let before = text(&change.before);
        if let Some(after) = text(&change.after) {
            let lines = changed_lines(before.as_deref().unwrap_or_default(), &after);
            desk.changed.insert(path.clone(), lines);
        }
        desk.originals.extend(before.map(|before| (path, before)));
    }
}

/// What was changed in the repository of a folder, and where in it the folder lies.
fn changes(root: &Path) -> Option<(Patch, String)> {
    let repository = LocalRepository::open(root).ok()?;
    let work_tree = repository.work_tree()?.canonicalize().ok()?;
    let inside = root.canonicalize().ok()?;
    let inside = inside.strip_prefix(work_tree).ok()?.to_str()?.to_string();
    let head = repository.resolve("HEAD").ok()?;
    let patch = repository.working_patch(&head).ok()?;
    if !patch.is_empty() {
        return Some((patch, inside));
    }
    let upstream = UPSTREAMS.iter().find_map(|name| repository.resolve(name).ok())?;
    let base = repository.merge_base(&upstream, &head).ok()?;
    if base == head {
        return None;
    }
    Some((repository.patch_between(&base, &head).ok()?, inside))
}

fn below(inside: &str, path: &RepoPath) -> Option<RepoPath> {
    let path = path.as_str();
    let path = match inside {
        "" => path,
        inside => path.strip_prefix(inside)?.strip_prefix('/')?,
    };
    path.parse().ok()
}

/// The lines of a text that another one does not have there.
fn changed_lines(before: &str, after: &str) -> Vec<RangeInclusive<u32>> {
    let patch = diffy::create_patch(before, after).to_string();
    let hunks = patch
        .find("@@")
        .and_then(|start| patch.get(start..))
        .unwrap_or_default();
    anchor::added_lines(hunks)
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
