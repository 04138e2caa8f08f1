//! When the loop stops although the model has not ended it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::model::ToolSpec;
use super::tools;
use super::transcript::{EXECUTE, Reply, Transcript};

/// How many replies in a row may contain only malformed calls.
const MALFORMED_REPLIES: usize = 3;
/// How many replies in a row without a call are answered with a nudge.
const NUDGES: usize = 2;

/// The limits of a run, counted over the whole transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentLimits {
    /// The number of replies from the model.
    pub turns: u32,
    /// Prompt and completion tokens together.
    pub tokens: u64,
    /// Millionths of a US dollar, for models whose price is known. `None` means no limit.
    pub cost_micros: Option<u64>,
    /// Counted from when the [`Shell`](super::Shell) is made.
    pub wall: Duration,
}

/// Which limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    Turns,
    Tokens,
    Money,
    Wall,
}

impl AgentLimits {
    /// The limit that forbids another request to the model, if there is one.
    pub(super) fn reached(&self, transcript: &Transcript) -> Option<LimitKind> {
        let usage = transcript.usage();
        if transcript.turns() >= self.turns {
            Some(LimitKind::Turns)
        } else if usage.prompt_tokens.saturating_add(usage.completion_tokens) >= self.tokens {
            Some(LimitKind::Tokens)
        } else if self.cost_micros.is_some_and(|limit| usage.cost_micros >= Some(limit)) {
            Some(LimitKind::Money)
        } else {
            None
        }
    }
}

/// Why asking this model again is pointless. `None` if it is not.
pub(super) fn out_of_patience(transcript: &Transcript, tools: &[ToolSpec]) -> Option<&'static str> {
    let is_silent = |reply: &Reply| reply.calls.is_empty();
    let is_malformed = |reply: &Reply| {
        let mut calls = reply.calls.iter();
        !is_silent(reply) && calls.all(|call| call.name != EXECUTE && tools::parse(call, tools).is_err())
    };
    if transcript.in_a_row(is_silent) > NUDGES {
        Some("the model answered without calling a tool")
    } else if transcript.in_a_row(is_malformed) > MALFORMED_REPLIES {
        Some("the model's tool calls could not be parsed")
    } else {
        None
    }
}
