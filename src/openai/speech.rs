//! Finds out whether an endpoint takes tools, by offering one that does nothing.

use serde_json::json;

use super::OpenAi;
use super::failure::{About, Failure};
use super::request::Question;
use crate::agent::{Item, Speech, ToolSpec};
use crate::domain::model::ToolUse;

/// How long the answer to the question may be, in tokens; it is not looked at. Some endpoints want 16 at least.
const BREVITY: u32 = 16;

impl OpenAi {
    /// How the model acts as far as that is known without asking.
    pub(super) fn known_speech(&self) -> Speech {
        match (self.tools, self.speech.get()) {
            (ToolUse::Auto, Some(speech)) => *speech,
            (ToolUse::Auto | ToolUse::Native, _) => Speech::Tools,
            (ToolUse::Code, _) => Speech::Code,
        }
    }

    /// How the model acts, by asking if nobody said.
    pub(super) async fn find_speech(&self) -> Result<Speech, Failure> {
        if self.tools != ToolUse::Auto {
            return Ok(self.known_speech());
        }
        let tools = [ToolSpec {
            name: "nothing",
            description: "Does nothing.",
            parameters: json!({ "type": "object", "properties": {} }),
        }];
        let history = [Item::Task {
            instructions: "You are being tested.".into(),
            task: "Say ok.".into(),
        }];
        let mut question = Question {
            history: &history,
            tools: &tools,
            speech: Speech::Tools,
            brevity: Some(BREVITY),
        };
        let mut answered = self.answer(&question, &|_| {}).await;
        if answered.as_ref().is_err_and(|failure| failure.is_about(About::Brevity)) {
            question.brevity = None;
            answered = self.answer(&question, &|_| {}).await;
        }
        match answered {
            Ok(_) => Ok(Speech::Tools),
            Err(failure) if failure.is_about(About::Tools) => {
                tracing::info!("the model takes no tools: it acts by blocks of code");
                Ok(Speech::Code)
            }
            Err(failure) => Err(failure),
        }
    }
}
