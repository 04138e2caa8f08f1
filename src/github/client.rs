//! Sends requests with bounded responses, timeouts, and retries that never repeat an effect.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use http::{HeaderMap, Method, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use super::answer_cache::AnswerCache;
use super::connection::{AGENT, Connection};
use super::error::{Error, Holder, HttpAnswer, judge};
use super::limit::RateLimit;
use super::pauses::Pauses;
use super::redirect::{MAX_HOPS, Redirect};
use super::traffic::execute;
use crate::lease;
use crate::metrics::Metrics;

/// The maximum size of a response. A page of comments always fits: each has at most 65,536 characters, of at most six
/// bytes in JSON.
const MAX_ANSWER_BYTES: usize = 24 << 20;
/// A longer rate limit is not waited for here, because that would block a worker.
const MAX_WAIT: Duration = Duration::from_secs(120);
const PER_PAGE: usize = 50;
const MAX_PAGES: usize = 60;

/// A client of one installation or token. Clones share its connection.
#[derive(Clone)]
pub struct Client {
    pub(super) connection: Arc<Connection>,
    /// The address of the API, which is the only one that receives the credentials.
    pub(super) api: Arc<Url>,
    pub(super) token: Option<SecretString>,
    /// The base address of GraphQL, if it differs from that of the REST API, as on GitHub Enterprise Server.
    pub(super) graphql: Option<Arc<Url>>,
    pub(super) limit: Arc<RateLimit>,
    /// The response cache, and the number that separates this client's entries from those of other credentials.
    pub(super) known: Option<(Arc<AnswerCache>, u64)>,
    /// The pauses that GitHub asks for, and the installation that they concern.
    pub(super) pauses: Option<(Arc<Pauses>, u64)>,
}

/// How many clients use a cache; the number of the next one.
static REMEMBERING: AtomicU64 = AtomicU64::new(0);

impl Client {
    pub(super) fn new(api: &Url, connection: Arc<Connection>, token: Option<SecretString>) -> Self {
        Self {
            connection,
            api: Arc::new(api.clone()),
            token,
            graphql: None,
            limit: Arc::default(),
            known: None,
            pauses: None,
        }
    }

    /// The same client with a cache that GitHub confirms.
    pub(super) fn remembering(self, known: &Arc<AnswerCache>) -> Self {
        let number = REMEMBERING.fetch_add(1, Ordering::Relaxed);
        let known = Some((Arc::clone(known), number));
        Self { known, ..self }
    }

    /// The same client, whose requests are counted.
    pub(super) fn counted(mut self, metrics: Option<&Arc<Metrics>>, installation: Option<u64>) -> Self {
        if let Some(metrics) = metrics {
            self.limit = Arc::new(RateLimit::counted(metrics, installation));
        }
        self
    }

    /// Gets a token of the installation if there is no valid one, so that requests side by side do not each get one.
    /// If GitHub does not answer, the requests get it, and report the error.
    ///
    /// # Errors
    /// When there is no installation.
    pub async fn ready(&self) -> Result<(), Error> {
        if self.token.is_none()
            && let Err(error @ Error::NotInstalled(_)) = self.connection.token().await
        {
            return Err(error);
        }
        Ok(())
    }

    /// Whose permissions apply.
    pub(super) fn holder(&self) -> Holder {
        if self.token.is_some() {
            Holder::Token
        } else {
            Holder::App
        }
    }

    /// Fetches JSON.
    pub(super) async fn get<T: DeserializeOwned>(&self, route: &str) -> Result<T, Error> {
        let answer = self.again(Method::GET, route, None, JSON).await?;
        json(route, &answer.body)
    }

    /// Fetches JSON and the response headers.
    pub(super) async fn get_with_headers<T: DeserializeOwned>(&self, route: &str) -> Result<(T, HeaderMap), Error> {
        let answer = self.again(Method::GET, route, None, JSON).await?;
        Ok((json(route, &answer.body)?, answer.headers))
    }

