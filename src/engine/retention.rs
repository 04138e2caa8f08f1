//! Deletes old data, and keeps the mirrors within their bounds.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};

use super::worktree::{EVERYONE, INSTALLED};
use super::{App, Broken};
use crate::config::retention::Retention;
use crate::domain::id::RunId;
use crate::journal::Journal;
use crate::{git, suite};

/// The folder of the repositories' mirrors, in the data folder.
pub(super) const MIRRORS: &str = "mirrors";
/// Installed packages have no deeper directories.
const MAX_PARTS: usize = 64;

/// Stored data, and how long it is kept.
#[derive(Clone, Copy)]
pub struct Stored<'a> {
    pub journal: &'a Journal,
    pub retention: Retention,
    pub folder: &'a Path,
    pub bundles: Option<&'a Path>,
}

impl<'a> From<&'a App> for Stored<'a> {
    fn from(app: &'a App) -> Self {
        Self {
            journal: &app.journal,
            retention: app.retention,
            folder: &app.folder,
            bundles: app.bundles.as_deref(),
        }
    }
}

impl Stored<'_> {
    /// The moments before which deliveries and runs are old.
    fn moments(&self, now: Timestamp) -> (Timestamp, Timestamp) {
        let before = |age| {
            let age = SignedDuration::try_from(age).unwrap_or(SignedDuration::MAX);
            now.checked_sub(age).unwrap_or(Timestamp::MIN)
        };
        (before(self.retention.deliveries), before(self.retention.runs))
    }

    fn installed(&self) -> PathBuf {
        self.folder.join(INSTALLED)
    }
}

/// Deletes the deliveries and runs that have expired at this moment, the bundles of those runs, packages that were
/// not used for long, and the mirrors beyond their bound.
///
/// # Errors
/// When the journal cannot be written, or this process is ending.
pub async fn prune(stored: impl Into<Stored<'_>>, now: Timestamp) -> Result<(), Broken> {
    let stored = stored.into();
    let (deliveries_before, runs_before) = stored.moments(now);
    stored.journal.prune_deliveries(deliveries_before).await?;
    loop {
        let runs = stored.journal.prune_some_runs(runs_before).await?;
        if runs.is_empty() {
            break;
        }
        delete_bundles(stored.bundles, runs).await;
    }
    stored.journal.empty_the_log().await?;
    stored.journal.prune_sessions(now).await?;
    bound_mirrors(stored.folder, stored.retention).await;
    let installed = stored.installed();
    in_background(move || {
        package_folders(&installed)
            .iter()
            .for_each(|folder| suite::remove_old_packages(folder));
    })
    .await;
    Ok(())
}

/// How many of something there are, and how much space they take.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    pub number: u64,
    pub bytes: u64,
}

impl Amount {
    /// These files and directories.
    fn of(paths: &[PathBuf]) -> Self {
        Self {
            number: paths.len() as u64,
            bytes: paths.iter().map(|path| size(path, MAX_PARTS)).sum(),
        }
    }
}

/// What [`prune`] would delete.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Prunable {
    /// Only their ids are stored.
    pub deliveries: u64,
    pub runs: Amount,
    pub bundles: Amount,
    pub packages: Amount,
    pub mirrors: Amount,
}

/// Finds out what [`prune`] would delete at this moment, and deletes nothing.
///
/// # Errors
/// When the journal cannot be read, or this process is ending.
pub async fn prunable(stored: impl Into<Stored<'_>>, now: Timestamp) -> Result<Prunable, Broken> {
    let stored = stored.into();
    let (deliveries_before, runs_before) = stored.moments(now);
    let expired = stored.journal.expired(deliveries_before, runs_before).await?;
    let runs = Amount {
        number: expired.runs.len() as u64,
        bytes: expired.bytes,
    };
    let (bundles, installed) = (stored.bundles.map(Path::to_path_buf), stored.installed());
    let (mirrors, most) = (stored.folder.join(MIRRORS), stored.retention.mirrors);
    let looked = tokio::task::spawn_blocking(move || {
        let bundles = bundles.map_or_else(Vec::new, |bundles| bundles_of(&bundles, expired.runs));
        let packages: Vec<PathBuf> = package_folders(&installed)
            .iter()
            .flat_map(|folder| suite::old_packages(folder))
            .collect();
        let (number, bytes) = git::mirrors_beyond(&mirrors, most);
        Prunable {
            deliveries: expired.deliveries,
            runs,
            bundles: Amount::of(&bundles),
            packages: Amount::of(&packages),
            mirrors: Amount { number, bytes },
        }
    });
    looked.await.map_err(|error| Broken::Bug(error.to_string()))
}

/// The bytes of a file, or of all files in a directory. Links are not followed.
fn size(path: &Path, depth: usize) -> u64 {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() && depth > 0 => entries(path).map(|entry| size(&entry, depth - 1)).sum(),
        Ok(meta) if meta.is_dir() => 0,
        Ok(meta) => meta.len(),
        Err(_) => 0,
    }
}

/// Keeps the mirrors within their bound; a mirror in use is kept.
pub(super) async fn bound_mirrors(folder: &Path, retention: Retention) {
    let (mirrors, bytes) = (folder.join(MIRRORS), retention.mirrors);
    in_background(move || git::bound_mirrors(&mirrors, bytes)).await;
}

/// Deletes the bundles of these runs, no matter what their repositories were called then.
pub(super) async fn delete_bundles(bundles: Option<&Path>, runs: Vec<RunId>) {
    let Some(bundles) = bundles.map(Path::to_path_buf).filter(|_| !runs.is_empty()) else {
        return;
    };
    in_background(move || {
        for file in bundles_of(&bundles, runs) {
            if let Err(error) = fs::remove_file(&file) {
                tracing::warn!(file = %file.display(), %error, "the bundle of a deleted run could not be removed");
            }
        }
    })
    .await;
}

fn bundles_of(bundles: &Path, runs: Vec<RunId>) -> Vec<PathBuf> {
    let runs: HashSet<RunId> = runs.into_iter().collect();
    let is_of_them = |file: &PathBuf| {
        let run = file.file_stem().map(|stem| RunId(stem.to_string_lossy().into_owned()));
        file.extension() == Some(OsStr::new("zip")) && run.is_some_and(|run| runs.contains(&run))
    };
    let files = repositories(bundles)
        .into_iter()
        .flat_map(|folder| entries(&folder).collect::<Vec<_>>());
    files.filter(is_of_them).collect()
}

/// The folders of packages: one for each repository, and the one that all share.
fn package_folders(installed: &Path) -> Vec<PathBuf> {
    let mut folders = repositories(&installed.join("github"));
    folders.extend(Some(installed.join(EVERYONE)).filter(|folder| folder.is_dir()));
    folders
}

/// The folders of repositories below a folder: `@` and the repository's id, or its name in its owner's folder.
fn repositories(folder: &Path) -> Vec<PathBuf> {
    let has_id = |path: &Path| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('@'))
    };
    let (by_id, owners): (Vec<PathBuf>, Vec<PathBuf>) = entries(folder).partition(|entry| has_id(entry));
    let named = owners.iter().flat_map(|owner| entries(owner));
    by_id.into_iter().chain(named).filter(|entry| entry.is_dir()).collect()
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

async fn in_background(work: impl FnOnce() + Send + 'static) {
    if let Err(error) = tokio::task::spawn_blocking(work).await {
        tracing::warn!(%error, "some expired data could not be deleted");
    }
}
