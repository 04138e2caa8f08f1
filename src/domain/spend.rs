//! What a run spent of everything that is counted.

use std::iter::Sum;
use std::ops::Add;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Turns, tokens, money and time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Spend {
    /// Round trips to the model.
    pub turns: u32,
    /// Prompt tokens, including those that the endpoint had in its cache.
    pub prompt_tokens: u64,
    /// The part of them that the endpoint had in its cache.
    pub cached_tokens: u64,
    pub completion_tokens: u64,
    /// Millionths of a US dollar. `None` if the price of the model is not known.
    pub cost_micros: Option<u64>,
    /// Working time, without waiting for people.
    pub wall_ms: u64,
    /// How long it took to fetch the code and lay it out. It is not part of the working time.
    #[serde(skip_serializing_if = "super::is_default")]
    pub fetch_ms: u64,
    /// The part of the working time that it took to install dependencies. 0 if none were installed.
    #[serde(skip_serializing_if = "super::is_default")]
    pub install_ms: u64,
}

impl Add for Spend {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            turns: self.turns.saturating_add(other.turns),
            prompt_tokens: self.prompt_tokens.saturating_add(other.prompt_tokens),
            cached_tokens: self.cached_tokens.saturating_add(other.cached_tokens),
            completion_tokens: self.completion_tokens.saturating_add(other.completion_tokens),
            cost_micros: match (self.cost_micros, other.cost_micros) {
                (None, None) => None,
                (one, two) => Some(one.unwrap_or(0).saturating_add(two.unwrap_or(0))),
            },
            wall_ms: self.wall_ms.saturating_add(other.wall_ms),
            fetch_ms: self.fetch_ms.saturating_add(other.fetch_ms),
            install_ms: self.install_ms.saturating_add(other.install_ms),
        }
    }
}

impl Sum for Spend {
    fn sum<I: Iterator<Item = Self>>(each: I) -> Self {
        each.fold(Self::default(), Add::add)
    }
}

impl Spend {
    /// What one item of a transcript says it cost: one turn for a model's reply, otherwise nothing.
    pub fn of_item(item: &serde_json::Value) -> Self {
        let Some(usage) = item.get("reply").and_then(|reply| reply.get("usage")) else {
            return Self::default();
        };
        let spend: Self = Self::deserialize(usage).unwrap_or_default();
        Self {
            turns: 1,
            wall_ms: 0,
            fetch_ms: 0,
            install_ms: 0,
            ..spend
        }
    }

    /// Prompt and completion tokens together.
    pub fn tokens(&self) -> u64 {
        self.prompt_tokens.saturating_add(self.completion_tokens)
    }
}
