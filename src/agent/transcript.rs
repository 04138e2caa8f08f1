//! What was said and done in a run of the agent, in order: exactly what the model sees.
//!
//! Items are only appended, and every item is bounded. Everything the loop needs to know (turns and tokens spent,
//! calls without a result, how often the model failed to use the tools) is a fold over them, so a transcript read
//! from a journal resumes where it was interrupted.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::Exit;
use crate::domain::redact::bounded;

/// The name of the call that represents a block.
pub(super) const EXECUTE: &str = "execute";

/// The longest text of a reply that is kept, in bytes.
const MAX_TEXT: usize = 8 << 10;
/// Further calls in one reply are dropped, as if the model had not made them.
const MAX_CALLS: usize = 16;
/// The longest arguments of one call, in bytes. Longer ones are cut, which makes them malformed.
pub(super) const MAX_ARGUMENTS: usize = 64 << 10;
/// OpenAI refuses longer names and ids in a history.
const MAX_NAME: usize = 64;

/// One entry of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Item {
    /// greenlight's instructions for the agent, and the task, whose untrusted parts are fenced.
    Task { instructions: String, task: String },
    /// The model's answer.
    Reply(Reply),
    /// The result of one call of the preceding reply.
    Result {
        call_id: String,
        text: String,
        /// Set if this call ended the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<Exit>,
        /// Whether a person allowed a call that the run may not make without asking.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        granted: bool,
    },
    /// A call made by the model's code while it ran, as part of the call with this id. Its result follows.
    Called { within: String, call: ToolCall },
    /// From here on the model no longer sees the results of these calls; it can call the tools again.
    Compacted { results: Vec<String> },
    /// A message from greenlight between two replies: a nudge, or why a submission was not accepted.
    Note(String),
}

/// One answer of the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The text beside the calls; it has no effect.
    pub text: Option<String>,
    pub calls: Vec<ToolCall>,
    pub usage: Usage,
    /// The name of the model that answered, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// One tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique within one reply.
    pub id: String,
    pub name: String,
    /// As the model wrote them: JSON if the model made no mistake.
    pub arguments: String,
}

/// What one round trip cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    pub prompt_tokens: u64,
    /// The part of them that the endpoint had in its cache.
    pub cached_tokens: u64,
    pub completion_tokens: u64,
    /// Millionths of a US dollar. `None` if the price of the model is not known.
    pub cost_micros: Option<u64>,
}

/// The history of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Transcript {
    items: Vec<Item>,
}

impl Transcript {
    /// A history without any reply yet.
    pub fn new(instructions: impl Into<String>, task: impl Into<String>) -> Self {
        Self {
            items: vec![Item::Task {
                instructions: instructions.into(),
                task: task.into(),
            }],
        }
    }

    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// Adds an item that is already journaled.
    pub fn push(&mut self, item: Item) {
        self.items.push(item);
    }

    /// The number of replies.
    pub fn turns(&self) -> u32 {
        u32::try_from(self.replies().count()).unwrap_or(u32::MAX)
    }

    /// The usage of all replies together.
    pub fn usage(&self) -> Usage {
        self.replies().fold(Usage::default(), |sum, reply| Usage {
            prompt_tokens: sum.prompt_tokens.saturating_add(reply.usage.prompt_tokens),
            cached_tokens: sum.cached_tokens.saturating_add(reply.usage.cached_tokens),
            completion_tokens: sum.completion_tokens.saturating_add(reply.usage.completion_tokens),
            cost_micros: match (sum.cost_micros, reply.usage.cost_micros) {
                (None, None) => None,
                (one, two) => Some(one.unwrap_or(0).saturating_add(two.unwrap_or(0))),
            },
        })
    }

    /// The calls of the last reply that have no result yet.
    pub(super) fn unanswered(&self) -> Vec<ToolCall> {
        let mut answered = HashSet::new();
        for item in self.items.iter().rev() {
            match item {
                Item::Result { call_id, .. } => {
                    answered.insert(call_id.as_str());
                }
                Item::Reply(reply) => {
                    let open = reply.calls.iter().filter(|call| !answered.contains(call.id.as_str()));
                    return open.cloned().collect();
                }
                Item::Task { .. } | Item::Note(_) | Item::Called { .. } | Item::Compacted { .. } => {}
            }
        }
        Vec::new()
    }

    /// Whether the model ever called one of these tools.
    pub(super) fn has_called(&self, names: &[&str]) -> bool {
        self.items.iter().any(|item| match item {
            Item::Reply(reply) => reply.calls.iter().any(|call| names.contains(&call.name.as_str())),
            Item::Called { call, .. } => names.contains(&call.name.as_str()),
            _ => false,
        })
    }

