//! What greenlight had found when a limit ended the work, and could no longer prove.

use serde::{Deserialize, Serialize};

use super::patch::Patch;

/// The state of work that was cut short. None of it is tested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What the model said last; untrusted, bounded.
    pub words: Option<String>,
    /// The edits so far.
    pub edits: Option<Patch>,
    /// Why the edits cannot be a proposal, in greenlight's words.
    pub unfit: Option<String>,
}

impl Finding {
    /// Whether there is anything to show.
    pub fn is_empty(&self) -> bool {
        self.words.is_none() && self.edits.is_none()
    }
}
