//! What kind of red a red test run is.

use serde::{Deserialize, Serialize};

use super::test_run::TestRun;

/// The verdict over a reproduced failure, with the numbers it rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Triage {
    pub verdict: Verdict,
    /// How many runs at the head were red, of how many.
    pub red_at_head: u32,
    pub runs_at_head: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Red every time: a bug to work on.
    Deterministic,
    /// Red once and green another time on the same tree.
    Flaky,
    /// Red at the merge base too: not this pull request's doing.
    BrokenOnBase,
    /// The machine, not the code: a missing tool, no network, no disk.
    Environment,
    /// The tests are green here: nothing to fix.
    Green,
}

/// Judges repeated runs at the head. Only [`Verdict::Deterministic`] is worked on.
pub fn judge(runs: &[TestRun]) -> Triage {
    let count =
        |of: &dyn Fn(&TestRun) -> bool| u32::try_from(runs.iter().filter(|run| of(run)).count()).unwrap_or(u32::MAX);
    let red = count(&|run| run.outcome.is_red());
    let green = count(&TestRun::is_green);
    let verdict = match (red, green) {
        (0, 0) => Verdict::Environment,
        (0, _) => Verdict::Green,
        (_, 0) => Verdict::Deterministic,
        _ => Verdict::Flaky,
    };
    Triage {
        verdict,
        red_at_head: red,
        runs_at_head: u32::try_from(runs.len()).unwrap_or(u32::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_run::Outcome;
    use super::*;

    #[test]
    fn red_and_green_on_one_tree_is_flaky() {
        let run = |outcome| TestRun::without_result("t", outcome, "");
        let verdict = |outcomes: &[Outcome]| judge(&outcomes.iter().copied().map(run).collect::<Vec<_>>()).verdict;
        assert_eq!(verdict(&[Outcome::Failed, Outcome::Failed]), Verdict::Deterministic);
        assert_eq!(verdict(&[Outcome::Failed, Outcome::Passed]), Verdict::Flaky);
        assert_eq!(verdict(&[Outcome::Passed]), Verdict::Green);
        assert_eq!(verdict(&[Outcome::DidNotStart]), Verdict::Environment);
        assert_eq!(verdict(&[Outcome::NothingRan]), Verdict::Environment);
        assert_eq!(verdict(&[]), Verdict::Environment);
    }
}
