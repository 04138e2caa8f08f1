//! What is needed to work on one tree: the checkout, the way its tests are run, and the rules of the base branch.

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
use crate::domain::clock::Clock;
use crate::domain::execution::{REGISTRIES, What};
use crate::domain::id::{CommitSha, RepoPath};
use crate::domain::memory::Memory;
use crate::domain::patch::{Blob, Patch};
use crate::domain::proposal::Bounds;
use crate::domain::test_path::is_test_path;
use crate::domain::test_run::TestRun;
use crate::domain::weakening::Weakening;
use crate::git::{FetchLimits, history, tracked};
use crate::guard;
use crate::sandbox::{Limits, Network, Policy, Sandbox};
use crate::suite::{
    self, Hints, InstallError, InstallRequest, InstallSettings, Installed, NothingFound, Suite, TestCommand,
    TestSettings,
};

mod configured;
mod fetched;
mod merge;
mod originals;

pub use configured::config;
pub(super) use fetched::{fetch, lay_out, mirror};
pub use merge::{OnMerge, With};

/// The name of the configuration file, at the root of the base branch.
pub const CONFIG_FILE: &str = "greenlight.toml";
/// Folders of the data folder: trees that are worked on, and throw-away copies of them.
const TREES: &str = "trees";
const COPIES: &str = "copies";
/// Folder of the data folder: installed packages, by repository.
pub const INSTALLED: &str = "installed";
/// How much a fetch may bring, and how long it may take.
const FETCH: FetchLimits = FetchLimits {
    bytes: 2 << 30,
    wall: Duration::from_secs(300),
};

/// Whose literals are looked for in a patch: of this many failing tests, in this many files of at most this many bytes.
const MAX_TESTS: usize = 200;
const MAX_TEST_FILES: usize = 400;
const MAX_TEST_FILE: usize = 256 << 10;

/// One tree, ready to be worked on.
#[derive(Clone)]
pub struct Worktree {
    pub checkout: Checkout,
    pub config: RepoConfig,
    /// What the CI said of the failure before anything ran.
    pub hints: Hints,
    /// The lines that the pull request changed: where its own bugs are.
    pub changed: BTreeMap<RepoPath, Vec<RangeInclusive<u32>>>,
    /// Those files as they were before the pull request.
    pub originals: BTreeMap<RepoPath, String>,
    /// Where throw-away copies are made.
    pub workspaces: PathBuf,
    /// Where the objects of its repository are, and which commit it is.
    pub repository: Option<(PathBuf, CommitSha)>,
    /// Where this repository's installed packages are kept.
    pub installed: PathBuf,
    /// What the repository taught.
    pub memory: Memory,
    /// What the built-in engine leaves out.
    pub without: Vec<EnginePart>,
    /// Hosts that nobody can grant.
    pub never: Vec<String>,
    /// What may still be used up.
    pub left: Left,
    /// Where this is the merge of a head with its base branch: how to get back to the head.
    pub merge: Option<OnMerge>,
    /// The test command, where another worktree's counts.
    command: Option<TestCommand>,
    /// What was installed, once it is.
    done: OnceLock<Installed>,
    /// Removed with the last worktree that needs it.
    folder: Option<Arc<tempfile::TempDir>>,
}

