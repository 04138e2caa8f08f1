//! Downloads texts that may be long: as a stream, for a limited time, from wherever GitHub redirects to.
//!
//! Not here: what is kept of them.

use std::ops::ControlFlow;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Limited};
use url::Url;

use super::client::{AGENT, Client};
use super::error::{Error, HttpAnswer, describe, refusal, unsent};
use super::redirect::{MAX_HOPS, Redirect};

type Response = http::Response<BoxBody<Bytes, octocrab::Error>>;

/// How long a download may take. The link that GitHub redirects to is good for a minute, which its beginning keeps to.
const MAX_DOWNLOAD: Duration = Duration::from_secs(180);

/// Longest refusal that is read.
const MAX_REFUSAL: usize = 64 << 10;

/// Takes the next bytes of a text; whether it has enough.
pub type Take<'a> = dyn FnMut(&[u8]) -> ControlFlow<()> + Send + 'a;

/// How a text that was streamed ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streamed {
    Whole,
    /// The receiver had enough.
    Stopped,
    /// It broke off, or took longer than three minutes.
    Cut,
}

impl Client {
    /// A long text as it comes, for as long as `take` continues. GitHub redirects to a store on another host, which is
    /// asked without our credentials.
    ///
    /// # Errors
    /// When nothing came of it; what came before it broke off or took too long is [`Streamed::Cut`].
    pub(super) async fn stream(&self, route: &str, take: &mut Take<'_>) -> Result<Streamed, Error> {
        let deadline = tokio::time::Instant::now() + MAX_DOWNLOAD;
        let late = |_| Error::Unreachable(format!("{route} took longer than {} seconds", MAX_DOWNLOAD.as_secs()));
        let response = tokio::time::timeout_at(deadline, self.open(route)).await;
        let response = response.map_err(late)??;
        let (parts, mut body) = response.into_parts();
        if !parts.status.is_success() {
            let read = tokio::time::timeout_at(deadline, Limited::new(body, MAX_REFUSAL).collect()).await;
            let body = read
                .map_err(late)?
                .map_or_else(|_| Bytes::new(), http_body_util::Collected::to_bytes);
            let answer = HttpAnswer {
                status: parts.status,
                headers: parts.headers,
                body,
            };
            return Err(refusal(self.holder(), route, &answer));
        }
        let mut taken = false;
        loop {
            let frame = match tokio::time::timeout_at(deadline, body.frame()).await {
                Ok(None) => return Ok(Streamed::Whole),
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(_))) | Err(_) if taken => return Ok(Streamed::Cut),
                Ok(Some(Err(error))) => return Err(Error::Unclear(describe(&error))),
                Err(elapsed) => return Err(late(elapsed)),
            };
            let Some(bytes) = frame.data_ref() else { continue };
            taken = true;
            if take(bytes).is_break() {
                return Ok(Streamed::Stopped);
            }
        }
    }

    /// The answer to a request, from wherever GitHub sends it on to.
    async fn open(&self, route: &str) -> Result<Response, Error> {
        let mut at = route.to_string();
        for _ in 0..=MAX_HOPS {
            self.limit.permit(&at)?;
            let response = self.crab.execute(request(&at)?).await;
            let response = response.map_err(|error| unsent(&error))?;
            self.limit.heed(&at, response.headers());
            match Redirect::read(&self.api, &at, response.status(), response.headers()) {
                None => return Ok(response),
                Some(Redirect::Here(next)) => at = next,
                // Nothing less than what GitHub itself is asked with.
                Some(Redirect::Elsewhere(to)) if to.scheme() == "https" || self.api.scheme() == "http" => {
                    return download(&to).await;
                }
                Some(other) => return Err(other.refused(route, response.status())),
            }
        }
        Err(Redirect::Nowhere.refused(route, StatusCode::LOOP_DETECTED))
    }
}

/// The answer of a store, which is asked by a client that has no credentials to give away, and sends nobody on.
async fn download(from: &Url) -> Result<Response, Error> {
    let setup = |error: octocrab::Error| Error::Setup(describe(&error));
    let mut store = from.clone();
    store.set_path("");
    store.set_query(None);
    let crab = super::builder(&store)?.build().map_err(setup)?;
    let response = crab.execute(request(from.as_str())?).await;
    response.map_err(|error| Error::Unclear(describe(&error)))
}

fn request(uri: &str) -> Result<http::Request<String>, Error> {
    let request = http::Request::builder().method(Method::GET).uri(uri);
    let request = request.header(header::USER_AGENT, AGENT).body(String::new());
    request.map_err(|error| Error::Setup(error.to_string()))
}
