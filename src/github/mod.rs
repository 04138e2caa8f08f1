//! Receives webhooks, and writes reviews, comments, check runs and commits. Only this folder uses octocrab.
//!
//! octocrab does the transport. The routes and their JSON are our own, because octocrab lacks types, or has wrong ones,
//! for what greenlight needs most (multi-line review comments, check-run buttons, the collaborator permission). So are
//! the retries, because octocrab would repeat a POST at once, and the tokens of an App: `connection` says why.

mod actions;
mod answer_cache;
mod before;
mod before_review;
mod checks;
mod client;
mod clone_token;
mod comments;
mod commits;
mod connection;
mod current_comment;
mod deliveries;
mod error;
mod graphql;
mod limit;
pub mod manifest;
mod merging;
pub mod own_app;
mod pauses;
mod pausing;
mod people;
mod pulls;
mod reach;
mod redirect;
mod repositories;
mod reset;
mod reviews;
mod rules;
mod sign_in;
pub mod state;
mod stream;
mod threads;
mod traffic;
mod urgent;
pub mod webhook;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

pub use actions::{Job, JobStep, WorkflowRun};
pub use before_review::BeforeReview;
pub use checks::{Annotation, Button, CheckOnHead, CheckRun, Conclusion, MAX_ANNOTATIONS};
pub use client::Client;
pub use clone_token::CloneToken;
pub use comments::{IssueComment, PostedComment};
pub use commits::{Branch, LandError, commit_message};
pub use current_comment::{Actor, CurrentComment, Push, Revision};
pub use deliveries::Missed;
pub use error::{Error, Holder, MissingPermission, Pause};
use octocrab::Octocrab;
pub use pauses::Pauses;
pub use people::{Person, TokenKind};
pub use pulls::{ChangedFile, PullRequest};
pub use repositories::Named;
pub use reviews::{MAX_COMMENTS, NewReview, Posted, Review, ReviewComment};
use secrecy::SecretString;
use serde::Deserialize;
pub use sign_in::SignInApp;
pub use stream::{Download, Streamed, Take};
pub use threads::{Classifier, SuggestionComment};
use tokio::sync::{Mutex, OnceCell};
pub use urgent::urgent;

use self::answer_cache::AnswerCache;
use self::clone_token::CloneTokens;
use self::connection::{AppKey, Authentication, Connection};
use crate::domain::id::{Account, AccountId, InstallationId, Login, Repository, RepositoryId, RepositoryName};
use crate::metrics::Metrics;

/// How greenlight authenticates.
#[derive(Debug, Clone)]
pub enum Credentials {
    /// A GitHub App: its numeric id and its RSA key in PEM.
    App { id: u64, key_pem: SecretString },
    /// A token of a user or of a workflow run.
    Token(SecretString),
}

/// GitHub, accessed with these credentials.
pub struct GitHub {
    auth: Auth,
    me: OnceCell<Account>,
    api: url::Url,
    known: Arc<AnswerCache>,
    clone_tokens: CloneTokens,
    pauses: Arc<Pauses>,
    metrics: Option<Arc<Metrics>>,
}

/// The number under which the limit of the App itself, or of a token, is recorded. Installations have others.
const OWN: u64 = 0;

enum Auth {
    App {
        key: Arc<AppKey>,
        /// The client that authenticates as the App itself.
        app: Client,
        clients: Mutex<HashMap<u64, Client>>,
    },
    Token {
        client: Client,
        token: SecretString,
    },
}

impl GitHub {
    /// Prepares clients without sending anything.
    ///
    /// # Errors
    /// When the URL or the key cannot be used.
    pub fn new(api: &url::Url, credentials: Credentials) -> Result<Self, Error> {
        let known: Arc<AnswerCache> = Arc::default();
        let auth = match credentials {
            Credentials::Token(token) => {
                let connection = Connection::new(api, Authentication::Token(token.clone()))?;
                Auth::Token {
                    client: Client::new(api, Arc::new(connection), Some(token.clone()))
                        .beside(api)
                        .remembering(&known),
                    token,
                }
            }
            Credentials::App { id, key_pem } => {
                let key = Arc::new(AppKey::read(id, &key_pem)?);
                let connection = Connection::new(api, Authentication::App(Arc::clone(&key)))?;
                Auth::App {
                    app: Client::new(api, Arc::new(connection), None),
                    key,
                    clients: Mutex::default(),
                }
            }
        };
        Ok(Self {
            auth,
            me: OnceCell::new(),
            api: api.clone(),
            known,
            clone_tokens: CloneTokens::default(),
            pauses: Arc::default(),
            metrics: None,
        })
    }

