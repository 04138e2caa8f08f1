//! Sends one request once and reads its answer, streamed or not, with limits on size and time.

use std::time::Duration;

use async_openai::middleware::HttpRequestFactory;
use serde_json::Value;

use super::chat::Chunks;
use super::events::PartialBody;
use super::failure::Failure;
use super::responses::Events;
use super::stream_tap::StreamTap;
use crate::domain::model::Api;

/// The largest answer that is read, in bytes.
const MAX_ANSWER: usize = 4 << 20;
/// How long to wait for the usage after the end of an answer.
const LAST_WORD: Duration = Duration::from_secs(5);

/// Sends the requests of one turn.
#[derive(Debug, Clone)]
pub(super) struct Sender {
    pub(super) http: reqwest::Client,
    /// The longest pause within an answer.
    pub(super) idle: Duration,
    pub(super) api: Api,
    pub(super) tap: StreamTap,
}

/// A streamed answer of either API.
enum Stream {
    Chat(Chunks),
    Responses(Events),
}

impl Stream {
    fn take(&mut self, event: Value, tap: &StreamTap) {
        match self {
            Self::Chat(chunks) => chunks.take(event, tap),
            Self::Responses(events) => events.take(event, tap),
        }
    }

    /// Whether all further events are ignored.
    fn is_done(&self) -> bool {
        match self {
            Self::Chat(chunks) => chunks.is_done(),
            Self::Responses(events) => events.is_done(),
        }
    }

    /// Whether the answer is complete, though more may follow.
    fn is_complete(&self) -> bool {
        match self {
            Self::Chat(chunks) => chunks.is_complete(),
            Self::Responses(events) => events.is_done(),
        }
    }
}

impl Sender {
    /// Sends a request once. A stream is read to its end; the result looks as if it had arrived in one piece.
    pub(super) async fn exchange(self, request: HttpRequestFactory) -> Result<reqwest::Response, tower::BoxError> {
        let mut response = self.http.execute(request.build().await?).await.map_err(Failure::from)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let mut stream = match self.api {
            Api::Chat => Stream::Chat(Chunks::default()),
            Api::Responses => Stream::Responses(Events::default()),
        };
        let (mut body, mut size) = (PartialBody::default(), 0);
        // An error response is not an answer, no matter what its body looks like.
        let mut raw = Vec::new();
        loop {
            let patience = if stream.is_complete() {
                self.idle.min(LAST_WORD)
            } else {
                self.idle
            };
            let chunk = match chunk(&mut response, patience).await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                Err(_) if stream.is_complete() => break,
                Err(failure) => return Err(failure.into()),
            };
            size += chunk.len();
            if size > MAX_ANSWER {
                return Err(Failure::Nonsense(format!("an answer of more than {} MiB", MAX_ANSWER >> 20)).into());
            }
            if !status.is_success() {
                raw.extend_from_slice(&chunk);
                continue;
            }
            body.take(&chunk, &mut |event| stream.take(event, &self.tap));
            if body.is_done() || stream.is_done() {
                break;
            }
        }
        if !status.is_success() {
            let error = serde_json::from_slice::<Value>(&raw).unwrap_or_default();
            let text = String::from_utf8_lossy(&raw);
            return Err(Failure::refused(status.as_u16(), &error, &text, &headers).into());
        }
        let is_done = body.is_done();
        if let Some(document) = body.end(&mut |event| stream.take(event, &self.tap)) {
            // async-openai would log the body of an answer that is not JSON.
            serde_json::from_slice::<serde::de::IgnoredAny>(&document)
                .map_err(|error| Failure::Nonsense(format!("not JSON: {error}")))?;
            return Ok(http::Response::new(document).into());
        }
        let answer = match stream {
            Stream::Chat(chunks) => chunks.answer(is_done),
            Stream::Responses(events) => events.answer(),
        };
        let answer = answer.ok_or_else(|| Failure::Unreachable("its answer was cut off".into()))?;
        Ok(http::Response::new(answer.to_string()).into())
    }
}

async fn chunk(response: &mut reqwest::Response, patience: Duration) -> Result<Option<bytes::Bytes>, Failure> {
    match tokio::time::timeout(patience, response.chunk()).await {
        Ok(chunk) => Ok(chunk?),
        Err(_) => Err(Failure::Unreachable("its answer stopped midway".into())),
    }
}
