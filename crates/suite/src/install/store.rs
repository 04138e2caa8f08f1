//! Results of installations: one directory for each, named after a digest of its inputs.
//!
//! A result is created under a temporary name and renamed when it is complete; from then on it is only shown
//! read-only. Results that have not been used for a while are removed.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use greenlight_sandbox as sandbox;
use greenlight_tree::{files, private};
use tempfile::TempDir;

/// How many results are kept for a repository, and for how long.
const MAX_RESULTS: usize = 8;
const MAX_AGE: Duration = Duration::from_secs(14 * 24 * 60 * 60);
/// Results used within this time may still be in use: no run takes that long.
const IN_USE: Duration = Duration::from_secs(12 * 60 * 60);

/// Prefix of what single trees were compiled to, of which few are kept, and for a short time: they are large, and a run
/// that misses one compiles its tree itself. No run needs one after its first minutes.
pub(crate) const OF_TREE: &str = "tree-";
const MAX_OF_TREES: usize = 4;
const TREE_IN_USE: Duration = Duration::from_secs(15 * 60);
/// How many are kept in any case, even if all are new.
const MAX_NEW_TREES: usize = 16;

/// Prefix of unfinished results.
const NEW: &str = "new-";
/// Held by the process that makes a result for all others.
const LOCK: &str = ".lock";
/// Suffix of the file with a result's notes. Its modification time is when the result was last used.
const NOTES: &str = ".json";

/// The results of one repository.
#[derive(Clone)]
pub(crate) struct Store {
    directory: PathBuf,
}

/// A complete result.
pub(crate) struct StoredInstall {
    pub(crate) directory: PathBuf,
    pub(crate) notes: Vec<String>,
}

/// An unfinished result, removed on drop unless it is kept.
pub(crate) struct New(Option<TempDir>);

impl New {
    pub(crate) fn path(&self) -> &Path {
        self.0.as_ref().map_or(Path::new(""), TempDir::path)
    }
}

impl Drop for New {
    fn drop(&mut self) {
        if let Some(directory) = self.0.take() {
            // Works with any permissions that the files were left with.
            let _ = files::remove_tree(&directory.keep());
        }
    }
}

