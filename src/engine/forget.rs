//! Handles changes of an installation. Deletes the runs, code and packages that greenlight may not see any more. When
//! an installation is suspended, ends all its runs without posting anything.

use std::path::Path;
use std::time::Duration;

use super::retention::{MIRRORS, delete_bundles};
use super::worktree::INSTALLED;
use super::{App, Broken, Interrupt, pull_request};
use crate::domain::id::{InstallationId, PullRequestId, Repository};
use crate::domain::run::Run;
use crate::journal;

/// How many open runs are read at a time.
const PAGE: usize = 100;
/// How long active work has to stop.
const LAST_WORDS: Duration = Duration::from_secs(10);
/// How often to check whether it stopped.
const LOOK: Duration = Duration::from_millis(50);

/// Applies a change of an installation.
///
/// # Errors
/// When the journal or the disk cannot be written.
pub(super) async fn installation_changed(
    app: &App,
    (installation, is_suspended): (Option<InstallationId>, bool),
    removed: &[Repository],
) -> Result<(), Broken> {
    if is_suspended && installation.is_some() {
        end_all(app, installation).await?;
    }
    for repository in removed {
        forget(app, repository).await?;
    }
    Ok(())
}

/// Ends the runs of a suspended installation. GitHub would refuse anything they still do.
async fn end_all(app: &App, installation: Option<InstallationId>) -> Result<(), Broken> {
    let mut end = None;
    loop {
        let (runs, next) = app.journal.open_page(None, end.as_ref(), PAGE).await?;
        for run in runs.into_iter().filter(|run| run.started.installation == installation) {
            if let Some(id) = run.started.pull_request().cloned() {
                stop(app, |other| other.may_be(&id)).await;
            }
            end_with_all_its_steps(app, run).await?;
        }
        if next.is_none() {
            return Ok(());
        }
        end = next;
    }
}

/// Ends a run even if its worker appended more steps before it stopped. Gives up on a run that still advances after
/// [`LAST_WORDS`]: GitHub refuses its next request, and that ends it.
async fn end_with_all_its_steps(app: &App, mut run: Run) -> Result<(), Broken> {
    let ended = async {
        loop {
            match pull_request::end_unsaid(app, &mut run).await {
                Err(Broken::Journal(journal::Error::Taken)) => {}
                ended => return ended,
            }
            match app.journal.find(run.id()).await? {
                Some(now) if !now.is_over() => run = now,
                _ => return Ok(()),
            }
        }
    };
    tokio::time::timeout(LAST_WORDS, ended).await.unwrap_or(Ok(()))
}

/// Stops active work, and waits until it has stopped.
async fn stop(app: &App, is_meant: impl Fn(&PullRequestId) -> bool) {
    let stopped = async {
        while app.interrupts.interrupt_where(&is_meant, &Interrupt::ShuttingDown) {
            tokio::time::sleep(LOOK).await;
        }
    };
    if tokio::time::timeout(LAST_WORDS, stopped).await.is_err() {
        tracing::warn!("work did not stop in time after access was removed");
    }
}

/// Stops active work on a repository, and deletes everything that belongs to it.
async fn forget(app: &App, repository: &Repository) -> Result<(), Broken> {
    stop(app, |id| id.repository.may_be(repository)).await;
    let runs = app.journal.forget(repository).await?;
    // The repository may have had another name when the bundles were written.
    delete_bundles(app.bundles.as_deref(), runs).await;
    let bundles = app
        .bundles
        .as_ref()
        .map(|folder| folder.join(repository.owner()).join(repository.name()));
    let folders = [
        app.folder.join(MIRRORS).join(repository.key()),
        app.folder.join(INSTALLED).join("github").join(repository.key()),
    ];
    for folder in folders.into_iter().chain(bundles) {
        remove(&folder).await?;
    }
    tracing::info!(%repository, "all data of a removed repository was deleted");
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
