//! Finds out which repository a name stands for, where somebody knew only the name.

use super::{App, Broken};
use crate::domain::event::Event;
use crate::domain::id::{InstallationId, PullRequestId, Repository, RepositoryName};
use crate::domain::run::Run;
use crate::github::{Error, Named};
use crate::journal::Unidentified;

/// Files the runs that an earlier version wrote down, under names alone, under the ids of their repositories. A name that
/// GitHub tells nothing of is left for the next time.
///
/// # Errors
/// When the journal cannot be used.
pub async fn identify(app: &App, mut may_be_tried: impl FnMut(&str) -> bool) -> Result<(), Broken> {
    for Unidentified { name, installation } in app.journal.unidentified().await? {
        if may_be_tried(&format!("repository {name}"))
            && let Err(error) = file(app, installation, &name).await
        {
            tracing::warn!(repository = %name, %error, "it is not known which repository this is");
        }
    }
    Ok(())
}

/// An event with the id of its repository: earlier versions wrote down only the name.
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

/// A run as it is by now. `None` if nobody knows any more which repository it was in.
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

/// The repository of a name. `None` if there is none, or none for greenlight to see.
async fn named(
    app: &App,
    installation: Option<InstallationId>,
    name: &RepositoryName,
) -> Result<Option<Named>, Broken> {
    let asked = async |installation| {
        let client = app.github.client(installation, &Repository::from(name.clone())).await?;
        client.named(name).await
    };
    let first = asked(installation).await;
    let found = match first {
        Err(
            Error::NotInstalled(_)
            | Error::Refused {
                status: 401 | 403 | 404,
                ..
            },
        ) if installation.is_some() => asked(None).await,
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
