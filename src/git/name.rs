//! The git hash of a tree with a patch applied. Nothing is written.

use std::path::Path;

use git2::build::TreeUpdateBuilder;
use git2::{ErrorClass, ObjectType, Oid, Repository};

use super::entries::{Leaf, refused};
use super::lookup::Lookup;
use super::{Error, store, tree};
use crate::domain::id::CommitSha;
use crate::domain::patch::{Blob, FileMode, Patch};

/// The hash of the tree of a commit in a mirror.
pub(super) fn in_mirror(mirror: &Path, sha: &CommitSha, patch: &Patch) -> Result<String, Error> {
    let repository = tree::open(mirror)?;
    let base = tree::root(mirror, &repository, sha)?;
    in_memory(&repository)?;
    Ok(with(&repository, base, patch)?.to_string())
}

/// Makes a repository keep all new objects in memory.
pub(super) fn in_memory(repository: &Repository) -> Result<(), Error> {
    let added = repository
        .odb()
        .and_then(|odb| odb.add_new_mempack_backend(1_000).map(drop));
    added.map_err(|error| store::broken(&error))
}

/// The tree with a patch applied, in a repository that keeps new objects in memory.
pub(super) fn with(repository: &Repository, base: Oid, patch: &Patch) -> Result<Oid, Error> {
    let broken = |error: git2::Error| store::broken(&error);
    // Removals come first, because a directory may replace a file of the same name, or the other way round.
    let (mut removal, mut update) = (TreeUpdateBuilder::new(), TreeUpdateBuilder::new());
    let mut lookup = Lookup::new(repository, base);
    for (path, change) in patch.files() {
        let hash = |blob: &Blob| -> Result<Leaf, Error> {
            let id = Oid::hash_object(ObjectType::Blob, &blob.bytes).map_err(broken)?;
            Ok(Leaf { mode: blob.mode, id })
        };
        if lookup.leaf(path)? != change.before.as_ref().map(hash).transpose()? {
            return Err(refused(path.as_str(), "is not the file that the patch was made for"));
        }
        let Some(after) = &change.after else {
            if change.before.is_none() {
                continue;
            }
            removal.remove(path.as_str());
            continue;
        };
        let mode = match after.mode {
            FileMode::Regular => git2::FileMode::Blob,
            FileMode::Executable => git2::FileMode::BlobExecutable,
            FileMode::Symlink => git2::FileMode::Link,
        };
        update.upsert(path.as_str(), repository.blob(&after.bytes).map_err(broken)?, mode);
    }
    let updated = |base: Oid, update: &mut TreeUpdateBuilder| {
        let base = repository.find_tree(base).map_err(broken)?;
        update
            .create_updated(repository, &base)
            .map_err(|error| match error.class() {
                ErrorClass::Tree => refused("the patch", "puts a file where a directory is, or the other way round"),
                _ => broken(error),
            })
    };
    let rest = updated(base, &mut removal)?;
    updated(rest, &mut update)
}
