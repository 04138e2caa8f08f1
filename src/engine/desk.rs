//! What is needed to work on one tree: the checkout, the way its tests are run, and the rules of the base branch.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::checkout::Checkout;
use crate::config::repository::{REGISTRIES, RepoConfig};
use crate::domain::anchor;
use crate::domain::id::{CommitSha, PullRequestId, RepoPath};
use crate::domain::patch::{Blob, Patch};
use crate::domain::proposal::Bounds;
use crate::domain::run::{Reading, Run};
use crate::domain::test_path::is_test_path;
use crate::domain::test_run::TestRun;
use crate::domain::weakening::Weakening;
use crate::git::{FetchLimits, Mirror, Remote, history, tracked};
use crate::github::{ChangedFile, Client, PullRequest};
use crate::guard;
use crate::sandbox::{Limits, Network, Policy, Sandbox};
use crate::suite::{
    self, Hints, InstallError, InstallSettings, Installed, NothingFound, Request, Suite, TestCommand, TestSettings,
};

use super::{Broken, Context};

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

/// Whose literals are looked for in a patch: of so many failing tests, in so many files of at most so many bytes.
const MAX_TESTS: usize = 200;
const MAX_TEST_FILES: usize = 400;
const MAX_TEST_FILE: usize = 256 << 10;

/// One tree, ready to be worked on.
pub struct Desk {
    pub checkout: Checkout,
    pub config: RepoConfig,
    /// What the CI said of the failure before anything ran.
    pub hints: Hints,
    /// The lines that the pull request changed: where its own bugs are.
    pub changed: BTreeMap<RepoPath, Vec<RangeInclusive<u32>>>,
    /// Where throw-away copies are made.
    pub workspaces: PathBuf,
    /// Where the objects of its repository are, and which commit it is.
    pub repository: Option<(PathBuf, CommitSha)>,
    /// Where this repository's installed packages are kept.
    pub installed: PathBuf,
    /// What was installed, once it is.
    done: OnceLock<Installed>,
    /// Removed with the desk.
    _folder: Option<tempfile::TempDir>,
}

