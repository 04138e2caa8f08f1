//! Finds out whether an endpoint supports tools, from its answer to the first real request, so that this costs
//! nothing extra.

use super::OpenAi;
use super::failure::{About, Failure};
use crate::agent::{ModelError, Speech};
use crate::domain::model::ToolUse;

impl OpenAi {
    /// How the model acts, as far as that is known.
    pub(super) fn known_speech(&self) -> Speech {
        match (self.tools, self.speech.get()) {
            (ToolUse::Auto, Some(speech)) => *speech,
            (ToolUse::Auto | ToolUse::Native, _) => Speech::Tools,
            (ToolUse::Code, _) => Speech::Code,
        }
    }

    /// Learns from a refusal that this model supports no tools, unless the configuration says that it does.
    pub(super) fn learn_speech(&self, failure: &Failure) -> Option<ModelError> {
        if self.tools != ToolUse::Auto || !failure.is_about(About::Tools) {
            return None;
        }
        if self.speech.set(Speech::Code).is_ok() {
            tracing::info!("the model does not support tools, so it works through code blocks");
        }
        Some(ModelError::NoTools)
    }
}
