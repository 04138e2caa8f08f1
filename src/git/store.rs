//! The mirror on disk: its layout, its lock, and the commits it contains completely.
//!
//! It has the layout of a bare repository, so that people can inspect it with git; greenlight itself uses only
//! `objects/pack` and `refs/commits`. A pack and a reference each appear with a single rename, so a reader sees all
//! of it or nothing.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use git2::{ErrorClass, ErrorCode, Odb, Repository};

use super::{Error, at};
use crate::domain::id::CommitSha;
use crate::private;

/// A mirror with more packs than this is slow, and is recreated when nobody uses it.
const MAX_PACKS: usize = 64;
/// A mirror that is larger on disk is also recreated, in bytes.
const MAX_BYTES: u64 = 4 << 30;
/// How many commits a fetch reports as present.
const MAX_HAVES: usize = 32;
/// Marks a mirror in which an object turned out to be missing.
const DAMAGED: &str = "damaged";
/// The prefix of the folder that collects a fetch in progress, next to `objects`.
pub(super) const INCOMING: &str = "incoming-";

/// The file that users of a mirror lock. Its modification time is that of the latest use.
pub(super) const IN_USE: &str = "in-use";
/// How often opening is retried if a mirror was removed in that very moment.
const MAX_ATTEMPTS: usize = 10;

/// Cleans up if nobody else uses the mirror, creates the layout, and returns the lock that marks it as used.
pub(super) fn open(directory: &Path) -> Result<File, Error> {
    let path = directory.join(IN_USE);
    let lock = lock(directory, &path)?;
    // Only needed for the order of removal.
    let _ = lock.set_modified(jiff::Timestamp::now().into());
    for part in ["objects/pack", "objects/info", "refs/heads", "refs/commits"] {
        let path = directory.join(part);
        private::folder(&path).map_err(at(&path))?;
    }
    for (name, text) in [
        ("HEAD", "ref: refs/heads/main\n"),
        ("config", "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"),
    ] {
        let path = directory.join(name);
        if !path.exists() {
            private::replace(&path, text.as_bytes()).map_err(at(&path))?;
        }
    }
    Ok(lock)
}

/// Locks an existing mirror. A lock of a mirror that was removed meanwhile does not count, so it is retried.
fn lock(directory: &Path, path: &Path) -> Result<File, Error> {
    for _ in 0..MAX_ATTEMPTS {
        private::folder(directory).map_err(at(directory))?;
        let lock = private::file().open(path).map_err(at(path))?;
        if lock.try_lock().is_ok() {
            let cleaned = clean(directory);
            lock.unlock().map_err(at(path))?;
            cleaned?;
        }
        lock.lock_shared().map_err(at(path))?;
        if is_at(&lock, path) {
            return Ok(lock);
        }
    }
    let source = io::Error::other("it keeps being removed");
    Err(at(path)(source))
}

/// Whether this is still the file at a path.
fn is_at(file: &File, path: &Path) -> bool {
    let same = |file: &fs::Metadata, path: &fs::Metadata| (file.dev(), file.ino()) == (path.dev(), path.ino());
    matches!((file.metadata(), fs::symlink_metadata(path)), (Ok(file), Ok(path)) if same(&file, &path))
}

/// Removes the remains of killed fetches, and everything if the mirror is damaged or has grown too large.
fn clean(directory: &Path) -> Result<(), Error> {
    for entry in fs::read_dir(directory).map_err(at(directory))?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(INCOMING) {
            fs::remove_dir_all(entry.path()).map_err(at(&entry.path()))?;
        }
    }
    let sizes: Vec<u64> = fs::read_dir(directory.join("objects/pack"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.metadata().ok())
        .map(|meta| meta.len())
        .collect();
    // Each pack has an index.
    let fits = sizes.len() <= 2 * MAX_PACKS && sizes.iter().sum::<u64>() <= MAX_BYTES;
    if fits && !directory.join(DAMAGED).exists() {
        return Ok(());
    }
    tracing::info!(mirror = %directory.display(), packs = sizes.len() / 2, "a mirror is emptied");
    // The references are removed first, so that a kill in between leaves none that names a missing commit. The mark
    // of the damage is removed last, so that the next process continues after such a kill.
    let parts = ["refs/commits", "objects/pack", "shallow", DAMAGED].map(|part| directory.join(part));
    for path in &parts {
        let removed = if path.is_dir() {
            fs::remove_dir_all(path)
        } else {
            fs::remove_file(path)
        };
        match removed {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(at(path)(error)),
            _ => {}
        }
    }
    Ok(())
}

/// Marks the mirror as damaged, for the next `open`.
pub(super) fn distrust(directory: &Path) {
    if let Err(error) = private::file().open(directory.join(DAMAGED)) {
        tracing::warn!(mirror = %directory.display(), %error, "a damaged mirror cannot be marked");
    }
}

pub(super) fn is_recorded(directory: &Path, sha: &CommitSha) -> bool {
    reference(directory, sha).exists()
}

