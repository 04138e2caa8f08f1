//! Answers the calls that the code of one block makes: from the transcript if it has the result, otherwise by the
//! tools.

use std::collections::VecDeque;

use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::past::Called;
use crate::agent::model::ToolSpec;
use crate::agent::transcript::{Item, ToolCall};
use crate::agent::{Error, Exit, Journal, Shell, Transcript, append, tools};
use crate::domain::redact::inline;

/// Where new calls are recorded.
pub(super) type Live<'l, 'j> = (&'l mut Transcript, &'l mut Journal<'j>);

/// The calls of one block.
pub(super) struct Conversation<'c> {
    within: &'c str,
    expected: VecDeque<Called>,
    pub(super) tools: &'c [ToolSpec],
    /// Whether edits recorded in the transcript are repeated.
    pub(super) edits_again: bool,
    count: usize,
    /// Set by a call that ends the run. The code may run to its end, but its further calls have no effect.
    pub(super) exit: Option<Exit>,
}

/// The outcome of a call.
pub(super) enum CallOutcome {
    Text(String),
    /// The run ends here, at least temporarily, and the call has no result.
    Ended(Exit),
    /// The call differs from the recorded one.
    Strange(String),
    Cut,
}

#[derive(Deserialize)]
struct Wanted {
    name: String,
    arguments: serde_json::Map<String, serde_json::Value>,
}

impl<'c> Conversation<'c> {
    pub(super) fn new(within: &'c str, expected: VecDeque<Called>, tools: &'c [ToolSpec]) -> Self {
        Self {
            within,
            expected,
            tools,
            edits_again: true,
            count: 0,
            exit: None,
        }
    }

    /// Whether the code has repeated every recorded call.
    pub(super) fn is_complete(&self) -> bool {
        self.expected.is_empty()
    }

    /// Answers a call. Its text may be forged, but it can do no more than a tool call.
    pub(super) async fn hear(
        &mut self,
        text: &str,
        shell: &mut Shell<'_>,
        live: Option<&mut Live<'_, '_>>,
        stop: &CancellationToken,
    ) -> Result<CallOutcome, Error> {
        if self.exit.is_some() {
            return Ok(CallOutcome::Text(tools::TOO_LATE.into()));
        }
        let Ok(wanted) = serde_json::from_str::<Wanted>(text) else {
            return Ok(CallOutcome::Text("the call cannot be read.".into()));
        };
        self.count += 1;
        let call = ToolCall {
            id: format!("{}.{}", self.within, self.count),
            name: wanted.name.chars().take(64).collect(),
            arguments: serde_json::Value::Object(wanted.arguments).to_string(),
        };
        let mut is_known = false;
        if let Some(expected) = self.expected.pop_front() {
            if expected.call != call {
                return Ok(CallOutcome::Strange(format!(
                    "the code called {} where it had called {} before",
                    inline(&call.name, 64),
                    inline(&expected.call.name, 64)
                )));
            }
            if let Some(result) = expected.result {
                if self.edits_again {
                    tools::edit_again(&call, result.granted, self.tools, shell);
                }
                self.exit = result.exit;
                return Ok(CallOutcome::Text(result.text));
            }
            is_known = true;
        }
        let Some(live) = live else {
            let what = inline(&call.name, 64);
            return Ok(CallOutcome::Strange(format!(
                "the code called {what}, which it had not called before"
            )));
        };
        let (transcript, journal) = (&mut *live.0, &mut *live.1);
        if !is_known {
            let within = self.within.to_owned();
            let call = call.clone();
            append(Item::Called { within, call }, transcript, journal).await?;
        }
        let answer = tools::answer(&call, self.tools, shell, stop).await;
        if stop.is_cancelled() {
            return Ok(CallOutcome::Cut);
        }
        let tools::CallResult { text, exit } = answer?;
        if let Some(exit @ Exit::Deferred(_)) = exit {
            return Ok(CallOutcome::Ended(exit));
        }
        let result = Item::Result {
            call_id: call.id,
            text: text.clone(),
            exit: exit.clone(),
            granted: false,
        };
        append(result, transcript, journal).await?;
        self.exit = exit;
        Ok(CallOutcome::Text(text))
    }
}
