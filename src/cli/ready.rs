//! What a checkout needs before its tests run: a test command, and its dependencies.

use std::path::{Path, PathBuf};
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::pace::{INSTALLATION, Pace};
use super::progress::LongWork;
use super::{Exit, terminal};
use crate::config::environment::Environment;
use crate::domain::clock::millis;
use crate::domain::execution::REGISTRIES;
use crate::engine::worktree::{CONFIG_FILE, Worktree};
use crate::git::LocalRepository;
use crate::suite::{self, Suite, TestCommand};

/// The test command, or an error that says what to do without one.
pub(super) fn found(worktree: &Worktree) -> Result<TestCommand, Exit> {
    worktree.test_command().map_err(|nothing| {
        let root = worktree.checkout.root();
        let repository = LocalRepository::open(root).ok();
        let top = repository.as_ref().and_then(LocalRepository::work_tree);
        let elsewhere = top.filter(|top| *top != root).map(|top| {
            let top = top.display();
            format!("; this is a folder of {top}: give that path if its tests are meant")
        });
        Exit::Usage(format!(
            "no tests found in {}{}; looked for {}; set `command` under `[test]` in {CONFIG_FILE}",
            root.display(),
            elsewhere.unwrap_or_default(),
            nothing.looked_for.join(", ")
        ))
    })
}

/// The active virtual environment.
pub(super) fn active(environment: &Environment) -> Option<PathBuf> {
    let active = environment.get("VIRTUAL_ENV").or(environment.get("CONDA_PREFIX"));
    active.map(PathBuf::from)
}

/// Installs the dependencies of the tests, or shares those beside the checkout, and says which.
pub(super) async fn supply(
    worktree: &Worktree,
    suite: &mut Suite,
    (installs, active): (bool, Option<&Path>),
    cancel: &CancellationToken,
) -> Result<(), Exit> {
    if installs {
        install(worktree, suite, cancel).await?;
        tell_notes(suite);
    } else {
        reuse(worktree.checkout.root(), suite, active);
    }
    Ok(())
}

/// Shares the dependencies beside the checkout at `root`, and says which.
pub(super) fn reuse(root: &Path, suite: &mut Suite, active: Option<&Path>) {
    suite.installed = suite::reuse_installed(root, &suite.command, active);
    tell_notes(suite);
}

fn tell_notes(suite: &Suite) {
    for note in suite.command.lacks().iter().chain(&suite.installed.notes) {
        terminal::mention(&format!("note: {note}"));
    }
}

/// Says that the configuration would install something, but that `--install` is needed.
pub(super) fn offer(worktree: &Worktree) {
    if worktree.install_settings(Vec::new()).asks_for_something() {
        terminal::mention(&format!(
            "note: {CONFIG_FILE} has an install command; `--install` runs it"
        ));
    }
}

/// Installs the dependencies, as the person at the terminal asked. The checkout may be a stranger's.
pub(super) async fn install(worktree: &Worktree, suite: &mut Suite, cancel: &CancellationToken) -> Result<(), Exit> {
    let mut granted = worktree.install_settings(Vec::new());
    granted.registries = true;
    let hosts = [REGISTRIES].into_iter().chain(granted.hosts.iter().map(String::as_str));
    terminal::mention(&format!(
        "installing the dependencies (network: {})",
        hosts.collect::<Vec<_>>().join(", ")
    ));
    let (pace, began) = (Pace::of(&worktree.stores.repository, INSTALLATION), Instant::now());
    let installing = LongWork::installation(pace.last());
    let installed = installing.telling(worktree.install(suite, &granted, cancel)).await?;
    installed.map_err(Exit::Environment)?;
    pace.note(millis(began.elapsed()));
    if cancel.is_cancelled() {
        return Err(Exit::Stopped);
    }
    Ok(())
}