    /// How many of the most recent replies in a row satisfy a condition.
    pub(super) fn in_a_row(&self, is: impl Fn(&Reply) -> bool) -> usize {
        self.replies().rev().take_while(|reply| is(reply)).count()
    }

    fn replies(&self) -> impl DoubleEndedIterator<Item = &Reply> {
        self.items.iter().filter_map(|item| match item {
            Item::Reply(reply) => Some(reply),
            _ => None,
        })
    }
}

impl From<Vec<Item>> for Transcript {
    fn from(items: Vec<Item>) -> Self {
        Self { items }
    }
}

impl Reply {
    /// The reply in a form that can be kept and sent back: bounded, with ids and names that every endpoint accepts.
    pub(super) fn tidied(self, turn: u32) -> Self {
        let mut seen = HashSet::new();
        let calls = self.calls.into_iter().take(MAX_CALLS).enumerate();
        let calls = calls.map(|(index, call)| {
            let fits =
                !call.id.is_empty() && call.id.len() <= MAX_NAME && call.id.bytes().all(|b| b.is_ascii_graphic());
            let id = if fits && seen.insert(call.id.clone()) {
                call.id
            } else {
                let mut id = format!("call_{turn}_{index}");
                while !seen.insert(id.clone()) {
                    id.push('_');
                }
                id
            };
            ToolCall {
                id,
                name: tidy_name(&call.name),
                arguments: cut(call.arguments, MAX_ARGUMENTS),
            }
        });
        let calls: Vec<ToolCall> = calls.collect();
        // Blocks of code are part of the text.
        let is_code = calls.iter().any(|call| call.name == EXECUTE);
        let max = if is_code { MAX_ARGUMENTS } else { MAX_TEXT };
        Self {
            calls,
            text: self
                .text
                .map(|text| bounded(&text, max))
                .filter(|text| !text.trim().is_empty()),
            usage: self.usage,
            model: self.model,
        }
    }
}

fn tidy_name(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') {
            c
        } else {
            '_'
        }
    };
    let name: String = name.chars().take(MAX_NAME).map(plain).collect();
    if name.is_empty() { "unnamed".into() } else { name }
}

fn cut(mut text: String, max: usize) -> String {
    if text.len() > max {
        let end = (0..=max).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str, name: &str) -> ToolCall {
        ToolCall {
            id: id.into(),
            name: name.into(),
            arguments: "{}".into(),
        }
    }

    #[test]
    fn a_reply_is_kept_in_a_form_that_can_be_sent_back() {
        let reply = Reply {
            text: Some("  ".into()),
            calls: vec![
                call("", "think"),
                call("same", "a tool!"),
                call("same", ""),
                call(&"x".repeat(99), "n"),
            ],
            ..Reply::default()
        };
        let tidy = reply.tidied(3);
        let ids: Vec<_> = tidy.calls.iter().map(|call| call.id.as_str()).collect();
        let names: Vec<_> = tidy.calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(ids, ["call_3_0", "same", "call_3_2", "call_3_3"]);
        assert_eq!(names, ["think", "a_tool_", "unnamed", "n"]);
        assert_eq!(tidy.text, None);
    }

    #[test]
    fn a_reply_has_a_size() {
        let huge = ToolCall {
            arguments: "ä".repeat(MAX_ARGUMENTS),
            ..call("a", "write_file")
        };
        let reply = Reply {
            text: Some("y".repeat(MAX_TEXT * 2)),
            calls: vec![huge; MAX_CALLS * 2],
            ..Reply::default()
        };
        let tidy = reply.tidied(0);
        assert_eq!(tidy.calls.len(), MAX_CALLS);
        assert!(tidy.calls.iter().all(|call| call.arguments.len() <= MAX_ARGUMENTS));
        assert!(tidy.text.is_some_and(|text| text.len() < MAX_TEXT + 100));
    }

    #[test]
    fn what_is_unanswered_are_the_calls_of_the_last_reply() {
        let reply = |ids: &[&str]| {
            Item::Reply(Reply {
                calls: ids.iter().map(|id| call(id, "think")).collect(),
                ..Reply::default()
            })
        };
        let result = |id: &str| Item::Result {
            call_id: id.into(),
            text: String::new(),
            exit: None,
            granted: false,
        };
        let mut transcript = Transcript::new("i", "t");
        assert!(transcript.unanswered().is_empty());
        for item in [reply(&["a"]), result("a"), reply(&["a", "b"]), result("b")] {
            transcript.push(item);
        }
        assert_eq!(transcript.unanswered(), [call("a", "think")]);
        assert_eq!(transcript.turns(), 2);
    }
}