impl Store {
    /// Opens the directory of a repository, creating it if necessary.
    pub(crate) fn open(directory: &Path) -> io::Result<Self> {
        private::folder(directory)?;
        // Only greenlight may enter it. Sandboxes see its contents through a mount.
        fs::set_permissions(directory, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
        Ok(Self {
            directory: directory.to_path_buf(),
        })
    }

    /// The result with this name, if it is complete.
    pub(crate) fn find(&self, key: &str) -> Option<StoredInstall> {
        let notes = self.notes(key);
        let text = fs::read(&notes).ok()?;
        let directory = self.directory.join(key);
        if !directory.is_dir() {
            return None;
        }
        // The modification time only decides the order of removal.
        let _ = fs::File::options()
            .append(true)
            .open(&notes)
            .and_then(|file| file.set_modified(jiff::Timestamp::now().into()));
        Some(StoredInstall {
            directory,
            notes: serde_json::from_slice(&text).unwrap_or_default(),
        })
    }

    /// The names and notes of all complete results.
    pub(crate) fn all(&self) -> Vec<(String, Vec<String>)> {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let complete = entries.filter_map(|entry| {
            let key = entry.file_name().to_str()?.strip_suffix(NOTES)?.to_owned();
            let notes = serde_json::from_slice(&fs::read(entry.path()).ok()?).ok()?;
            self.directory.join(&key).is_dir().then_some((key, notes))
        });
        complete.collect()
    }

    /// A file to lock while a result is made that several processes want.
    pub(crate) fn lock(&self) -> io::Result<fs::File> {
        private::file().open(self.directory.join(LOCK))
    }

    /// Creates a directory for a new result.
    pub(crate) fn begin(&self) -> io::Result<New> {
        let directory = tempfile::Builder::new().prefix(NEW).tempdir_in(&self.directory)?;
        fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        Ok(New(Some(directory)))
    }

    /// Moves a result into place. If one with the same name exists, the existing one is used.
    pub(crate) fn keep(&self, mut new: New, key: &str, notes: &[String]) -> io::Result<StoredInstall> {
        let Some(directory) = new.0.take() else {
            return Err(io::ErrorKind::NotFound.into());
        };
        // Temporary files of the tools.
        files::remove_tree(&directory.path().join("tmp"))?;
        sandbox::take_back(directory.path())?;
        let target = self.directory.join(key);
        let made = directory.keep();
        match fs::rename(&made, &target) {
            Ok(()) => {}
            Err(_) if target.is_dir() => files::remove_tree(&made)?,
            Err(error) => return Err(error),
        }
        // Written last, because it marks the result as complete.
        let mut file = private::file().truncate(true).open(self.notes(key))?;
        file.write_all(&serde_json::to_vec(notes)?)?;
        self.remove_old(key);
        Ok(StoredInstall {
            directory: target,
            notes: notes.to_vec(),
        })
    }

    fn notes(&self, key: &str) -> PathBuf {
        self.directory.join(format!("{key}{NOTES}"))
    }

    /// Removes results that are too old or too many, but none that may be in use.
    pub(crate) fn remove_old(&self, except: &str) {
        for name in self.old(except) {
            let _ = fs::remove_file(self.notes(&name));
            if let Err(error) = files::remove_tree(&self.directory.join(&name)) {
                tracing::warn!(name, %error, "installed packages could not be removed");
            }
        }
    }

    /// The directories of results that are too old or too many, without those that may be in use.
    pub(crate) fn old_directories(&self) -> Vec<PathBuf> {
        let old = self.old("").into_iter();
        old.map(|name| self.directory.join(name)).collect()
    }

    fn old(&self, except: &str) -> Vec<String> {
        let mut results: Vec<(Duration, String)> = Vec::new();
        for entry in fs::read_dir(&self.directory).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let of = if name.ends_with(NOTES) || name == except || name == LOCK {
                continue;
            } else {
                &name
            };
            let used = [self.notes(of), entry.path()]
                .iter()
                .find_map(|path| fs::symlink_metadata(path).and_then(|meta| meta.modified()).ok());
            let age = used.and_then(|used| used.elapsed().ok()).unwrap_or_default();
            results.push((age, name));
        }
        results.sort();
        let (of_trees, others): (Vec<_>, Vec<_>) = results.into_iter().partition(|(_, name)| name.starts_with(OF_TREE));
        let old = |results: Vec<(Duration, String)>, (number, at_most): (usize, usize), in_use: Duration| {
            let old = results.into_iter().enumerate().filter(move |(index, (age, name))| {
                let is_old = *age > MAX_AGE || index + 1 >= number || name.starts_with(NEW);
                is_old && *age > in_use || *index >= at_most
            });
            old.map(|(_, (_, name))| name)
        };
        let trees = old(of_trees, (MAX_OF_TREES, MAX_NEW_TREES), TREE_IN_USE);
        old(others, (MAX_RESULTS, usize::MAX), IN_USE).chain(trees).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(store: &Store, key: &str, content: &str) -> StoredInstall {
        let new = store.begin().unwrap();
        fs::write(new.path().join("file"), content).unwrap();
        fs::create_dir_all(new.path().join("tmp/rest")).unwrap();
        store.keep(new, key, &["a note".into()]).unwrap()
    }

    #[test]
    fn a_result_is_there_when_it_is_complete_and_not_before() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let given_up = store.begin().unwrap();
        fs::write(given_up.path().join("file"), "").unwrap();
        assert!(store.find("a").is_none());
        drop(given_up);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);

        make(&store, "a", "first");
        let found = store.find("a").unwrap();
        assert_eq!(found.notes, ["a note"]);
        assert_eq!(fs::read_to_string(found.directory.join("file")).unwrap(), "first");
        assert!(!found.directory.join("tmp").exists());
        assert!(store.find("b").is_none());
    }

    #[test]
    fn the_first_of_two_that_are_the_same_stays() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        make(&store, "a", "first");
        let kept = make(&store, "a", "second");
        assert_eq!(fs::read_to_string(kept.directory.join("file")).unwrap(), "first");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_was_not_used_for_long_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        for key in ["old", "fresh"] {
            make(&store, key, "");
        }
        let long_ago = std::time::SystemTime::from(jiff::Timestamp::now()) - MAX_AGE - IN_USE;
        let notes = fs::File::options().append(true).open(store.notes("old")).unwrap();
        notes.set_modified(long_ago).unwrap();
        make(&store, "new", "");
        assert!(store.find("old").is_none() && store.find("fresh").is_some() && store.find("new").is_some());
    }
}
