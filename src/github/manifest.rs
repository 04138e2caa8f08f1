//! Creates greenlight's App on GitHub from a manifest: a person's browser posts it, GitHub sends the browser back with
//! a code, and the code is exchanged for the App's secrets, once and within an hour.
//!
//! The code and the answer are secrets: they are in no log and in no error.
//! <https://docs.github.com/en/apps/sharing-github-apps/registering-a-github-app-from-a-manifest>

use std::time::Duration;

use http::{Method, StatusCode, header};
use http_body_util::{BodyExt as _, Limited};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::connection::{AGENT, Authentication, Connection};
use super::error::{self, Error, Holder, HttpAnswer};
use super::limit::RateLimit;
use super::own_app::{EVENTS, PERMISSIONS, Pages, Registration, below};
use super::traffic::execute;
use super::{escaped, web_url};

/// Where an App's page says what it is for.
const HOMEPAGE: &str = env!("CARGO_PKG_REPOSITORY");
/// How long the exchange may take, and the maximum size of the answer, in bytes.
const MAX_EXCHANGE: Duration = Duration::from_secs(45);
const MAX_ANSWER: usize = 1 << 20;

/// The App that a person wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedApp {
    pub name: String,
    pub owner: AppOwner,
    /// Where GitHub and people reach greenlight, without a `/` at the end.
    pub public: Url,
}

/// Whose App it becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppOwner {
    /// The person whose browser posts the manifest.
    Person,
    /// An organisation's login: letters, digits, `-` and `_`.
    Organization(String),
}

/// What GitHub says about a new App, with its secrets.
#[derive(Debug, Clone)]
pub struct CreatedApp {
    pub id: u64,
    pub slug: String,
    pub client_id: String,
    pub client_secret: SecretString,
    pub webhook_secret: Option<SecretString>,
    pub private_key: SecretString,
    /// The page on which it is installed.
    pub install: Url,
}

/// Why there is no App.
#[derive(Debug, thiserror::Error)]
pub enum NotCreated {
    #[error("GitHub does not know the code: it was used, or is older than an hour")]
    Expired,
    /// The same code may work later.
    #[error("{0}")]
    Later(String),
    #[error("GitHub's answer has no App in it")]
    Unreadable,
}

impl WantedApp {
    pub fn webhook(&self) -> Url {
        below(&self.public, "webhook")
    }

    /// The manifest. GitHub sends the browser to `back` when the App was created.
    fn manifest(&self, back: &Url) -> Value {
        let permissions: serde_json::Map<String, Value> = PERMISSIONS
            .iter()
            .map(|(name, level)| ((*name).to_owned(), json!(level)))
            .collect();
        json!({
            "name": self.name,
            "description": "Debugs red CI and suggests fixes, which maintainers approve.",
            "url": HOMEPAGE,
            "hook_attributes": { "url": self.webhook(), "active": true },
            "redirect_url": back,
            "callback_urls": [below(&self.public, "sign-in/callback")],
            "setup_url": below(&self.public, ""),
            "public": false,
            "default_permissions": permissions,
            "default_events": EVENTS,
        })
    }
}

/// Registers Apps at one GitHub.
pub struct Registrar {
    api: Url,
    connection: Connection,
}

impl Registrar {
    /// Prepares a client without sending anything.
    ///
    /// # Errors
    /// When the URL cannot be used.
    pub fn new(api: &Url) -> Result<Self, Error> {
        let connection = Connection::new(api, Authentication::Nothing)?;
        Ok(Self {
            api: api.clone(),
            connection,
        })
    }

    /// The scheme, host and port of GitHub's pages.
    pub fn origin(&self) -> String {
        web_url(&self.api, "").origin().ascii_serialization()
    }

    /// Where a browser posts the manifest, and the manifest.
    pub fn form(&self, wanted: &WantedApp, back: &Url, state: &str) -> (Url, String) {
        let path = match &wanted.owner {
            AppOwner::Person => "settings/apps/new".into(),
            AppOwner::Organization(login) => format!("organizations/{login}/settings/apps/new"),
        };
        let mut url = web_url(&self.api, &path);
        url.query_pairs_mut().append_pair("state", state);
        (url, wanted.manifest(back).to_string())
    }