    /// Fetches JSON that may not exist.
    pub(super) async fn get_optional<T: DeserializeOwned>(&self, route: &str) -> Result<Option<T>, Error> {
        match self.get(route).await {
            Ok(value) => Ok(Some(value)),
            Err(Error::Refused { status: 404, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Fetches bytes in another media type.
    pub(super) async fn get_raw(&self, route: &str, accept: &'static str) -> Result<bytes::Bytes, Error> {
        Ok(self.again(Method::GET, route, None, accept).await?.body)
    }

    /// Fetches every page, up to a bound. Pages are requested by number, so that no URL of an answer is followed.
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

    /// Sends a change that may safely be repeated if the response was lost.
    pub(super) async fn post_again<T: DeserializeOwned>(&self, route: &str, body: &Value) -> Result<T, Error> {
        let answer = self.again(Method::POST, route, Some(body), JSON).await?;
        json(route, &answer.body)
    }

    /// Sends a query once, for a caller that has another way to the answer.
    pub(super) async fn query_once<T: DeserializeOwned>(&self, route: &str, body: &Value) -> Result<T, Error> {
        let answer = self.send(Method::POST, route, Some(body), JSON).await?;
        json(route, &answer.body)
    }

    /// Sets something to a value, which is idempotent.
    pub(super) async fn set<T: DeserializeOwned>(&self, method: Method, route: &str, body: &Value) -> Result<T, Error> {
        let answer = self.again(method, route, Some(body), JSON).await?;
        json(route, &answer.body)
    }

    /// Deletes something. It is no error if it is already gone.
    pub(super) async fn delete(&self, route: &str) -> Result<(), Error> {
        match self.again(Method::DELETE, route, None, JSON).await {
            Ok(_) | Err(Error::Refused { status: 404, .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Creates something exactly once: `find` looks for it by its marker before the first attempt, and again after
    /// every attempt with an unclear result.
    pub(super) async fn once<T, F>(&self, route: &str, body: &Value, find: impl Fn() -> F + Send) -> Result<T, Error>
    where
        T: DeserializeOwned,
        F: Future<Output = Result<Option<T>, Error>> + Send,
    {
        match find().await? {
            Some(found) => Ok(found),
            None => self.create(route, body, find).await,
        }
    }

    /// Creates something exactly once, like [`Self::once`], after the caller has looked for it and not found it. After
    /// every attempt with an unclear result, `find` looks for it.
    pub(super) async fn create<T, F>(&self, route: &str, body: &Value, find: impl Fn() -> F + Send) -> Result<T, Error>
    where
        T: DeserializeOwned,
        F: Future<Output = Result<Option<T>, Error>> + Send,
    {
        self.create_by(Method::POST, route, body, find).await
    }

    /// Like [`Self::create`] with another method, for changes that would add up if repeated.
    pub(super) async fn create_by<T, F>(
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
        let mut delays = retry_delays();
        loop {
            match self.send(method.clone(), route, Some(body), JSON).await {
                Ok(answer) => return json(route, &answer.body),
                Err(error @ (Error::Unclear(_) | Error::Unreachable(_))) => match delays.next() {
                    Some(wait) => tokio::time::sleep(wait).await,
                    None => return Err(error),
                },
                Err(Error::RateLimited(pause)) if pause.length <= MAX_WAIT && delays.next().is_some() => {
                    tokio::time::sleep(pause.length).await;
                }
                Err(error) => return Err(error),
            }
            if let Some(found) = find().await? {
                return Ok(found);
            }
        }
    }

    /// Sends one request and ignores the response.
    pub(super) async fn ask_once(&self, route: &str) -> Result<(), Error> {
        self.send(Method::GET, route, None, JSON).await.map(drop)
    }

    /// Sends a request, and repeats it if the result is unclear or GitHub asks to wait. Only for idempotent requests.
    async fn again(
        &self,
        method: Method,
        route: &str,
        body: Option<&Value>,
        accept: &'static str,
    ) -> Result<HttpAnswer, Error> {
        let mut delays = retry_delays();
        loop {
            let error = match self.send(method.clone(), route, body, accept).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let Some(wait) = delays.next() else { return Err(error) };
            match error {
                Error::Unclear(_) | Error::Unreachable(_) => tokio::time::sleep(wait).await,
                Error::RateLimited(pause) if pause.length <= MAX_WAIT => tokio::time::sleep(pause.length).await,
                error => return Err(error),
            }
        }
    }

    /// Sends a request once, following GitHub's redirects.
    async fn send(
        &self,
        method: Method,
        route: &str,
        body: Option<&Value>,
        accept: &'static str,
    ) -> Result<HttpAnswer, Error> {
        let mut to = route.to_string();
        for _ in 0..=MAX_HOPS {
            let answer = self.send_to(&method, &to, body, accept).await?;
            match Redirect::read(&self.api, &to, answer.status, &answer.headers) {
                None => {
                    let headers = answer.headers.clone();
                    return self.heed_refusal(&headers, judge(self.holder(), route, answer));
                }
                Some(Redirect::Here(next)) => to = next,
                Some(other) => return Err(other.refused(route, answer.status)),
            }
        }
        Err(Redirect::Nowhere.refused(route, StatusCode::LOOP_DETECTED))
    }

    async fn send_to(
        &self,
        method: &Method,
        route: &str,
        body: Option<&Value>,
        accept: &'static str,
    ) -> Result<HttpAnswer, Error> {
        let permit = self.limit.permit(route).await?;
        // Asked after all waiting, right before the request.
        self.check_pause()?;
        if method != Method::GET && !lease::may_act() {
            return Err(Error::LeaseLost);
        }
        let known = self.known.as_ref().filter(|_| method == Method::GET);
        let read = known.and_then(|(known, number)| known.find(*number, route, accept));
        let mut request = http::Request::builder()
            .method(method)
            .uri(route)
            .header(header::ACCEPT, accept)
            .header("X-GitHub-Api-Version", "2022-11-28")
            .header(header::USER_AGENT, AGENT);
        if let Some(read) = &read {
            request = request.header(header::IF_NONE_MATCH, &read.tag);
        }
        let request = match body {
            Some(body) => request
                .header(header::CONTENT_TYPE, "application/json")
                .body(body.to_string()),
            None => request.body(String::new()),
        };
        let request =
            request.map_err(|error| Error::Setup(format!("the request {method} {route} cannot be built: {error}")))?;
        let response = execute(&self.connection, (route, request), &self.limit).await?;
        let (parts, body) = response.into_parts();
        self.limit.heed(route, &parts.headers);
        drop(permit);
        let body = Limited::new(body, MAX_ANSWER_BYTES)
            .collect()
            .await
            .map_err(|error| {
                if error.is::<LengthLimitError>() {
                    Error::TooLong(route.to_string())
                } else {
                    Error::Unclear(format!("the answer to {route} was cut off: {error}"))
                }
            })?
            .to_bytes();
        tracing::debug!(http.method = %method, http.route = route, http.status = parts.status.as_u16(), "asked GitHub");
        let answer = HttpAnswer {
            status: parts.status,
            headers: parts.headers,
            body,
        };
        if let Some(read) = read.filter(|_| answer.status == StatusCode::NOT_MODIFIED) {
            return Ok(read.again(answer.headers));
        }
        if let Some((known, number)) = known {
            known.keep(*number, route, accept, &answer);
        }
        Ok(answer)
    }
}

const JSON: &str = "application/vnd.github+json";

fn retry_delays() -> impl Iterator<Item = Duration> {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(200))
        .with_max_delay(Duration::from_secs(10))
        .with_max_times(5)
        .with_jitter()
        .build()
}

fn json<T: DeserializeOwned>(route: &str, body: &[u8]) -> Result<T, Error> {
    let body = if body.is_empty() { b"null" } else { body };
    serde_json::from_slice(body).map_err(|error| Error::Unreadable {
        route: route.into(),
        message: error.to_string(),
    })
}
