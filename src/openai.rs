//! Speaks to any OpenAI-compatible endpoint: chat completions with tool calls.
//!
//! Requests go through async-openai with types of our own, because real servers leave out, rename and retype fields
//! ([`read`] is what tells them apart). Sending is ours as well: the status of a failure stays known, answers have a
//! size, and neither a body nor the key is ever logged.

mod endpoint;
mod read;

use std::time::Duration;

use async_openai::Client;
use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use backon::{ExponentialBuilder, Retryable as _};
use reqwest::header::{HeaderMap, RETRY_AFTER};
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use url::Url;

use self::endpoint::Endpoint;
use crate::agent::{Item, Model, ModelError, Reply, Speech, ToolSpec, Turn};
use crate::domain::redact::{redact, visible};

/// The largest answer that is read, in bytes.
const MAX_ANSWER: usize = 4 << 20;
/// How often a request is sent again.
const RETRIES: usize = 4;
/// The longest wait before a request is sent again; an endpoint that asks for more is not asked again.
const MAX_WAIT: Duration = Duration::from_secs(60);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest part of an endpoint's error message that is shown, in characters.
const MAX_MESSAGE: usize = 300;

/// Which model to ask, and where.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Everything before `/chat/completions`, usually ending in `/v1`.
    pub base_url: Url,
    pub model: String,
    /// Sent as a bearer token; an empty one is not sent.
    pub api_key: SecretString,
    /// For one answer, from connecting to its last byte.
    pub timeout: Duration,
    /// Before a failed request is sent again; the wait doubles each time.
    pub first_wait: Duration,
}

impl Settings {
    /// Settings with five minutes for an answer, and a second before the first retry.
    pub fn new(base_url: Url, model: impl Into<String>, api_key: SecretString) -> Self {
        Self {
            base_url,
            model: model.into(),
            api_key,
            timeout: Duration::from_secs(300),
            first_wait: Duration::from_secs(1),
        }
    }
}

/// Settings that no request can be made with.
#[derive(Debug, thiserror::Error)]
pub enum InvalidSettings {
    #[error("GREENLIGHT_MODEL_BASE_URL must start with http:// or https://")]
    Url,
    #[error("GREENLIGHT_MODEL_API_KEY has characters that cannot be sent; copy it again")]
    Key,
    #[error("no HTTPS connections can be made: {0}")]
    Tls(reqwest::Error),
}

/// A model behind an endpoint.
#[derive(Debug)]
pub struct OpenAi {
    client: Client<Endpoint>,
    model: String,
    first_wait: Duration,
}

impl OpenAi {
    /// Prepares requests; nothing is sent yet.
    ///
    /// # Errors
    /// When the settings can be used for no request.
    pub fn new(settings: Settings) -> Result<Self, InvalidSettings> {
        let http = reqwest::Client::builder()
            .timeout(settings.timeout)
            .connect_timeout(CONNECT_TIMEOUT)
            // A redirect would send repository text, and perhaps the key, where nobody said they should go.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(InvalidSettings::Tls)?;
        let endpoint = Endpoint::new(settings.base_url, settings.api_key)?;
        let sender = http.clone();
        let send = move |request| exchange(sender.clone(), request);
        Ok(Self {
            client: Client::build(http, endpoint).with_http_service(tower::service_fn(send)),
            model: settings.model,
            first_wait: settings.first_wait,
        })
    }

    async fn ask(&self, body: &Value) -> Result<Reply, Failure> {
        let answer: Value = self.client.chat().create_byot(body).await.map_err(Failure::from)?;
        let mut reply = read::reply(&answer)?;
        if reply.usage.prompt_tokens == 0 {
            // An endpoint that does not count is held to the limits all the same: four bytes make a token.
            reply.usage.prompt_tokens = body.to_string().len() as u64 / 4;
            reply.usage.completion_tokens = answer.to_string().len() as u64 / 4;
        }
        Ok(reply)
    }
}

