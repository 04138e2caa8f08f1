//! Tokens to fetch a repository's code with. An App gets tokens that can do nothing else, and uses each while it is
//! valid.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;

use super::error::Error;
use super::{Auth, GitHub, not_installed, without_installation};
use crate::domain::id::{InstallationId, Repository};

/// A fetch may take minutes, and the clocks may differ.
const MARGIN: SignedDuration = SignedDuration::from_mins(15);
/// The tokens of this many repositories are kept.
const MAX_KEPT: usize = 1_000;

/// The token to fetch a repository's code with.
#[derive(Debug, Clone)]
pub enum CloneToken {
    /// It can only read the code of this one repository.
    ReadOnly(SecretString),
    /// greenlight's own token, which may have write access. It is used only for private repositories.
    Whole(SecretString),
}

/// The valid read-only tokens, by installation and repository. They are in memory only, as the App's own are.
#[derive(Default)]
pub(super) struct CloneTokens(Mutex<HashMap<(InstallationId, String), Granted>>);

#[derive(Debug, Clone, Deserialize)]
struct Granted {
    token: SecretString,
    expires_at: Option<Timestamp>,
}

impl Granted {
    fn is_valid(&self) -> bool {
        let until = self.expires_at.and_then(|at| at.checked_sub(MARGIN).ok());
        until.is_some_and(|until| Timestamp::now() < until)
    }
}

impl CloneTokens {
    /// The token for a repository, unless it was refused.
    fn find(&self, key: &(InstallationId, String), refused: Option<&SecretString>) -> Option<SecretString> {
        let is_refused = |token: &SecretString| refused.is_some_and(|it| it.expose_secret() == token.expose_secret());
        let known = self.lock();
        let granted = known.get(key).filter(|granted| granted.is_valid())?;
        (!is_refused(&granted.token)).then(|| granted.token.clone())
    }

    fn keep(&self, key: (InstallationId, String), granted: Granted) {
        let mut known = self.lock();
        if known.len() >= MAX_KEPT {
            known.retain(|_, granted| granted.is_valid());
        }
        if known.len() < MAX_KEPT {
            known.insert(key, granted);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(InstallationId, String), Granted>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GitHub {
    /// A token to fetch the code of a repository. An App gets one that can do nothing else. `refused` is one that was
    /// not accepted.
    ///
    /// # Errors
    /// When GitHub does not provide one.
    pub async fn clone_token(
        &self,
        installation: Option<InstallationId>,
        repository: &Repository,
        refused: Option<&SecretString>,
    ) -> Result<CloneToken, Error> {
        let app = match &self.auth {
            Auth::Token { token, .. } => return Ok(CloneToken::Whole(token.clone())),
            Auth::App { app, .. } => app,
        };
        let installation = match installation {
            Some(installation) => installation,
            None => self
                .installation(repository)
                .await?
                .ok_or_else(|| not_installed(repository))?,
        };
        let key = (installation, repository.key().to_string());
        if let Some(token) = self.clone_tokens.find(&key, refused) {
            return Ok(CloneToken::ReadOnly(token));
        }
        let body = serde_json::json!({ "repositories": [repository.name()], "permissions": { "contents": "read" } });
        let InstallationId(id) = installation;
        // A retry does no harm: a second token is simply never used.
        let granted: Granted = app
            .post_again(&format!("/app/installations/{id}/access_tokens"), &body)
            .await
            .map_err(without_installation)?;
        let token = granted.token.clone();
        self.clone_tokens.keep(key, granted);
        Ok(CloneToken::ReadOnly(token))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(token: &str, minutes: i64) -> Granted {
        Granted {
            token: token.to_string().into(),
            expires_at: Timestamp::now().checked_add(SignedDuration::from_mins(minutes)).ok(),
        }
    }

    #[test]
    fn a_token_is_used_while_it_is_valid_and_accepted() {
        let known = CloneTokens::default();
        let key = |installation: u64, repository: &str| (InstallationId(installation), repository.to_string());
        known.keep(key(1, "a"), granted("one", 60));
        let found = |of: &(InstallationId, String), refused: Option<&str>| {
            let refused = refused.map(|token| SecretString::from(token.to_string()));
            known
                .find(of, refused.as_ref())
                .map(|token| token.expose_secret().to_string())
        };
        assert_eq!(found(&key(1, "a"), None).as_deref(), Some("one"));
        assert_eq!(found(&key(1, "a"), Some("other")).as_deref(), Some("one"));
        assert_eq!(found(&key(1, "a"), Some("one")), None);
        assert_eq!(found(&key(2, "a"), None), None);
        assert_eq!(found(&key(1, "b"), None), None);
        known.keep(key(1, "a"), granted("old", 10));
        assert_eq!(found(&key(1, "a"), None), None);
        for other in 0..2 * MAX_KEPT {
            known.keep(key(3, &other.to_string()), granted("many", 60));
        }
        assert!(known.lock().len() <= MAX_KEPT);
    }
}
