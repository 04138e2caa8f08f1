//! What kind of red a red test run is, test by test.
//!
//! Pure: a [`Trial`] says which tests to run next and on which tree, is told what came of it, and judges in the end.
//! [`sequential`] has the statistics and their error rates, [`environment`] the signs of a machine that lacks
//! something. Running the tests is `engine::work::reproduce`.

pub mod environment;
mod merged;
pub mod program;
pub mod sequential;
mod summary;
mod trial;

pub use environment::Cause;
pub use merged::{MergeState, Merged, ProvedWith};
pub use sequential::StoppingRules;
use serde::{Deserialize, Serialize};
pub use trial::{Asked, Trial, not_red, unseen};

use super::id::CommitSha;
use super::weakening::Weakening;

/// The verdict over a reproduced failure, with the numbers it rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Triage {
    /// That of all tests, or [`Verdict::Mixed`].
    pub verdict: Verdict,
    /// How many runs at the head were red, of how many: of a test that is worked on, if there is one.
    pub red_at_head: u32,
    pub runs_at_head: u32,
    /// Every red test that was judged, at most [`TestRun::MAX_FAILURES`](super::test_run::TestRun::MAX_FAILURES).
    /// Empty when green, and in journals of version 0.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<Judged>,
    /// The commit that the tests were run on for comparison. `None` if they were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<CommitSha>,
    /// Where the pull request itself, from the merge base to the head, makes tests say less; some of them, and only where
    /// there was a base to compare with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weakened: Vec<Weakening>,
    /// What came of merging the head with its base branch. `None` if that was not tried. Where the merge is red, the
    /// numbers here are of the merge and not of the head, and `base` is the tip of the base branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<Box<Merged>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Red every time: a bug to work on.
    Deterministic,
    /// Red once and green another time on the same tree.
    Flaky,
    /// Red at the merge base too: not caused by this pull request.
    BrokenOnBase,
    /// The machine, not the code: a missing tool, no network, no disk.
    Environment,
    /// Of a run as a whole: its tests differ.
    Mixed,
    /// The tests are green here: nothing to fix.
    Green,
}

/// How many of a test's runs were red.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    pub red: u32,
    pub runs: u32,
}

impl Rate {
    fn add(&mut self, is_red: bool) {
        self.red += u32::from(is_red);
        self.runs += 1;
    }

    fn green(self) -> u32 {
        self.runs - self.red
    }
}

/// One test and what was found out about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    /// As in [`Failure::name`](super::test_run::Failure::name); empty stands for the test command as a whole.
    pub name: String,
    pub verdict: Verdict,
    pub head: Rate,
    /// Its runs on the merge base; none were made if `runs` is 0.
    pub base: Rate,
    /// Whether it is known not to be there on the merge base.
    #[serde(default)]
    pub is_new: bool,
    /// Whether it failed in another place or with another message from run to run.
    #[serde(default)]
    pub varies: bool,
    /// What the machine seems to lack; a claim of the code under test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The program that is missing, if that is the cause and the output names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}

impl Triage {
    /// The verdict over one run alone: for evidence whose runs nobody counted.
    pub fn of_one_run(is_red: bool) -> Self {
        Self {
            verdict: if is_red { Verdict::Deterministic } else { Verdict::Green },
            red_at_head: u32::from(is_red),
            runs_at_head: 1,
            tests: Vec::new(),
            base: None,
            weakened: Vec::new(),
            merged: None,
        }
    }

    /// The merge that was worked on in place of the head, which is green alone.
    pub fn red_merge(&self) -> Option<&Merged> {
        self.merged.as_deref().filter(|merged| merged.is_red())
    }

    /// Whether there is a failure to work on: one that is red every time and the pull request's own doing.
    pub fn has_regression(&self) -> bool {
        self.verdict == Verdict::Deterministic || self.has(Verdict::Deterministic)
    }

    /// Whether a test has this verdict.
    pub fn has(&self, verdict: Verdict) -> bool {
        self.tests.iter().any(|test| test.verdict == verdict)
    }

    /// The red tests that a repair does not have to fix, and may leave as they are.
    pub fn excused(&self) -> impl Iterator<Item = &Judged> {
        let is_excused = |test: &&Judged| test.verdict != Verdict::Deterministic && !test.name.is_empty();
        self.tests.iter().filter(is_excused)
    }

    /// Takes what is red on the base, too, for something to work on: where a person asks for exactly that.
    #[must_use]
    pub fn with_broken_on_base(mut self) -> Self {
        for test in &mut self.tests {
            if test.verdict == Verdict::BrokenOnBase {
                test.verdict = Verdict::Deterministic;
            }
        }
        self.verdict = of_all(&self.tests).unwrap_or(self.verdict);
        self
    }
}

/// The verdict that all tests share. `None` without any.
fn of_all(tests: &[Judged]) -> Option<Verdict> {
    let first = tests.first()?.verdict;
    let is_shared = tests.iter().all(|test| test.verdict == first);
    Some(if is_shared { first } else { Verdict::Mixed })
}

#[cfg(test)]
mod tests;
