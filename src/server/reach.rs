//! Reaches a repository with greenlight's own credentials, for a person who asks about it.

use crate::domain::id::{Account, InstallationId, Repository};
use crate::domain::permission::Permission;
use crate::engine::App;
use crate::github::{Client, Error};

/// A repository, as it is called and reached now.
#[derive(Clone)]
pub(super) struct Reached {
    pub(super) client: Client,
    pub(super) repository: Repository,
}

/// `None` if greenlight may not work there, or is not installed there any more.
///
/// # Errors
/// When GitHub cannot be reached.
pub(super) async fn reach(
    app: &App,
    installation: Option<InstallationId>,
    repository: &Repository,
) -> Result<Option<Reached>, Error> {
    if !app.allow_list.allows(repository) {
        return Ok(None);
    }
    let reached = seen(now(app, installation, repository).await)?;
    Ok(reached.filter(|reached| app.allow_list.allows(&reached.repository)))
}

async fn now(app: &App, installation: Option<InstallationId>, repository: &Repository) -> Result<Reached, Error> {
    let mut client = app.github.client(installation, repository).await?;
    let mut found = client.repository(repository).await;
    let moved = app.github.transferred((installation, repository), found.as_ref()).await;
    if let Some(now) = moved? {
        client = app.github.client(Some(now), repository).await?;
        found = client.repository(repository).await;
    }
    let repository = found?;
    Ok(Reached { client, repository })
}

impl Reached {
    /// What a person may do there now.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub(super) async fn permission(&self, account: &Account) -> Result<Permission, Error> {
        let permission = seen(self.client.permission(&self.repository, account).await)?;
        Ok(permission.unwrap_or(Permission::None))
    }
}

/// A refusal says no more than that there is nothing to see.
fn seen<T>(answer: Result<T, Error>) -> Result<Option<T>, Error> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(
            Error::NotInstalled(_)
            | Error::Refused {
                status: 401 | 403 | 404,
                ..
            },
        ) => Ok(None),
        Err(error) => Err(error),
    }
}
