//! What the loop needs from a model, no matter which client provides it.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::transcript::{Item, Reply};

/// The default limit for what a model is sent, in tokens.
pub const DEFAULT_CONTEXT: u64 = 64_000;

/// A model that answers transcripts.
pub trait Model: Send + Sync {
    /// How this model acts, as far as that is known.
    fn speech(&self) -> Speech;

    /// Answers the whole history so far, and may call the tools.
    ///
    /// # Errors
    /// When there is no usable answer after all retries, or the run was cancelled.
    fn reply(&self, turn: &Turn<'_>) -> impl Future<Output = Result<Reply, ModelError>> + Send;

    /// The longest history it may be sent, in tokens; beyond that, old results are left out.
    fn context(&self) -> u64 {
        DEFAULT_CONTEXT
    }
}

/// One request for a reply.
#[derive(Clone, Copy)]
pub struct Turn<'a> {
    pub history: &'a [Item],
    pub tools: &'a [ToolSpec],
    /// How the history was produced, and how the reply is parsed.
    pub speech: Speech,
    /// Receives the reply as it arrives; nothing may rely on that.
    pub live: &'a Live,
    pub cancel: &'a CancellationToken,
}

/// Receives replies as they arrive.
pub type Live = dyn Fn(Delta<'_>) + Send + Sync;

/// A piece of a reply, untrusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delta<'a> {
    Text(&'a str),
    /// The model's reasoning before it answers, if an endpoint shows it.
    Reasoning(&'a str),
    /// The start of a call of this tool.
    Call(&'a str),
}

/// How a model acts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speech {
    /// Through the endpoint's tool calls.
    #[default]
    Tools,
    /// Through blocks of code in its replies, which run in an interpreter where the tools are functions.
    Code,
}

/// A tool as a model is offered it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: &'static str,
    pub description: &'static str,
    /// The JSON schema of the arguments.
    pub parameters: serde_json::Value,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    #[error(
        "the model endpoint {endpoint} cannot be reached ({reason}); check GREENLIGHT_MODEL_BASE_URL and the network"
    )]
    Unreachable { endpoint: String, reason: String },
    #[error("the model endpoint answers with status {status} ({message}); {remedy}")]
    Refused {
        status: u16,
        /// The endpoint's message: untrusted, bounded, without credentials.
        message: String,
        remedy: &'static str,
    },
    #[error(
        "the model endpoint says that the conversation is longer than the model can read ({message}); set \
         GREENLIGHT_MODEL to a model with a larger context, or GREENLIGHT_MODEL_CONTEXT to the tokens it has"
    )]
    TooLong {
        /// The endpoint's message: untrusted, bounded, without credentials.
        message: String,
    },
    #[error(
        "the model endpoint sent an unexpected answer ({reason}); check that GREENLIGHT_MODEL_BASE_URL \
         is an OpenAI-compatible endpoint, usually ending in /v1"
    )]
    Nonsense { reason: String },
    /// The model does not support tools, so it has to act through code.
    #[error(
        "the model does not support tools; set GREENLIGHT_MODEL_TOOLS=code, or GREENLIGHT_MODEL to a model with \
             tool calls"
    )]
    NoTools,
    #[error("cancelled")]
    Cancelled,
}

/// Recorded replies, played back in order: a run without a model and without cost.
#[derive(Debug, Default)]
pub struct Recorded {
    replies: Mutex<std::vec::IntoIter<Reply>>,
    context: Option<u64>,
    speech: Speech,
    refuses_tools: bool,
}

impl Recorded {
    pub fn new(replies: Vec<Reply>) -> Self {
        Self {
            replies: Mutex::new(replies.into_iter()),
            context: None,
            speech: Speech::default(),
            refuses_tools: false,
        }
    }

    /// The same replies, as those of a model that acts in this way.
    #[must_use]
    pub fn speaking(mut self, speech: Speech) -> Self {
        self.speech = speech;
        self
    }

    /// The same replies, from a model that refuses tools, as the recorded one did before anybody knew.
    #[must_use]
    pub fn refusing_tools(mut self) -> Self {
        self.refuses_tools = true;
        self
    }

    /// The same replies, with the context of the recorded model, so that the same results are left out.
    #[must_use]
    pub fn with_context(mut self, tokens: u64) -> Self {
        self.context = Some(tokens);
        self
    }
}

impl Model for Recorded {
    fn speech(&self) -> Speech {
        self.speech
    }

    async fn reply(&self, turn: &Turn<'_>) -> Result<Reply, ModelError> {
        if turn.cancel.is_cancelled() {
            return Err(ModelError::Cancelled);
        }
        if self.refuses_tools && !turn.tools.is_empty() {
            return Err(ModelError::NoTools);
        }
        let next = self.replies.lock().unwrap_or_else(PoisonError::into_inner).next();
        next.ok_or_else(|| ModelError::Nonsense {
            reason: "the recording has no further reply".into(),
        })
    }

    fn context(&self) -> u64 {
        self.context.unwrap_or(DEFAULT_CONTEXT)
    }
}
