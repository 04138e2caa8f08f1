//! Who is asking, and what they may: GitHub says both, and nothing of a token is kept but its digest, for a minute.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use secrecy::SecretString;
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::problem::Problem;
use super::{Api, bearer};
use crate::domain::id::{InstallationId, Login, RepositoryName};
use crate::domain::permission::{Permission, authorize};
use crate::github::{Client, Error, Person};

/// How long it is believed whose token it is.
const KNOWN_FOR: Duration = Duration::from_secs(60);
/// How many tokens are known at once, and how many strangers are asked about at once.
const MAX_KNOWN: usize = 1_000;
const MAX_ASKED: usize = 8;
/// How long a token of GitHub's can be.
const TOKEN_LENGTH: std::ops::RangeInclusive<usize> = 10..=1_024;

/// A token's SHA-256.
type Fingerprint = [u8; 32];

/// Knows for a minute whose token it was.
#[derive(Clone)]
pub(super) struct Who(Arc<Inner>);

struct Inner {
    known: Mutex<HashMap<Fingerprint, (Instant, Option<Person>)>>,
    asked: Semaphore,
}

impl Default for Who {
    fn default() -> Self {
        Self(Arc::new(Inner {
            known: Mutex::default(),
            asked: Semaphore::new(MAX_ASKED),
        }))
    }
}

impl Who {
    async fn is(&self, api: &Api, token: &str) -> Result<Option<Person>, Problem> {
        let shaped = TOKEN_LENGTH.contains(&token.len()) && token.bytes().all(|byte| byte.is_ascii_graphic());
        if !shaped {
            return Ok(None);
        }
        let fingerprint: Fingerprint = Sha256::digest(token).into();
        if let Some(known) = self.known(&fingerprint) {
            return Ok(known);
        }
        let Ok(_place) = self.0.asked.try_acquire() else {
            return Err(Problem::Busy);
        };
        let person = api.queue.app().github.who(SecretString::from(token)).await?;
        let mut all = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_KNOWN {
            all.retain(|_, (until, _)| *until > Instant::now());
        }
        if all.len() < MAX_KNOWN {
            all.insert(fingerprint, (Instant::now() + KNOWN_FOR, person.clone()));
        }
        Ok(person)
    }

    fn known(&self, fingerprint: &Fingerprint) -> Option<Option<Person>> {
        let all = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (until, person) = all.get(fingerprint)?;
        (*until > Instant::now()).then(|| person.clone())
    }
}

/// A person that showed a token of their own.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    pub(super) login: Login,
}

impl FromRequestParts<Api> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        let token = bearer(&parts.headers).ok_or(Problem::Unauthorized)?;
        match api.who.is(api, token).await? {
            None => Err(Problem::Unauthorized),
            Some(person) if person.is_bot => Err(Problem::Forbidden("bots do nothing here; a person can")),
            Some(person) if !person.speaks_for_them => Err(Problem::Forbidden(
                "this token is not good for repositories; use a classic one with the `repo` scope, or a fine-grained one",
            )),
            Some(Person { login, .. }) => Ok(Self { login }),
        }
    }
}

/// What somebody may do in a repository, as GitHub says now.
pub(super) struct Access {
    pub(super) client: Client,
    login: Login,
    permission: Permission,
}

impl Access {
    /// # Errors
    /// Without write access.
    pub(super) fn may_answer(&self) -> Result<(), Problem> {
        let refused = |_| Problem::Forbidden("this takes write access to the repository");
        authorize((), &self.login, false, self.permission)
            .map_err(refused)
            .map(drop)
    }
}

impl Caller {
    /// Asks for this person's live permission.
    ///
    /// # Errors
    /// [`Problem::NotFound`] without read access, and where greenlight itself is not at home.
    pub(super) async fn access(
        &self,
        api: &Api,
        installation: Option<InstallationId>,
        repository: &RepositoryName,
    ) -> Result<Access, Problem> {
        let app = api.queue.app();
        if !app.allow_list.allows(repository) {
            return Err(Problem::NotFound);
        }
        let unseen = |error: Error| match error {
            Error::Refused {
                status: 401 | 403 | 404,
                ..
            } => Problem::NotFound,
            error => error.into(),
        };
        let client = app.github.client(installation, repository).await.map_err(unseen)?;
        let permission = client.permission(repository, &self.login).await.map_err(unseen)?;
        if permission == Permission::None {
            return Err(Problem::NotFound);
        }
        let login = self.login.clone();
        Ok(Access {
            client,
            login,
            permission,
        })
    }
}
