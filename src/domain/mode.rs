//! What a run is for.

use serde::{Deserialize, Serialize};

use super::id::RepoPath;

/// What a run is for. Its texts are a person's own words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Red tests become green.
    #[default]
    Debug,
    /// First tests for a specification are written and seen to fail, then the code that makes them pass.
    Tdd { specification: String },
    /// The code changes towards a goal, in one place if the goal names one, and its tests stay green.
    Refactor { goal: String, path: Option<RepoPath> },
    /// Says why the tests fail, and changes nothing.
    Explain,
}

impl Mode {
    /// Its name in commands, flags and JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Tdd { .. } => "tdd",
            Self::Refactor { .. } => "refactor",
            Self::Explain => "explain",
        }
    }

    pub fn is_debug(&self) -> bool {
        *self == Self::Debug
    }
}
