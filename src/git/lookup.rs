//! Finds single files of a tree, and lists all of its files, for work that needs many of them.
//!
//! A directory is read once, no matter how many of its files are needed. Differences between trees are not in here.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use git2::{Oid, Repository};

use super::Error;
use super::entries::{Budget, Entry, Leaf, MAX_ENTRIES, checked, entries, read};
use crate::domain::id::RepoPath;
use crate::domain::patch::Blob;

type Directory = BTreeMap<Vec<u8>, Entry>;

/// A tree that caches the directories it has read.
pub(super) struct Lookup<'r> {
    repository: &'r Repository,
    root: Oid,
    directories: HashMap<Oid, Rc<Directory>>,
    kept: u64,
}

impl<'r> Lookup<'r> {
    pub(super) fn new(repository: &'r Repository, root: Oid) -> Self {
        Self {
            repository,
            root,
            directories: HashMap::new(),
            kept: 0,
        }
    }

    /// The entry of any kind at a path.
    pub(super) fn entry(&mut self, path: &str) -> Result<Option<Entry>, Error> {
        let mut found = Entry::Tree(self.root);
        for part in path.split('/') {
            let Entry::Tree(tree) = found else { return Ok(None) };
            match self.directory(tree)?.get(part.as_bytes()) {
                Some(entry) => found = *entry,
                None => return Ok(None),
            }
        }
        Ok(Some(found))
    }

    /// The file or link at a path. `None` for anything else.
    pub(super) fn leaf(&mut self, path: &RepoPath) -> Result<Option<Leaf>, Error> {
        Ok(match self.entry(path.as_str())? {
            Some(Entry::Leaf(leaf)) => Some(leaf),
            _ => None,
        })
    }

    /// The file or link at a path, with its bytes.
    pub(super) fn blob(&mut self, path: &RepoPath, max: u64) -> Result<Option<Blob>, Error> {
        let Some(leaf) = self.leaf(path)? else {
            return Ok(None);
        };
        let bytes = read(self.repository, leaf.id, &mut Budget::new(path.as_str(), max))?;
        Ok(Some(Blob { mode: leaf.mode, bytes }))
    }

    fn directory(&mut self, id: Oid) -> Result<Rc<Directory>, Error> {
        if let Some(known) = self.directories.get(&id) {
            return Ok(Rc::clone(known));
        }
        let directory = Rc::new(entries(self.repository, id)?);
        self.kept += directory.len() as u64;
        if self.kept > MAX_ENTRIES {
            // The next file is usually near the last one.
            self.directories.clear();
            self.kept = directory.len() as u64;
        }
        self.directories.insert(id, Rc::clone(&directory));
        Ok(directory)
    }
}

/// All files, links and submodules of a tree by git's paths, including paths that are not a valid [`RepoPath`].
pub(super) fn listing(repository: &Repository, tree: Oid) -> Result<Directory, Error> {
    let mut listing = Directory::new();
    let mut budget = Budget::new("the tree", MAX_ENTRIES);
    let mut stack = vec![(Vec::new(), tree)];
    while let Some((prefix, tree)) = stack.pop() {
        for (name, entry) in entries(repository, tree)? {
            budget.spend(1)?;
            // A harmful name is refused in any directory.
            checked("", &name)?;
            let path = [&prefix[..], &name].concat();
            match entry {
                Entry::Tree(id) => stack.push(([&path[..], b"/"].concat(), id)),
                entry => drop(listing.insert(path, entry)),
            }
        }
    }
    Ok(listing)
}