    /// Exchanges a code for the App.
    /// <https://docs.github.com/en/rest/apps/apps#create-a-github-app-from-a-manifest>
    ///
    /// # Errors
    /// When GitHub refuses the code, or cannot be reached.
    pub async fn convert(&self, code: &SecretString) -> Result<CreatedApp, NotCreated> {
        let exchanged = tokio::time::timeout(MAX_EXCHANGE, self.exchange(code)).await;
        let late = |_| NotCreated::Later(format!("GitHub did not answer within {} s", MAX_EXCHANGE.as_secs()));
        let answer = exchanged.map_err(late)??;
        let created: Conversion = serde_json::from_slice(&answer).map_err(|_| NotCreated::Unreadable)?;
        let app: Registration = serde_json::from_slice(&answer).map_err(|_| NotCreated::Unreadable)?;
        let install = Pages::of(&app, &web_url(&self.api, "")).install;
        Ok(CreatedApp {
            id: app.id,
            slug: app.slug,
            client_id: created.client_id,
            client_secret: created.client_secret,
            webhook_secret: created.webhook_secret,
            private_key: created.pem,
            install,
        })
    }

    async fn exchange(&self, code: &SecretString) -> Result<bytes::Bytes, NotCreated> {
        let route = format!(
            "/app-manifests/{}/conversions",
            escaped(code.expose_secret()).replace('/', "%2F")
        );
        let request = http::Request::builder()
            .method(Method::POST)
            .uri(&route)
            .header(header::ACCEPT, "application/vnd.github+json")
            .header("X-GitHub-Api-Version", "2022-11-28")
            .header(header::USER_AGENT, AGENT)
            .body(String::new())
            .map_err(|_| NotCreated::Expired)?;
        let response = execute(&self.connection, (&route, request), &RateLimit::default()).await;
        let response = response.map_err(|error| NotCreated::Later(error.to_string()))?;
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, MAX_ANSWER).collect().await;
        let body = body.map_err(|_| NotCreated::Later("GitHub's answer was cut off".into()))?;
        let answer = HttpAnswer {
            status: parts.status,
            headers: parts.headers,
            body: body.to_bytes(),
        };
        match answer.status {
            status if status.is_success() => Ok(answer.body),
            StatusCode::NOT_FOUND | StatusCode::UNPROCESSABLE_ENTITY => Err(NotCreated::Expired),
            status if status.is_client_error() => {
                // The route is left out, because it has the code.
                let shown = "/app-manifests/{code}/conversions";
                Err(NotCreated::Later(
                    error::refusal(Holder::App, shown, &answer).to_string(),
                ))
            }
            status => Err(NotCreated::Later(format!("GitHub answered {}", status.as_u16()))),
        }
    }
}

/// The part of the answer that is not in [`Registration`].
#[derive(Deserialize)]
struct Conversion {
    client_id: String,
    client_secret: SecretString,
    webhook_secret: Option<SecretString>,
    pem: SecretString,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(api: &str, owner: AppOwner) -> (Url, Value) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let _context = runtime.enter();
        let wanted = WantedApp {
            name: "green".into(),
            owner,
            public: "https://bots.example/greenlight".parse().unwrap(),
        };
        let back = "http://127.0.0.1:8080/setup/created".parse().unwrap();
        let registrar = Registrar::new(&api.parse().unwrap()).unwrap();
        let (url, manifest) = registrar.form(&wanted, &back, "s&t");
        assert!(url.as_str().starts_with(&registrar.origin()));
        (url, serde_json::from_str(&manifest).unwrap())
    }

    #[test]
    fn the_manifest_goes_to_the_configured_github() {
        let organization = || AppOwner::Organization("acme".into());
        for (api, owner, url) in [
            (
                "https://api.github.com",
                AppOwner::Person,
                "https://github.com/settings/apps/new?state=s%26t",
            ),
            (
                "https://api.github.com",
                organization(),
                "https://github.com/organizations/acme/settings/apps/new?state=s%26t",
            ),
            (
                "https://ghe.example/api/v3",
                organization(),
                "https://ghe.example/organizations/acme/settings/apps/new?state=s%26t",
            ),
        ] {
            assert_eq!(form(api, owner).0.as_str(), url);
        }
    }

    #[test]
    fn the_manifest_asks_for_what_is_needed_and_stays_private() {
        let (_, manifest) = form("https://api.github.com", AppOwner::Person);
        assert_eq!(
            manifest["hook_attributes"]["url"],
            "https://bots.example/greenlight/webhook"
        );
        assert_eq!(manifest["redirect_url"], "http://127.0.0.1:8080/setup/created");
        assert_eq!(
            manifest["callback_urls"],
            json!(["https://bots.example/greenlight/sign-in/callback"])
        );
        assert_eq!(manifest["setup_url"], "https://bots.example/greenlight/");
        assert_eq!(manifest["public"], false);
        assert_eq!(manifest["default_events"], json!(EVENTS));
        for (name, level) in PERMISSIONS {
            assert_eq!(manifest["default_permissions"][name], level);
        }
        assert_eq!(
            manifest["default_permissions"].as_object().unwrap().len(),
            PERMISSIONS.len()
        );
    }
}
