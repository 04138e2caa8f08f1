//! The rule of a refactoring: the same tests pass before and after, only files of the goal change, the public
//! interface stays the same unless the goal says otherwise, and a measure that the goal names improves.

use super::judge::{Judge, Judged, Submission, Unaccepted};
use super::{Broken, WorkOutcome};
use crate::agent::mode::out_of_scope;
use crate::domain::goal;
use crate::domain::id::RepoPath;
use crate::domain::measures::Measures;
use crate::domain::patch::Patch;
use crate::domain::proposal::{self, Evidence, worse};
use crate::domain::redact::inline;
use crate::domain::test_run::{Outcome as Ran, TestRun};
use crate::{guard, measure};

/// How many failing tests a refusal names.
const SHOWN: usize = 5;

/// Why a refactoring cannot begin. `None` if it can.
pub(super) fn unready(bench: &Judge<'_>, path: Option<&RepoPath>) -> Option<WorkOutcome> {
    let refused = |reason: String| Some(WorkOutcome::Refused { reason });
    let (Some(_), Some(before)) = (bench.suite, bench.brief.before) else {
        return refused(
            "A refactoring needs tests that pass before and after, and nothing may be executed here".into(),
        );
    };
    let is_there = |path: &RepoPath| {
        let folder = format!("{path}/");
        let paths = bench.worktree.checkout.paths();
        paths
            .iter()
            .any(|other| *other == path || other.as_str().starts_with(&folder))
    };
    if let Some(path) = path.filter(|path| !is_there(path)) {
        return refused(format!("There is no `{path}` here"));
    }
    match before.outcome {
        Ran::Passed => None,
        Ran::NothingRan => refused("No test ran, so nothing would show whether the code still behaves the same".into()),
        _ => {
            let names: Vec<String> = before
                .failing_names()
                .take(SHOWN)
                .map(|name| inline(name, 120))
                .collect();
            let failing = if names.is_empty() {
                String::new()
            } else {
                format!(": {}", names.join(", "))
            };
            refused(format!(
                "The tests fail before the refactoring ({}){failing}. Fix them first, for example with greenlight's `fix`",
                before.summary()
            ))
        }
    }
}

/// Judges a refactoring.
pub(super) async fn judge(
    bench: &Judge<'_>,
    (goal, within): (&str, Option<&RepoPath>),
    submission: Submission,
) -> Result<Judged, Broken> {
    let (Some(suite), Some(before)) = (bench.suite, bench.brief.before) else {
        return Err(Broken::Bug("a refactoring is judged without an earlier run".into()));
    };
    let patch = &submission.patch;
    let measures = match readable(bench, (goal, within), patch) {
        Ok(measures) => measures,
        Err(why) => return Ok(Err(why)),
    };
    let after = super::run_with(bench.worktree, suite, patch, bench.cancel).await?;
    let after = after.excusing(&before.excused);
    if let Err(why) = same_tests(before, &after) {
        let run = Some(Box::new(after));
        return Ok(Err(Unaccepted { why, run }));
    }
    let evidence = Evidence {
        digest: proposal::digest(bench.brief.head, patch, before, &after),
        // `greenlight verify` starts from failing tests.
        head: None,
        before: before.clone(),
        after,
        triage: None,
        install: super::installed(bench.worktree, suite),
        left_out: None,
        own_tests: None,
        spent: None,
        confirmed: 0,
        merged: None,
    };
    let mut proposal = bench.proposal(submission, Some(evidence));
    proposal.measures = Some(Box::new(measures));
    Ok(Ok(WorkOutcome::Proposed(Box::new(proposal))))
}

/// Checks everything that needs no test run. Returns the measured numbers as well.
fn readable(
    bench: &Judge<'_>,
    (goal, within): (&str, Option<&RepoPath>),
    patch: &Patch,
) -> Result<Measures, Unaccepted> {
    bench.fits(patch)?;
    for (path, change) in patch.files() {
        if let Some(why) = out_of_scope(within, path) {
            return Err(why.into());
        }
        if guard::touches_tests(path, change) {
            return Err(
                format!("`{path}` has tests, or decides how they run; a refactoring leaves those unchanged").into(),
            );
        }
    }
    if !goal::asks_for_another_interface(goal)
        && let Some(change) = measure::changed_interface(patch)
    {
        return Err(format!("the public interface must not change: {change}").into());
    }
    let measures = measure::measures(patch);
    let missed = goal::named_measures(goal)
        .into_iter()
        .find(|named| !measures.is_better(*named));
    if let Some(named) = missed {
        let (before, after) = (measures.before.of(named), measures.after.of(named));
        return Err(format!(
            "the goal names a measure that did not improve ({named}: {before} before, {after} after, in the changed \
             files)"
        )
        .into());
    }
    Ok(measures)
}

/// Whether the same tests pass as before.
fn same_tests(before: &TestRun, after: &TestRun) -> Result<(), String> {
    if !after.is_green() {
        return Err(format!("the tests are not green after it ({})", after.summary()));
    }
    let lost = worse(before, after);
    if let Some(name) = lost.new_failures.iter().chain(&lost.missing).next() {
        return Err(format!("{} passed before, and no longer does", inline(name, 120)));
    }
    if after.passed < before.passed {
        return Err(format!(
            "fewer tests ran after it ({}) than before it ({})",
            after.passed, before.passed
        ));
    }
    Ok(())
}
