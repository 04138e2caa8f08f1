//! Resolves names and ids of repositories.

use jiff::Timestamp;
use serde::Deserialize;

use super::client::Client;
use super::error::Error;
use crate::domain::id::{Repository, RepositoryId, RepositoryName};

/// A repository with its current name.
#[derive(Debug, Clone)]
pub struct Named {
    pub repository: Repository,
    /// When it was created. Anything that happened under its name before that concerned another repository.
    pub created: Option<Timestamp>,
}

#[derive(Deserialize)]
pub(super) struct Wire {
    id: Option<RepositoryId>,
    full_name: RepositoryName,
    created_at: Option<String>,
    pub(super) default_branch: Option<String>,
}

impl Wire {
    /// The wanted repository with its current name. `None` if this is another one. Without an id, the requested name
    /// decides.
    pub(super) fn is(self, wanted: &Repository) -> Option<Repository> {
        match (wanted.id, self.id) {
            (Some(wanted), Some(id)) if wanted != id => None,
            (Some(id), _) => Some(Repository {
                id: Some(id),
                name: self.full_name,
            }),
            (None, _) => Some(wanted.clone()),
        }
    }
}

impl From<Wire> for Repository {
    fn from(Wire { id, full_name, .. }: Wire) -> Self {
        Self { id, name: full_name }
    }
}

impl Client {
    /// The repository that has this name now, or had it and nobody has taken it since.
    /// <https://docs.github.com/en/rest/repos/repos#get-a-repository>
    ///
    /// # Errors
    /// When it does not exist or GitHub cannot be reached.
    pub async fn named(&self, name: &RepositoryName) -> Result<Named, Error> {
        let wire: Wire = self.get(&format!("/repos/{name}")).await?;
        let created = wire.created_at.as_deref().and_then(|at| at.parse().ok());
        Ok(Named {
            repository: wire.into(),
            created,
        })
    }

    /// A repository with its current name; without an id, the one that has the name now.
    ///
    /// # Errors
    /// When it does not exist or GitHub cannot be reached.
    pub async fn repository(&self, wanted: &Repository) -> Result<Repository, Error> {
        let route = format!("/repos/{wanted}");
        let found: Option<Wire> = self.get_optional(&route).await?;
        let found = match wanted.id {
            None => found.map(Repository::from),
            Some(_) => match found.and_then(|wire| wire.is(wanted)) {
                None => self.renamed(wanted).await?,
                found => found,
            },
        };
        found.ok_or_else(|| Error::Refused {
            status: 404,
            route,
            message: "Not Found".into(),
            lacks: None,
        })
    }

    /// Finds a repository whose old name leads nowhere, or to another repository. GitHub redirects from old names to
    /// this route, which works for every repository.
    pub(super) async fn renamed(&self, wanted: &Repository) -> Result<Option<Repository>, Error> {
        let Some(RepositoryId(id)) = wanted.id else {
            return Ok(None);
        };
        let wire: Option<Wire> = self.get_optional(&format!("/repositories/{id}")).await?;
        Ok(wire.and_then(|wire| wire.is(wanted)))
    }
}
