//! greenlight's own folder: it is locked where only one process may use it, and remains of killed processes are
//! removed.
//!
//! The operating system releases the locks, no matter how a process ends.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::Exit;
use crate::engine::worktree::{EVERYONE, INSTALLED};
use crate::suite::Stores;
use crate::{files, private};

const LOCK: &str = ".lock";
/// Folders that `serve` needs only while it runs.
const THROW_AWAY: [&str; 2] = ["trees", "workspaces"];

/// A folder that only this process uses, until it is dropped.
pub(super) struct Own {
    folder: TempDir,
    _lock: File,
}

impl Own {
    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().to_path_buf()
    }
}

/// The folder of a checkout that a person named.
pub(super) fn checkout(path: &Path) -> Result<PathBuf, Exit> {
    let root = path.canonicalize().map_err(|error| {
        let shown = path.display();
        Exit::Usage(match error.kind() {
            io::ErrorKind::NotFound => format!("{shown}: there is no such folder; give the path of a checkout"),
            _ => format!("{shown}: {error}"),
        })
    })?;
    if !root.is_dir() {
        return Err(Exit::Usage(format!("{} is not a folder", root.display())));
    }
    if is_bare(&root) {
        return Err(Exit::Usage(format!(
            "{} is a bare repository, which has no files to work on; `git clone` it, and give the path of the clone",
            root.display()
        )));
    }
    Ok(root)
}

/// Whether a folder is a repository itself, instead of containing one.
/// <https://git-scm.com/docs/gitrepository-layout>
fn is_bare(folder: &Path) -> bool {
    folder.join("HEAD").is_file() && folder.join("objects").is_dir() && folder.join("refs").is_dir()
}

/// Creates a folder for one local run, and removes those of processes that have ended.
pub(super) fn own(data: &Path) -> Result<Own, Exit> {
    let all = data.join("local");
    let make = || -> io::Result<Own> {
        private::folder(&all)?;
        // Nobody may look between the creation of a folder and its lock.
        let door = private::file().open(all.join(LOCK))?;
        door.lock()?;
        for entry in fs::read_dir(&all)?.flatten().map(|entry| entry.path()) {
            // A folder without a lock was partly removed: while the parent is locked, nobody is creating one.
            let is_left = match File::open(entry.join(LOCK)) {
                Ok(lock) => lock.try_lock().is_ok(),
                Err(error) => error.kind() == io::ErrorKind::NotFound && entry.is_dir(),
            };
            if is_left {
                clear(&entry);
            }
        }
        let folder = tempfile::Builder::new().prefix("fix-").tempdir_in(&all)?;
        let lock = private::file().open(folder.path().join(LOCK))?;
        lock.lock()?;
        Ok(Own { folder, _lock: lock })
    };
    make().map_err(|error| unusable(data, &error))
}

/// The folder with the journals of runs on checkouts that are not over.
pub(super) fn unfinished_runs(data: &Path) -> PathBuf {
    data.join(INSTALLED).join("local")
}

/// The folder with the journals of those that are over.
pub(super) fn ended_runs(data: &Path) -> PathBuf {
    data.join("ended")
}

/// The folders for a local checkout's packages; its own is derived from the checkout's path.
pub(super) fn stores(data: &Path, root: &Path) -> Stores {
    let name = hex::encode(Sha256::digest(root.as_os_str().as_encoded_bytes()));
    Stores {
        repository: unfinished_runs(data).join(name),
        everyone: data.join(INSTALLED).join(EVERYONE),
    }
}

/// Locks the whole folder for `serve`, and removes what an earlier `serve` left unfinished.
pub(super) fn take(data: &Path) -> Result<File, Exit> {
    let open = || {
        private::folder(data)?;
        private::file().open(data.join(LOCK))
    };
    let lock = open().map_err(|error| unusable(data, &error))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(Exit::Usage(format!(
                "another `greenlight serve` uses {}; give this one its own folder with GREENLIGHT_DATA_DIR",
                data.display()
            )));
        }
        Err(TryLockError::Error(error)) => return Err(unusable(data, &error)),
    }
    for folder in THROW_AWAY.map(|name| data.join(name)) {
        clear(&folder);
    }
    Ok(lock)
}

fn clear(folder: &Path) {
    if let Err(error) = files::remove_tree(folder) {
        tracing::warn!(path = %folder.display(), %error, "files of an earlier process cannot be removed");
    }
}

fn unusable(data: &Path, error: &io::Error) -> Exit {
    Exit::Usage(format!(
        "GREENLIGHT_DATA_DIR, which is {}, cannot be used: {error}; set it to a folder that greenlight may write to",
        data.display()
    ))
}
