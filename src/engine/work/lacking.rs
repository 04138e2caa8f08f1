//! Packages that the tests lack on this machine: found in the tree, weighed by the trial.

use super::super::worktree::Worktree;
use super::BASE;
use crate::domain::test_run::TestRun;
use crate::domain::triage::{ListedByProject, Setup, StoppingRules, Trial};
use crate::suite::{self, MissingPackage, Suite};

/// Tells a trial which packages the first run lacks. Returns whether it lacks any that the project lists.
pub(super) async fn note(trial: &mut Trial, (worktree, suite): (&Worktree, &Suite), first: &TestRun) -> bool {
    let (checkout, run) = (worktree.checkout.clone(), first.clone());
    let found = tokio::task::spawn_blocking(move || suite::missing_packages(&checkout, &run)).await;
    let found = found.unwrap_or_default();
    // Everything that the project lists was installed, so a package that is still missing should be listed.
    let is_installed = is_installed(suite);
    let counts = |package: &&MissingPackage| package.is_declared || !is_installed;
    let mut is_listed = false;
    let mut tell = |name: &str, packages: &[MissingPackage]| {
        if packages.iter().all(|package| counts(&package)) {
            is_listed |= packages.iter().any(|package| package.is_declared);
            trial.lacks(name, packages.iter().map(|package| package.name.clone()).collect());
        }
    };
    tell("", &found.of_command);
    for (test, package) in found.of_tests {
        tell(&test, &[package]);
    }
    if suite.command.has_services() {
        trial.lacks_services();
    }
    is_listed
}

/// Tells a trial if head and base list different packages. If they list the same ones, the head has what the base has.
pub(super) async fn compare(trial: &mut Trial, head: &Worktree, base: &Worktree) {
    let (head, base) = (head.checkout.clone(), base.checkout.clone());
    let differ = tokio::task::spawn_blocking(move || suite::list_different_packages(&head, &base));
    if differ.await.unwrap_or(false) {
        trial.lists_other_packages();
    }
}

/// Why a single red run says nothing about the code. `None` if it does, or only some of its tests do not.
pub async fn why_not_judged(worktree: &Worktree, suite: &Suite, run: &TestRun) -> Option<String> {
    let mut trial = Trial::new(run, StoppingRules::default());
    let is_listed = note(&mut trial, (worktree, suite), run).await;
    let mut triage = trial.verdict(None);
    triage.setup = Some(setup(suite, is_listed));
    // A single run cannot tell what else is flaky, so only what is certain counts.
    let mut tests = triage.tests.iter();
    let is_certain = tests.all(|test| test.name.is_empty() || !test.packages.is_empty());
    (triage.is_not_judged() && is_certain).then(|| triage.on(BASE).why_not(run))
}

/// What was installed for a suite. `is_listed`: the project lists a package that its tests lack.
pub(super) fn setup(suite: &Suite, is_listed: bool) -> Setup {
    let setup = Setup {
        is_installed: is_installed(suite),
        can_install: suite.command.framework.has_installer(),
        missing: if is_listed {
            ListedByProject::Yes
        } else {
            ListedByProject::No
        },
        notes: Vec::new(),
    };
    let lacks = suite.command.lacks();
    setup.noting(&lacks.iter().chain(&suite.installed.notes).cloned().collect::<Vec<_>>())
}

/// Whether greenlight installed something for a suite, instead of reusing what was there.
pub(in crate::engine) fn is_installed(suite: &Suite) -> bool {
    let something = !suite.installed.env.is_empty() || !suite.installed.mounts.is_empty();
    something && !suite.installed.is_reused
}