    /// The same GitHub, with its requests counted.
    #[must_use]
    pub fn counted(mut self, metrics: &Arc<Metrics>) -> Self {
        let (Auth::App { app: client, .. } | Auth::Token { client, .. }) = &mut self.auth;
        *client = client.clone().counted(Some(metrics), Some(OWN));
        self.metrics = Some(Arc::clone(metrics));
        self
    }

    /// A client that authenticates as the App itself. `None` with a token.
    pub(super) fn as_app(&self) -> Option<Client> {
        match &self.auth {
            Auth::App { app, .. } => {
                let client = Client::new(&self.api, Arc::clone(&app.connection), None);
                Some(client.counted(self.metrics.as_ref(), Some(OWN)))
            }
            Auth::Token { .. } => None,
        }
    }

    /// The client for a repository: that of its installation, or of the token.
    ///
    /// # Errors
    /// When the App is not installed there, or GitHub cannot be reached.
    pub async fn client(&self, installation: Option<InstallationId>, repository: &Repository) -> Result<Client, Error> {
        let (app, key, clients) = match &self.auth {
            Auth::Token { client, .. } => return Ok(client.clone()),
            Auth::App { app, key, clients } => (app, key, clients),
        };
        let InstallationId(id) = match installation {
            Some(id) => id,
            None => self
                .installation(repository)
                .await?
                .ok_or_else(|| not_installed(repository))?,
        };
        let mut clients = clients.lock().await;
        if let Some(client) = clients.get(&id) {
            return Ok(client.clone());
        }
        let installed = app.connection.of_installation(id, key);
        let client = Client::new(&self.api, Arc::new(installed), None)
            .beside(&self.api)
            .remembering(&self.known)
            .counted(self.metrics.as_ref(), Some(id))
            .pausing(&self.pauses, id);
        clients.insert(id, client.clone());
        Ok(client)
    }

