//! The result of a search for a fix without a model: how much it tried, which locations it suspects, and which
//! patches pass the tests but are not sure enough to propose.

use serde::{Deserialize, Serialize};

use super::patch::Patch;
use super::test_run::Location;

/// The rung of the ladder that a fix is from, cheapest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    /// A tool's own fix for what its check found.
    Tool,
    /// A fix of the same failure that was accepted before.
    Memory,
    /// A hunk of the pull request, reverted.
    Revert,
    /// A small edit.
    Search,
}

/// How a proposal that no model made was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundBy {
    pub rung: Rung,
    /// How many edits were tried before it was found.
    pub tried: u32,
    pub wall_ms: u64,
}

/// A patch that makes failing tests pass but is not sure enough to be proposed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unverified {
    pub patch: Patch,
    /// One sentence without its full stop, in Markdown: what was changed to what, and where.
    pub explanation: String,
    /// How many tests fail with it; 0 unless it is only a part of what is needed.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub still_failing: u32,
    /// Why it is not proposed: sentences without a full stop, in Markdown.
    pub risks: Vec<String>,
}

impl Unverified {
    /// What it does to the tests, as the end of a sentence.
    pub fn result(&self) -> String {
        match self.still_failing {
            0 => "passes the tests".into(),
            1 => "leaves 1 test failing".into(),
            count => format!("leaves {count} tests failing"),
        }
    }
}

/// What ended a search early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The maximum number of edits was tried.
    Candidates,
    /// The time was up.
    Wall,
}

/// A search, or one part of it; parts are joined one after another.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Search {
    /// How many edits were tried.
    pub tried: u32,
    pub wall_ms: u64,
    /// Digests of edits that were tried and failed ([`Search::MAX_DIGESTS`] at most). A resumed search does not try
    /// them again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub digests: Vec<String>,
    /// The most suspicious locations, worst first; the newest list replaces older ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspects: Vec<Location>,
    /// Patches that make failing tests pass but are not proposed, most likely first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unverified: Vec<Unverified>,
    /// Whether the search has ended without a proposal.
    #[serde(default)]
    pub is_over: bool,
    /// The limit that ended it. `None` if everything was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
}

impl Rung {
    /// Its name in documents for scripts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Memory => "memory",
            Self::Revert => "revert",
            Self::Search => "search",
        }
    }
}

impl Search {
    /// More digests than this are not remembered.
    pub const MAX_DIGESTS: usize = 20_000;

    /// Adds the results of a later part.
    pub fn join(&mut self, later: Self) {
        self.tried = self.tried.saturating_add(later.tried);
        self.wall_ms = self.wall_ms.saturating_add(later.wall_ms);
        let room = Self::MAX_DIGESTS.saturating_sub(self.digests.len());
        self.digests.extend(later.digests.into_iter().take(room));
        if !later.suspects.is_empty() {
            self.suspects = later.suspects;
        }
        if !later.unverified.is_empty() {
            self.unverified = later.unverified;
        }
        self.is_over = later.is_over;
        self.limit = later.limit;
    }

    /// A copy without the digests, which only a resumed search needs.
    #[must_use]
    pub fn told(&self) -> Self {
        Self {
            digests: Vec::new(),
            ..self.clone()
        }
    }

    /// A new search that resumes where this one stopped.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self {
            digests: self.digests.clone(),
            ..Self::default()
        }
    }

    /// Whether it found anything useful to a person.
    pub fn tells_something(&self) -> bool {
        self.tried > 0 || !self.suspects.is_empty() || !self.unverified.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_search_add_up() {
        let place = |line| Location {
            path: "a.py".into(),
            line,
        };
        let mut whole = Search {
            tried: 3,
            digests: vec!["a".into()],
            suspects: vec![place(1)],
            ..Search::default()
        };
        whole.join(Search {
            tried: 2,
            digests: vec!["b".into()],
            is_over: true,
            ..Search::default()
        });
        assert_eq!((whole.tried, whole.digests.len(), whole.is_over), (5, 2, true));
        assert_eq!(whole.suspects, [place(1)]);
    }
}
