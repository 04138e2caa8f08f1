//! Sends requests: bounded answers, timeouts, and retries that never do a thing twice.

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use http::{HeaderMap, Method, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use octocrab::Octocrab;
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// No answer greenlight reads is larger. A page of comments fits, whatever strangers write: 65,536 characters each, of
/// at most six bytes in JSON.
const MAX_ANSWER_BYTES: usize = 24 << 20;
/// A `retry-after` beyond this is not waited for; the run says so and ends.
const MAX_WAIT: Duration = Duration::from_secs(120);
/// GitHub asks for at least a minute between attempts when it names no time.
/// <https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api#handle-rate-limit-errors-appropriately>
pub(super) const SECONDARY_WAIT: Duration = Duration::from_secs(60);
const PER_PAGE: usize = 50;
const MAX_PAGES: usize = 60;

/// Why GitHub did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Setup(String),
    #[error("GitHub cannot be reached: {0}")]
    Unreachable(String),
    /// The request may or may not have taken effect.
    #[error("GitHub did not say whether the request took effect: {0}")]
    Unclear(String),
    #[error("GitHub refused {route} with {status}: {message}")]
    Refused {
        status: u16,
        route: String,
        message: String,
    },
    #[error("GitHub asks to wait {} seconds", .0.as_secs())]
    RateLimited(Duration),
    /// Asking again would bring the same.
    #[error("GitHub's answer to {0} is too long")]
    TooLong(String),
    #[error("GitHub's answer to {route} cannot be read: {message}")]
    Unreadable { route: String, message: String },
}

impl Error {
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Whether the same may well work later: GitHub is away, or asks to wait.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Unclear(_) | Self::RateLimited(_))
    }
}

/// A client of one installation or token. Cloning shares it, and with it octocrab's cached token.
#[derive(Clone)]
pub struct Client {
    pub(super) crab: Arc<Octocrab>,
    pub(super) token: Option<SecretString>,
    /// Below which address GraphQL is, where that is not the one of the REST API: on GitHub Enterprise Server.
    pub(super) graphql: Option<url::Url>,
}

pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: bytes::Bytes,
}

impl Client {
    pub(super) fn new(crab: Arc<Octocrab>, token: Option<SecretString>) -> Self {
        let graphql = None;
        Self { crab, token, graphql }
    }

    pub(super) fn token(&self) -> Option<&SecretString> {
        self.token.as_ref()
    }

    /// Reads JSON.
    pub(super) async fn get<T: DeserializeOwned>(&self, route: &str) -> Result<T, Error> {
        let answer = self.again(Method::GET, route, None, JSON).await?;
        json(route, &answer.body)
    }

    /// Reads JSON, and what the answer says beside it.
    pub(super) async fn get_with_headers<T: DeserializeOwned>(&self, route: &str) -> Result<(T, HeaderMap), Error> {
        let answer = self.again(Method::GET, route, None, JSON).await?;
        Ok((json(route, &answer.body)?, answer.headers))
    }

