//! A tree whose tests are run several times, and how many of these runs happen at the same time.

use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::super::Broken;
use super::timeout_estimator::TimeoutEstimator;
use crate::checkout::{Checkout, Workspace};
use crate::domain::test_run::{Outcome, TestRun};
use crate::suite::{Purpose, Suite};

/// The most runs at the same time.
const MOST_AT_ONCE: u32 = 4;

/// How many runs at the same time do not slow each other down. Compilers use all processors.
pub(super) fn runs_at_once(suite: &Suite) -> u32 {
    if suite.command.framework.is_compiled() {
        return 1;
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u32::try_from(cores).map_or(MOST_AT_ONCE, |cores| cores.min(MOST_AT_ONCE))
}

/// A tree with its tests.
pub(super) struct TestedTree {
    checkout: Checkout,
    suite: Suite,
    /// The copy that keeps the build of a compiled project after the first run.
    built: Mutex<Option<Workspace>>,
    pub(super) pace: TimeoutEstimator,
}

impl TestedTree {
    pub(super) fn new(checkout: &Checkout, suite: &Suite) -> Self {
        Self {
            checkout: checkout.clone(),
            suite: suite.clone(),
            built: Mutex::default(),
            pace: TimeoutEstimator::new(suite.command.timeout),
        }
    }

    /// The tree for runs with another purpose.
    pub(super) fn for_purpose(mut self, purpose: Purpose) -> Self {
        self.suite.purpose = purpose;
        self
    }

    /// Runs some tests, or all if there are no names, in the cheapest way: a compiled project keeps its build, and
    /// nothing else is shared between runs.
    pub(super) async fn run(&self, tests: &[String], cancel: &CancellationToken) -> Result<TestRun, Broken> {
        if !self.suite.command.framework.is_compiled() {
            let workspace = self.checkout.fresh_copy(&self.suite.workspaces).await?;
            return self.pace.run(&self.suite, &workspace, tests, cancel).await;
        }
        let mut built = self.built.lock().await;
        let workspace = match built.take() {
            Some(workspace) => workspace,
            None => self.checkout.fresh_copy(&self.suite.workspaces).await?,
        };
        let workspace = built.insert(workspace);
        self.pace.run(&self.suite, workspace, tests, cancel).await
    }

    /// Repeats a run of all tests if the names of some look as if they differ from run to run, and notes those that do.
    pub(super) async fn with_unstable(&self, first: TestRun, cancel: &CancellationToken) -> Result<TestRun, Broken> {
        if first.outcome != Outcome::Failed || !first.may_have_unstable_names() {
            return Ok(first);
        }
        let again = self.run_all_afresh(cancel).await?;
        Ok(first.noting_unstable(&again))
    }

    pub(super) async fn run_all_afresh(&self, cancel: &CancellationToken) -> Result<TestRun, Broken> {
        *self.built.lock().await = None;
        self.run(&[], cancel).await
    }
}
