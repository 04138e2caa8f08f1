//! Installs the dependencies of a project's tests in a separate phase: first with access to package registries only,
//! then, for what must be built, without any network. Tests run later and see the result read-only.
//!
//! **Which hosts**: those that the machine's own tools are configured for, and those that the caller names. A file of
//! the tree can ask for another host, but the proxy refuses it and the error names it.
//!
//! **What is kept**: a result is named after the digest of everything that the installation saw. greenlight puts it
//! in place once it is complete, and nothing can write to it afterwards. So a pull request can change neither what
//! another one finds nor what the base branch finds, unless their inputs are identical. Every repository has a
//! separate directory.
//!
//! Not here: the decision whether anything may be installed.

mod install_tree;
mod javascript;
mod maven_distribution;
mod node_headers;
mod other_node;
mod others;
pub(super) mod plan;
mod python;
mod registries;
mod steps;
mod store;
mod versions;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use greenlight_anchor::RepoPath;
use greenlight_sandbox as sandbox;
use greenlight_sandbox::proxy::rules::Why;
use greenlight_sandbox::proxy::{Proxy, World};
use greenlight_sandbox::{Access, Backend, Limits, Mount, Network, Outcome, Policy, Sandbox};
use greenlight_tree::checkout::{self, Checkout, Workspace};
use greenlight_tree::private;
use greenlight_units::clock::in_words;
use install_tree::InstallTree;
pub use plan::plan;
pub use registries::hosts_of_tools;
pub(super) use registries::of_tool;
pub use steps::Plan;
use steps::{Phase, Step, StepDirectory};
pub(super) use store::{New, OF_TREE, Store, StoredInstall};
use tokio_util::sync::CancellationToken;

use crate::shell::quoted;
use crate::test_command::TestCommand;

/// Where the result is mounted, during the installation and afterwards.
const INSTALLED: &str = "/installed";
/// Time limit of one step of an installation.
pub const INSTALL_STEP: Duration = Duration::from_secs(15 * 60);
/// Maximum size of a single file in bytes: archives of compilers and models are large.
const FILE_SIZE: u64 = 4 << 30;
/// How many lines of a failed step's output are shown.
const SHOWN_LINES: usize = 12;

/// What an installation may do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstallSettings {
    /// A shell command to run instead of what the project's files suggest.
    pub command: Option<String>,
    /// Hosts that it may reach.
    pub hosts: Vec<String>,
    /// Whether it may also reach the registries of the machine's own tools.
    pub registries: bool,
    /// Hosts that it may never reach, besides GitHub's own.
    pub never: Vec<String>,
}

impl InstallSettings {
    /// Whether anything is granted; otherwise nobody asked for an installation.
    pub fn asks_for_something(&self) -> bool {
        self.command.is_some() || self.registries || !self.hosts.is_empty()
    }
}

/// What tests need from an installation; nothing by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Installed {
    /// Variables by which programs find it.
    pub env: BTreeMap<String, String>,
    /// Where it is shown to the tests.
    pub mounts: Vec<Mount>,
    /// Notes for people.
    pub notes: Vec<String>,
    /// Whether nothing was installed because the packages of a person's checkout are reused.
    pub is_reused: bool,
}

/// Why dependencies could not be installed. The first two are problems of the machine or the configuration, not of
/// the code.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// A step failed; the text says which one and names the hosts that were refused.
    #[error("{0}")]
    Failed(String),
    /// The caller cancelled it.
    #[error("the installation was interrupted")]
    Interrupted,
    /// The copy that an installation sees could not be made.
    #[error(transparent)]
    Checkout(#[from] checkout::Error),
    /// The sandbox failed.
    #[error(transparent)]
    Sandbox(#[from] sandbox::Error),
    /// The directory of results could not be read or written, with its path.
    #[error("the installed packages cannot be stored in {0}: {1}")]
    Store(String, std::io::Error),
}

/// The inputs of an installation.
pub struct InstallRequest<'a> {
    /// Confines every step.
    pub sandbox: &'a Sandbox,
    /// The tree whose manifests say what is needed.
    pub checkout: &'a Checkout,
    /// The tests that it is for.
    pub command: &'a TestCommand,
    /// What is configured, and what was granted.
    pub settings: &'a InstallSettings,
    /// Memory, processes and disk as for the tests.
    pub policy: &'a Policy,
    /// Directory for throw-away copies of the files that the installation sees.
    pub workspaces: &'a Path,
    /// This repository's own directory of results; no other repository's installation writes to it.
    pub store: &'a Path,
}

