//! Reads the directories and files of a git tree, one at a time and within a budget. Walks are elsewhere.

use std::collections::BTreeMap;

use git2::{ErrorClass, ObjectType, Oid, Repository};

use super::{Error, store};
use crate::domain::id::RepoPath;
use crate::domain::patch::FileMode;

/// How many entries, including directories, a walk may visit.
pub(super) const MAX_ENTRIES: u64 = 200_000;

/// The maximum size of a single directory in git's format; enough for tens of thousands of entries.
const MAX_TREE_BYTES: usize = 16 << 20;

/// An entry that can be written as a file or a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) mode: FileMode,
    pub(super) id: Oid,
}

/// The kind of an entry in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    Leaf(Leaf),
    Tree(Oid),
    Submodule(Oid),
}

/// The entries of one tree by name. Duplicate names are refused, because they would hide each other.
pub(super) fn entries(repository: &Repository, id: Oid) -> Result<BTreeMap<Vec<u8>, Entry>, Error> {
    let header = repository.odb().and_then(|odb| odb.read_header(id));
    let (size, kind) = header.map_err(|error| store::broken(&error))?;
    if kind != ObjectType::Tree || size > MAX_TREE_BYTES {
        return Err(refused(
            &id.to_string(),
            "is listed as a directory but is not one, or is too large",
        ));
    }
    let tree = repository.find_tree(id).map_err(|error| match error.class() {
        ErrorClass::Tree | ErrorClass::Object => refused(&id.to_string(), "is not a well-formed directory"),
        _ => store::broken(&error),
    })?;
    let mut entries = BTreeMap::new();
    for entry in &tree {
        let name = entry.name_bytes();
        let leaf = |mode| Entry::Leaf(Leaf { mode, id: entry.id() });
        // https://git-scm.com/docs/gitformat-index lists the same modes; old git also wrote 100664.
        let known = match entry.filemode_raw() {
            0o040_000 => Entry::Tree(entry.id()),
            0o100_644 | 0o100_664 => leaf(FileMode::Regular),
            0o100_755 => leaf(FileMode::Executable),
            0o120_000 => leaf(FileMode::Symlink),
            0o160_000 => Entry::Submodule(entry.id()),
            _ => return Err(refused(&super::printable(name), "has a mode that git does not know")),
        };
        if entries.insert(name.to_vec(), known).is_some() {
            return Err(refused(&super::printable(name), "occurs twice"));
        }
    }
    Ok(entries)
}

/// The path of an entry. `None` for a harmless name that greenlight cannot express.
pub(super) fn checked(prefix: &str, name: &[u8]) -> Result<Option<RepoPath>, Error> {
    let shown = || format!("{prefix}{}", super::printable(name));
    if name.contains(&b'/') {
        return Err(refused(&shown(), "has a slash in its name"));
    }
    let Ok(text) = std::str::from_utf8(name) else {
        return Ok(None);
    };
    match format!("{prefix}{text}").parse() {
        Ok(path) => Ok(Some(path)),
        Err(_) if text.contains(['\\', '\n', '\r']) => Ok(None),
        Err(_) => Err(refused(&shown(), "is not a path inside a repository")),
    }
}

/// The content of a file, or the target of a link.
pub(super) fn read(repository: &Repository, id: Oid, budget: &mut Budget) -> Result<Vec<u8>, Error> {
    let broken = |error: git2::Error| store::broken(&error);
    let odb = repository.odb().map_err(broken)?;
    // The header is cheap to read, and contains the size.
    let (size, kind) = odb.read_header(id).map_err(broken)?;
    if kind != ObjectType::Blob {
        return Err(refused(&id.to_string(), "is listed as a file but is not one"));
    }
    budget.spend(size as u64)?;
    Ok(odb.read(id).map_err(broken)?.data().to_vec())
}

/// What a walk may still spend.
pub(super) struct Budget<'a> {
    what: &'a str,
    limit: u64,
    used: u64,
}

impl<'a> Budget<'a> {
    pub(super) fn new(what: &'a str, limit: u64) -> Self {
        Self { what, limit, used: 0 }
    }

    pub(super) fn spend(&mut self, amount: u64) -> Result<(), Error> {
        self.used = self.used.saturating_add(amount);
        if self.used <= self.limit {
            return Ok(());
        }
        Err(Error::TooLarge {
            what: self.what.into(),
            limit: self.limit,
        })
    }
}

pub(super) fn refused(path: &str, reason: &'static str) -> Error {
    Error::UnsafeTree {
        path: path.into(),
        reason,
    }
}
