//! Finds the Cargo workspace that a named folder belongs to, because its tests need it.
//!
//! Not here: members of other kinds of workspaces, whose tests run in their own directory.

use std::path::{Path, PathBuf};

use crate::domain::id::RepoPath;
use crate::{files, suite};

const MANIFEST: &str = "Cargo.toml";
const MAX_MANIFEST: u64 = 1 << 20;
/// The maximum depth of a member.
const MAX_DEPTH: usize = 16;

/// A workspace around the named folder.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Whole {
    pub(super) top: PathBuf,
    /// The manifest of the named folder, relative to the top.
    pub(super) manifest: RepoPath,
}

/// The workspace that this folder is a member of, within its repository.
pub(super) fn of(named: &Path) -> Option<Whole> {
    let own: toml::Table = text(named)?.parse().ok()?;
    if own.contains_key("workspace") {
        return None;
    }
    let mut inner = named;
    for _ in 0..MAX_DEPTH {
        // Folders above the top of a repository do not belong to it.
        if inner.join(".git").exists() {
            return None;
        }
        inner = inner.parent()?;
        let below = named.strip_prefix(inner).ok()?.to_str()?;
        if text(inner).is_some_and(|manifest| suite::has_member(&manifest, below)) {
            return Some(Whole {
                top: inner.to_path_buf(),
                manifest: format!("{below}/{MANIFEST}").parse().ok()?,
            });
        }
    }
    None
}

fn text(folder: &Path) -> Option<String> {
    let bytes = files::read_result(folder, Path::new(MANIFEST), MAX_MANIFEST).ok()?;
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_tested_from_the_top_of_its_workspace() {
        let tree = tempfile::tempdir().unwrap();
        for (path, text) in [
            (
                "Cargo.toml",
                "[workspace]\nmembers = ['crates/*']\nexclude = ['crates/apart']",
            ),
            ("crates/one/Cargo.toml", "[package]\nname = 'one'"),
            ("crates/apart/Cargo.toml", "[package]\nname = 'apart'"),
            ("crates/own/Cargo.toml", "[package]\nname = 'own'\n[workspace]"),
            ("crates/clone/Cargo.toml", "[package]\nname = 'clone'"),
            ("crates/clone/.git/HEAD", ""),
            ("crates/python/pyproject.toml", ""),
        ] {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let found = of(&tree.path().join("crates/one"));
        let expected = Whole {
            top: tree.path().to_path_buf(),
            manifest: "crates/one/Cargo.toml".parse().unwrap(),
        };
        assert_eq!(found, Some(expected));
        for alone in ["", "crates/apart", "crates/own", "crates/clone", "crates/python"] {
            assert_eq!(of(&tree.path().join(alone)), None, "{alone}");
        }
    }
}
