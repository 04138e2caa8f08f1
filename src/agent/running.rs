//! Execution on the edited tree: its tests, in a workspace that is kept between runs, and other programs, each in a
//! separate workspace.
//!
//! Code that ran in the workspace may have changed other files there. Its results therefore only help the model to
//! continue, and prove nothing.

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

/// A workspace, and how it differs from the original tree.
pub(super) struct InUse {
    pub(super) workspace: Workspace,
    pub(super) patch: Patch,
}

impl Shell<'_> {
    /// Runs the tests on the edited tree, within a separate limit if one is given, and with network access to these
    /// hosts. `None` if nothing may be executed.
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
        suite.purpose = suite::Purpose::Model;
        suite.command.timeout = limit.unwrap_or(suite.command.timeout);
        if !hosts.is_empty() {
            suite.policy.network = Network::Registries(hosts.to_vec());
        }
        let in_use = self.current(&suite.workspaces).await?;
        let run = suite::run(&suite, &in_use.workspace, only, stop).await?;
        self.workspace = Some(in_use);
        Ok(Some(run))
    }

    /// Runs a program on a separate copy of the edited tree, so that its changes never affect a test. `None` if
    /// nothing may be executed.
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

    /// The workspace of the previous run, updated with the edits since then, or a new one.
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
    /// Writes later edits to the workspace, as far as that is possible in place.
    pub(super) fn follow(&mut self, patch: &Patch) {
        if self.patch != *patch && !self.bring_up_to(patch) {
            tracing::debug!("a workspace does not have all edits");
        }
        self.patch.clone_from(patch);
    }

    /// Writes the changes since the last run; false if that is impossible in place.
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
