//! Classifies the failing tests of a run: regression, flaky, broken before, or environment.
//!
//! Pure: a [`Trial`] says which tests to run next and on which tree, takes in the results, and gives its verdict in
//! the end. [`sequential`] has the statistics and their error rates, [`environment`] the signs that the machine lacks
//! something. `engine::work::reproduce` runs the tests.

pub mod environment;
mod merged;
pub mod program;
pub mod sequential;
pub mod setup;
mod summary;
mod trial;

pub use environment::Cause;
pub use merged::{MergeState, Merged, ProvedWith};
pub use sequential::StoppingRules;
use serde::{Deserialize, Serialize};
pub use setup::{ListedByProject, Place, Setup};
pub use trial::{Asked, Trial, not_red, unseen};

use super::id::CommitSha;
use super::weakening::Weakening;

/// The verdict on a reproduced failure, with the numbers that support it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Triage {
    /// The verdict that all tests share, or [`Verdict::Mixed`].
    pub verdict: Verdict,
    /// How many runs at the head failed. The count is that of a test to work on, if there is one.
    pub red_at_head: u32,
    pub runs_at_head: u32,
    /// Every failing test that was judged, at most [`TestRun::MAX_FAILURES`](super::test_run::TestRun::MAX_FAILURES).
    /// Empty when green, and in journals of version 0.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<Judged>,
    /// The commit that the tests were compared with. `None` if there was no comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<CommitSha>,
    /// Where the pull request itself, from the merge base to the head, weakens tests. Only some of these places, and
    /// only if there was a base to compare with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weakened: Vec<Weakening>,
    /// The result of merging the head with its base branch. `None` if that was not tried. If the merge is red, the
    /// numbers here are those of the merge instead of the head, and `base` is the tip of the base branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<Box<Merged>>,
    /// What was installed first. `None` if nothing was run, and in journals of version 0.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<Setup>,
    /// How long the repeated runs at the head and those on the base took, in milliseconds, added up. 0 if there were
    /// none, and in journals of earlier versions.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub repeats_ms: u64,
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub base_ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Red every time: a bug to work on.
    Deterministic,
    /// Both red and green on the same tree.
    Flaky,
    /// Red at the merge base too: not caused by this pull request.
    BrokenOnBase,
    /// The machine, not the code: a missing tool, no network, no disk.
    Environment,
    /// The tests of the run have different verdicts.
    Mixed,
    /// The tests are green here: nothing to fix.
    Green,
}

/// How many of a test's runs failed.
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
    /// As in [`Failure::name`](super::test_run::Failure::name); empty for the test command as a whole.
    pub name: String,
    pub verdict: Verdict,
    pub head: Rate,
    /// Its runs on the merge base. If `runs` is 0, it was not run there.
    pub base: Rate,
    /// Whether the test is known not to exist on the merge base.
    #[serde(default)]
    pub is_new: bool,
    /// Whether its location or message changed from run to run.
    #[serde(default)]
    pub varies: bool,
    /// What the machine seems to lack; a claim of the code under test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The missing program, if that is the cause and the output names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The missing packages, if they are the cause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<String>,
}

impl Triage {
    /// The verdict on a single run, for evidence whose runs were not counted.
    pub fn of_one_run(is_red: bool) -> Self {
        Self {
            verdict: if is_red { Verdict::Deterministic } else { Verdict::Green },
            red_at_head: u32::from(is_red),
            runs_at_head: 1,
            tests: Vec::new(),
            base: None,
            weakened: Vec::new(),
            merged: None,
            setup: None,
            repeats_ms: 0,
            base_ms: 0,
        }
    }

    /// The merge that was worked on instead of the head, which is green alone.
    pub fn red_merge(&self) -> Option<&Merged> {
        self.merged.as_deref().filter(|merged| merged.is_red())
    }

    /// Whether there is a failure to work on: one that the pull request causes and that happens every time.
    pub fn has_regression(&self) -> bool {
        self.verdict == Verdict::Deterministic || self.has(Verdict::Deterministic)
    }

    /// Whether a test has this verdict.
    pub fn has(&self, verdict: Verdict) -> bool {
        self.tests.iter().any(|test| test.verdict == verdict)
    }

    /// Whether nothing can be worked on, because at least one test cannot be judged on this machine.
    pub fn is_not_judged(&self) -> bool {
        !self.has_regression() && (self.verdict == Verdict::Environment || self.has(Verdict::Environment))
    }

    /// How many runs of the fixed tests have to pass, besides the one that found the fix; see
    /// [`sequential::passes_wanted`]. A test that fails differently from run to run has to pass as often as it failed.
    pub fn passes_wanted(&self, confidence: f64) -> u32 {
        let most = self.runs_at_head.saturating_sub(1);
        let fixed = self.tests.iter().filter(|test| test.verdict == Verdict::Deterministic);
        fixed
            .map(|test| match test.varies {
                true => most,
                false => sequential::passes_wanted(test.head, test.base, confidence),
            })
            .max()
            .unwrap_or(most)
            .min(most)
    }

    /// The failing tests that a repair need not fix, and may leave as they are.
    pub fn excused(&self) -> impl Iterator<Item = &Judged> {
        let is_excused = |test: &&Judged| test.verdict != Verdict::Deterministic && !test.name.is_empty();
        self.tests.iter().filter(is_excused)
    }

    /// Includes tests that fail on the base, too, in the work, if a person asks for exactly that.
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

/// The verdict that all tests share. `None` if there are no tests.
fn of_all(tests: &[Judged]) -> Option<Verdict> {
    let first = tests.first()?.verdict;
    let is_shared = tests.iter().all(|test| test.verdict == first);
    Some(if is_shared { first } else { Verdict::Mixed })
}

#[cfg(test)]
mod tests;
