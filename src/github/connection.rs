//! A connection to one API, and what authenticates its requests: nothing, a token, the App itself, or one of the App's
//! installations. Tokens of an installation are requested when they are needed, and used while they are valid.
//!
//! octocrab could do this, but only with aws-lc, whose C code takes a minute to compile, or with RustCrypto, whose RSA
//! leaks keys through timing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Limited};
use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use octocrab::Octocrab;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use url::Url;

use super::error::{Error, Holder, HttpAnswer, describe, judge, unsent};
use super::{builder, without_installation};

/// What GitHub answered, with its body still to be read.
pub(super) type Response = http::Response<BoxBody<Bytes, octocrab::Error>>;

/// How greenlight introduces itself.
pub(super) const AGENT: &str = concat!("greenlight/", env!("CARGO_PKG_VERSION"));
/// A token is not used any more when it has less time left than this.
const MARGIN: SignedDuration = SignedDuration::from_secs(30);
/// For how many seconds an App's own token is valid, and how far its beginning is set back in case GitHub's clock is
/// behind. GitHub accepts at most ten minutes.
/// <https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-json-web-token-jwt-for-a-github-app>
const LIFETIME: i64 = 9 * 60;
const SET_BACK: i64 = 60;
/// The maximum size of an answer with a token, in bytes. It lists repositories only if they were chosen.
const MAX_ANSWER: usize = 1 << 20;

/// A connection to one API. Clones share its token.
#[derive(Clone)]
pub(super) struct Connection {
    crab: Octocrab,
    auth: Authentication,
}

/// What authenticates a request.
#[derive(Clone)]
pub(super) enum Authentication {
    Nothing,
    Token(SecretString),
    App(Arc<AppKey>),
    Installation(Arc<Installation>),
}

/// The key that an App signs its own tokens with.
pub(super) struct AppKey {
    id: u64,
    key: EncodingKey,
}

/// An installation of an App, and its token, once there is one.
pub(super) struct Installation {
    id: u64,
    app: Arc<AppKey>,
    granted: Mutex<Option<Granted>>,
}

/// A token, and until when it is valid.
#[derive(Deserialize)]
struct Granted {
    token: SecretString,
    expires_at: Option<Timestamp>,
}

impl Granted {
    fn is_valid(&self) -> bool {
        let until = self.expires_at.map(|at| at.checked_sub(MARGIN).unwrap_or(at));
        until.is_none_or(|until| Timestamp::now() < until)
    }
}

impl AppKey {
    /// Reads a key in PEM.
    ///
    /// # Errors
    /// When it is not an RSA key.
    pub(super) fn read(id: u64, pem: &SecretString) -> Result<Self, Error> {
        greenlight_crypto::install();
        let key = EncodingKey::from_rsa_pem(pem.expose_secret().as_bytes()).map_err(|_| {
            Error::Setup("the private key is not an RSA key in PEM: set GREENLIGHT_PRIVATE_KEY or GREENLIGHT_PRIVATE_KEY_FILE to the file GitHub gave you".into())
        })?;
        Ok(Self { id, key })
    }

    /// A token for one request.
    fn token(&self) -> Result<SecretString, Error> {
        #[derive(Serialize)]
        struct Claims {
            iss: u64,
            iat: i64,
            exp: i64,
        }
        let now = Timestamp::now().as_second();
        let claims = Claims {
            iss: self.id,
            iat: now - SET_BACK,
            exp: now + LIFETIME,
        };
        let token = jsonwebtoken::encode(&Header::new(Algorithm::RS256), &claims, &self.key);
        let token = token.map_err(|error| Error::Setup(format!("the private key of the App cannot sign: {error}")))?;
        Ok(token.into())
    }
}

impl Installation {
    fn granted(&self) -> MutexGuard<'_, Option<Granted>> {
        self.granted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets a token that was not accepted, unless there is a newer one.
    fn forget(&self, refused: &SecretString) {
        let is_it = |granted: &mut Granted| granted.token.expose_secret() == refused.expose_secret();
        self.granted().take_if(is_it);
    }
}

