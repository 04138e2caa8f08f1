//! What the loop needs of a model, whoever speaks to it.

use std::sync::{Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use super::transcript::{Item, Reply};

/// Something that answers a transcript.
pub trait Model: Send + Sync {
    /// Answers the whole history so far, and may call the tools.
    ///
    /// # Errors
    /// When no usable answer could be had after all retries, or the run was cancelled.
    fn reply(
        &self,
        history: &[Item],
        tools: &[ToolSpec],
        cancel: &CancellationToken,
    ) -> impl Future<Output = Result<Reply, ModelError>> + Send;
}

/// A tool as it is offered to a model.
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
        /// What the endpoint said: untrusted, bounded, without credentials.
        message: String,
        remedy: &'static str,
    },
    #[error(
        "the model endpoint does not answer as chat completions do ({reason}); check that GREENLIGHT_MODEL_BASE_URL \
         is an OpenAI-compatible endpoint, usually ending in /v1"
    )]
    Nonsense { reason: String },
    #[error("cancelled")]
    Cancelled,
}

/// Replies that were recorded earlier, given again in order: a run without a model and without cost.
#[derive(Debug, Default)]
pub struct Recorded {
    replies: Mutex<std::vec::IntoIter<Reply>>,
}

impl Recorded {
    pub fn new(replies: Vec<Reply>) -> Self {
        Self {
            replies: Mutex::new(replies.into_iter()),
        }
    }
}

impl Model for Recorded {
    async fn reply(
        &self,
        _history: &[Item],
        _tools: &[ToolSpec],
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        if cancel.is_cancelled() {
            return Err(ModelError::Cancelled);
        }
        let next = self.replies.lock().unwrap_or_else(PoisonError::into_inner).next();
        next.ok_or_else(|| ModelError::Nonsense {
            reason: "the recording has no further reply".into(),
        })
    }
}
