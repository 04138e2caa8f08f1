//! Proves a patch. Only a run of the whole suite on a fresh copy counts; earlier partial runs only refuse early.

use std::collections::HashSet;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::super::Broken;
use super::super::worktree::Worktree;
use super::tested_tree::runs_at_once;
use super::timeout_estimator::TimeoutEstimator;
use super::{Red, confirm, on_head};
use crate::checkout::Checkout;
use crate::domain::id::RepoPath;
use crate::domain::patch::Patch;
use crate::domain::proposal::{self, Claim, Evidence, OwnTests, Unfit};
use crate::domain::test_run::{NotBetter, Outcome, TestRun, is_better};
use crate::domain::triage::Triage;
use crate::guard;
use crate::suite::{self, Suite};

/// A suite that takes less than this is not run in parts first, because that would save nothing.
const QUICK: Duration = Duration::from_secs(2);

/// Proves a patch: runs the whole suite on a fresh copy of the patched tree, and compares it with the failing run. If
/// it may save time, the tests that failed and the packages that the patch touches are run first, and the first that
/// still fails ends the proof. A fix that also changes tests has to pass with the original tests, too.
///
/// # Errors
/// When the sandbox cannot be used. A patch that cannot be proved is `Ok(Err(why))`.
pub async fn prove(
    worktree: &Worktree,
    suite: &Suite,
    (patch, claim): (&Patch, Claim),
    red: &Red<'_>,
    cancel: &CancellationToken,
) -> Result<Result<Evidence, Unfit>, Broken> {
    let (before, suite) = (red.before, &suite.for_proof());
    let is_protected = |path: &RepoPath| worktree.config.protect.paths.covers(path);
    let inputs = worktree.inputs(Some(before));
    let weakenings = |patch: &Patch| worktree.weakenings(patch, &inputs);
    if let Err(unfit) = proposal::check(patch, claim, &worktree.bounds(&is_protected, &weakenings)) {
        return Ok(Err(unfit));
    }
    let on_head = match Box::pin(on_head::carried(worktree, (patch, claim), red)).await? {
        Ok(on_head) => on_head,
        Err(unfit) => return Ok(Err(unfit)),
    };
    let mut patched = worktree.checkout.clone();
    patched.reset();
    patched.apply(patch);
    let pace = TimeoutEstimator::new(suite.command.timeout);
    pace.saw(before.duration_from_scratch());
    if let Some(still_red) = refused_early((&patched, suite), (patch, before), &pace, cancel).await? {
        return Ok(Err(Unfit::NotBetter(NotBetter::NotGreenAfter { after: still_red })));
    }
    let mut before = before.clone();
    let overruled = worktree.overruled(patch, &inputs);
    let own_tests = match claim {
        Claim::TestMayBeWrong => None,
        // A person has said that the head's tests do not count where the patch changes them.
        Claim::Fix if !overruled.is_empty() => None,
        Claim::Fix => match Box::pin(with_own_tests((worktree, suite), patch, &mut before, &pace, cancel)).await? {
            Ok(own_tests) => own_tests,
            Err(unfit) => return Ok(Err(unfit)),
        },
    };
    let (after, confirmed) = Box::pin(tested((worktree, suite), &patched, red, &pace, cancel)).await?;
    Box::pin(note_unstable((worktree, suite), &mut before, &after, &pace, cancel)).await?;
    let is_red = before.outcome.is_red();
    let may_go = |name: &str| overruled.iter().any(|finding| finding.lets_go(name));
    let evidence = match proposal::prove_without(red.head, patch, (before, after), &may_go) {
        Ok(evidence) => evidence,
        Err(unfit) => return Ok(Err(unfit)),
    };
    let evidence = match Box::pin(on_head::proved(worktree, suite, (on_head, evidence), cancel)).await? {
        Ok(evidence) => evidence,
        Err(unfit) => return Ok(Err(unfit)),
    };
    let confirmed = match confirmed {
        Some(confirmed) => confirmed,
        None => confirm::confirm(worktree, suite, &patched, red, cancel).await?,
    };
    let triage = || Triage::of_one_run(is_red);
    Ok(confirmed.map(|confirmed| Evidence {
        triage: Some(red.triage.cloned().unwrap_or_else(triage)),
        install: super::installed(worktree, suite),
        own_tests,
        confirmed,
        ..evidence
    }))
}

/// Runs the whole suite on the patched tree. The confirmation is in vain if that does not pass, so it runs at the same
/// time only if it is quick.
async fn tested(
    (worktree, suite): (&Worktree, &Suite),
    patched: &Checkout,
    red: &Red<'_>,
    pace: &TimeoutEstimator,
    cancel: &CancellationToken,
) -> Result<(TestRun, Option<Result<u32, Unfit>>), Broken> {
    let whole = async {
        let workspace = patched.fresh_copy(&suite.workspaces).await?;
        let after = pace.run(suite, &workspace, &[], cancel).await?;
        tokio::task::spawn_blocking(move || drop(workspace));
        Ok(after)
    };
    if red.before.duration_from_scratch() >= QUICK || runs_at_once(suite) == 1 {
        return Ok((whole.await?, None));
    }
    let confirming = Box::pin(confirm::confirm(worktree, suite, patched, red, cancel));
    let (after, confirmed) = futures::try_join!(whole, confirming)?;
    Ok((after, Some(confirmed)))
}