impl Model for OpenAi {
    async fn speech(&self, _cancel: &CancellationToken) -> Result<Speech, ModelError> {
        Ok(Speech::Tools)
    }

    async fn reply(&self, turn: &Turn<'_>) -> Result<Reply, ModelError> {
        let body = request(&self.model, turn.history, turn.tools);
        let waits = ExponentialBuilder::default()
            .with_min_delay(self.first_wait)
            .with_max_delay(MAX_WAIT)
            .with_max_times(RETRIES)
            .with_jitter();
        let answered = (|| self.ask(&body))
            .retry(waits)
            .when(Failure::is_transient)
            .adjust(|failure, wait| wait.map(|wait| failure.retry_after().unwrap_or(wait)))
            .notify(|failure, wait| {
                tracing::info!(
                    model.failure = failure.kind(),
                    wait_ms = wait.as_millis(),
                    "the model is asked again"
                );
            });
        tokio::select! {
            biased;
            () = turn.cancel.cancelled() => Err(ModelError::Cancelled),
            reply = answered => reply.map_err(|failure| failure.explain(self.client.config())),
        }
    }
}

/// A chat-completions request; the beginning of it is the same in every turn, so endpoints can cache it.
/// <https://platform.openai.com/docs/api-reference/chat/create>
fn request(model: &str, history: &[Item], tools: &[ToolSpec]) -> Value {
    let messages: Vec<Value> = history.iter().flat_map(messages).collect();
    let tools = tools.iter().map(|tool| {
        json!({
            "type": "function",
            "function": { "name": tool.name, "description": tool.description, "parameters": tool.parameters },
        })
    });
    json!({ "model": model, "messages": messages, "tools": tools.collect::<Vec<_>>(), "stream": false })
}

fn messages(item: &Item) -> Vec<Value> {
    match item {
        Item::Task { instructions, task } => vec![
            json!({ "role": "system", "content": instructions }),
            json!({ "role": "user", "content": task }),
        ],
        Item::Called { .. } | Item::Compacted { .. } => Vec::new(),
        Item::Note(text) => vec![json!({ "role": "user", "content": text })],
        Item::Result { call_id, text, .. } => vec![json!({ "role": "tool", "tool_call_id": call_id, "content": text })],
        Item::Reply(reply) if reply.calls.is_empty() => {
            vec![json!({ "role": "assistant", "content": reply.text.as_deref().unwrap_or_default() })]
        }
        Item::Reply(reply) => {
            let calls = reply.calls.iter().map(|call| {
                // Some servers parse the arguments of the history, and fail on what a model got wrong.
                let arguments = match serde_json::from_str::<serde::de::IgnoredAny>(&call.arguments) {
                    Ok(_) => call.arguments.clone(),
                    Err(_) => json!({ "malformed": call.arguments }).to_string(),
                };
                let function = json!({ "name": call.name, "arguments": arguments });
                json!({ "id": call.id, "type": "function", "function": function })
            });
            vec![json!({ "role": "assistant", "content": reply.text, "tool_calls": calls.collect::<Vec<_>>() })]
        }
    }
}

/// Sends a request once, and reads the answer within its bounds.
async fn exchange(http: reqwest::Client, request: HttpRequestFactory) -> Result<reqwest::Response, tower::BoxError> {
    let mut response = http.execute(request.build().await?).await.map_err(Failure::from)?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(Failure::from)? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_ANSWER {
            return Err(Failure::Nonsense(format!("an answer of more than {} MiB", MAX_ANSWER >> 20)).into());
        }
    }
    let parsed = serde_json::from_slice::<Value>(&body);
    if !response.status().is_success() {
        let text = String::from_utf8_lossy(&body);
        let error = parsed.unwrap_or_default();
        return Err(Failure::Refused {
            status,
            message: one_line(read::error_message(&error).unwrap_or(&text)),
            // Without credit there is no use in asking again.
            wait: if read::is_out_of_credit(&error) {
                Some(Duration::MAX)
            } else {
                retry_after(&headers)
            },
        }
        .into());
    }
    // What follows would log the body of an answer that is no JSON.
    parsed.map_err(|error| Failure::Nonsense(format!("no JSON: {error}")))?;
    Ok(http::Response::new(body).into())
}