/// Installs what the tests need, or finds an earlier result.
///
/// # Errors
/// [`InstallError::Failed`] when a step fails, which is a problem of the environment.
pub async fn install(request: &InstallRequest<'_>, cancel: &CancellationToken) -> Result<Installed, InstallError> {
    if let backend @ (Backend::Landlock | Backend::None) = request.sandbox.backend() {
        let why = "has no separate network or file system, so nothing can be installed in it; use another one, or \
                   install the dependencies on this machine";
        return Err(InstallError::Failed(format!("the sandbox `{backend}` {why}")));
    }
    let empty = tempfile::tempdir_in(made(request.workspaces)?).map_err(|error| at(request.workspaces, error))?;
    let wanted = plan::tools_for(request.command, request.settings);
    let tools = registries::ask(request.sandbox, wanted, empty.path(), cancel).await?;
    let Some(plan) = plan(
        request.checkout,
        request.command,
        request.settings,
        &tools.present,
        tools.node(),
    ) else {
        return Ok(Installed::default());
    };
    let store = Store::open(request.store).map_err(|error| at(request.store, error))?;
    let attempts: Vec<Attempt> = plan
        .attempts()
        .into_iter()
        .map(|plan| Attempt::new(request, plan, &tools))
        .collect();
    for attempt in &attempts {
        if let Some(result) = store.find(&attempt.key) {
            return Ok(installed(&attempt.plan, request.sandbox, result));
        }
    }
    let mut failed = InstallError::Interrupted;
    for attempt in attempts {
        match make(request, &attempt, &tools, (&store, empty.path()), cancel).await {
            Ok(result) => return Ok(installed(&attempt.plan, request.sandbox, result)),
            Err(why @ InstallError::Failed(_)) => failed = why,
            Err(other) => return Err(other),
        }
    }
    Err(failed)
}

/// A plan, the files it sees, and the name of its result.
struct Attempt {
    plan: Plan,
    files: InstallTree,
    key: String,
}

impl Attempt {
    fn new(request: &InstallRequest<'_>, plan: Plan, tools: &registries::Tools) -> Self {
        let plan = plan.noting(versions::notes(request.command, tools));
        let files = plan.files(request.checkout);
        let key = files.key(&plan, tools);
        Self { plan, files, key }
    }
}

/// Runs the steps of a plan and keeps the result. `empty` is an empty directory.
async fn make(
    request: &InstallRequest<'_>,
    Attempt { plan, files, key }: &Attempt,
    tools: &registries::Tools,
    (store, empty): (&Store, &Path),
    cancel: &CancellationToken,
) -> Result<store::StoredInstall, InstallError> {
    let new = store.begin().map_err(|error| at(request.store, error))?;
    let workspace = files.tree(empty)?.fresh_copy(request.workspaces).await?;
    let run = Run {
        request,
        proxy: Proxy::start(&hosts(request.settings, tools, plan), World::internet()).map_err(sandbox::Error::from)?,
        policy: policy(request.policy),
        env: std::iter::once(super::reporters::jvm::heap(request.policy.limits.memory))
            .filter(|_| ["mvn", "gradle"].iter().any(|tool| plan.tools.contains(tool)))
            .chain(plan.environment(request.sandbox))
            .chain(tools.env.clone())
            .collect(),
        into: new.path().to_path_buf(),
        workspace,
    };
    let mut notes = plan.notes.clone();
    for step in &plan.steps {
        notes.extend(run.step(step, cancel).await?);
    }
    let (store, key) = (store.clone(), key.clone());
    tokio::task::spawn_blocking(move || store.keep(new, &key, &notes))
        .await
        .map_err(|error| sandbox::Error::Broken(std::io::Error::other(error)))?
        .map_err(|error| at(request.store, error))
}

/// Removes old unused packages from a repository's directory of results.
pub fn remove_old_packages(directory: &Path) {
    if let Ok(store) = Store::open(directory) {
        store.remove_old("");
    }
}

/// The directories that [`remove_old_packages`] would remove.
pub fn old_packages(directory: &Path) -> Vec<PathBuf> {
    Store::open(directory).map_or_else(|_| Vec::new(), |store| store.old_directories())
}

/// The hosts of this installation: those that are granted, without those that are forbidden.
fn hosts(settings: &InstallSettings, tools: &registries::Tools, plan: &Plan) -> Vec<String> {
    let own = tools.hosts_of(&plan.tools);
    let own = own.into_iter().filter(|_| settings.registries);
    let mut hosts: Vec<String> = settings.hosts.iter().cloned().chain(own).collect();
    hosts.retain(|host| !settings.never.iter().any(|never| never.eq_ignore_ascii_case(host)));
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}

fn policy(of_tests: &Policy) -> Policy {
    Policy {
        limits: Limits {
            wall: INSTALL_STEP,
            file_size: FILE_SIZE,
            ..of_tests.limits.clone()
        },
        network: Network::Loopback,
    }
}

/// An installation in progress.
struct Run<'a> {
    request: &'a InstallRequest<'a>,
    proxy: Proxy,
    policy: Policy,
    env: BTreeMap<String, String>,
    /// The directory that becomes the result.
    into: PathBuf,
    workspace: Workspace,
}