impl Desk {
    /// A desk over a directory of the user's own.
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
            checkout,
            config,
            hints: Hints::default(),
            changed: BTreeMap::new(),
            workspaces,
            repository: history::local_history(root),
            installed,
            done: OnceLock::new(),
            _folder: None,
        })
    }

    /// Finds the test command.
    ///
    /// # Errors
    /// What was looked for, when there is none.
    pub fn test_command(&self) -> Result<TestCommand, NothingFound> {
        suite::find(&self.checkout, &self.test_settings(), &self.hints)
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

    /// Puts sandbox, command and limits together.
    pub fn suite(&self, sandbox: &Sandbox, command: TestCommand) -> Suite {
        Suite {
            sandbox: sandbox.clone(),
            policy: self.policy(command.timeout),
            command,
            workspaces: sandbox.workspaces(&self.workspaces),
            installed: Installed::default(),
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
        let settings = self.install_settings(Vec::new());
        if !settings.asks_for_something() {
            return command.to_string();
        }
        let install = settings.command.as_deref().unwrap_or("install the dependencies");
        match self.config.sandbox.network.join(", ").as_str() {
            "" => format!("{install} && {command}"),
            network => format!("{install} (network: {network}) && {command}"),
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
        let request = Request {
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
            // Whoever cancelled asks no further.
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
        let patch_lines = self.config.limits.patch_lines as usize;
        Bounds {
            patch_lines,
            is_protected,
            weakenings,
            without_tests: guard::without_tests,
        }
    }
}

/// Where the packages of one repository are kept, apart from those of any other.
fn installed(folder: &Path, pull_request: &PullRequestId) -> PathBuf {
    let repository = &pull_request.repository;
    // Beside those of local checkouts, which are no one's to name.
    let all = folder.join(INSTALLED).join("github");
    all.join(repository.owner()).join(repository.name())
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

/// Reads the configuration from the tip of the base branch; none there means the defaults.
///
/// # Errors
/// When GitHub cannot be reached; a mistake in the file is `Ok(Err(what is wrong))`.
pub async fn config(client: &Client, pull_request: &PullRequest) -> Result<Result<RepoConfig, String>, Broken> {
    let file = client
        .file(&pull_request.id.repository, CONFIG_FILE, &pull_request.base_branch)
        .await?;
    let Some(bytes) = file else {
        return Ok(Ok(RepoConfig::default()));
    };
    let text = String::from_utf8_lossy(&bytes);
    Ok(RepoConfig::parse(&text).map_err(|error| error.to_string()))
}

/// The mirror of the repository, with this commit in it.
///
/// # Errors
/// When GitHub or git cannot give it.
pub(super) async fn mirror(context: &Context<'_>, head: &CommitSha) -> Result<Mirror, Broken> {
    let (app, repository) = (context.app, &context.id().repository);
    let mirror = Mirror::open(
        &app.folder
            .join("mirrors")
            .join(repository.owner())
            .join(repository.name()),
    )?;
    if !mirror.has(head) {
        let token = app.github.clone_token(context.installation, repository).await?;
        let remote = Remote {
            url: app.github.clone_url(repository),
            token,
        };
        mirror.fetch(&remote, std::slice::from_ref(head), &FETCH).await?;
    }
    Ok(mirror)
}

/// Fetches a head and lays it out, with the lines that the pull request changed.
///
/// # Errors
/// When GitHub or git cannot give it.
pub(super) async fn fetch(context: &Context<'_>, run: &Run, config: RepoConfig) -> Result<Desk, Broken> {
    let head = &run.started.head;
    let files = context.client.changed_files(context.id()).await?;
    Ok(Desk {
        changed: changed_lines(&files),
        hints: run.reading.as_ref().map(hints).unwrap_or_default(),
        ..lay_out(context, head, config).await?
    })
}

/// Fetches a commit and lays it out.
///
/// # Errors
/// When GitHub or git cannot give it.
pub(super) async fn lay_out(context: &Context<'_>, head: &CommitSha, config: RepoConfig) -> Result<Desk, Broken> {
    let mirror = mirror(context, head).await?;
    let objects = mirror.objects();
    let trees = context.app.folder.join(TREES);
    let (from, sha) = (mirror, head.clone());
    let laid_out = tokio::task::spawn_blocking(move || -> Result<_, Broken> {
        let disk = |error| Broken::Disk(trees.display().to_string(), error);
        std::fs::create_dir_all(&trees).map_err(disk)?;
        let folder = tempfile::Builder::new()
            .prefix("tree-")
            .tempdir_in(&trees)
            .map_err(disk)?;
        let root = folder.path().join("tree");
        let exported = from.export(&sha, &root)?;
        Ok((Checkout::exported(&root, &exported.skipped)?, folder))
    });
    let (checkout, folder) = laid_out.await.map_err(|error| Broken::Bug(error.to_string()))??;
    Ok(Desk {
        checkout,
        config,
        hints: Hints::default(),
        changed: BTreeMap::new(),
        workspaces: context.app.folder.join(COPIES),
        repository: Some((objects, head.clone())),
        installed: installed(&context.app.folder, context.id()),
        done: OnceLock::new(),
        _folder: Some(folder),
    })
}

/// What the reading of a failed job tells about how its tests are run. It is in the journal, so that what was approved
/// is found again.
fn hints(reading: &Reading) -> Hints {
    let places = reading.failures.iter().filter_map(|failure| failure.location.as_ref());
    Hints {
        step: reading.step.clone(),
        near: places.filter_map(|place| place.path.parse().ok()).collect(),
    }
}

/// The lines a pull request added, by file.
fn changed_lines(files: &[ChangedFile]) -> BTreeMap<RepoPath, Vec<RangeInclusive<u32>>> {
    files
        .iter()
        .filter_map(|file| Some((file.path()?, anchor::added_lines(file.patch.as_deref()?))))
        .collect()
}

#[cfg(test)]
mod tests;
