//! Webhooks in; reviews, comments, check runs and commits out. The only room that names octocrab.
//!
//! octocrab carries the requests: transport, TLS, App tokens and their renewal. The routes and their JSON are our
//! own, because what greenlight needs most is untyped there or typed wrongly (multi-line review comments, check-run
//! buttons, the collaborator permission), and so are the retries: octocrab would send a POST again at once.

mod actions;
mod checks;
mod client;
mod comments;
mod commits;
mod graphql;
mod people;
mod pulls;
mod reviews;
pub mod state;
mod stream;
mod threads;
pub mod webhook;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use octocrab::Octocrab;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use tokio::sync::{Mutex, OnceCell};

pub use actions::{Job, JobStep, WorkflowRun};
pub use checks::{Annotation, Button, CheckRun, Conclusion, MAX_ANNOTATIONS};
pub use client::{Client, Error};
pub use comments::IssueComment;
pub use commits::{LandError, Landing};
pub use people::Person;
pub use pulls::{ChangedFile, PullRequest};
pub use reviews::{MAX_COMMENTS, NewReview, Review, ReviewComment};
pub use stream::{Streamed, Take};
pub use threads::{Classifier, SuggestionComment};

use crate::domain::id::{InstallationId, Login, RepositoryName};

/// How greenlight proves who it is.
#[derive(Debug, Clone)]
pub enum Credentials {
    /// A GitHub App: its numeric id and its RSA key in PEM.
    App { id: u64, key_pem: SecretString },
    /// A token of a user or of a workflow run.
    Token(SecretString),
}

/// GitHub, as far as these credentials reach.
pub struct GitHub {
    auth: Auth,
    me: OnceCell<Login>,
    api: url::Url,
}

enum Auth {
    App {
        crab: Box<Octocrab>,
        clients: Mutex<HashMap<u64, Client>>,
    },
    Token {
        client: Client,
    },
}

#[derive(Deserialize)]
struct Named {
    id: u64,
}

impl GitHub {
    /// Prepares clients; nothing is sent yet.
    ///
    /// # Errors
    /// When the URL or the key cannot be used.
    pub fn new(api: &url::Url, credentials: Credentials) -> Result<Self, Error> {
        let builder = builder(api)?;
        let setup = |error: octocrab::Error| Error::Setup(client::describe(&error));
        let auth = match credentials {
            Credentials::Token(token) => {
                let crab = builder.personal_token(token.clone()).build().map_err(setup)?;
                Auth::Token {
                    client: Client::new(Arc::new(crab), Some(token)).beside(api),
                }
            }
            Credentials::App { id, key_pem } => {
                let crab = builder
                    .app_from_rsa_pem(id.into(), key_pem.expose_secret())
                    .map_err(|_| {
                        Error::Setup("the private key is not an RSA key in PEM: set GREENLIGHT_PRIVATE_KEY or GREENLIGHT_PRIVATE_KEY_FILE to the file GitHub gave you".into())
                    })?
                    .build()
                    .map_err(setup)?;
                Auth::App {
                    crab: Box::new(crab),
                    clients: Mutex::default(),
                }
            }
        };
        Ok(Self {
            auth,
            me: OnceCell::new(),
            api: api.clone(),
        })
    }

    /// A client for a repository: of its installation, or of the token.
    ///
    /// # Errors
    /// When the App is not installed there, or GitHub cannot be reached.
    pub async fn client(
        &self,
        installation: Option<InstallationId>,
        repository: &RepositoryName,
    ) -> Result<Client, Error> {
        let (crab, clients) = match &self.auth {
            Auth::Token { client } => return Ok(client.clone()),
            Auth::App { crab, clients } => (crab, clients),
        };
        let id = match installation {
            Some(InstallationId(id)) => id,
            None => {
                let app = Client::new(Arc::new((**crab).clone()), None);
                app.get::<Named>(&format!("/repos/{repository}/installation")).await?.id
            }
        };
        let mut clients = clients.lock().await;
        if let Some(client) = clients.get(&id) {
            return Ok(client.clone());
        }
        let installed = crab
            .installation(id.into())
            .map_err(|error| Error::Setup(client::describe(&error)))?;
        let client = Client::new(Arc::new(installed), None).beside(&self.api);
        clients.insert(id, client.clone());
        Ok(client)
    }

