//! Who a person's own token belongs to. Nothing else is ever done with it, and it is not kept.

use std::sync::Arc;

use secrecy::SecretString;
use serde::Deserialize;

use super::client::{self, Client, Error};
use super::{GitHub, builder};
use crate::domain::id::Login;

/// Whoever a token belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    pub login: Login,
    pub is_bot: bool,
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
        let crab = builder(&self.api)?.personal_token(token).build().map_err(setup)?;
        match Client::new(Arc::new(crab), None).get::<User>("/user").await {
            Ok(user) => Ok(Some(Person {
                is_bot: user.r#type != "User" || user.login.as_str().ends_with("[bot]"),
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
