//! What is needed to work on one tree: the checkout, its test command, and the configuration of the base branch.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Broken;
use crate::checkout::Checkout;
use crate::config::flags::EnginePart;
use crate::config::repository::RepoConfig;
use crate::domain::budget::{self, Left, Scope, Used};
use crate::domain::execution::{REGISTRIES, What};
use crate::domain::id::{CommitSha, RepoPath};
use crate::domain::memory::Memory;
use crate::domain::patch::{Blob, Patch};
use crate::domain::proposal::Bounds;
use crate::domain::test_path::is_test_path;
use crate::domain::test_run::TestRun;
use crate::domain::weakening::{AllowedFinding, Weakening};
use crate::git::{FetchLimits, LocalRepository, history, tracked};
use crate::guard;
use crate::sandbox::{Limits, Network, Policy, Sandbox};
use crate::suite::{
    self, Hints, InstallError, InstallRequest, InstallSettings, Installed, Prebuilt, Purpose, RunClock, Stores, Suite,
    TestCommand,
};

mod configured;
mod fetched;
mod merge;
mod originals;
mod suites;

pub use configured::{Configured, config};
pub(super) use configured::{config_of_default, config_with};
pub(super) use fetched::{ListedFiles, commits_of, fetch, lay_out, list, mirror};
pub use merge::{OnMerge, With};

/// The name of the configuration file, at the root of the base branch.
pub const CONFIG_FILE: &str = "greenlight.toml";
/// Folders of the data folder: trees that are worked on, and temporary copies of them.
const TREES: &str = "trees";
const COPIES: &str = "copies";
/// Folder of the data folder: installed packages, by repository.
pub const INSTALLED: &str = "installed";
/// Folder of [`INSTALLED`]: what was compiled for every repository.
pub const EVERYONE: &str = "everyone";
/// The bounds on the size and the duration of a fetch.
const FETCH: FetchLimits = FetchLimits {
    bytes: 2 << 30,
    wall: Duration::from_secs(300),
};

/// The bounds on the search for tests' literals: the number of failing tests, of test files, and of bytes per file.
const MAX_TESTS: usize = 200;
const MAX_TEST_FILES: usize = 400;
const MAX_TEST_FILE: usize = 256 << 10;

/// One tree, ready to be worked on.
#[derive(Clone)]
pub struct Worktree {
    pub checkout: Checkout,
    pub config: RepoConfig,
    /// What CI reported about the failure before anything ran.
    pub hints: Hints,
    /// The lines that the pull request changed, where its own bugs are.
    pub changed: BTreeMap<RepoPath, Vec<RangeInclusive<u32>>>,
    /// Every path that the change touches, if all are known: it decides which suites may fail because of it.
    pub touched: Vec<RepoPath>,
    /// The text of those files before the pull request.
    pub originals: BTreeMap<RepoPath, String>,
    /// The folder for temporary copies.
    pub workspaces: PathBuf,
    /// The folder of the repository's objects, and the commit of this tree.
    pub repository: Option<(PathBuf, CommitSha)>,
    /// Where installed packages and build output are kept.
    pub stores: Stores,
    /// What greenlight remembers of this repository.
    pub memory: Memory,
    /// Parts of the built-in engine that are left out.
    pub without: Vec<EnginePart>,
    /// Findings of the guard that a person allows. Nothing in the tree, and no model, can add to them.
    pub allowed: Vec<AllowedFinding>,
    /// Hosts that nobody can grant access to.
    pub never: Vec<String>,
    /// What the run may still spend.
    pub left: Left,
    /// How to get back to the head, if this is its merge with the base branch.
    pub merge: Option<OnMerge>,
    /// The test command, if another worktree's command is used.
    command: Option<TestCommand>,
    /// The installed dependencies, once there are any.
    done: OnceLock<Installed>,
    /// Removed when the last worktree that uses it is dropped.
    folder: Option<Arc<tempfile::TempDir>>,
}

