//! Deletes old data, and keeps the mirrors within their bounds.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};

use super::worktree::INSTALLED;
use super::{App, Broken};
use crate::domain::id::RunId;
use crate::{git, suite};

/// The folder of the repositories' mirrors, in the data folder.
pub(super) const MIRRORS: &str = "mirrors";

/// Deletes the deliveries and runs that have expired at this moment, the bundles of those runs, packages that were
/// not used for long, and the mirrors beyond their bound.
///
/// # Errors
/// When the journal cannot be written, or this process is ending.
pub async fn prune(app: &App, now: Timestamp) -> Result<(), Broken> {
    let before = |age| {
        let age = SignedDuration::try_from(age).unwrap_or(SignedDuration::MAX);
        now.checked_sub(age).unwrap_or(Timestamp::MIN)
    };
    let retention = app.retention;
    let runs = app
        .journal
        .prune(before(retention.deliveries), before(retention.runs))
        .await?;
    delete_bundles(app, runs).await;
    bound_mirrors(app).await;
    let installed = app.folder.join(INSTALLED).join("github");
    in_background(move || {
        repositories(&installed)
            .iter()
            .for_each(|folder| suite::remove_old_packages(folder));
    })
    .await;
    Ok(())
}

/// Keeps the mirrors within their bound; a mirror in use is kept.
pub(super) async fn bound_mirrors(app: &App) {
    let (mirrors, bytes) = (app.folder.join(MIRRORS), app.retention.mirrors);
    in_background(move || git::bound_mirrors(&mirrors, bytes)).await;
}

/// Deletes the bundles of these runs, no matter what their repositories were called then.
pub(super) async fn delete_bundles(app: &App, runs: Vec<RunId>) {
    let Some(bundles) = app.bundles.clone().filter(|_| !runs.is_empty()) else {
        return;
    };
    let runs: HashSet<RunId> = runs.into_iter().collect();
    in_background(move || {
        for file in repositories(&bundles).iter().flat_map(|folder| entries(folder)) {
            let is_bundle = file.extension() == Some(OsStr::new("zip"));
            let run = file.file_stem().map(|stem| RunId(stem.to_string_lossy().into_owned()));
            if is_bundle
                && run.is_some_and(|run| runs.contains(&run))
                && let Err(error) = fs::remove_file(&file)
            {
                tracing::warn!(file = %file.display(), %error, "the bundle of a deleted run could not be removed");
            }
        }
    })
    .await;
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