impl Worktree {
    /// A worktree over a directory of the user's own.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn local(
        root: &Path,
        config: RepoConfig,
        workspaces: PathBuf,
        installed: PathBuf,
    ) -> Result<Self, crate::checkout::Error> {
        let checkout = Checkout::open(root)?.with_tracked(&tracked(root));
        Ok(Self {
            repository: history::local_history(root),
            ..Self::over(checkout, config, workspaces, installed)
        })
    }

    /// A worktree over a tree that is laid out already.
    pub fn over(checkout: Checkout, config: RepoConfig, workspaces: PathBuf, installed: PathBuf) -> Self {
        Self {
            checkout,
            memory: Memory::default(),
            without: Vec::new(),
            never: Vec::new(),
            left: budget::left(&[(Scope::Run, config.limits.allowance(), Used::default())]),
            config,
            hints: Hints::default(),
            changed: BTreeMap::new(),
            originals: BTreeMap::new(),
            workspaces,
            repository: None,
            installed,
            merge: None,
            command: None,
            done: OnceLock::new(),
            folder: None,
        }
    }

    /// Finds the test command.
    ///
    /// # Errors
    /// What was looked for, when there is none.
    pub fn test_command(&self) -> Result<TestCommand, NothingFound> {
        if let Some(command) = &self.command {
            return Ok(command.clone());
        }
        let found = suite::find(&self.checkout, &self.test_settings(), &self.hints)?;
        // What worked before is tried first, where nobody says otherwise and the tree offers it alone.
        let is_said = self.config.test.command.is_some() || self.hints.step.is_some() || !self.hints.near.is_empty();
        let worked = self
            .memory
            .test_command
            .as_deref()
            .filter(|worked| !is_said && *worked != found.to_string());
        let again = worked.and_then(|worked| self.test_commands().into_iter().find(|one| one.to_string() == worked));
        Ok(again.unwrap_or(found))
    }

    /// Finds every test command, the most fitting one first.
    pub fn test_commands(&self) -> Vec<TestCommand> {
        suite::find_all(&self.checkout, &self.test_settings(), &self.hints)
    }

    fn test_settings(&self) -> TestSettings {
        TestSettings {
            command: self.config.test.command.clone(),
            timeout: Some(self.config.test.timeout),
        }
    }

    /// The hosts that a person may grant to a request of a model's: what the base branch names, less what nobody can.
    pub fn grantable(&self) -> Vec<String> {
        let is_never = |host: &str| self.never.iter().any(|never| never.eq_ignore_ascii_case(host));
        let named = self.config.sandbox.network.iter();
        named.filter(|host| !is_never(host)).cloned().collect()
    }

    /// Puts sandbox, command and limits together.
    pub fn suite(&self, sandbox: &Sandbox, command: TestCommand) -> Suite {
        Suite {
            sandbox: sandbox.clone(),
            policy: self.policy(command.timeout),
            command,
            workspaces: sandbox.workspaces(&self.workspaces),
            installed: Installed::default(),
            clock: Clock::default(),
        }
    }

    /// The bounds of a test run that may take so long.
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

    /// What is granted to an installation by the base branch; `never` are hosts that nothing can grant.
    pub fn install_settings(&self, never: Vec<String>) -> InstallSettings {
        let network = &self.config.sandbox.network;
        InstallSettings {
            command: self.config.test.install.clone(),
            hosts: network.iter().filter(|host| *host != REGISTRIES).cloned().collect(),
            registries: network.iter().any(|host| host == REGISTRIES),
            never,
        }
    }

    /// Everything that a run of the tests executes, as an approval says it.
    pub fn executes(&self, command: &TestCommand) -> String {
        match self.installs() {
            None => command.to_string(),
            Some(install) => format!("{install} && {command}"),
        }
    }

    /// What is executed to install what the tests need, as an approval says it. `None` if nothing is.
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

    /// What is executed besides what a model asks for, to carry that out. `None` if nothing is.
    pub fn executes_for(&self, what: &What) -> Option<String> {
        match what {
            What::Edit { .. } => None,
            What::Tests(_) => self.test_command().ok().map(|command| self.executes(&command)),
            What::Command(_) | What::Code { .. } => self.installs(),
        }
    }

    /// Installs what the tests need, if that is granted.
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
            store: &self.installed,
        };
        suite.installed = match suite::install(&request, cancel).await {
            Ok(installed) => installed,
            Err(InstallError::Failed(reason)) => return Ok(Err(reason)),
            // Anyone who cancelled asks no further.
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

    /// What the failing tests pass in and expect, so that code which only knows them is recognised; all tests of a file
    /// count where none is named.
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

    /// What no patch may do here; `is_protected` is [`RepoConfig`]'s own rule, and `weakenings` those of the guard.
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

/// Removes what a process that was killed left of its work; nothing else is at work in this folder yet.
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
