//! The git hash of the tree of a checkout, computed from its bytes alone. Nothing is written.

use std::collections::BTreeMap;

use git2::{ObjectType, Oid};

use super::Error;
use super::store::broken;
use crate::checkout::Checkout;
use crate::domain::patch::FileMode;

/// A folder of the tree: its files and folders by name.
#[derive(Default)]
struct Folder<'a> {
    files: BTreeMap<&'a str, (FileMode, Oid)>,
    folders: BTreeMap<&'a str, Folder<'a>>,
}

/// Computes the hash of a checkout's tree with its edits, as `git rev-parse HEAD^{tree}` would print it after a
/// commit of exactly its files. Submodules are not part of a checkout, so they are not included.
///
/// # Errors
/// When a file cannot be read.
pub fn tree_name(checkout: &Checkout) -> Result<String, Error> {
    let mut root = Folder::default();
    let paths = checkout.paths();
    for path in &paths {
        let leaf = match checkout.read(path) {
            Some(blob) => (blob.mode, hash(ObjectType::Blob, &blob.bytes)?),
            // Too large to be edited, so the file on disk is current.
            None => {
                let file = checkout.root().join(path.as_str());
                let id = Oid::hash_file(ObjectType::Blob, &file).map_err(|error| broken(&error))?;
                (checkout.mode(path).unwrap_or(FileMode::Regular), id)
            }
        };
        let (folders, name) = path.as_str().rsplit_once('/').unwrap_or(("", path.as_str()));
        let mut folder = &mut root;
        for name in folders.split('/').filter(|name| !name.is_empty()) {
            folder = folder.folders.entry(name).or_default();
        }
        folder.files.insert(name, leaf);
    }
    Ok(name_of(&root)?.to_string())
}

/// Hashes a folder. A tree object sorts folders as if their names ended in a slash.
/// <https://git-scm.com/book/en/v2/Git-Internals-Git-Objects#_tree_objects>
fn name_of(folder: &Folder<'_>) -> Result<Oid, Error> {
    let mut entries: BTreeMap<String, (&str, &str, Oid)> = BTreeMap::new();
    for (name, (mode, id)) in &folder.files {
        entries.insert((*name).to_string(), (mode.octal(), name, *id));
    }
    for (name, inner) in &folder.folders {
        entries.insert(format!("{name}/"), ("40000", name, name_of(inner)?));
    }
    let mut object = Vec::new();
    for (mode, name, id) in entries.values() {
        object.extend_from_slice(format!("{mode} {name}\0").as_bytes());
        object.extend_from_slice(id.as_bytes());
    }
    hash(ObjectType::Tree, &object)
}

fn hash(kind: ObjectType, bytes: &[u8]) -> Result<Oid, Error> {
    Oid::hash_object(kind, bytes).map_err(|error| broken(&error))
}