    /// The installation of the new owner, if a repository was transferred. `None` if `found`, the repository as read
    /// with the current installation, shows no transfer.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn transferred(
        &self,
        (installation, repository): (Option<InstallationId>, &Repository),
        found: Result<&Repository, &Error>,
    ) -> Result<Option<InstallationId>, Error> {
        let now = match found {
            Ok(found) if found.owner().eq_ignore_ascii_case(repository.owner()) => None,
            // Any installation can read a public repository, but most cannot write to it.
            Ok(found) => self.installation(found).await?,
            Err(Error::Refused { .. } | Error::NotInstalled(_)) => self.installation(repository).await?,
            Err(_) => None,
        };
        Ok(now.filter(|now| Some(*now) != installation))
    }

    /// The installation that currently covers a repository. `None` without one, and with a plain token, which needs
    /// none.
    /// <https://docs.github.com/en/rest/apps/apps#get-a-repository-installation-for-the-authenticated-app>
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn installation(&self, repository: &Repository) -> Result<Option<InstallationId>, Error> {
        #[derive(Deserialize)]
        struct Installed {
            id: InstallationId,
        }
        let Auth::App { app, .. } = &self.auth else {
            return Ok(None);
        };
        // Another repository may have taken the name meanwhile.
        let by_id = repository.id.map(|RepositoryId(id)| format!("/repositories/{id}"));
        for route in by_id.into_iter().chain([format!("/repos/{repository}")]) {
            let installed: Option<Installed> = app.get_optional(&format!("{route}/installation")).await?;
            if let Some(Installed { id }) = installed {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// The account that greenlight writes as. Only its comments count as greenlight's own.
    ///
    /// # Errors
    /// When GitHub cannot be reached or refuses the credentials.
    pub async fn me(&self) -> Result<&Account, Error> {
        #[derive(Deserialize)]
        struct AppSlug {
            slug: String,
        }
        #[derive(Deserialize)]
        struct TokenUser {
            login: Login,
            id: Option<AccountId>,
        }
        self.me
            .get_or_try_init(|| async {
                match &self.auth {
                    Auth::App { app, .. } => {
                        let app: AppSlug = app.get("/app").await?;
                        // Only the App of that name can have such a login.
                        Ok(Account::new(format!("{}[bot]", app.slug)))
                    }
                    Auth::Token { client, .. } => match client.get::<TokenUser>("/user").await {
                        Ok(TokenUser { login, id }) => Ok(Account { id, login }),
                        // Tokens of installations, such as that of a workflow run, have no user.
                        Err(Error::Refused { status: 403, .. }) => client.bot().await,
                        Err(error) => Err(error),
                    },
                }
            })
            .await
    }

    /// The host names of this GitHub, which may be an enterprise's own server.
    pub fn hosts(&self) -> Vec<String> {
        let api = self.api.host_str();
        api.into_iter().chain(web_host(&self.api)).map(str::to_owned).collect()
    }

    /// The URL for `git fetch`: `https://github.com/o/r.git` for `https://api.github.com`, otherwise beside the API.
    pub fn clone_url(&self, repository: &RepositoryName) -> url::Url {
        self.web_url(&format!("{repository}.git"))
    }

    /// The URL of a page: below `https://github.com` for `https://api.github.com`, otherwise beside the API.
    fn web_url(&self, path: &str) -> url::Url {
        web_url(&self.api, path)
    }
}

fn web_url(api: &url::Url, path: &str) -> url::Url {
    let mut url = api.clone();
    if let Some(host) = web_host(api) {
        let _unchanged_on_error = url.set_host(Some(host));
    }
    let prefix = url.path().trim_end_matches('/').trim_end_matches("/api/v3").to_string();
    url.set_path(&format!("{prefix}/{path}"));
    url
}

fn not_installed(repository: &Repository) -> Error {
    Error::NotInstalled(format!("no installation reaches {repository}"))
}

/// Translates GitHub's answer to a request for an installation token: 404 means that there is no installation, and
/// 403 that it is suspended.
fn without_installation(error: Error) -> Error {
    match error {
        Error::Refused {
            status: 403 | 404,
            message,
            ..
        } => Error::NotInstalled(message),
        error => error,
    }
}

/// The host of the repositories and web pages, if it differs from that of the API: github.com, and `NAME.ghe.com` of
/// Enterprise Cloud with data residency. GitHub Enterprise Server has a path instead (`/api/v3`).
/// <https://docs.github.com/en/enterprise-cloud@latest/admin/data-residency/about-github-enterprise-cloud-with-data-residency>
fn web_host(api: &url::Url) -> Option<&str> {
    let host = api.host_str()?.strip_prefix("api.")?;
    let is_tenant = host
        .strip_suffix(".ghe.com")
        .is_some_and(|name| !name.is_empty() && !name.contains('.'));
    (host == "github.com" || is_tenant).then_some(host)
}

/// The settings of every octocrab here: its address, its timeouts, and no retries.
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
        .map_err(|_| Error::Setup("GREENLIGHT_GITHUB_API_URL is not a valid URL".into()))?
        .add_retry_config(octocrab::service::middleware::retry::RetryConfig::None)
        .set_connect_timeout(Some(Duration::from_secs(10)))
        .set_read_timeout(Some(Duration::from_secs(30)))
        .set_write_timeout(Some(Duration::from_secs(30))))
}

/// Percent-encodes a branch or path for a URL, keeping its slashes. Strangers choose both.
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
        assert_eq!(url("https://api.octocorp.ghe.com/"), "https://octocorp.ghe.com/o/r.git");
        assert_eq!(url("https://api.a.b.ghe.com"), "https://api.a.b.ghe.com/o/r.git");
        assert_eq!(url("https://api.example.com"), "https://api.example.com/o/r.git");
        assert_eq!(url("https://ghe.example/api/v3"), "https://ghe.example/o/r.git");
        assert_eq!(url("http://127.0.0.1:9/"), "http://127.0.0.1:9/o/r.git");
    }
}
