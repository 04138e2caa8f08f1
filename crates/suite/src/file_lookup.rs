//! Finds the file in the tree that a failure's location refers to, if only the end of its path was printed, or a
//! package name precedes it: `com/example/ShopTest.java`, `example.com/shop/sub/sub_test.go`.
//!
//! The tree belongs to untrusted code: only names are read, links are not followed, and the search is bounded.

use std::path::{Path, PathBuf};

use greenlight_anchor::RepoPath;
use ignore::WalkBuilder;

/// Maximum number of files that are visited.
const MAX_ENTRIES: usize = 500_000;
/// Maximum depth of directories.
const MAX_DEPTH: usize = 32;
/// Directories of installed or built files.
const LEFT_OUT: [&str; 4] = ["node_modules", ".git", ".greenlight-cache", "target"];

/// The files of one tree, listed when first needed.
pub(super) struct Places<'a> {
    root: &'a Path,
    /// Where the command ran, relative to the root.
    directory: &'a Path,
    sources: Option<Vec<String>>,
}

impl<'a> Places<'a> {
    pub(super) fn new(root: &'a Path, directory: &'a Path) -> Self {
        Self {
            root,
            directory,
            sources: None,
        }
    }

    /// The path of the one file that is meant, or the path itself if there is no tree.
    pub(super) fn find(&mut self, relative: &Path) -> Option<PathBuf> {
        // A path outside of the tree is not looked up.
        let named: RepoPath = relative.to_str()?.parse().ok()?;
        if self.is_file(relative) || !self.root.is_dir() {
            return Some(relative.to_path_buf());
        }
        let printed = relative.strip_prefix(self.directory).unwrap_or(relative).to_path_buf();
        // Try without a module's name, or without the part of an import path that is not in the tree.
        let mut rest = printed.components();
        while rest.next().is_some() && !rest.as_path().as_os_str().is_empty() {
            let below = self.directory.join(rest.as_path());
            let found = [below.as_path(), rest.as_path()]
                .into_iter()
                .find(|path| self.is_file(path));
            // A bare name says nothing about its directory, so it only counts in the directory of the command.
            if let Some(found) = found {
                return Some(found.to_path_buf());
            }
        }
        self.by_its_end(named.as_str(), printed.to_str()?)
    }

    fn is_file(&self, path: &Path) -> bool {
        self.root.join(path).symlink_metadata().is_ok_and(|file| file.is_file())
    }

    /// The only file whose path ends like this, tests first.
    fn by_its_end(&mut self, named: &str, printed: &str) -> Option<PathBuf> {
        let extension = Path::new(named).extension()?.to_str()?.to_string();
        let root = self.root;
        let sources = self.sources.get_or_insert_with(|| sources(root));
        let mut end = printed;
        loop {
            let fits = |path: &&String| {
                path.strip_suffix(end)
                    .is_some_and(|above| above.is_empty() || above.ends_with('/'))
            };
            let mut found: Vec<&String> = sources.iter().filter(fits).collect();
            if found.len() > 1 {
                found.retain(|path| path.contains("src/test/"));
            }
            match found.as_slice() {
                [one] => return Some(PathBuf::from(one)),
                [_, ..] => return None,
                [] => {}
            }
            // Kotlin omits the directories that all packages share, and import paths start with a host.
            end = end.split_once('/')?.1;
            if !end.contains('/') && extension == "go" {
                return None;
            }
        }
    }
}

fn sources(root: &Path) -> Vec<String> {
    const KINDS: [&str; 5] = ["java", "kt", "groovy", "scala", "go"];
    let mut walk = WalkBuilder::new(root);
    walk.standard_filters(false)
        .follow_links(false)
        .max_depth(Some(MAX_DEPTH))
        .filter_entry(|entry| !LEFT_OUT.iter().any(|name| entry.file_name() == *name));
    walk.build()
        .take(MAX_ENTRIES)
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .filter(|entry| {
            entry
                .path()
                .extension()
                .is_some_and(|kind| KINDS.iter().any(|known| kind == *known))
        })
        .filter_map(|entry| Some(entry.path().strip_prefix(root).ok()?.to_str()?.to_string()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_file_that_is_meant_is_found() {
        let tree = tempfile::tempdir().unwrap();
        for path in [
            "core/src/test/java/com/example/ShopTest.java",
            "core/src/main/java/com/example/Shop.java",
            "twice/a/src/test/java/com/example/Same.java",
            "twice/b/src/test/java/com/example/Same.java",
            "shop_test.go",
            "sub/sub_test.go",
            "tools/gen/gen_test.go",
        ] {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        #[track_caller]
        fn check(root: &Path, directory: &str, printed: &str, expected: Option<&str>) {
            let directory = Path::new(directory);
            let found = Places::new(root, directory).find(&directory.join(printed));
            assert_eq!(found.as_deref(), expected.map(Path::new));
        }
        let root = tree.path();
        let in_core = "core/src/test/java/com/example/ShopTest.java";
        check(root, "", "com/example/ShopTest.java", Some(in_core));
        check(root, "core", "com/example/ShopTest.java", Some(in_core));
        check(root, "", "com/example/Same.java", None);
        check(root, "", "com/example/Gone.java", None);
        check(root, "", "example.com/shop/shop_test.go", Some("shop_test.go"));
        check(root, "", "example.com/shop/v2/sub/sub_test.go", Some("sub/sub_test.go"));
        check(
            root,
            "",
            "example.com/other/gen/gen_test.go",
            Some("tools/gen/gen_test.go"),
        );
        check(root, "", "sub/sub_test.go", Some("sub/sub_test.go"));
        check(root, "", "../../etc/passwd", None);
        check(Path::new("/nowhere"), "", "a/b.py", Some("a/b.py"));
    }
}