/// Why there is no answer to one request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Failure {
    #[error("unreachable: {0}")]
    Unreachable(String),
    #[error("status {status}")]
    Refused {
        status: u16,
        message: String,
        wait: Option<Duration>,
    },
    #[error("nonsense: {0}")]
    Nonsense(String),
}

impl Failure {
    /// Whether the same request may be answered if it is sent again.
    fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Nonsense(_) => true,
            Self::Refused { wait: Some(wait), .. } if *wait > MAX_WAIT => false,
            Self::Refused { status, .. } => matches!(status, 408 | 409 | 425 | 429 | 500..=599),
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { wait, .. } => *wait,
            Self::Unreachable(_) | Self::Nonsense(_) => None,
        }
    }

    /// For the log: nothing that an endpoint wrote.
    fn kind(&self) -> String {
        match self {
            Self::Unreachable(_) => "unreachable".into(),
            Self::Refused { status, .. } => format!("status {status}"),
            Self::Nonsense(_) => "nonsense".into(),
        }
    }

    /// The failure as a sentence a user can act on.
    fn explain(self, endpoint: &Endpoint) -> ModelError {
        match self {
            Self::Unreachable(reason) => ModelError::Unreachable {
                endpoint: endpoint.shown.clone(),
                reason,
            },
            Self::Nonsense(reason) => ModelError::Nonsense {
                reason: endpoint.without_key(&reason),
            },
            Self::Refused { status, message, .. } => ModelError::Refused {
                status,
                message: endpoint.without_key(&message),
                remedy: match status {
                    300..=399 => "it redirects: set GREENLIGHT_MODEL_BASE_URL to where it redirects to",
                    401 | 403 => "check GREENLIGHT_MODEL_API_KEY",
                    404 => "check GREENLIGHT_MODEL_BASE_URL and GREENLIGHT_MODEL",
                    402 | 429 => {
                        "its quota or rate limit is used up: try later, or set another GREENLIGHT_MODEL_API_KEY"
                    }
                    500..=599 => "the fault is the endpoint's: try later, or set another GREENLIGHT_MODEL_BASE_URL",
                    _ => "check that GREENLIGHT_MODEL is a model with tool calls and a context that is large enough",
                },
            },
        }
    }
}

impl From<reqwest::Error> for Failure {
    fn from(error: reqwest::Error) -> Self {
        if error.is_timeout() {
            return Self::Unreachable("no answer in time".into());
        }
        // The outer errors only say that something failed; the innermost says what.
        let mut reason: &dyn std::error::Error = &error;
        while let Some(source) = reason.source() {
            reason = source;
        }
        Self::Unreachable(one_line(&reason.to_string()))
    }
}

impl From<OpenAIError> for Failure {
    fn from(error: OpenAIError) -> Self {
        match error {
            OpenAIError::Boxed(error) => match error.downcast::<Self>() {
                Ok(failure) => *failure,
                Err(_) => Self::Unreachable("the request could not be made".into()),
            },
            OpenAIError::Reqwest(error) => error.into(),
            _ => Self::Nonsense("an unexpected answer".into()),
        }
    }
}

/// The seconds an endpoint asks to wait. <https://www.rfc-editor.org/rfc/rfc9110#field.retry-after>
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: f64 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn one_line(text: &str) -> String {
    let line = visible(text).split_whitespace().collect::<Vec<_>>().join(" ");
    redact(&line).chars().take(MAX_MESSAGE).collect()
}
