//! Who a person's own token belongs to. Nothing else is ever done with it, and it is not kept.

use std::sync::Arc;

use http::HeaderMap;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;

use super::client::{self, Client, Error};
use super::{GitHub, builder};
use crate::domain::id::Login;

/// Whoever a token belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    pub login: Login,
    pub is_bot: bool,
    /// Whether the token is good for working on private repositories. One that is only good for signing in may be in the
    /// hands of any service that its owner once signed in to, and speaks for nobody.
    pub speaks_for_them: bool,
}

impl GitHub {
    /// Asks GitHub whose token this is; none if it is nobody's.
    /// <https://docs.github.com/en/rest/users/users#get-the-authenticated-user>
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn who(&self, token: SecretString) -> Result<Option<Person>, Error> {
        #[derive(Deserialize)]
        struct User {
            login: Login,
            r#type: String,
        }
        let setup = |error: octocrab::Error| Error::Setup(client::describe(&error));
        let is_made_by_hand = token.expose_secret().starts_with("github_pat_");
        let crab = builder(&self.api)?.personal_token(token).build().map_err(setup)?;
        match Client::new(Arc::new(crab), None)
            .get_with_headers::<User>("/user")
            .await
        {
            Ok((user, headers)) => Ok(Some(Person {
                is_bot: user.r#type != "User" || user.login.as_str().ends_with("[bot]"),
                speaks_for_them: is_made_by_hand || has_scope(&headers, "repo"),
                login: user.login,
            })),
            Err(Error::Refused {
                status: 401 | 403 | 404,
                ..
            }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Whether a classic token has a scope. Those of GitHub Apps and fine-grained ones have none, and no such header.
/// <https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/scopes-for-oauth-apps>
fn has_scope(headers: &HeaderMap, wanted: &str) -> bool {
    let scopes = headers.get("x-oauth-scopes").and_then(|value| value.to_str().ok());
    scopes.is_some_and(|scopes| scopes.split(',').any(|scope| scope.trim() == wanted))
}
