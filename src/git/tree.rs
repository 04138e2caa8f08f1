//! Reads trees: the differences of two trees, one file, or a whole tree that is written to disk.
//!
//! Trees come from strangers. Their names are checked before they become paths, every walk has a limit, and blobs are
//! used unmodified.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};

use git2::{Oid, Repository};

use super::entries::{Budget, Entry, Leaf, MAX_ENTRIES, checked, entries, read, refused};
use super::lookup::Lookup;
use super::{Error, at, store};
use crate::domain::id::{CommitSha, RepoPath};
use crate::domain::patch::{Blob, FileChange, FileMode, Patch};

/// The maximum size of an export, in bytes.
const MAX_EXPORT_BYTES: u64 = 4 << 30;
/// The maximum size of a difference in memory, in bytes.
const MAX_DIFF_BYTES: u64 = 64 << 20;
/// A symbolic link cannot have a longer target. <https://man7.org/linux/man-pages/man7/symlink.7.html>
const MAX_LINK: u64 = 4095;

/// The result of an export.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exported {
    pub files: usize,
    /// Submodules, and files whose names greenlight cannot express: not UTF-8, or with a backslash or a line break.
    pub skipped: Vec<String>,
}

/// One path at which two trees differ.
#[derive(Debug)]
struct Difference {
    path: RepoPath,
    before: Option<Leaf>,
    after: Option<Leaf>,
}

/// The result of a walk over two trees.
#[derive(Debug, Default)]
struct Differences {
    leaves: Vec<Difference>,
    /// Where the trees differ in an entry that is neither a leaf nor a directory, or whose name greenlight cannot
    /// express.
    skipped: Vec<String>,
}

pub(super) fn export(mirror: &Path, sha: &CommitSha, into: &Path) -> Result<Exported, Error> {
    let repository = open(mirror)?;
    let tree = root(mirror, &repository, sha)?;
    write(&repository, tree, into)
}

/// Writes a tree into a new or empty directory.
pub(super) fn write(repository: &Repository, tree: Oid, into: &Path) -> Result<Exported, Error> {
    let found = differences(repository, None, Some(tree))?;
    fresh(into)?;
    let mut made = HashSet::from([into.to_path_buf()]);
    let mut links = Vec::new();
    let mut budget = Budget::new("the tree", MAX_EXPORT_BYTES);
    let mut files = 0;
    for difference in &found.leaves {
        let Some(leaf) = difference.after else { continue };
        let target = into.join(difference.path.as_str());
        make_parents(&target, &mut made, &difference.path)?;
        files += 1;
        if leaf.mode == FileMode::Symlink {
            links.push((&difference.path, leaf, target));
            continue;
        }
        let bits = if leaf.mode == FileMode::Executable {
            0o755
        } else {
            0o644
        };
        let bytes = read(repository, leaf.id, &mut budget)?;
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(bits)
            .open(&target)
            .and_then(|mut file| file.write_all(&bytes))
            .map_err(|error| hidden(error, &target, &difference.path))?;
    }
    // Links are written last, so that no file is written through one.
    for (path, leaf, target) in links {
        let mut budget = Budget::new("the target of a link", MAX_LINK);
        let to = read(repository, leaf.id, &mut budget)?;
        if to.is_empty() || to.contains(&0) {
            return Err(refused(path.as_str(), "is a link without a target"));
        }
        symlink(Path::new(std::ffi::OsStr::from_bytes(&to)), &target).map_err(|error| hidden(error, &target, path))?;
    }
    Ok(Exported {
        files,
        skipped: found.skipped,
    })
}

pub(super) fn file(mirror: &Path, sha: &CommitSha, path: &RepoPath, max: u64) -> Result<Option<Blob>, Error> {
    let repository = open(mirror)?;
    let tree = root(mirror, &repository, sha)?;
    Lookup::new(&repository, tree).blob(path, max)
}

pub(super) fn diff(mirror: &Path, before: &CommitSha, after: &CommitSha) -> Result<Patch, Error> {
    let repository = open(mirror)?;
    let (before, after) = (root(mirror, &repository, before)?, root(mirror, &repository, after)?);
    between(&repository, before, after).map(|(patch, _)| patch)
}