impl Run<'_> {
    /// Runs one step, or the first of its fallbacks that succeeds. Returns a note for people, if any.
    async fn step(&self, step: &Step, cancel: &CancellationToken) -> Result<Option<String>, InstallError> {
        let Err(failure) = self.attempt(step, &step.argv, cancel).await? else {
            return Ok(None);
        };
        for (argv, note) in &step.otherwise {
            if self.attempt(step, argv, cancel).await?.is_ok() {
                return Ok(Some(note.clone()));
            }
        }
        if step.is_optional {
            return Ok(Some(failure));
        }
        Err(InstallError::Failed(failure))
    }

    /// Runs one command. The inner error says what went wrong, for people.
    async fn attempt(
        &self,
        step: &Step,
        argv: &[String],
        cancel: &CancellationToken,
    ) -> Result<Result<(), String>, InstallError> {
        let (directory, cwd) = step.place.directories();
        let script = r#"umask 022; mkdir -p "$TMPDIR" "$1" && cd "$1" && shift && exec "$@" 2>&1"#;
        let words = ["sh", "-c", script, "sh", &directory].map(OsString::from);
        let command = sandbox::Command {
            argv: words.into_iter().chain(argv.iter().map(OsString::from)).collect(),
            cwd,
            env: self.env.clone(),
            mounts: vec![Mount {
                source: self.into.clone(),
                target: INSTALLED.into(),
                access: Access::ReadWrite,
            }],
            ..sandbox::Command::new(["sh"], self.workspace.path())
        };
        let output = match step.phase {
            Phase::Online => {
                self.request
                    .sandbox
                    .exec_through(&self.proxy, &command, &self.policy, cancel)
                    .await?
            }
            Phase::Offline => self.request.sandbox.exec(&command, &self.policy, cancel).await?,
        };
        Ok(match output.outcome {
            Outcome::Exited(0) => Ok(()),
            Outcome::Cancelled => return Err(InstallError::Interrupted),
            outcome => Err(self.explain(argv, &outcome, &super::text::clean(output.stdout.text().as_bytes()))),
        })
    }

    fn explain(&self, argv: &[String], outcome: &Outcome, printed: &str) -> String {
        let how = match outcome {
            Outcome::Exited(code) => format!("exited with {code}"),
            Outcome::TimedOut => format!("took longer than {}", in_words(INSTALL_STEP)),
            Outcome::OutOfMemory => "ran out of memory".into(),
            Outcome::DiskLimit => "wrote more than `[sandbox] disk` allows".into(),
            Outcome::DidNotStart(why) => format!("did not start: {}", super::text::one_line(why, 300)),
            other => other.to_string(),
        };
        let words: Vec<_> = argv.iter().map(|word| quoted(word)).collect();
        let command: Vec<&str> = words.iter().flat_map(|word| word.split_whitespace()).collect();
        let command: String = command.join(" ").chars().take(200).collect();
        let mut text = format!("installing the dependencies failed: `{command}` {how}");
        for (target, why) in self.proxy.refused() {
            text += &format!("; it needs {target}, which {}", why.text());
            if why == Why::NotAllowed {
                text += " (add it to `[sandbox] network` in greenlight.toml on the base branch)";
            }
        }
        match greenlight_readers::complaint(printed, SHOWN_LINES).as_str() {
            "" => text,
            said => format!("{text}\n{said}"),
        }
    }
}

/// What the tests see of a result.
fn installed(plan: &Plan, sandbox: &Sandbox, result: store::StoredInstall) -> Installed {
    let mut env = plan.environment(sandbox);
    // These variables are for the installation only.
    env.retain(|name, _| !plan::ONLY_WHILE_INSTALLING.contains(&name.as_str()));
    Installed {
        env,
        mounts: vec![Mount {
            source: result.directory,
            target: INSTALLED.into(),
            access: Access::ReadOnly,
        }],
        notes: result.notes,
        is_reused: false,
    }
}

impl StepDirectory {
    /// The directory of a step inside the sandbox, and the host directory of the workspace.
    fn directories(&self) -> (String, PathBuf) {
        let below = |directory: &Option<RepoPath>| directory.as_ref().map_or("", |path| path.as_str()).to_owned();
        match self {
            Self::Workspace(directory) => (".".into(), below(directory).into()),
            Self::Installed(directory) => (format!("{INSTALLED}/tree/{}", below(directory)), PathBuf::new()),
        }
    }
}

fn made(directory: &Path) -> Result<&Path, InstallError> {
    private::folder(directory).map_err(|error| at(directory, error))?;
    Ok(directory)
}

fn at(path: &Path, error: std::io::Error) -> InstallError {
    InstallError::Store(path.display().to_string(), error)
}
