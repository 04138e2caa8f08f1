//! Downloads texts that may be long: as a stream, for a limited time, from wherever GitHub redirects to.
//!
//! Not here: what is kept of them.

use std::ops::ControlFlow;
use std::time::Duration;

use http::{Method, header};
use http_body_util::BodyExt as _;

use super::client::{AGENT, Client, Error, describe};

/// How long a download may take. The link that GitHub redirects to is good for a minute, which its beginning keeps to.
const MAX_DOWNLOAD: Duration = Duration::from_secs(180);

/// Takes the next bytes of a text; whether it has enough.
pub type Take<'a> = dyn FnMut(&[u8]) -> ControlFlow<()> + Send + 'a;

/// How a text that was streamed ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streamed {
    Whole,
    /// Whoever took it had enough.
    Stopped,
    /// It broke off, or took longer than three minutes.
    Cut,
}

impl Client {
    /// A long text as it comes, for as long as `take` goes on. octocrab follows the redirect to the store and leaves our
    /// credentials behind when the host changes.
    ///
    /// # Errors
    /// When nothing came of it; what came before it broke off or took too long is [`Streamed::Cut`].
    pub(super) async fn stream(&self, route: &str, take: &mut Take<'_>) -> Result<Streamed, Error> {
        let deadline = tokio::time::Instant::now() + MAX_DOWNLOAD;
        let late = |_| Error::Unreachable(format!("{route} took longer than {} seconds", MAX_DOWNLOAD.as_secs()));
        let request = http::Request::builder()
            .method(Method::GET)
            .uri(route)
            .header(header::USER_AGENT, AGENT)
            .body(String::new())
            .map_err(|error| Error::Setup(error.to_string()))?;
        let response = tokio::time::timeout_at(deadline, self.crab.execute(request)).await;
        let response = response
            .map_err(late)?
            .map_err(|error| Error::Unclear(describe(&error)))?;
        let status = response.status();
        if !status.is_success() {
            let message = "the text is not there any more".into();
            return Err(Error::Refused {
                status: status.as_u16(),
                route: route.into(),
                message,
            });
        }
        let mut body = response.into_body();
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
}