/// Runs the patched code with the tests of the head. `None` if the patch changes no tests.
async fn with_own_tests(
    (worktree, suite): (&Worktree, &Suite),
    patch: &Patch,
    before: &mut TestRun,
    pace: &TimeoutEstimator,
    cancel: &CancellationToken,
) -> Result<Result<Option<OwnTests>, Unfit>, Broken> {
    if !patch.files().any(|(path, change)| guard::touches_tests(path, change)) {
        return Ok(Ok(None));
    }
    let own = match guard::with_own_tests(patch) {
        // It only adds examples to documentation, which the run of the whole patch includes.
        Ok(own) if own == *patch => return Ok(Ok(None)),
        Ok(own) => own,
        Err((path, line)) => return Ok(Err(Unfit::OwnTestsUnknown { path, line })),
    };
    let mut patched = worktree.checkout.clone();
    patched.reset();
    patched.apply(&own);
    let workspace = patched.fresh_copy(&suite.workspaces).await?;
    let after = pace.run(suite, &workspace, &[], cancel).await?;
    tokio::task::spawn_blocking(move || drop(workspace));
    Box::pin(note_unstable((worktree, suite), before, &after, pace, cancel)).await?;
    Ok(match is_better(before, &after) {
        Ok(()) => Ok(Some(OwnTests {
            passed: after.passed,
            failed: after.failed,
        })),
        Err(why) => Err(Unfit::OwnTests(why)),
    })
}

/// Runs the unchanged tree once more if a test went missing, and notes the names that it lacks as well.
async fn note_unstable(
    (worktree, suite): (&Worktree, &Suite),
    before: &mut TestRun,
    after: &TestRun,
    pace: &TimeoutEstimator,
    cancel: &CancellationToken,
) -> Result<(), Broken> {
    if !matches!(is_better(before, after), Err(NotBetter::TestWentMissing { .. })) {
        return Ok(());
    }
    let mut unchanged = worktree.checkout.clone();
    unchanged.reset();
    let workspace = unchanged.fresh_copy(&suite.workspaces).await?;
    let again = pace.run(suite, &workspace, &[], cancel).await?;
    tokio::task::spawn_blocking(move || drop(workspace));
    *before = before.clone().noting_unstable(&again);
    Ok(())
}

/// The failure that remains, if it shows before the whole suite has run.
async fn refused_early(
    (patched, suite): (&Checkout, &Suite),
    (patch, before): (&Patch, &TestRun),
    pace: &TimeoutEstimator,
    cancel: &CancellationToken,
) -> Result<Option<String>, Broken> {
    if before.outcome != Outcome::Failed || before.duration_from_scratch() < QUICK {
        return Ok(None);
    }
    let workspace = patched.fresh_copy(&suite.workspaces).await?;
    let failing: Vec<String> = before.stable_failing_names().map(ToString::to_string).collect();
    let touched: Vec<RepoPath> = patch.paths().cloned().collect();
    let mut parts = Vec::new();
    if !failing.is_empty() {
        parts.push((suite.clone(), failing));
    }
    if let Some(command) = suite::package(patched, &suite.command, &touched) {
        parts.push((
            Suite {
                command,
                ..suite.clone()
            },
            Vec::new(),
        ));
    }
    for (part, only) in parts {
        let run = pace.run(&part, &workspace, &only, cancel).await?;
        if cancel.is_cancelled() {
            break;
        }
        if is_no_better(before, &run) {
            return Ok(Some(run.summary()));
        }
    }
    tokio::task::spawn_blocking(move || drop(workspace));
    Ok(None)
}

/// Whether a run of some tests shows that the patch does not fix what it should, or breaks something. A test that
/// fails in a new way may depend on others that did not run before it; the whole suite decides that.
fn is_no_better(before: &TestRun, part: &TestRun) -> bool {
    if part.outcome == Outcome::DidNotBuild {
        return true;
    }
    let passed: HashSet<&str> = before.passed_names.iter().map(String::as_str).collect();
    part.outcome == Outcome::Failed
        && part.failures.iter().any(|failure| {
            let as_before = |other: &crate::domain::test_run::Failure| {
                other.name == failure.name && other.message == failure.message
            };
            before.failures.iter().any(as_before) || passed.contains(failure.name.as_str())
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::test_run::Failure;

    fn run(outcome: Outcome, passed: &[&str], failures: &[(&str, &str)]) -> TestRun {
        let failure = |(name, message): &(&str, &str)| Failure {
            name: (*name).into(),
            message: (*message).into(),
            ..Failure::default()
        };
        TestRun {
            passed_names: passed.iter().map(ToString::to_string).collect(),
            failures: failures.iter().map(failure).collect(),
            ..TestRun::without_result("t", outcome, "")
        }
    }

    #[test]
    fn only_old_and_new_failures_refuse_early() {
        let before = run(Outcome::Failed, &["b"], &[("a", "1 != 2")]);
        for (part, expected) in [
            (run(Outcome::Passed, &["a"], &[]), false),
            (run(Outcome::NothingRan, &[], &[]), false),
            (run(Outcome::Failed, &[], &[("a", "1 != 2")]), true),
            (run(Outcome::Failed, &[], &[("a", "there is no fixture")]), false),
            (run(Outcome::Failed, &["a"], &[("b", "boom")]), true),
            // Failed before and excused.
            (run(Outcome::Failed, &["a"], &[("flaky", "boom")]), false),
            (run(Outcome::DidNotBuild, &[], &[]), true),
        ] {
            assert_eq!(is_no_better(&before, &part), expected, "{part:?}");
        }
    }
}
