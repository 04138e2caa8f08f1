//! The rules of tdd for its two steps: tests that fail because the code does not exist yet, and then code that makes
//! them pass without changing any test.

use std::collections::BTreeSet;

use super::judge::{Judge, Judged, Submission, Unaccepted};
use super::{Broken, WorkOutcome};
use crate::domain::id::RepoPath;
use crate::domain::patch::{Blob, FileChange, Patch};
use crate::domain::proposal::{self, Evidence, TestsFirst, worse};
use crate::domain::redact::inline;
use crate::domain::spec_tests::{self, Written};
use crate::domain::test_path::is_test_path;
use crate::domain::test_run::{Outcome as Ran, TestRun};
use crate::domain::triage::Triage;
use crate::guard;

/// The manifests that name the project's own packages.
const MANIFESTS: [&str; 5] = ["Cargo.toml", "package.json", "go.mod", "pyproject.toml", "setup.cfg"];

/// Why tdd cannot begin. `None` if it can.
pub(super) fn unready(bench: &Judge<'_>) -> Option<WorkOutcome> {
    let refused = |reason: String| Some(WorkOutcome::Refused { reason });
    let (Some(_), Some(before)) = (bench.suite, bench.brief.before) else {
        return refused("New tests have to be seen failing first, and nothing may be executed here".into());
    };
    match before.outcome {
        Ran::Passed | Ran::Failed | Ran::NothingRan => None,
        _ => refused(format!(
            "The existing tests do not produce a result ({}), so no new test could be judged. Fix them first, for \
             example with greenlight's `fix`",
            before.summary()
        )),
    }
}

/// Excuses the tests that failed before, because fixing them is not this run's task.
fn set_aside(before: &TestRun) -> (TestRun, Vec<String>) {
    let mut names: Vec<String> = before.failing_names().map(ToString::to_string).collect();
    names.extend(before.excused.iter().cloned());
    (before.clone().excusing(&names), names)
}

/// Judges the tests of a specification.
pub(super) async fn judge_tests(
    bench: &Judge<'_>,
    specification: &str,
    submission: Submission,
) -> Result<Judged, Broken> {
    let (Some(suite), Some(before)) = (bench.suite, bench.brief.before) else {
        return Err(Broken::Bug("tests are judged without an earlier run".into()));
    };
    let patch = &submission.patch;
    if let Err(why) = readable(bench, patch) {
        return Ok(Err(why));
    }
    let new = guard::new_tests(patch);
    if let Some(test) = new.iter().find(|test| test.always_fails.is_some()) {
        let statement = test.always_fails.as_deref().unwrap_or_default();
        return Ok(Err(format!(
            "{} in `{}`, line {}, fails no matter what the code does: {statement}. Assert what the specification says",
            inline(&test.name, 120),
            test.path,
            test.line
        )
        .into()));
    }
    let (before, aside) = set_aside(before);
    let red = super::run_with(bench.worktree, suite, patch, bench.cancel)
        .await?
        .excusing(&aside);
    let names: Vec<String> = new.into_iter().map(|test| test.name).collect();
    let own = own_names(bench, patch);
    let written = Written {
        names: &names,
        is_own: &|module| is_own(module, &own, specification),
        is_test: &is_test_path,
    };
    Ok(match spec_tests::judge(&before, &red, &written) {
        Ok(names) => Ok(WorkOutcome::TestsWritten(Box::new(TestsFirst {
            patch: submission.patch,
            red,
            names,
            summary: submission.summary,
        }))),
        Err(wrong) => Err(Unaccepted {
            why: wrong.to_string(),
            run: Some(Box::new(red)),
        }),
    })
}

/// Checks everything about tests that needs no test run.
fn readable(bench: &Judge<'_>, patch: &Patch) -> Result<(), Unaccepted> {
    bench.fits(patch)?;
    if let Some(path) = guard::writes_more_than_tests(patch) {
        return Err(format!("`{path}` is changed beyond its tests; write only tests in this step").into());
    }
    for (path, change) in patch.files() {
        let text = change.after.as_ref().and_then(Blob::text);
        let was = change.before.as_ref().and_then(Blob::text);
        let broken = |text| guard::syntax_errors(path.as_str(), text)?.first().copied();
        if let Some(line) = text.and_then(broken).filter(|_| was.and_then(broken).is_none()) {
            return Err(format!("`{path}` has a syntax error at line {line}").into());
        }
    }
    Ok(())
}

/// The possible names of the project's own modules: its folders and files, and the names in its manifests.
fn own_names(bench: &Judge<'_>, patch: &Patch) -> BTreeSet<String> {
    let mut names = BTreeSet::from(["crate", "self", "super"].map(String::from));
    for path in bench.worktree.checkout.paths().into_iter().chain(patch.paths()) {
        let parts = path.as_str().split('/');
        names.extend(parts.map(|part| part.split('.').next().unwrap_or(part).to_string()));
        if MANIFESTS.iter().any(|name| path.as_str().ends_with(name)) {
            let text = bench.worktree.checkout.read_text(path.as_str()).unwrap_or_default();
            names.extend(package_name(&text));
        }
    }
    names
}