    /// A token that can only read the code of one repository, for fetching it.
    ///
    /// # Errors
    /// When GitHub does not give one.
    pub async fn clone_token(
        &self,
        installation: Option<InstallationId>,
        repository: &RepositoryName,
    ) -> Result<Option<SecretString>, Error> {
        #[derive(Deserialize)]
        struct Granted {
            token: SecretString,
        }
        match &self.auth {
            Auth::Token { client } => Ok(client.token().cloned()),
            Auth::App { crab, .. } => {
                let app = Client::new(Arc::new((**crab).clone()), None);
                let id = match installation {
                    Some(InstallationId(id)) => id,
                    None => app.get::<Named>(&format!("/repos/{repository}/installation")).await?.id,
                };
                let body =
                    serde_json::json!({ "repositories": [repository.name()], "permissions": { "contents": "read" } });
                // Asking twice does no harm: a second token is simply never used.
                let granted: Granted = app
                    .post_again(&format!("/app/installations/{id}/access_tokens"), &body)
                    .await?;
                Ok(Some(granted.token))
            }
        }
    }

    /// The account greenlight writes as: only its own comments are ever taken for its own.
    ///
    /// # Errors
    /// When GitHub cannot be reached or refuses the credentials.
    pub async fn me(&self) -> Result<&Login, Error> {
        #[derive(Deserialize)]
        struct App {
            slug: String,
        }
        #[derive(Deserialize)]
        struct User {
            login: Login,
        }
        self.me
            .get_or_try_init(|| async {
                match &self.auth {
                    Auth::App { crab, .. } => {
                        let app: App = Client::new(Arc::new((**crab).clone()), None).get("/app").await?;
                        Ok(Login::new(format!("{}[bot]", app.slug)))
                    }
                    Auth::Token { client } => match client.get::<User>("/user").await {
                        Ok(user) => Ok(user.login),
                        // The token of a workflow run may not ask; it always writes as this account.
                        Err(Error::Refused { status: 403, .. }) => Ok(Login::new("github-actions[bot]")),
                        Err(error) => Err(error),
                    },
                }
            })
            .await
    }

    /// The hosts of this GitHub, which may be an enterprise's own.
    pub fn hosts(&self) -> Vec<String> {
        let api = self.api.host_str();
        // The public API has a host of its own, beside that of the repositories.
        let web = (api == Some("api.github.com")).then_some("github.com");
        api.into_iter().chain(web).map(str::to_owned).collect()
    }

    /// Where `git fetch` finds a repository: `https://github.com/o/r.git` for GitHub's public API, else beside the API.
    pub fn clone_url(&self, repository: &RepositoryName) -> url::Url {
        let mut url = self.api.clone();
        if url.host_str() == Some("api.github.com") {
            // The public API has a host of its own; GitHub Enterprise Server has a path (`/api/v3`).
            let _unchanged_on_error = url.set_host(Some("github.com"));
        }
        let prefix = url.path().trim_end_matches('/').trim_end_matches("/api/v3").to_string();
        url.set_path(&format!("{prefix}/{repository}.git"));
        url
    }
}

/// What every octocrab here has in common: its address, its patience, and that it never sends anything twice.
fn builder(
    api: &url::Url,
) -> Result<
    octocrab::OctocrabBuilder<
        octocrab::NoSvc,
        octocrab::DefaultOctocrabBuilderConfig,
        octocrab::NoAuth,
        octocrab::NotLayerReady,
    >,
    Error,
> {
    Ok(Octocrab::builder()
        .base_uri(api.as_str().trim_end_matches('/'))
        .map_err(|_| Error::Setup("GREENLIGHT_GITHUB_API_URL is not a URL that can be used".into()))?
        .add_retry_config(octocrab::service::middleware::retry::RetryConfig::None)
        .set_connect_timeout(Some(Duration::from_secs(10)))
        .set_read_timeout(Some(Duration::from_secs(30)))
        .set_write_timeout(Some(Duration::from_secs(30))))
}

/// Percent-encodes a branch or path for a URL, keeping its slashes; both are chosen by strangers.
pub(crate) fn escaped(text: &str) -> String {
    const KEEP: &percent_encoding::AsciiSet = &percent_encoding::NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'_')
        .remove(b'.')
        .remove(b'~')
        .remove(b'/');
    percent_encoding::utf8_percent_encode(text, KEEP).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_name_cannot_change_the_route() {
        assert_eq!(escaped("fix#1?x=é"), "fix%231%3Fx%3D%C3%A9");
        assert_eq!(escaped("feature/x y"), "feature/x%20y");
    }

    #[test]
    fn the_clone_url_belongs_to_the_api() {
        let url = |api: &str| {
            let github = GitHub::new(&api.parse().unwrap(), Credentials::Token("t".to_string().into())).unwrap();
            github.clone_url(&"o/r".parse().unwrap()).to_string()
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let _context = runtime.enter();
        assert_eq!(url("https://api.github.com"), "https://github.com/o/r.git");
        assert_eq!(url("https://ghe.example/api/v3"), "https://ghe.example/o/r.git");
        assert_eq!(url("http://127.0.0.1:9/"), "http://127.0.0.1:9/o/r.git");
    }
}