    /// Reads JSON that may not be there.
    pub(super) async fn get_optional<T: DeserializeOwned>(&self, route: &str) -> Result<Option<T>, Error> {
        match self.get(route).await {
            Ok(value) => Ok(Some(value)),
            Err(Error::Refused { status: 404, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads bytes in another media type.
    pub(super) async fn get_raw(&self, route: &str, accept: &'static str) -> Result<bytes::Bytes, Error> {
        Ok(self.again(Method::GET, route, None, accept).await?.body)
    }

    /// Reads every page, up to a bound; pages are asked for by number, because octocrab sends no App token to the
    /// absolute URLs of the `Link` header on other hosts than GitHub's own.
    pub(super) async fn get_all<T: DeserializeOwned>(&self, route: &str) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        let separator = if route.contains('?') { '&' } else { '?' };
        for page in 1..=MAX_PAGES {
            let answer = self
                .again(
                    Method::GET,
                    &format!("{route}{separator}per_page={PER_PAGE}&page={page}"),
                    None,
                    JSON,
                )
                .await?;
            let mut items: Vec<T> = json(route, &answer.body)?;
            let more = answer
                .headers
                .get(header::LINK)
                .and_then(|link| link.to_str().ok())
                .is_some_and(|link| link.contains("rel=\"next\""));
            all.append(&mut items);
            if !more {
                break;
            }
        }
        Ok(all)
    }

    /// Sends a change that may safely be sent again when the answer was lost.
    pub(super) async fn post_again<T: DeserializeOwned>(&self, route: &str, body: &Value) -> Result<T, Error> {
        let answer = self.again(Method::POST, route, Some(body), JSON).await?;
        json(route, &answer.body)
    }

    /// Sets something to a value: doing it twice is the same as once.
    pub(super) async fn set<T: DeserializeOwned>(&self, method: Method, route: &str, body: &Value) -> Result<T, Error> {
        let answer = self.again(method, route, Some(body), JSON).await?;
        json(route, &answer.body)
    }

    /// Deletes; that it is gone already is fine.
    pub(super) async fn delete(&self, route: &str) -> Result<(), Error> {
        match self.again(Method::DELETE, route, None, JSON).await {
            Ok(_) | Err(Error::Refused { status: 404, .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Creates something exactly once: `find` looks for it by its marker before the first attempt, and again after
    /// every attempt whose effect is unclear.
    pub(super) async fn once<T, F>(&self, route: &str, body: &Value, find: impl Fn() -> F + Send) -> Result<T, Error>
    where
        T: DeserializeOwned,
        F: Future<Output = Result<Option<T>, Error>> + Send,
    {
        self.once_by(Method::POST, route, body, find).await
    }

    /// The same with another method, for changes that add up when they are sent twice.
    pub(super) async fn once_by<T, F>(
        &self,
        method: Method,
        route: &str,
        body: &Value,
        find: impl Fn() -> F + Send,
    ) -> Result<T, Error>
    where
        T: DeserializeOwned,
        F: Future<Output = Result<Option<T>, Error>> + Send,
    {
        let mut waits = waits();
        loop {
            if let Some(found) = find().await? {
                return Ok(found);
            }
            match self.send(method.clone(), route, Some(body), JSON).await {
                Ok(answer) => return json(route, &answer.body),
                Err(Error::Unclear(message)) => match waits.next() {
                    Some(wait) => tokio::time::sleep(wait).await,
                    None => return Err(Error::Unclear(message)),
                },
                Err(Error::RateLimited(wait)) if wait <= MAX_WAIT && waits.next().is_some() => {
                    tokio::time::sleep(wait).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends, and sends again when the answer is unclear or asks to wait; only for what may be done twice.
    async fn again(
        &self,
        method: Method,
        route: &str,
        body: Option<&Value>,
        accept: &'static str,
    ) -> Result<Answer, Error> {
        let mut waits = waits();
        loop {
            let error = match self.send(method.clone(), route, body, accept).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let Some(wait) = waits.next() else { return Err(error) };
            match error {
                Error::Unclear(_) | Error::Unreachable(_) => tokio::time::sleep(wait).await,
                Error::RateLimited(asked) if asked <= MAX_WAIT => tokio::time::sleep(asked).await,
                error => return Err(error),
            }
        }
    }

    /// Sends once.
    async fn send(
        &self,
        method: Method,
        route: &str,
        body: Option<&Value>,
        accept: &'static str,
    ) -> Result<Answer, Error> {
        let request = http::Request::builder()
            .method(&method)
            .uri(route)
            .header(header::ACCEPT, accept)
            .header("X-GitHub-Api-Version", "2022-11-28")
            .header(header::USER_AGENT, AGENT);
        let request = match body {
            Some(body) => request
                .header(header::CONTENT_TYPE, "application/json")
                .body(body.to_string()),
            None => request.body(String::new()),
        };
        let request =
            request.map_err(|error| Error::Setup(format!("the request {method} {route} cannot be built: {error}")))?;
        let response = self
            .crab
            .execute(request)
            .await
            .map_err(|error| Error::Unclear(describe(&error)))?;
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, MAX_ANSWER_BYTES)
            .collect()
            .await
            .map_err(|error| {
                if error.is::<LengthLimitError>() {
                    Error::TooLong(route.to_string())
                } else {
                    Error::Unclear(format!("the answer to {route} broke off: {error}"))
                }
            })?
            .to_bytes();
        tracing::debug!(http.method = %method, http.route = route, http.status = parts.status.as_u16(), "asked GitHub");
        judge(
            route,
            Answer {
                status: parts.status,
                headers: parts.headers,
                body,
            },
        )
    }
}

pub(super) const AGENT: &str = concat!("greenlight/", env!("CARGO_PKG_VERSION"));
const JSON: &str = "application/vnd.github+json";

fn waits() -> impl Iterator<Item = Duration> {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(200))
        .with_max_delay(Duration::from_secs(10))
        .with_max_times(5)
        .with_jitter()
        .build()
}

fn judge(route: &str, answer: Answer) -> Result<Answer, Error> {
    let status = answer.status;
    if status.is_success() || status == StatusCode::NOT_MODIFIED {
        return Ok(answer);
    }
    if status.is_server_error() {
        return Err(Error::Unclear(format!("{route} answered {}", status.as_u16())));
    }
    let message = message(&answer.body);
    let number = |name: &str| {
        answer
            .headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.parse::<u64>().ok())
    };
    let limited = status == StatusCode::TOO_MANY_REQUESTS
        || (status == StatusCode::FORBIDDEN
            && (number("retry-after").is_some()
                || number("x-ratelimit-remaining") == Some(0)
                || message.to_lowercase().contains("rate limit")));
    if limited {
        return Err(Error::RateLimited(
            number("retry-after").map_or(SECONDARY_WAIT, Duration::from_secs),
        ));
    }
    Err(Error::Refused {
        status: status.as_u16(),
        route: route.to_string(),
        message,
    })
}

/// GitHub's own words, bounded: `message`, and what `errors` adds.
fn message(body: &[u8]) -> String {
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        return "no message".into();
    };
    let mut text = value["message"].as_str().unwrap_or("no message").to_string();
    for error in value["errors"].as_array().into_iter().flatten().take(5) {
        text.push_str("; ");
        text.push_str(error.as_str().or_else(|| error["message"].as_str()).unwrap_or_default());
    }
    crate::domain::redact::bounded(&text, 500)
}

fn json<T: DeserializeOwned>(route: &str, body: &[u8]) -> Result<T, Error> {
    let body = if body.is_empty() { b"null" } else { body };
    serde_json::from_slice(body).map_err(|error| Error::Unreadable {
        route: route.into(),
        message: error.to_string(),
    })
}

/// One line for an error whose own `Display` says only "GitHub" or prints a backtrace.
pub(super) fn describe(error: &octocrab::Error) -> String {
    let text = match error {
        octocrab::Error::GitHub { source, .. } => format!("{} {}", source.status_code.as_u16(), source.message),
        octocrab::Error::Service { source, .. } => source.to_string(),
        octocrab::Error::Hyper { source, .. } => source.to_string(),
        other => other.to_string().lines().next().unwrap_or_default().to_string(),
    };
    crate::domain::redact::bounded(&crate::domain::redact::redact(&text), 300)
}
