//! Forgets a repository that greenlight may not see any more: its runs, its code, its packages.

use std::path::Path;
use std::time::Duration;

use super::desk::INSTALLED;
use super::{App, Broken, Interrupt};
use crate::domain::id::{PullRequestId, Repository};

/// How long the work on it gets to stop.
const LAST_WORDS: Duration = Duration::from_secs(10);
/// How often it is looked whether it did.
const LOOK: Duration = Duration::from_millis(50);

/// Stops what is at work on a repository, and deletes everything that belongs to it.
///
/// # Errors
/// When the journal or the disk cannot be written.
pub(super) async fn forget(app: &App, repository: &Repository) -> Result<(), Broken> {
    let is_its = |pull_request: &PullRequestId| pull_request.repository.may_be(repository);
    let stopped = async {
        while app.interrupts.interrupt_where(is_its, &Interrupt::ShuttingDown) {
            tokio::time::sleep(LOOK).await;
        }
    };
    if tokio::time::timeout(LAST_WORDS, stopped).await.is_err() {
        tracing::warn!(%repository, "work on a repository that was removed does not stop");
    }
    app.journal.forget(repository).await?;
    let bundles = app
        .bundles
        .as_ref()
        .map(|folder| folder.join(repository.owner()).join(repository.name()));
    let folders = [
        app.folder.join("mirrors").join(repository.key()),
        app.folder.join(INSTALLED).join("github").join(repository.key()),
    ];
    for folder in folders.into_iter().chain(bundles) {
        remove(&folder).await?;
    }
    tracing::info!(%repository, "all that belongs to a removed repository is deleted");
    Ok(())
}

async fn remove(folder: &Path) -> Result<(), Broken> {
    match tokio::fs::remove_dir_all(folder).await {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Broken::Disk(folder.display().to_string(), error))
        }
        _ => Ok(()),
    }
}