impl Connection {
    /// Prepares a connection without sending anything.
    ///
    /// # Errors
    /// When the URL cannot be used.
    pub(super) fn new(api: &Url, auth: Authentication) -> Result<Self, Error> {
        let crab = builder(api)?.build();
        let crab = crab.map_err(|error| Error::Setup(describe(&error)))?;
        Ok(Self { crab, auth })
    }

    /// The same connection for an installation of this App.
    pub(super) fn of_installation(&self, id: u64, app: &Arc<AppKey>) -> Self {
        Self {
            crab: self.crab.clone(),
            auth: Authentication::Installation(Arc::new(Installation {
                id,
                app: Arc::clone(app),
                granted: Mutex::default(),
            })),
        }
    }

    /// The token for the next request. `None` if requests need none.
    ///
    /// # Errors
    /// When GitHub grants none to the installation, or cannot be reached.
    pub(super) async fn token(&self) -> Result<Option<SecretString>, Error> {
        let installation = match &self.auth {
            Authentication::Nothing => return Ok(None),
            Authentication::Token(token) => return Ok(Some(token.clone())),
            Authentication::App(app) => return app.token().map(Some),
            Authentication::Installation(installation) => installation,
        };
        let known = installation
            .granted()
            .as_ref()
            .filter(|granted| granted.is_valid())
            .map(|one| one.token.clone());
        match known {
            Some(token) => Ok(Some(token)),
            None => self.grant(installation).await.map(Some),
        }
    }

    /// Sends a request to a route of this API. If GitHub does not accept the token of an installation, the request is
    /// sent once more with a new one: GitHub has not done anything yet.
    ///
    /// # Errors
    /// When no answer arrives, or there is no token.
    pub(super) async fn send(&self, request: Request<String>) -> Result<Response, Error> {
        let token = self.token().await?;
        let (Authentication::Installation(installation), Some(refused)) = (&self.auth, &token) else {
            return self.send_with(request, token.as_ref()).await;
        };
        let response = self.send_with(request.clone(), Some(refused)).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        installation.forget(refused);
        let token = self.token().await?;
        self.send_with(request, token.as_ref()).await
    }

    async fn send_with(&self, mut request: Request<String>, token: Option<&SecretString>) -> Result<Response, Error> {
        // A route has no host, so the token goes nowhere else.
        if let Some(token) = token.filter(|_| request.uri().authority().is_none()) {
            let value = format!("Bearer {}", token.expose_secret());
            let mut value = HeaderValue::from_str(&value)
                .map_err(|_| Error::Setup("the token has characters that GitHub's tokens do not have".into()))?;
            value.set_sensitive(true);
            request.headers_mut().insert(header::AUTHORIZATION, value);
        }
        self.crab.execute(request).await.map_err(|error| unsent(&error))
    }

    /// Gets a token of an installation.
    /// <https://docs.github.com/en/rest/apps/apps#create-an-installation-access-token-for-an-app>
    async fn grant(&self, installation: &Installation) -> Result<SecretString, Error> {
        let route = format!("/app/installations/{}/access_tokens", installation.id);
        let request = Request::builder()
            .method(Method::POST)
            .uri(&route)
            .header(header::ACCEPT, "application/vnd.github+json")
            .header("X-GitHub-Api-Version", "2022-11-28")
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::USER_AGENT, AGENT)
            .body("{}".to_owned())
            .map_err(|error| Error::Setup(error.to_string()))?;
        let response = self.send_with(request, Some(&installation.app.token()?)).await?;
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, MAX_ANSWER).collect().await;
        let body = body.map_err(|_| Error::Unclear(format!("the answer to {route} was cut off")))?;
        let answer = HttpAnswer {
            status: parts.status,
            headers: parts.headers,
            body: body.to_bytes(),
        };
        let answer = judge(Holder::App, &route, answer).map_err(without_installation)?;
        // The reason is left out, because it may quote the token.
        let granted: Granted = serde_json::from_slice(&answer.body).map_err(|_| Error::Unreadable {
            route,
            message: "it has no token".into(),
        })?;
        let token = granted.token.clone();
        *installation.granted() = Some(granted);
        Ok(token)
    }
}

#[cfg(test)]
mod tests;
