//! Ignored build output in a person's checkout: `dist` and similar folders, which tests import.
//!
//! It is copied to the same place, never over a file of the tree, and with its modification times, so that a build
//! inside considers it older than the sources. Names that begin with a dot are left out: such files may hold secrets.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use greenlight_sandbox::{Access, Mount};
use ignore::WalkBuilder;

use crate::install::Installed;
use crate::test_command::TestCommand;

/// Common names of build output folders.
const FOLDERS: [&str; 11] = [
    "dist",
    "out",
    "build",
    "lib",
    "es",
    "esm",
    "cjs",
    "umd",
    "types",
    "generated",
    ".svelte-kit",
];
/// Incremental build state of the TypeScript compiler.
const NOTES: &str = ".tsbuildinfo";
/// Where it is mounted in the sandbox.
const BUILT: &str = "/built";
/// Limits on the files that are reused.
const MAX_FILES: usize = 20_000;
const MAX_BYTES: u64 = 256 << 20;
const MAX_MOUNTS: usize = 300;
/// Limits on the search: entries that are visited, and depth of the project's folders and of the build output.
const MAX_ENTRIES: usize = 100_000;
const MAX_DEPTH: usize = 8;

pub(super) fn reuse(root: &Path, command: &TestCommand, reused: &mut Installed) {
    if builds_first(&command.argv) {
        return;
    }
    let mut names = Vec::new();
    let mut left = Left {
        files: MAX_FILES,
        bytes: MAX_BYTES,
    };
    for path in leftovers(root) {
        let mut pieces = Vec::new();
        let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let fits = take(&path, 0, &mut left, &mut pieces).is_some();
        if !fits || reused.mounts.len() + pieces.len() > MAX_MOUNTS {
            reused
                .notes
                .push(format!("{shown} is too large to be shared with the tests"));
            break;
        }
        names.push(shown);
        reused.mounts.extend(pieces.into_iter().filter_map(|piece| {
            Some(Mount {
                target: Path::new(BUILT).join(piece.strip_prefix(root).ok()?),
                source: piece,
                access: Access::ReadOnly,
            })
        }));
    }
    if !names.is_empty() {
        reused.env.insert("GREENLIGHT_BUILT".into(), BUILT.into());
        reused.notes.push(format!(
            "the tests use earlier build output that git ignores: {}",
            names.join(", ")
        ));
    }
}

/// Whether the command builds the project before its tests, so that earlier output could only be stale.
fn builds_first(argv: &[String]) -> bool {
    let [shell, flag, script, ..] = argv else { return false };
    shell == "sh"
        && flag == "-c"
        && script
            .split(" && ")
            .any(|part| !part.contains("\"$@\"") && !part.ends_with("|| :") && part.split(' ').any(is_compiler))
}

fn is_compiler(word: &str) -> bool {
    const COMPILERS: [&str; 14] = [
        "tsc",
        "tsup",
        "rollup",
        "esbuild",
        "swc",
        "babel",
        "unbuild",
        "webpack",
        "vite",
        "tsdown",
        "rslib",
        "microbundle",
        "bunchee",
        "build",
    ];
    COMPILERS.contains(&word)
}

/// The outermost ignored files and folders with names of build output, in folders that git does not ignore.
fn leftovers(root: &Path) -> Vec<PathBuf> {
    let mut walk = WalkBuilder::new(root);
    walk.hidden(false)
        .ignore(false)
        .parents(false)
        .git_global(false)
        .require_git(false)
        .follow_links(false)
        .max_depth(Some(MAX_DEPTH))
        .filter_entry(|entry| {
            let is_foreign = entry.file_name() == ".git" || entry.file_name() == "node_modules";
            !is_foreign && !entry.path().join("pyvenv.cfg").exists()
        });
    let kept: BTreeSet<PathBuf> = walk
        .build()
        .take(MAX_ENTRIES)
        .flatten()
        .map(ignore::DirEntry::into_path)
        .collect();
    let folders = kept
        .iter()
        .filter(|path| path.symlink_metadata().is_ok_and(|found| found.is_dir()));
    let mut found: Vec<PathBuf> = folders
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flat_map(|entries| entries.take(MAX_ENTRIES).flatten())
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            entry.file_type().is_ok_and(|kind| {
                (kind.is_dir() && FOLDERS.contains(&name.as_ref())) || (kind.is_file() && name.ends_with(NOTES))
            })
        })
        .map(|entry| entry.path())
        .filter(|path| !kept.contains(path))
        .collect();
    found.sort_unstable();
    found
}

