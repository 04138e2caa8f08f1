//! How a patch weakens tests, as people and models are told. `guard` detects it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::id::RepoPath;

/// A way in which tests check less than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WeakeningKind {
    /// A test is removed, emptied, or moved to where no runner collects it.
    Removed,
    /// A test is skipped or expected to fail, or makes others so.
    Skipped,
    /// Statements keep its assertions from being reached.
    NotReached,
    FewerAssertions,
    WeakerAssertion,
    /// A different value is expected.
    ExpectationChanged,
    ToleranceWidened,
    ErrorSwallowed,
    Retried,
    /// Something is replaced by a mock.
    Mocked,
    /// A change of a test's preparation, its cases, or its helpers.
    SetupChanged,
    /// A change of snapshots, or of files that tests read.
    DataChanged,
    /// A change of how tests are found, built or run.
    Configuration,
    /// A change of what CI does.
    Ci,
    /// Code under test recognises a test's input.
    SpecialCased,
    /// Code under test recognises that it is being tested.
    DetectsTests,
    /// The change cannot be judged, so the worst is assumed.
    CannotBeJudged,
}

impl WeakeningKind {
    /// Whether a person may be asked to approve it, as a claim that the test is wrong. Nobody is asked about changes
    /// of how tests run or what CI does, nor about code that cheats.
    pub fn may_be_proposed(self) -> bool {
        !matches!(
            self,
            Self::Configuration | Self::Ci | Self::SpecialCased | Self::DetectsTests | Self::CannotBeJudged
        )
    }

    /// Whether tests check less after it, no matter who did it. Authors of pull requests have good reasons to change
    /// expectations, data and settings every day.
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

/// One place where a patch weakens tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weakening {
    pub path: RepoPath,
    /// From 1: in the file after the change, or before it if the line is gone.
    pub line: usize,
    /// The test or helper, as its file names it; empty for the file as a whole. Untrusted.
    pub test: String,
    pub kind: WeakeningKind,
    /// What was done, to be read after the location and the name. It may quote code, so it is untrusted, too.
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

/// A few of them in one line, and the number of the others.
pub fn listed(weakenings: &[Weakening]) -> String {
    const SHOWN: usize = 5;
    let mut shown: Vec<String> = weakenings.iter().take(SHOWN).map(ToString::to_string).collect();
    if weakenings.len() > SHOWN {
        shown.push(format!("and {} more", weakenings.len() - SHOWN));
    }
    shown.join("; ")
}
