//! Signs people in with the GitHub App's web flow.
//! <https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-user-access-token-for-a-github-app>
//!
//! Two requests are all that the flow needs, so they are here and not in a crate, which would bring a second HTTP client.
//! The token answers one question, whose it is, and is dropped.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{Method, header};
use http_body_util::{BodyExt as _, Limited};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use url::Url;
use url::form_urlencoded::Serializer;

use super::connection::AGENT;
use super::error::{Error, describe};
use super::people::Person;
use super::{GitHub, builder};
use crate::domain::redact::{bounded, redact};

/// The maximum size of GitHub's answer, in bytes.
const MAX_ANSWER: usize = 64 << 10;
/// How much of an error is shown, in bytes.
const MAX_SHOWN: usize = 200;

/// The App that people sign in with.
#[derive(Debug, Clone)]
pub struct SignInApp {
    pub client_id: String,
    pub client_secret: SecretString,
    /// Where people reach greenlight: scheme, host and port.
    pub public_url: Url,
}

impl SignInApp {
    /// Where GitHub sends people back to. It has to be a callback URL of the App.
    pub fn callback(&self) -> Url {
        let mut url = self.public_url.clone();
        url.set_path("/sign-in/callback");
        url
    }
}

/// What GitHub answers to a code: a token or an error, both with status 200.
#[derive(Deserialize)]
struct Exchanged {
    access_token: Option<SecretString>,
    error: Option<String>,
}

impl GitHub {
    /// The page on which a person signs in. `state` comes back with the code; only who knows the verifier can use it.
    pub fn sign_in_page(&self, app: &SignInApp, (state, verifier): (&str, &str)) -> Url {
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier));
        let mut url = self.web_url("login/oauth/authorize");
        url.query_pairs_mut()
            .append_pair("client_id", &app.client_id)
            .append_pair("redirect_uri", app.callback().as_str())
            .append_pair("state", state)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        url
    }

    /// The person who signed in. `None` if GitHub does not accept the code.
    ///
    /// # Errors
    /// When GitHub cannot be reached, or refuses the App's client id, secret or callback URL.
    pub async fn signed_in(&self, app: &SignInApp, (code, verifier): (&str, &str)) -> Result<Option<Person>, Error> {
        let Exchanged { access_token, error } = self.exchange(app, (code, verifier)).await?;
        match (access_token, error.as_deref()) {
            (Some(token), None) => self.who(token).await,
            (_, Some("incorrect_client_credentials")) => Err(Error::Setup(
                "GitHub refuses GREENLIGHT_CLIENT_ID and GREENLIGHT_CLIENT_SECRET: compare them with the App's settings"
                    .into(),
            )),
            (_, Some("redirect_uri_mismatch")) => Err(Error::Setup(format!(
                "{} is not a callback URL of the App: add it to the App's settings",
                app.callback()
            ))),
            (_, error) => {
                let error = bounded(&redact(error.unwrap_or("no token")), MAX_SHOWN);
                tracing::info!(error, "GitHub did not accept the code of a sign-in");
                Ok(None)
            }
        }
    }

    /// Exchanges a code, which GitHub accepts once.
    async fn exchange(&self, app: &SignInApp, (code, verifier): (&str, &str)) -> Result<Exchanged, Error> {
        let route = self.web_url("login/oauth/access_token");
        let body = Serializer::new(String::new())
            .append_pair("client_id", &app.client_id)
            .append_pair("client_secret", app.client_secret.expose_secret())
            .append_pair("code", code)
            .append_pair("redirect_uri", app.callback().as_str())
            .append_pair("code_verifier", verifier)
            .finish();
        let request = http::Request::builder()
            .method(Method::POST)
            .uri(route.as_str())
            .header(header::ACCEPT, "application/json")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(header::USER_AGENT, AGENT)
            .body(body)
            .map_err(|error| Error::Setup(error.to_string()))?;
        // A client without the credentials of the App.
        let setup = |error: octocrab::Error| Error::Setup(describe(&error));
        let crab = builder(&self.web_url(""))?.build().map_err(setup)?;
        let response = crab.execute(request).await;
        let (parts, body) = response.map_err(|error| Error::Unclear(describe(&error)))?.into_parts();
        let body = Limited::new(body, MAX_ANSWER).collect().await;
        let body = body.map_err(|_| Error::Unclear(format!("the answer to {} was cut off", route.path())))?;
        if !parts.status.is_success() {
            return Err(Error::Unclear(format!("{} answered {}", route.path(), parts.status)));
        }
        // Not the reason, which would repeat what it read, such as a token.
        serde_json::from_slice(&body.to_bytes()).map_err(|_| Error::Unreadable {
            route: route.path().into(),
            message: "it is not JSON with a token or an error".into(),
        })
    }
}