impl Worktree {
    /// A worktree over a user's own directory.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn local(
        root: &Path,
        config: RepoConfig,
        workspaces: PathBuf,
        stores: Stores,
    ) -> Result<Self, crate::checkout::Error> {
        let checkout = Checkout::open(root)?.with_tracked(&tracked(root));
        let repository = LocalRepository::open(root).ok();
        let checkout = match repository.and_then(|repository| repository.origin_address()) {
            Some(address) => checkout.with_origin(&address),
            None => checkout,
        };
        // The person who starts it owns the tree, with its workflows.
        let ci = suite::test_steps(checkout.paths(), &mut |path| checkout.read_text(path));
        Ok(Self {
            hints: Hints { ci, ..Hints::default() },
            repository: history::local_history(root),
            ..Self::over(checkout, config, workspaces, stores)
        })
    }

    /// A worktree over a tree that is already laid out.
    pub fn over(checkout: Checkout, config: RepoConfig, workspaces: PathBuf, stores: Stores) -> Self {
        Self {
            checkout,
            memory: Memory::default(),
            without: Vec::new(),
            allowed: Vec::new(),
            never: Vec::new(),
            left: budget::left(&[(Scope::Run, config.limits.allowance(), Used::default())]),
            config,
            hints: Hints::default(),
            changed: BTreeMap::new(),
            touched: Vec::new(),
            originals: BTreeMap::new(),
            workspaces,
            repository: None,
            stores,
            merge: None,
            command: None,
            done: OnceLock::new(),
            folder: None,
        }
    }

    /// The hosts that a person may grant to a model's request: those named on the base branch, except `never`.
    pub fn grantable(&self) -> Vec<String> {
        let is_never = |host: &str| self.never.iter().any(|never| never.eq_ignore_ascii_case(host));
        let named = self.config.sandbox.network.iter();
        named.filter(|host| !is_never(host)).cloned().collect()
    }

    /// Combines sandbox, command and limits.
    pub fn suite(&self, sandbox: &Sandbox, command: TestCommand) -> Suite {
        Suite {
            sandbox: sandbox.clone(),
            policy: self.policy(command.timeout),
            command,
            workspaces: sandbox.workspaces(&self.workspaces),
            installed: Installed::default(),
            prebuilt: Prebuilt::kept_in(self.stores.clone()),
            cold_proof: self.config.test.cold_proof,
            purpose: Purpose::default(),
            clock: RunClock::default(),
        }
    }

    /// The sandbox policy of a test run with this time limit.
    pub fn policy(&self, wall: Duration) -> Policy {
        let mine = &self.config.sandbox;
        let limits = Limits {
            wall,
            memory: mine.memory,
            processes: u64::from(mine.processes),
            disk: mine.disk,
            file_size: Limits::default().file_size.min(mine.disk),
            ..Limits::default()
        };
        Policy {
            limits,
            network: Network::Loopback,
        }
    }

    /// The permissions that the base branch grants to an installation; `never` are hosts that nothing can grant.
    pub fn install_settings(&self, never: Vec<String>) -> InstallSettings {
        let network = &self.config.sandbox.network;
        InstallSettings {
            command: self.config.test.install.clone(),
            hosts: network.iter().filter(|host| *host != REGISTRIES).cloned().collect(),
            registries: network.iter().any(|host| host == REGISTRIES),
            never,
        }
    }

    /// Everything that a test run executes, as an approval shows it.
    pub fn executes(&self, command: &TestCommand) -> String {
        match self.installs() {
            None => command.to_string(),
            Some(install) => format!("{install} && {command}"),
        }
    }

    /// Everything that a gate permits to execute, as it shows it: one suite after another to search for a failure,
    /// else the first. `None` if there are no tests.
    pub fn executes_for_gate(&self, is_search: bool) -> Option<String> {
        let mut wanted = match &self.merge {
            Some(_) => self.test_command().into_iter().collect(),
            None => self.selection().wanted,
        };
        wanted.truncate(if is_search { usize::MAX } else { 1 });
        Some(match wanted.as_slice() {
            [] => return None,
            [one] => self.executes(one),
            several => {
                let each = several.iter().map(|command| format!("({})", self.executes(command)));
                each.collect::<Vec<_>>().join("; ")
            }
        })
    }

    /// The command that installs the tests' dependencies, as an approval shows it. `None` if nothing is installed.
    fn installs(&self) -> Option<String> {
        let settings = self.install_settings(Vec::new());
        if !settings.asks_for_something() {
            return None;
        }
        let install = settings.command.as_deref().unwrap_or("install the dependencies");
        Some(match self.config.sandbox.network.join(", ").as_str() {
            "" => install.to_string(),
            network => format!("{install} (network: {network})"),
        })
    }

    /// What has to be executed in addition to a model's request. `None` if nothing has to be.
    pub fn executes_for(&self, what: &What) -> Option<String> {
        match what {
            What::Edit { .. } => None,
            What::Tests(_) => self.test_command().ok().map(|command| self.executes(&command)),
            What::Command(_) | What::Code { .. } => self.installs(),
        }
    }

    /// Installs the tests' dependencies, if that is granted.
    ///
    /// # Errors
    /// When the sandbox cannot be used; a failed installation is `Ok(Err(what failed))`.
    pub async fn install(
        &self,
        suite: &mut Suite,
        settings: &InstallSettings,
        cancel: &CancellationToken,
    ) -> Result<Result<(), String>, Broken> {
        if !settings.asks_for_something() {
            return Ok(Ok(()));
        }
        if let Some(done) = self.done.get() {
            suite.installed = done.clone();
            return Ok(Ok(()));
        }
        let request = InstallRequest {
            sandbox: &suite.sandbox,
            checkout: &self.checkout,
            command: &suite.command,
            settings,
            policy: &suite.policy,
            workspaces: &self.workspaces,
            store: &self.stores.repository,
        };
        suite.installed = match suite::install(&request, cancel).await {
            Ok(installed) => installed,
            Err(InstallError::Failed(reason)) => return Ok(Err(reason)),
            // Nobody needs the result of a cancelled installation.
            Err(InstallError::Interrupted) => return Ok(Ok(())),
            Err(InstallError::Sandbox(error)) => return Err(error.into()),
            Err(InstallError::Checkout(error)) => return Err(error.into()),
            Err(InstallError::Store(path, error)) => return Err(Broken::Disk(path, error)),
        };
        let _unchanged_if_it_is_there = self.done.set(suite.installed.clone());
        for note in &suite.installed.notes {
            tracing::info!(note, "dependencies were installed");
        }
        Ok(Ok(()))
    }

    /// The literals of the failing tests, so that code that special-cases them is recognised. All tests of a file
    /// count if none is named.
    pub fn inputs(&self, before: Option<&TestRun>) -> guard::Inputs {
        let names: Vec<&str> = before
            .iter()
            .flat_map(|run| run.failing_names())
            .take(MAX_TESTS)
            .collect();
        let locations = before
            .iter()
            .flat_map(|run| &run.failures)
            .filter_map(|failure| failure.location.as_ref());
        let places: Vec<&str> = locations.map(|at| at.path.as_str()).collect();
        let mut inputs = guard::Inputs::default();
        if let Some(run) = before.filter(|run| run.knows_all_names()) {
            let passed = run.passed_names.iter().chain(&run.skipped_names).chain(&run.excused);
            let names: Vec<&str> = passed.map(String::as_str).chain(run.failing_names()).collect();
            inputs.note_ran(&names);
        }
        let is_code = |path: &RepoPath, text: &str| !is_test_path(path.as_str()) && text.len() < MAX_TEST_FILE;
        for (path, text) in self.originals.iter().filter(|(path, text)| is_code(path, text)) {
            inputs.note_base(path, text);
        }
        let paths = self.checkout.paths();
        let files = paths
            .into_iter()
            .filter(|path| is_test_path(path.as_str()) || places.contains(&path.as_str()));
        for path in files.take(MAX_TEST_FILES) {
            if let Some(text) = self.checkout.read_original(path).as_ref().and_then(Blob::text)
                && text.len() < MAX_TEST_FILE
            {
                inputs.note(path, text, &names);
            }
        }
        inputs
    }

    /// How a patch weakens the tests, without what a person allows.
    pub fn weakenings(&self, patch: &Patch, inputs: &guard::Inputs) -> Vec<Weakening> {
        let mut found = guard::weakenings(patch, inputs);
        found.retain(|finding| !self.allowed.iter().any(|allowed| allowed.names(finding)));
        found
    }

    /// How a patch weakens the tests in ways that a person allows.
    pub fn overruled(&self, patch: &Patch, inputs: &guard::Inputs) -> Vec<Weakening> {
        if self.allowed.is_empty() {
            return Vec::new();
        }
        let mut found = guard::weakenings(patch, inputs);
        found.retain(|finding| self.allowed.iter().any(|allowed| allowed.names(finding)));
        found
    }

    /// The bounds on a patch; `is_protected` is [`RepoConfig`]'s own rule, and `weakenings` are the guard's.
    pub fn bounds<'a>(
        &self,
        is_protected: &'a (dyn Fn(&RepoPath) -> bool + Sync),
        weakenings: &'a (dyn Fn(&Patch) -> Vec<Weakening> + Sync),
    ) -> Bounds<'a> {
        let left = self.left.patch_lines.map_or(u64::MAX, |amount| amount.left);
        let patch_lines = usize::try_from(left).unwrap_or(usize::MAX);
        Bounds {
            patch_lines,
            is_protected,
            weakenings,
            without_tests: guard::without_tests,
        }
    }
}

/// Removes what a killed process left behind. Nothing else works in this folder yet.
pub(super) async fn sweep(folder: &Path) {
    for left in [TREES, COPIES].map(|name| folder.join(name)) {
        match tokio::fs::remove_dir_all(&left).await {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(folder = %left.display(), %error, "an earlier process's work cannot be removed");
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
