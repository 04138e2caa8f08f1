//! Keeps all mirrors together within bounds. The least recently used one is removed first; a mirror in use is kept.

use std::fs::{self, TryLockError};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::store::IN_USE;
use crate::private;

/// The maximum number of mirrors, no matter how small they are.
const MAX_MIRRORS: usize = 1_000;
/// The depth of mirrors below their folder: owner and repository, or the repository's id alone.
const MAX_DEPTH: usize = 2;
/// The maximum depth of files in a mirror.
const MAX_PARTS: usize = 8;
/// The prefix of a mirror that is being removed.
const REMOVED: &str = "removed-";

struct StoredMirror {
    used: SystemTime,
    directory: PathBuf,
    bytes: u64,
}

/// Removes the least recently used mirrors below a folder until the rest has at most this many bytes together. A
/// mirror that cannot be removed stays, and is logged.
pub fn bound_mirrors(folder: &Path, bytes: u64) {
    remove_remains(folder, MAX_DEPTH);
    until_bounded(folder, bytes, |found| {
        let is_removed = remove(folder, &found.directory)?;
        if is_removed {
            tracing::info!(mirror = %found.directory.display(), found.bytes, "a mirror was removed to make room");
        }
        Ok(is_removed)
    });
}

/// How many mirrors [`bound_mirrors`] would remove, and their bytes.
pub fn mirrors_beyond(folder: &Path, bytes: u64) -> (u64, u64) {
    let (mut number, mut total) = (0, 0);
    until_bounded(folder, bytes, |found| {
        let lock = private::file().open(found.directory.join(IN_USE))?;
        let is_free = lock.try_lock().is_ok();
        if is_free {
            (number, total) = (number + 1, total + found.bytes);
        }
        Ok(is_free)
    });
    (number, total)
}

/// Passes mirrors to `remove`, the least recently used first, until those that it did not remove are within bounds.
fn until_bounded(folder: &Path, bytes: u64, mut remove: impl FnMut(&StoredMirror) -> std::io::Result<bool>) {
    let mut mirrors = Vec::new();
    find(folder, MAX_DEPTH, &mut mirrors);
    mirrors.sort_by_key(|found| found.used);
    let (mut number, mut total) = (mirrors.len(), mirrors.iter().map(|found| found.bytes).sum::<u64>());
    for found in mirrors {
        if number <= MAX_MIRRORS && total <= bytes {
            return;
        }
        match remove(&found) {
            Ok(true) => {
                number -= 1;
                total -= found.bytes;
            }
            Ok(false) => {}
            Err(error) => tracing::warn!(mirror = %found.directory.display(), %error, "a mirror cannot be removed"),
        }
    }
}

/// Finishes removals during which an earlier process ended.
fn remove_remains(folder: &Path, depth: usize) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let directory = entry.path();
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        if entry.file_name().to_string_lossy().starts_with(REMOVED) {
            let _ = fs::remove_dir_all(&directory);
        } else if depth > 1 && !directory.join(IN_USE).exists() {
            remove_remains(&directory, depth - 1);
        }
    }
}

fn find(folder: &Path, depth: usize, mirrors: &mut Vec<StoredMirror>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let directory = entry.path();
        let is_removed = entry.file_name().to_string_lossy().starts_with(REMOVED);
        if is_removed || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        match fs::metadata(directory.join(IN_USE)).and_then(|meta| meta.modified()) {
            Ok(used) => {
                let bytes = size(&directory, MAX_PARTS);
                mirrors.push(StoredMirror { used, directory, bytes });
            }
            Err(_) if depth > 1 => find(&directory, depth - 1, mirrors),
            Err(_) => {}
        }
    }
}

fn size(directory: &Path, depth: usize) -> u64 {
    let mut bytes = 0;
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        bytes += match entry.metadata() {
            Ok(meta) if meta.is_dir() && depth > 0 => size(&entry.path(), depth - 1),
            Ok(meta) => meta.len(),
            Err(_) => 0,
        };
    }
    bytes
}

/// Removes an unused mirror. Returns false if it is in use.
fn remove(folder: &Path, directory: &Path) -> std::io::Result<bool> {
    let lock = private::file().open(directory.join(IN_USE))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(false),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    // A single rename, so that a process that waits for the lock finds all of it or nothing.
    let place = tempfile::Builder::new().prefix(REMOVED).tempdir_in(folder)?;
    fs::rename(directory, place.path().join("mirror"))?;
    drop(lock);
    place.close()?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::Mirror;
    use super::*;

    /// A mirror with a pack of this many bytes, last used this many hours ago.
    fn mirror(folder: &Path, name: &str, bytes: usize, hours: u64) -> Mirror {
        let directory = folder.join(name);
        let mirror = Mirror::open(&directory).unwrap();
        fs::write(directory.join("objects/pack/pack-x.pack"), vec![0; bytes]).unwrap();
        let used = SystemTime::from(jiff::Timestamp::now()) - Duration::from_secs(hours * 3_600);
        let lock = private::file().open(directory.join(IN_USE)).unwrap();
        lock.set_modified(used).unwrap();
        mirror
    }

    #[test]
    fn the_least_recently_used_mirror_is_removed_first() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let held = mirror(folder, "@1", 50_000, 9);
        for (name, hours) in [("@2", 8), ("acme/old", 7), ("acme/new", 1), ("@3", 2)] {
            drop(mirror(folder, name, 50_000, hours));
        }
        bound_mirrors(folder, 1 << 20);
        assert!(folder.join("@2").exists());
        bound_mirrors(folder, 170_000);
        let is_there = |name: &str| folder.join(name).join("objects/pack/pack-x.pack").exists();
        assert!(is_there("@1") && is_there("@3") && is_there("acme/new"));
        assert!(!is_there("@2") && !is_there("acme/old"));
        drop(held);
        bound_mirrors(folder, 0);
        assert!(!is_there("@1") && !is_there("@3") && !is_there("acme/new"));
        // A later process finds an empty mirror.
        let again = Mirror::open(&folder.join("@1")).unwrap();
        assert!(!is_there("@1"));
        drop(again);
        let left = fs::read_dir(folder).unwrap().flatten();
        assert!(
            left.into_iter()
                .all(|entry| !entry.file_name().to_string_lossy().starts_with(REMOVED))
        );
    }
}
