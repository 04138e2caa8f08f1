//! What is executed on the edited tree: its tests, in a workspace that is kept for the next time, and other programs,
//! each in its own.
//!
//! Anything that ran there may have changed other files of that workspace, so what comes of it is for the model to
//! continue, and proves nothing.

use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{Error, Shell};
use crate::checkout::Workspace;
use crate::domain::id::RepoPath;
use crate::domain::patch::Patch;
use crate::domain::test_run::TestRun;
use crate::sandbox::Network;
use crate::suite::{self, Job, Packages, Ran};

/// A workspace, and what it differs from the original tree by.
pub(super) struct InUse {
    pub(super) workspace: Workspace,
    pub(super) patch: Patch,
}

impl Shell<'_> {
    /// Runs the tests on the edited tree, within a separate limit if one is given, and with these hosts in reach.
    /// None if nothing may be executed.
    pub(super) async fn run_tests(
        &mut self,
        only: &[String],
        limit: Option<Duration>,
        hosts: &[String],
        stop: &CancellationToken,
    ) -> Result<Option<TestRun>, Error> {
        let Some(mut suite) = self.tests.clone() else {
            return Ok(None);
        };
        suite.command.timeout = limit.unwrap_or(suite.command.timeout);
        if !hosts.is_empty() {
            suite.policy.network = Network::Registries(hosts.to_vec());
        }
        let in_use = self.current(&suite.workspaces).await?;
        let run = suite::run(&suite, &in_use.workspace, only, stop).await?;
        self.workspace = Some(in_use);
        Ok(Some(run))
    }

    /// Runs a program on a copy of the edited tree that is its alone: no matter what it does there, no test sees it.
    /// None if nothing may be executed.
    pub(super) async fn execute(
        &mut self,
        job: &Job,
        packages: &Packages,
        stop: &CancellationToken,
    ) -> Result<Option<Ran>, Error> {
        let Some(suite) = self.tests.clone() else {
            return Ok(None);
        };
        let workspace = self.checkout.fresh_copy(&suite.workspaces).await?;
        let ran = suite::execute(&suite, &workspace, job, packages, stop).await?;
        tokio::task::spawn_blocking(move || drop(workspace));
        Ok(Some(ran))
    }

    /// The workspace of the last time with the edits since then, or a new one.
    async fn current(&mut self, within: &Path) -> Result<InUse, Error> {
        let patch = self.checkout.patch();
        Ok(match self.workspace.take() {
            Some(in_use) if in_use.bring_up_to(&patch) => InUse { patch, ..in_use },
            _ => InUse {
                workspace: self.checkout.fresh_copy(within).await?,
                patch,
            },
        })
    }
}

impl InUse {
    /// Writes what changed, as far as that can be done in place.
    pub(super) fn follow(&mut self, patch: &Patch) {
        if self.patch != *patch && !self.bring_up_to(patch) {
            tracing::debug!("a workspace does not have all edits");
        }
        self.patch.clone_from(patch);
    }

    /// Writes what changed since the last run; false if that cannot be done in place.
    pub(super) fn bring_up_to(&self, patch: &Patch) -> bool {
        let was = |path: &RepoPath| self.patch.files().find(|(other, _)| *other == path);
        let is = |path: &RepoPath| patch.files().any(|(other, _)| other == path);
        let changed = patch
            .files()
            .filter(|(path, change)| was(path).is_none_or(|(_, was)| was.after != change.after))
            .map(|(path, change)| (path, change.after.as_ref()));
        let reverted = self.patch.files().filter(|(path, _)| !is(path));
        let reverted = reverted.map(|(path, change)| (path, change.before.as_ref()));
        changed
            .chain(reverted)
            .all(|(path, blob)| blob.is_some_and(|blob| self.workspace.put(path, blob).is_ok()))
    }
}