/// The most recently fetched commits.
pub(super) fn recorded(directory: &Path) -> Vec<CommitSha> {
    let Ok(entries) = fs::read_dir(directory.join("refs/commits")) else {
        return Vec::new();
    };
    let mut commits: Vec<(SystemTime, CommitSha)> = entries
        .flatten()
        .filter_map(|entry| {
            let sha = entry.file_name().to_str()?.parse().ok()?;
            Some((entry.metadata().ok()?.modified().ok()?, sha))
        })
        .collect();
    commits.sort_unstable_by(|a, b| b.cmp(a));
    commits.into_iter().take(MAX_HAVES).map(|(_, sha)| sha).collect()
}

/// Makes a finished pack and its commits visible.
pub(super) fn install(
    directory: &Path,
    incoming: &Path,
    commits: &[CommitSha],
    shallow: &[CommitSha],
) -> Result<(), Error> {
    let from = incoming.join("pack");
    let mut files: Vec<PathBuf> = fs::read_dir(&from)
        .map_err(at(&from))?
        .flatten()
        .map(|entry| entry.path())
        .collect();
    // `.idx` makes a pack visible, so it is moved after `.pack`.
    files.sort_unstable_by(|a, b| b.extension().cmp(&a.extension()));
    for file in files {
        let name = file.file_name().unwrap_or_default();
        // libgit2 makes its packs readable for everybody.
        fs::set_permissions(&file, fs::Permissions::from_mode(private::FILE)).map_err(at(&file))?;
        fs::rename(&file, directory.join("objects/pack").join(name)).map_err(at(&file))?;
    }
    let lines: String = shallow.iter().map(|sha| format!("{sha}\n")).collect();
    if !lines.is_empty() {
        // A single append, so that concurrent fetches do not interleave their lines.
        let path = directory.join("shallow");
        private::file()
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(lines.as_bytes()))
            .map_err(at(&path))?;
    }
    for sha in commits {
        let path = reference(directory, sha);
        private::replace(&path, format!("{sha}\n").as_bytes()).map_err(at(&path))?;
    }
    Ok(())
}

/// The objects in these directories, as a repository without configuration and references.
pub(super) fn objects(directories: &[&Path]) -> Result<Repository, Error> {
    let odb = Odb::new().map_err(|error| broken(&error))?;
    for directory in directories {
        let path = directory.to_str().ok_or_else(|| Error::Io {
            path: directory.display().to_string(),
            source: io::Error::other("the data folder's name is not UTF-8"),
        })?;
        odb.add_disk_alternate(path).map_err(|error| broken(&error))?;
    }
    Repository::from_odb(odb).map_err(|error| broken(&error))
}

/// Describes libgit2's error about objects that should exist.
pub(super) fn broken(error: &git2::Error) -> Error {
    let reason = super::printable(error.message().as_bytes());
    match (error.class(), error.code()) {
        (ErrorClass::Os, code) if code != ErrorCode::NotFound => Error::Io {
            path: "the mirror".into(),
            source: io::Error::other(reason),
        },
        _ => Error::Damaged(reason),
    }
}

/// The checked-out commit at a path or in a directory above it, read without opening the repository, so that its
/// configuration and hooks have no effect.
///
/// `None` if there is no repository or no commit yet, or if references are not stored as files.
pub fn local_head(path: &Path) -> Option<CommitSha> {
    let path = path.canonicalize().ok()?;
    let dot_git = path.ancestors().map(|dir| dir.join(".git")).find(|it| it.exists())?;
    let git = if dot_git.is_dir() {
        dot_git
    } else {
        // It is a linked work tree or a submodule. https://git-scm.com/docs/gitrepository-layout
        let pointer = read_line(&dot_git)?;
        dot_git.parent()?.join(pointer.strip_prefix("gitdir: ")?)
    };
    let head = read_line(&git.join("HEAD"))?;
    let Some(name) = head.strip_prefix("ref: ") else {
        return head.parse().ok();
    };
    if !name.starts_with("refs/") || name.split('/').any(|part| part.is_empty() || part == "..") {
        return None;
    }
    let common = read_line(&git.join("commondir")).map_or_else(|| git.clone(), |common| git.join(common));
    let loose = [&git, &common].into_iter().find_map(|at| read_line(&at.join(name)));
    loose.map_or_else(
        || {
            let packed = read(&common.join("packed-refs"))?;
            packed
                .lines()
                .find_map(|line| line.strip_suffix(name)?.strip_suffix(' ')?.parse().ok())
        },
        |sha| sha.parse().ok(),
    )
}

fn read_line(path: &Path) -> Option<String> {
    Some(read(path)?.lines().next()?.trim_end().to_string())
}

/// A small text file of git.
fn read(path: &Path) -> Option<String> {
    const MAX: u64 = 16 << 20;
    let meta = fs::metadata(path).ok()?;
    (meta.is_file() && meta.len() <= MAX).then(|| fs::read_to_string(path).ok())?
}

fn reference(directory: &Path, sha: &CommitSha) -> PathBuf {
    directory.join("refs/commits").join(sha.as_str())
}
