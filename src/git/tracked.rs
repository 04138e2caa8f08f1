//! The files that git tracks in a local directory, even if a `.gitignore` excludes them by now.

use std::path::Path;

use super::LocalRepository;
use super::store::local_head;
use crate::domain::id::RepoPath;

/// The files of the checked-out commit that are in a directory, by their paths relative to it.
///
/// Empty outside of a repository, and if it cannot be read.
pub fn tracked(directory: &Path) -> Vec<RepoPath> {
    try_tracked(directory).unwrap_or_default()
}

fn try_tracked(directory: &Path) -> Option<Vec<RepoPath>> {
    let directory = directory.canonicalize().ok()?;
    let repository = LocalRepository::open(&directory).ok()?;
    let head = local_head(&directory)?;
    let top = repository.work_tree()?.canonicalize().ok()?;
    let below = directory.strip_prefix(top).ok()?.to_str()?;
    let prefix = if below.is_empty() {
        String::new()
    } else {
        format!("{below}/")
    };
    let paths = repository.paths(&head).ok()?.into_iter();
    Some(
        paths
            .filter_map(|path| path.strip_prefix(&prefix)?.parse().ok())
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use git2::{Repository, Signature};

    use super::*;

    #[test]
    fn a_tracked_file_that_is_ignored_later_stays_tracked() {
        let directory = tempfile::tempdir().unwrap();
        let repository = Repository::init(directory.path()).unwrap();
        for (path, text) in [
            (".gitignore", "fuzz/\n"),
            ("sub/fuzz/seed", "1"),
            ("sub/fuzz/new", "2"),
            ("a.go", ""),
        ] {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        assert!(tracked(directory.path()).is_empty());
        let mut index = repository.index().unwrap();
        for path in [".gitignore", "sub/fuzz/seed", "a.go"] {
            index.add_path(Path::new(path)).unwrap();
        }
        index.write().unwrap();
        let tree = repository.find_tree(index.write_tree().unwrap()).unwrap();
        let author = Signature::now("a", "a@example.org").unwrap();
        repository
            .commit(Some("HEAD"), &author, &author, "first", &tree, &[])
            .unwrap();

        let shown = |paths: Vec<RepoPath>| paths.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        assert_eq!(shown(tracked(directory.path())), ".gitignore a.go sub/fuzz/seed");
        assert_eq!(shown(tracked(&directory.path().join("sub"))), "fuzz/seed");
        assert!(tracked(Path::new("/nowhere/at/all")).is_empty());
    }
}
