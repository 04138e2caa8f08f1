//! Confirms that the fixed tests pass repeatedly: a test that usually fails may pass once by luck, and trying many
//! patches makes such luck likely.
//!
//! The runs at the head and on the base count, too: together they have to rule out a flaky test. Only named tests can be
//! run alone. A failed build or a linter is deterministic and needs no confirmation.

use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::super::Broken;
use super::super::worktree::Worktree;
use super::Red;
use super::tested_tree::{TestedTree, runs_at_once};
use crate::checkout::Checkout;
use crate::domain::proposal::Unfit;
use crate::domain::test_run::{Outcome, TestRun};
use crate::domain::triage::{not_red, unseen};
use crate::suite::{Purpose, Suite};

/// The divisor of a run's time limit that the confirmation may take.
const PART_OF_WALL: u32 = 5;

/// Runs the tests that failed before on the patched tree, and returns how often all of them passed.
///
/// # Errors
/// When the sandbox cannot be used. A test that fails again is `Ok(Err(why))`.
pub(super) async fn confirm(
    worktree: &Worktree,
    suite: &Suite,
    patched: &Checkout,
    red: &Red<'_>,
    cancel: &CancellationToken,
) -> Result<Result<u32, Unfit>, Broken> {
    let names: Vec<String> = red.before.stable_failing_names().map(ToString::to_string).collect();
    let confidence = worktree.config.triage.stopping_rules().confidence;
    let again = red.triage.map_or(0, |triage| triage.passes_wanted(confidence));
    if red.before.outcome != Outcome::Failed || names.is_empty() || names.iter().any(String::is_empty) || again == 0 {
        return Ok(Ok(0));
    }
    let (began, wall) = (Instant::now(), worktree.config.limits.wall / PART_OF_WALL);
    let place = TestedTree::new(patched, &suite.for_purpose(Purpose::Confirmation));
    let (mut green, mut in_company) = (0, false);
    'confirming: while green < again && began.elapsed() < wall {
        let at_once = (again - green).min(runs_at_once(suite));
        let one = |_| async {
            match in_company {
                true => place.run_all_afresh(cancel).await,
                false => place.run(&names, cancel).await,
            }
        };
        let runs = futures::future::try_join_all((0..at_once).map(one)).await?;
        if cancel.is_cancelled() {
            break;
        }
        for run in runs {
            if is_red_again(&run, &names) {
                // The tests may only depend on others that run before them.
                if !in_company {
                    in_company = true;
                    continue 'confirming;
                }
                let (run, after) = (green + 2, run.summary());
                return Ok(Err(Unfit::GreenByLuck { run, after }));
            }
            // These tests cannot be run alone, so nothing can be confirmed.
            if !unseen(&run, &names).is_empty() {
                break 'confirming;
            }
            green += 1;
        }
    }
    tokio::task::spawn_blocking(move || drop(place));
    Ok(Ok(green))
}

/// Whether one of the tests failed, or ended the process.
fn is_red_again(run: &TestRun, names: &[String]) -> bool {
    run.outcome.was_ended() || not_red(run, names).len() < names.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::test_run::Failure;

    #[test]
    fn only_tests_that_failed_before_count() {
        let run = |outcome, red: &str| TestRun {
            failures: vec![Failure {
                name: red.into(),
                ..Failure::default()
            }],
            ..TestRun::without_result("t", outcome, "")
        };
        for (run, expected) in [
            (run(Outcome::Failed, "a"), true),
            (run(Outcome::Failed, "another"), false),
            (run(Outcome::TimedOut, "another"), true),
            (TestRun::without_result("t", Outcome::Passed, ""), false),
            (TestRun::without_result("t", Outcome::NothingRan, ""), false),
        ] {
            assert_eq!(is_red_again(&run, &["a".into(), "b".into()]), expected, "{run:?}");
        }
    }
}
