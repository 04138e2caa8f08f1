//! What a patch takes away from the tests, as it is said to people and to models. How it is found out is in `guard`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::id::RepoPath;

/// In which way tests say less than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WeakeningKind {
    /// A test is gone, emptied, or where no runner collects it.
    Removed,
    /// It is skipped, or expected to fail, or others are.
    Skipped,
    /// Statements keep its assertions from being reached.
    NotReached,
    FewerAssertions,
    WeakerAssertion,
    /// Another value is expected than before.
    ExpectationChanged,
    ToleranceWidened,
    ErrorSwallowed,
    Retried,
    /// Something is replaced by a stand-in.
    Mocked,
    /// What the test does before it checks, its cases, or the helpers it uses.
    SetupChanged,
    /// Snapshots, or files that tests read.
    DataChanged,
    /// How tests are found, built or run.
    Configuration,
    /// What CI does.
    Ci,
    /// Code under test that recognises a test's input.
    SpecialCased,
    /// Code under test that recognises that it is tested.
    DetectsTests,
    /// Nothing can be said about it, so the worst is assumed.
    CannotBeJudged,
}

impl WeakeningKind {
    /// Whether a person may be asked to approve it, as the claim that the test is wrong. How tests run, what CI does,
    /// and code that cheats, are never asked for.
    pub fn may_be_proposed(self) -> bool {
        !matches!(
            self,
            Self::Configuration | Self::Ci | Self::SpecialCased | Self::DetectsTests | Self::CannotBeJudged
        )
    }

    /// Whether tests check less with it, no matter who did it. Authors of pull requests change expectations, data and
    /// settings with good reason every day.
    pub fn takes_away(self) -> bool {
        matches!(
            self,
            Self::Removed
                | Self::Skipped
                | Self::NotReached
                | Self::FewerAssertions
                | Self::WeakerAssertion
                | Self::ToleranceWidened
                | Self::ErrorSwallowed
                | Self::Retried
        )
    }
}

/// One place where a patch makes the tests say less.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weakening {
    pub path: RepoPath,
    /// From 1: in the file after the change, or before it if the place is gone.
    pub line: usize,
    /// The test or helper, as its file names it; empty if it is the file as a whole. Untrusted.
    pub test: String,
    pub kind: WeakeningKind,
    /// What was done, to be read after the place and the name. It may quote code, so it is untrusted, too.
    pub what: String,
}

impl fmt::Display for Weakening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path, line, test, what, ..
        } = self;
        if test.is_empty() {
            write!(f, "{path}:{line}: {what}")
        } else {
            write!(f, "{path}:{line}: {test}: {what}")
        }
    }
}

/// A few of them in one line, and how many more there are.
pub fn listed(weakenings: &[Weakening]) -> String {
    const SHOWN: usize = 5;
    let mut shown: Vec<String> = weakenings.iter().take(SHOWN).map(ToString::to_string).collect();
    if weakenings.len() > SHOWN {
        shown.push(format!("and {} more", weakenings.len() - SHOWN));
    }
    shown.join("; ")
}
