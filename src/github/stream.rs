//! Streams texts that may be long, within a time limit, from wherever GitHub redirects to.
//!
//! Not here: what is kept of them.

use std::ops::ControlFlow;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Limited};
use url::Url;

use super::client::Client;
use super::connection::{AGENT, Response};
use super::error::{Error, HttpAnswer, describe, refusal};
use super::redirect::{MAX_HOPS, Redirect};
use super::traffic::execute;

/// The time limit for beginning a download, and for the download itself. The link that GitHub redirects to is valid for a minute, within which the download
/// begins.
const MAX_DOWNLOAD: Duration = Duration::from_secs(180);

/// The maximum size of a refusal, in bytes.
const MAX_REFUSAL: usize = 64 << 10;

/// Receives the next bytes of a text, and says whether to continue.
pub type Take<'a> = dyn FnMut(&[u8]) -> ControlFlow<()> + Send + 'a;

/// How a streamed text ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streamed {
    Whole,
    /// The receiver stopped it.
    Stopped,
    /// The connection broke, or the download took longer than three minutes.
    Cut,
}

/// A text whose download has begun.
pub struct Download {
    route: String,
    body: BoxBody<Bytes, octocrab::Error>,
}

impl Download {
    /// Takes the text until `take` stops it.
    ///
    /// # Errors
    /// When nothing was received. A text that broke off or took too long is [`Streamed::Cut`].
    pub async fn read(mut self, take: &mut Take<'_>) -> Result<Streamed, Error> {
        let deadline = tokio::time::Instant::now() + MAX_DOWNLOAD;
        let mut has_begun = false;
        loop {
            let frame = match tokio::time::timeout_at(deadline, self.body.frame()).await {
                Ok(None) => return Ok(Streamed::Whole),
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(_))) | Err(_) if has_begun => return Ok(Streamed::Cut),
                Ok(Some(Err(error))) => return Err(Error::Unclear(describe(&error))),
                Err(_) => return Err(late(&self.route)),
            };
            let Some(bytes) = frame.data_ref() else { continue };
            has_begun = true;
            if take(bytes).is_break() {
                return Ok(Streamed::Stopped);
            }
        }
    }
}

fn late(route: &str) -> Error {
    Error::Unreachable(format!("{route} took longer than {} seconds", MAX_DOWNLOAD.as_secs()))
}

impl Client {
    /// Begins to download a long text. GitHub redirects to a store on another host, which does not get our
    /// credentials.
    ///
    /// # Errors
    /// When GitHub or the store cannot be reached or refuses.
    pub(super) async fn download(&self, route: &str) -> Result<Download, Error> {
        let begun = async {
            let (parts, body) = self.open(route).await?.into_parts();
            if parts.status.is_success() {
                let route = route.to_string();
                return Ok(Download { route, body });
            }
            let read = Limited::new(body, MAX_REFUSAL).collect().await;
            let answer = HttpAnswer {
                status: parts.status,
                headers: parts.headers,
                body: read.map_or_else(|_| Bytes::new(), http_body_util::Collected::to_bytes),
            };
            self.heed_refusal(&answer.headers, Err(refusal(self.holder(), route, &answer)))
        };
        let begun = tokio::time::timeout(MAX_DOWNLOAD, begun).await;
        begun.unwrap_or_else(|_| Err(late(route)))
    }

    /// The response to a request after GitHub's redirects.
    async fn open(&self, route: &str) -> Result<Response, Error> {
        let mut at = route.to_string();
        for _ in 0..=MAX_HOPS {
            let permit = self.limit.permit(&at).await?;
            self.check_pause()?;
            let response = execute(&self.connection, (&at, request(&at)?), &self.limit).await?;
            self.limit.heed(&at, response.headers());
            drop(permit);
            match Redirect::read(&self.api, &at, response.status(), response.headers()) {
                None => return Ok(response),
                Some(Redirect::Here(next)) => at = next,
                // The store must be at least as secure as GitHub's own address.
                Some(Redirect::Elsewhere(to)) if to.scheme() == "https" || self.api.scheme() == "http" => {
                    return from_store(&to).await;
                }
                Some(other) => return Err(other.refused(route, response.status())),
            }
        }
        Err(Redirect::Nowhere.refused(route, StatusCode::LOOP_DETECTED))
    }
}

/// The response of a store. Its client has no credentials, and follows no redirects.
async fn from_store(from: &Url) -> Result<Response, Error> {
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