/// `name = "x"`, `"name": "x"` or `module x`, whichever comes first.
fn package_name(manifest: &str) -> Option<String> {
    let line = manifest.lines().map(str::trim).find(|line| {
        let key = line.trim_start_matches('"');
        (key.starts_with("name") && (key.contains('=') || key.contains(':'))) || line.starts_with("module ")
    })?;
    let value = match line.strip_prefix("module ") {
        Some(module) => module,
        None => line.split_once(['=', ':'])?.1,
    };
    let value = value.trim().trim_end_matches(',').trim_matches(['"', '\'']);
    (!value.is_empty()).then(|| value.replace('-', "_"))
}

/// Whether a module belongs to the project, or is named in the specification.
fn is_own(module: &str, own: &BTreeSet<String>, specification: &str) -> bool {
    let first = module.split(['.', '/']).next().unwrap_or(module);
    let is_listed = |name: &str| own.contains(name) || own.contains(&name.replace('-', "_"));
    let is_below = own
        .iter()
        .any(|name| name.contains('/') && module.starts_with(name.as_str()));
    let mut words = specification.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    is_listed(first) || is_listed(module) || is_below || words.any(|word| word == first)
}

/// Judges the code for tests that were written first.
pub(super) async fn judge_code(
    bench: &Judge<'_>,
    first: &TestsFirst,
    submission: Submission,
) -> Result<Judged, Broken> {
    let (Some(suite), Some(before)) = (bench.suite, bench.brief.before) else {
        return Err(Broken::Bug("code is judged without an earlier run".into()));
    };
    let patch = &submission.patch;
    if let Err(why) = bench
        .fits(patch)
        .map_err(Into::into)
        .and_then(|()| keeps_the_tests(first, patch))
    {
        return Ok(Err(why));
    }
    let (before, aside) = set_aside(before);
    let after = super::run_with(bench.worktree, suite, patch, bench.cancel)
        .await?
        .excusing(&aside);
    let evidence = match proved(bench, (first, &before), (patch, after)) {
        Ok(evidence) => evidence,
        Err(unaccepted) => return Ok(Err(unaccepted)),
    };
    let evidence = Evidence {
        triage: Some(Triage::of_one_run(true)),
        install: super::installed(bench.worktree, suite),
        // No single checkout has both trees, so the evidence cannot be recomputed from one.
        head: None,
        ..evidence
    };
    let mut proposal = bench.proposal(submission, Some(evidence));
    proposal.tests_first = Some(Box::new(first.clone()));
    Ok(Ok(WorkOutcome::Proposed(Box::new(proposal))))
}

/// Checks that the tests written first are unchanged, and that something other than tests was written.
fn keeps_the_tests(first: &TestsFirst, patch: &Patch) -> Result<(), Unaccepted> {
    for (path, tests) in first.patch.files() {
        let now = patch.files().find(|(other, _)| *other == path);
        let now = now.map_or(&tests.before, |(_, change)| &change.after);
        let change = FileChange {
            before: tests.after.clone(),
            after: now.clone(),
        };
        let is_changed = change.before != change.after && guard::touches_tests(path, &change);
        if is_changed {
            return Err(
                format!("`{path}` has the tests that were written first, and they were changed; restore them").into(),
            );
        }
    }
    let is_first = |path: &RepoPath| first.patch.paths().any(|other| other == path);
    let mut others = patch.files().filter(|(path, _)| !is_first(path));
    if let Some((path, _)) = others.find(|(path, change)| guard::touches_tests(path, change)) {
        return Err(format!("`{path}` has tests, or decides how they run; write only code in this step").into());
    }
    match guard::writes_more_than_tests(patch) {
        Some(_) => Ok(()),
        None => Err("no code was written".into()),
    }
}

/// Compares the run of tests and code with the one without the tests, and the one without the code.
fn proved(
    bench: &Judge<'_>,
    (first, before): (&TestsFirst, &TestRun),
    (patch, after): (&Patch, TestRun),
) -> Result<Evidence, Unaccepted> {
    let shown = |why: String| Unaccepted {
        why,
        run: Some(Box::new(after.clone())),
    };
    if !after.is_green() {
        return Err(shown(format!(
            "the tests are not green with this code ({})",
            after.summary()
        )));
    }
    let lost = worse(before, &after);
    if let Some(name) = lost.new_failures.iter().chain(&lost.missing).next() {
        return Err(shown(format!(
            "{} passed before, and no longer does",
            inline(name, 120)
        )));
    }
    let passes = |name: &&String| after.passed_names.iter().any(|ran| spec_tests::is_called(ran, name));
    if let Some(name) = first.names.iter().find(|name| !passes(name)) {
        return Err(shown(format!(
            "{} is one of the new tests, and does not pass",
            inline(name, 120)
        )));
    }
    proposal::prove(bench.brief.head, patch, first.red.clone(), after.clone()).map_err(Into::into)
}
