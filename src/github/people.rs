//! People and their permissions, always fetched and never stored.
//!
//! A person's own token is used only to ask who owns it and what it may do. It is not stored.

use std::sync::Arc;

use http::HeaderMap;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::client::Client;
use super::connection::{Authentication, Connection};
use super::error::Error;
use super::{GitHub, escaped};
use crate::domain::id::{Account, AccountId, Login, RepositoryName};
use crate::domain::permission::Permission;

/// The kind of a person's token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// A classic token with the scope `repo`, which can work on repositories.
    Classic,
    /// A token for certain repositories and permissions, which GitHub does not reveal.
    FineGrained,
    /// A token that is only good for signing in. Any service that its owner once signed in to may have it, so it
    /// proves nothing.
    SignIn,
}

/// The owner of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    pub account: Account,
    pub is_bot: bool,
    pub token: TokenKind,
}

impl GitHub {
    /// Asks GitHub who owns this token. `None` if it is invalid.
    /// <https://docs.github.com/en/rest/users/users#get-the-authenticated-user>
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn who(&self, token: SecretString) -> Result<Option<Person>, Error> {
        #[derive(Deserialize)]
        struct SignedIn {
            login: Login,
            id: Option<AccountId>,
            r#type: String,
        }
        let is_fine_grained = token.expose_secret().starts_with("github_pat_");
        match self.client_of(token)?.get_with_headers::<SignedIn>("/user").await {
            Ok((user, headers)) => Ok(Some(Person {
                is_bot: user.r#type != "User" || user.login.as_str().ends_with("[bot]"),
                token: match has_scope(&headers, "repo") {
                    _ if is_fine_grained => TokenKind::FineGrained,
                    true => TokenKind::Classic,
                    false => TokenKind::SignIn,
                },
                account: Account {
                    id: user.id,
                    login: user.login,
                },
            })),
            Err(Error::Refused {
                status: 401 | 403 | 404,
                ..
            }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether a person's own token can read a pull request, or, without a number, the pull requests of a repository.
    /// An organisation's single sign-on may refuse the token, too.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn reads(
        &self,
        token: SecretString,
        (repository, number): (&RepositoryName, Option<u64>),
    ) -> Result<bool, Error> {
        let route = match number {
            Some(number) => format!("/repos/{repository}/pulls/{number}"),
            None => format!("/repos/{repository}/pulls?state=open&per_page=1"),
        };
        allowed(self.client_of(token)?.get::<IgnoredAny>(&route).await.map(|_| true))
    }

    /// Whether a person's own token may change the contents of a repository, as landing a commit does.
    ///
    /// The `permissions` of a repository are those of the token's owner, even for a fine-grained token, whose own
    /// permissions GitHub does not reveal. So such a token is tested: GitHub checks its permissions before it looks
    /// for the commit, and a branch at a commit that cannot exist is never created.
    /// <https://docs.github.com/en/rest/git/refs#create-a-reference>
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn writes(
        &self,
        token: SecretString,
        repository: &RepositoryName,
        kind: TokenKind,
    ) -> Result<bool, Error> {
        #[derive(Deserialize)]
        struct Accessible {
            permissions: Option<Permissions>,
        }
        #[derive(Deserialize)]
        struct Permissions {
            push: bool,
        }
        let client = self.client_of(token)?;
        if kind != TokenKind::FineGrained {
            let found = client.get::<Accessible>(&format!("/repos/{repository}")).await;
            return allowed(found.map(|found| found.permissions.is_none_or(|may| may.push)));
        }
        let body = serde_json::json!({ "ref": "refs/heads/greenlight-proof", "sha": "0".repeat(40) });
        match client
            .post_again::<IgnoredAny>(&format!("/repos/{repository}/git/refs"), &body)
            .await
        {
            Err(Error::Refused { status: 422, .. }) => Ok(true),
            shown => allowed(shown.map(|_| false)),
        }
    }

    fn client_of(&self, token: SecretString) -> Result<Client, Error> {
        let connection = Connection::new(&self.api, Authentication::Token(token))?;
        Ok(Client::new(&self.api, Arc::new(connection), None).counted(self.metrics.as_ref(), None))
    }
}

/// Turns a refusal into `false`.
fn allowed(answer: Result<bool, Error>) -> Result<bool, Error> {
    match answer {
        Err(Error::Refused {
            status: 401 | 403 | 404 | 451,
            ..
        }) => Ok(false),
        answer => answer,
    }
}

impl Client {
    /// A person's current permission. The `author_association` in payloads says less and may be stale.
    ///
    /// GitHub answers for a login. If that login belongs to another account by now, or to nobody, the person's
    /// current login is looked up.
    /// <https://docs.github.com/en/rest/collaborators/collaborators#get-repository-permissions-for-a-user>
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn permission(&self, repository: &RepositoryName, account: &Account) -> Result<Permission, Error> {
        if let Some(granted) = self.granted(repository, account).await? {
            return Ok(granted);
        }
        let now = self.renamed_account(account).await?;
        let granted = match now.filter(|now| now.login != account.login) {
            Some(now) => self.granted(repository, &now).await?,
            None => None,
        };
        Ok(granted.unwrap_or(Permission::None))
    }

    /// The permission that GitHub grants to the login of an account. `None` if nobody has that login, or another
    /// account does.
    async fn granted(&self, repository: &RepositoryName, account: &Account) -> Result<Option<Permission>, Error> {
        #[derive(Deserialize)]
        struct Granted {
            permission: String,
            user: Option<GrantedTo>,
        }
        #[derive(Deserialize)]
        struct GrantedTo {
            id: Option<AccountId>,
        }
        let route = format!(
            "/repos/{repository}/collaborators/{}/permission",
            escaped(account.as_str()).replace('/', "%2F")
        );
        let granted: Option<Granted> = self.get_optional(&route).await?;
        let Some(Granted { permission, user }) = granted else {
            return Ok(None);
        };
        let asked_about = user.and_then(|user| user.id);
        if account.id.zip(asked_about).is_some_and(|(wanted, id)| wanted != id) {
            return Ok(None);
        }
        Ok(Some(match permission.as_str() {
            "admin" => Permission::Admin,
            "write" | "maintain" => Permission::Write,
            "read" | "triage" => Permission::Read,
            _ => Permission::None,
        }))
    }

    /// An account with its current login. `None` if it is gone, or its id is unknown.
    /// <https://docs.github.com/en/rest/users/users#get-a-user-using-their-id>
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn renamed_account(&self, account: &Account) -> Result<Option<Account>, Error> {
        #[derive(Deserialize)]
        struct Renamed {
            login: Login,
            id: AccountId,
        }
        let Some(wanted @ AccountId(id)) = account.id else {
            return Ok(None);
        };
        let user: Option<Renamed> = self.get_optional(&format!("/user/{id}")).await?;
        Ok(user
            .filter(|user| user.id == wanted)
            .map(|Renamed { login, id }| Account { id: Some(id), login }))
    }
}

/// Whether a classic token has a scope. Tokens of GitHub Apps and fine-grained tokens have no scopes, and no such
/// header.
/// <https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/scopes-for-oauth-apps>
fn has_scope(headers: &HeaderMap, wanted: &str) -> bool {
    let scopes = headers.get("x-oauth-scopes").and_then(|value| value.to_str().ok());
    scopes.is_some_and(|scopes| scopes.split(',').any(|scope| scope.trim() == wanted))
}