/// The patch between two trees, and the places where they differ in something that no patch can express.
pub(super) fn between(repository: &Repository, before: Oid, after: Oid) -> Result<(Patch, Vec<String>), Error> {
    let mut budget = Budget::new("the change", MAX_DIFF_BYTES);
    let mut blob = |leaf: Option<Leaf>| {
        leaf.map(|leaf| -> Result<Blob, Error> {
            let bytes = read(repository, leaf.id, &mut budget)?;
            Ok(Blob { mode: leaf.mode, bytes })
        })
        .transpose()
    };
    let mut changes = Vec::new();
    let found = differences(repository, Some(before), Some(after))?;
    for Difference { path, before, after } in found.leaves {
        let (before, after) = (blob(before)?, blob(after)?);
        changes.push((path, FileChange { before, after }));
    }
    Ok((Patch::new(changes), found.skipped))
}

pub(super) fn open(mirror: &Path) -> Result<Repository, Error> {
    store::objects(&[&mirror.join("objects")])
}

/// The tree of a commit in the mirror.
pub(super) fn root(mirror: &Path, repository: &Repository, sha: &CommitSha) -> Result<Oid, Error> {
    if !store::is_recorded(mirror, sha) {
        return Err(Error::Missing(sha.to_string()));
    }
    Oid::from_str(sha.as_str())
        .and_then(|id| repository.find_commit(id))
        .map(|commit| commit.tree_id())
        .map_err(|error| store::broken(&error))
}

/// Walks two trees at once and skips identical parts.
fn differences(repository: &Repository, before: Option<Oid>, after: Option<Oid>) -> Result<Differences, Error> {
    let mut found = Differences::default();
    let mut budget = Budget::new("the tree", MAX_ENTRIES);
    let mut stack = vec![(String::new(), before, after)];
    while let Some((prefix, before, after)) = stack.pop() {
        let mut sides: BTreeMap<Vec<u8>, [Option<Entry>; 2]> = BTreeMap::new();
        for (side, tree) in [before, after].into_iter().enumerate() {
            let Some(tree) = tree else { continue };
            for (name, entry) in entries(repository, tree)? {
                budget.spend(1)?;
                sides.entry(name).or_default()[side] = Some(entry);
            }
        }
        for (name, [before, after]) in sides {
            if before == after {
                continue;
            }
            let Some(path) = checked(&prefix, &name)? else {
                found.skipped.push(format!("{prefix}{}", super::printable(&name)));
                continue;
            };
            let [old, new] = [before, after].map(|entry| match entry {
                Some(Entry::Tree(id)) => Some(id),
                _ => None,
            });
            if old.is_some() || new.is_some() {
                stack.push((format!("{path}/"), old, new));
            }
            if [before, after]
                .iter()
                .any(|entry| matches!(entry, Some(Entry::Submodule(_))))
            {
                found.skipped.push(path.to_string());
            }
            let [before, after] = [before, after].map(|entry| match entry {
                Some(Entry::Leaf(leaf)) => Some(leaf),
                _ => None,
            });
            if before.is_some() || after.is_some() {
                found.leaves.push(Difference { path, before, after });
            }
        }
    }
    Ok(found)
}

/// Creates the directory, or accepts an empty one.
fn fresh(into: &Path) -> Result<(), Error> {
    match fs::create_dir(into) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        result => return result.map_err(at(into)),
    }
    let meta = fs::symlink_metadata(into).map_err(at(into))?;
    if meta.is_dir() && fs::read_dir(into).map_err(at(into))?.next().is_none() {
        return Ok(());
    }
    Err(at(into)(ErrorKind::DirectoryNotEmpty.into()))
}

/// Creates the missing directories above a file.
fn make_parents(target: &Path, made: &mut HashSet<PathBuf>, path: &RepoPath) -> Result<(), Error> {
    let missing: Vec<_> = target
        .ancestors()
        .skip(1)
        .take_while(|dir| !made.contains(*dir))
        .collect();
    for directory in missing.into_iter().rev() {
        fs::create_dir(directory).map_err(|error| hidden(error, directory, path))?;
        made.insert(directory.to_path_buf());
    }
    Ok(())
}

/// On a case-insensitive file system two names can collide, which git does not check.
fn hidden(error: std::io::Error, target: &Path, path: &RepoPath) -> Error {
    if error.kind() == ErrorKind::AlreadyExists {
        refused(path.as_str(), "conflicts with another entry")
    } else {
        at(target)(error)
    }
}
