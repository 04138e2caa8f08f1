//! The changes in a working directory relative to a commit.
//!
//! Nothing that exists only on this machine has an effect: no index, no configuration, no `info/exclude`. Two people
//! with the same files get the same patch, and anyone who controls the repository's `.git` cannot hide a file from
//! it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::rc::Rc;

use git2::{Oid, Repository};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::FileType;

use super::disk::Disk;
use super::entries::{self, Budget, Entry, Leaf, MAX_ENTRIES};
use super::lookup::listing;
use super::store::local_head;
use super::{Error, printable};
use crate::domain::id::RepoPath;
use crate::domain::patch::{Blob, FileChange, FileMode, Patch};

/// The maximum number of changed files.
const MAX_FILES: u64 = 20_000;
/// The maximum total size of the changed files, on both sides together, in bytes.
const MAX_BYTES: u64 = 64 << 20;
/// The maximum size of an unchanged file, in bytes. GitHub accepts none above 100 MiB.
/// <https://docs.github.com/en/repositories/working-with-files/managing-large-files/about-large-files-on-github>
const MAX_FILE: u64 = 128 << 20;
/// The maximum size of a `.gitignore`, and of all of them together, in bytes.
const MAX_IGNORE: u64 = 256 << 10;
const MAX_IGNORES: u64 = 4 << 20;

/// The rules of one `.gitignore`, and of those in the directories above.
struct Ignores {
    rules: Gitignore,
    /// The length of its directory's path.
    at: usize,
    above: Option<Rc<Ignores>>,
}

/// The changes that were found.
struct Changes {
    found: BTreeMap<RepoPath, FileChange>,
    files: Budget<'static>,
    bytes: Budget<'static>,
}

/// Compares every file of the tree with the one on disk, and adds files on disk that no `.gitignore` excludes.
pub(super) fn patch(repository: &Repository, root: Oid, work_tree: &Path) -> Result<Patch, Error> {
    let disk = Disk::open(work_tree)?;
    let listing = listing(repository, root)?;
    let mut changes = Changes {
        found: BTreeMap::new(),
        files: Budget::new("the number of changed files", MAX_FILES),
        bytes: Budget::new("the change in the working directory", MAX_BYTES),
    };
    for (path, entry) in &listing {
        match entry {
            Entry::Leaf(leaf) => {
                let before = before(repository, *leaf, path)?;
                let after = disk.read(path, MAX_FILE)?;
                if after.as_ref() != Some(&before) {
                    changes.add(path, Some(before), after)?;
                }
            }
            Entry::Submodule(id) => is_as_recorded(&disk, path, *id)?,
            Entry::Tree(_) => {}
        }
    }
    untracked(&disk, &listing, &mut changes)?;
    Ok(Patch::new(changes.found))
}

fn before(repository: &Repository, leaf: Leaf, path: &[u8]) -> Result<Blob, Error> {
    let bytes = entries::read(repository, leaf.id, &mut Budget::new(&printable(path), MAX_FILE))?;
    Ok(Blob { mode: leaf.mode, bytes })
}

/// Fails if a submodule differs, because no patch can express that.
fn is_as_recorded(disk: &Disk, path: &[u8], id: Oid) -> Result<(), Error> {
    if disk.kind(path)? == Some(FileType::Directory) {
        let is_checked_out = disk.kind(&[path, b"/.git"].concat())?.is_some();
        let head = || local_head(&disk.path().join(OsStr::from_bytes(path)));
        if is_checked_out && head().is_some_and(|head| head.as_str() == id.to_string()) {
            return Ok(());
        }
        if !is_checked_out && disk.names(path, MAX_ENTRIES)?.is_empty() {
            return Ok(());
        }
    }
    Err(Error::Local(format!(
        "the submodule {:?} is not the one in the commit, which a patch cannot express; run `git submodule update`",
        printable(path)
    )))
}

fn untracked(disk: &Disk, listing: &BTreeMap<Vec<u8>, Entry>, changes: &mut Changes) -> Result<(), Error> {
    let mut names = Budget::new("the working directory", MAX_ENTRIES);
    let mut rules = Budget::new("all .gitignore files together", MAX_IGNORES);
    let mut stack = vec![(Vec::new(), None)];
    while let Some((prefix, above)) = stack.pop() {
        let ignores = ignores(disk, &prefix, above, &mut rules)?;
        for (name, kind) in disk.names(&prefix, MAX_ENTRIES)? {
            names.spend(1)?;
            if name == b".git" {
                continue;
            }
            let mut path = [&prefix[..], &name].concat();
            let kind = match kind {
                FileType::Unknown => disk.kind(&path)?.unwrap_or(FileType::Unknown),
                kind => kind,
            };
            let is_directory = kind == FileType::Directory;
            let is_known = match listing.get(&path) {
                Some(Entry::Submodule(_)) => true,
                Some(_) => !is_directory,
                None => false,
            };
            if is_known || is_ignored(ignores.as_ref(), &path, is_directory) {
                continue;
            }
            if is_directory {
                path.push(b'/');
                stack.push((path, ignores.clone()));
            } else if let Some(after) = disk.read(&path, MAX_BYTES)? {
                changes.add(&path, None, Some(after))?;
            }
        }
    }
    Ok(())
}

/// The rules for a directory. As in git, a `.gitignore` that is a symbolic link is ignored.
fn ignores(
    disk: &Disk,
    prefix: &[u8],
    above: Option<Rc<Ignores>>,
    budget: &mut Budget<'_>,
) -> Result<Option<Rc<Ignores>>, Error> {
    let path = [prefix, b".gitignore"].concat();
    let text = match disk.read(&path, MAX_IGNORE)? {
        Some(blob) if blob.mode != FileMode::Symlink => blob.bytes,
        _ => return Ok(above),
    };
    budget.spend(text.len() as u64)?;
    let mut builder = GitignoreBuilder::new(".");
    // In git, a pattern with an unclosed bracket matches nothing.
    builder.allow_unclosed_class(false);
    for line in String::from_utf8_lossy(&text).trim_start_matches('\u{feff}').lines() {
        // Git ignores invalid patterns, too.
        let _ignored = builder.add_line(None, line);
    }
    let rules = builder
        .build()
        .map_err(|_| Error::Local(format!("{:?} has too many patterns", printable(&path))))?;
    let at = prefix.len();
    Ok(Some(Rc::new(Ignores { rules, at, above })))
}

/// The nearest rules that match decide.
fn is_ignored(mut ignores: Option<&Rc<Ignores>>, path: &[u8], is_directory: bool) -> bool {
    while let Some(here) = ignores {
        let below = Path::new(OsStr::from_bytes(&path[here.at..]));
        match here.rules.matched(below, is_directory) {
            Match::Ignore(_) => return true,
            Match::Whitelist(_) => return false,
            Match::None => ignores = here.above.as_ref(),
        }
    }
    false
}

impl Changes {
    fn add(&mut self, path: &[u8], before: Option<Blob>, after: Option<Blob>) -> Result<(), Error> {
        let path: RepoPath = std::str::from_utf8(path)
            .ok()
            .and_then(|path| path.parse().ok())
            .ok_or_else(|| {
                let shown = printable(path);
                Error::Local(format!("{shown:?} differs, but greenlight cannot handle its name"))
            })?;
        self.files.spend(1)?;
        for blob in [&before, &after].into_iter().flatten() {
            self.bytes.spend(blob.bytes.len() as u64)?;
        }
        self.found.insert(path, FileChange { before, after });
        Ok(())
    }
}
