//! Looks up the id of a repository that is known only by its name.

use super::{App, Broken};
use crate::domain::event::Event;
use crate::domain::id::{InstallationId, PullRequestId, Repository, RepositoryName};
use crate::domain::run::Run;
use crate::github::{Error, Named};
use crate::journal::Unidentified;

/// Files the runs that earlier versions recorded under a repository's name under its id. A name that GitHub does not
/// resolve is tried again the next time.
///
/// # Errors
/// When the journal cannot be used.
pub async fn identify(app: &App, mut may_be_tried: impl FnMut(&str) -> bool) -> Result<(), Broken> {
    for Unidentified { name, installation } in app.journal.unidentified().await? {
        if may_be_tried(&format!("repository {name}"))
            && let Err(error) = file(app, installation, &name).await
        {
            tracing::warn!(repository = %name, %error, "the repository could not be identified");
        }
    }
    Ok(())
}

/// Adds the id of its repository to an event: earlier versions recorded only the name.
///
/// # Errors
/// When GitHub cannot be reached.
pub(super) async fn event(app: &App, mut event: Event) -> Result<Event, Broken> {
    let installation = event.installation;
    if let Some(repository) = event.repository_mut().filter(|repository| repository.id.is_none())
        && let Some(named) = named(app, installation, &repository.name).await?
    {
        *repository = named.repository;
    }
    Ok(event)
}

/// The current state of a run. `None` if its repository can no longer be identified.
///
/// # Errors
/// When GitHub or the journal cannot be reached.
pub(super) async fn run(app: &App, run: &Run) -> Result<Option<Run>, Broken> {
    if let Some(PullRequestId { repository, .. }) = run.started.pull_request()
        && repository.id.is_none()
    {
        file(app, run.started.installation, &repository.name).await?;
    }
    Ok(app.journal.find(run.id()).await?)
}

async fn file(app: &App, installation: Option<InstallationId>, name: &RepositoryName) -> Result<(), Broken> {
    if let Some(Named { repository, created }) = named(app, installation, name).await? {
        app.journal.identify(name, &repository, created).await?;
        app.journal.know(&repository, installation).await?;
    }
    Ok(())
}

/// The repository with this name. `None` if it does not exist, or greenlight may not see it.
async fn named(
    app: &App,
    installation: Option<InstallationId>,
    name: &RepositoryName,
) -> Result<Option<Named>, Broken> {
    let look_up = async |installation| {
        let client = app.github.client(installation, &Repository::from(name.clone())).await?;
        client.named(name).await
    };
    let first = look_up(installation).await;
    let found = match first {
        Err(
            Error::NotInstalled(_)
            | Error::Refused {
                status: 401 | 403 | 404,
                ..
            },
        ) if installation.is_some() => look_up(None).await,
        found => found,
    };
    match found {
        Ok(named) => Ok(Some(named)),
        Err(
            Error::NotInstalled(_)
            | Error::Refused {
                status: 401 | 403 | 404,
                ..
            },
        ) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