/// How much more may be reused.
struct Left {
    files: usize,
    bytes: u64,
}

/// Adds a file, or a folder in as few pieces as possible, without names that begin with a dot. Returns whether it was
/// added whole, or `None` if it is too much.
fn take(path: &Path, depth: usize, left: &mut Left, pieces: &mut Vec<PathBuf>) -> Option<bool> {
    left.files = left.files.checked_sub(1)?;
    let found = path.symlink_metadata().ok()?;
    if found.is_file() {
        left.bytes = left.bytes.checked_sub(found.len())?;
        pieces.push(path.to_path_buf());
        return Some(true);
    }
    if !found.is_dir() {
        // A link may lead anywhere.
        return Some(false);
    }
    if depth > 4 * MAX_DEPTH {
        return None;
    }
    let (mut inner, mut is_whole) = (Vec::new(), true);
    for entry in fs::read_dir(path).ok()? {
        let entry = entry.ok()?;
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        is_whole &= !is_hidden && take(&entry.path(), depth + 1, left, &mut inner)?;
    }
    if is_whole {
        pieces.push(path.to_path_buf());
    } else {
        pieces.extend(inner);
    }
    Some(is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::Framework;
    use crate::test_command::Source;

    fn reused(root: &Path, argv: &[&str]) -> Vec<String> {
        let command = TestCommand::new(
            argv.iter().map(ToString::to_string).collect(),
            Framework::Mocha,
            Source::Settings,
        );
        let mut reused = Installed::default();
        reuse(root, &command, &mut reused);
        assert!(reused.mounts.iter().all(|mount| mount.access == Access::ReadOnly));
        reused
            .mounts
            .iter()
            .map(|mount| mount.target.display().to_string())
            .collect()
    }

    #[test]
    fn what_was_built_and_is_ignored_is_reused_without_secrets() {
        let tree = tempfile::tempdir().unwrap();
        for path in [
            "out/a.js",
            "out/sub/b.js",
            "packages/p/dist/index.js",
            "packages/p/dist/.env",
            "packages/p/dist/deep/c.js",
            "lib/tracked.js",
            "a.tsbuildinfo",
            ".env",
            "coverage/lib/x.js",
            "node_modules/x/dist/x.js",
            "packages/p/node_modules/y/lib/y.js",
        ] {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        fs::write(
            tree.path().join(".gitignore"),
            "out\ndist/\ncoverage\nnode_modules\n.env\n*.tsbuildinfo\n",
        )
        .unwrap();
        std::os::unix::fs::symlink("/etc/hostname", tree.path().join("packages/p/dist/deep/link")).unwrap();
        let mut expected = vec![
            "/built/a.tsbuildinfo",
            "/built/out",
            "/built/packages/p/dist/deep/c.js",
            "/built/packages/p/dist/index.js",
        ];
        expected.sort_unstable();
        let mut found = reused(tree.path(), &["npx", "mocha"]);
        found.sort_unstable();
        assert_eq!(found, expected);
        assert!(reused(tree.path(), &["sh", "-c", "tsc && mocha \"$@\"", "sh"]).is_empty());
        assert!(!reused(tree.path(), &["sh", "-c", "A=b mocha \"$@\"", "sh"]).is_empty());
    }
}
