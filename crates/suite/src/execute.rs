//! Runs programs other than the tests, in the same place and with the same installed packages as the tests; and
//! installs packages for one such program, in a separate sandbox run.
//!
//! Not here: the decision whether anything may run, and which hosts it may reach.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use greenlight_sandbox as sandbox;
use greenlight_sandbox::{Access, Backend, Mount, Network, Outcome};
use greenlight_tree::checkout::Workspace;
use tokio_util::sync::CancellationToken;

use crate::install::{self, InstallError, hosts_of_tools};
use crate::suite::Suite;
use crate::wrapper::{environment, in_wrapper};
use crate::{prebuild, text};

/// Where packages installed for one program are mounted.
const PACKAGES: &str = "/packages";
/// Time limit of an installation.
const INSTALL: Duration = Duration::from_secs(10 * 60);
/// How much of a failed installation's output is shown, in bytes.
const SHOWN_BYTES: usize = 1_500;

/// A program to run at the root of the tree.
#[derive(Debug, Clone)]
pub struct Job {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Hosts that it may reach. No hosts means no network.
    pub hosts: Vec<String>,
    /// How long it may take.
    pub wall: Duration,
}

/// The result of a program; its output is a claim of untrusted code.
#[derive(Debug, Clone)]
pub struct Ran {
    /// How it ended.
    pub outcome: Outcome,
    /// Standard output and standard error, without control characters.
    pub printed: String,
    /// How long it took.
    pub wall: Duration,
}

/// The registry that packages come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registry {
    /// The package index of `pip`.
    Python,
    /// The registry of `npm`.
    Node,
}

/// Packages that were installed for one program; removed on drop.
#[derive(Debug, Default)]
pub struct Packages {
    env: BTreeMap<String, String>,
    mounts: Vec<Mount>,
    _folder: Option<tempfile::TempDir>,
}

/// Runs a program in a workspace as it is now.
///
/// # Errors
/// When the sandbox fails. A failing program is not an error.
pub async fn execute(
    suite: &Suite,
    workspace: &Workspace,
    job: &Job,
    packages: &Packages,
    cancel: &CancellationToken,
) -> Result<Ran, sandbox::Error> {
    prebuild::compile_shared(suite, (workspace, workspace.begins_untouched()), cancel).await?;
    let mut policy = suite.policy.clone();
    policy.limits.wall = job.wall;
    policy.network = network(&job.hosts);
    let mut env = environment();
    if !job.hosts.is_empty() {
        for offline in ["CARGO_NET_OFFLINE", "GOPROXY", "npm_config_offline"] {
            env.remove(offline);
        }
    }
    env.extend(suite.env());
    env.extend(packages.env.clone());
    let command = sandbox::Command {
        env,
        mounts: suite.mounts().into_iter().chain(packages.mounts.clone()).collect(),
        ..sandbox::Command::new(
            in_wrapper(own_packages(suite).unwrap_or_default(), ".".into(), job.argv.clone()),
            workspace.path(),
        )
    };
    let output = suite.sandbox.exec(&command, &policy, cancel).await?;
    Ok(Ran {
        printed: text::printed(&output.stdout, &output.stderr),
        outcome: output.outcome,
        wall: output.wall,
    })
}

/// Where an interpreter runs: at the root of the workspace, with the installed packages and the project's own.
pub fn place(suite: &Suite, workspace: &Workspace) -> sandbox::SessionPaths {
    let mut place = sandbox::SessionPaths::new(workspace.path());
    place.env = environment();
    place.env.extend(suite.env());
    if let Some(root) = own_packages(suite) {
        place.env.insert("PYTHONPATH".into(), root);
    }
    place.mounts = suite.mounts();
    place
}

/// Where Python finds the project's own packages, relative to the root of the tree.
fn own_packages(suite: &Suite) -> Option<String> {
    let root = suite.command.import_root.as_deref()?;
    Some(match &suite.command.directory {
        Some(directory) => format!("{directory}/{root}"),
        None => root.to_owned(),
    })
}

/// Whether this sandbox can give programs access to single hosts, or packages.
///
/// # Errors
/// The reason why not, for people and models.
pub fn can_reach(suite: &Suite) -> Result<(), &'static str> {
    match suite.sandbox.backend() {
        Backend::Landlock => Err("the landlock sandbox has no separate network, so it cannot reach any host"),
        _ => Ok(()),
    }
}

/// The hosts of the package registries that this machine's own tools use, sorted.
///
/// # Errors
/// When the sandbox fails.
pub async fn registry_hosts(suite: &Suite, cancel: &CancellationToken) -> Result<Vec<String>, sandbox::Error> {
    sandbox_errors(hosts_of_tools(&suite.sandbox, cancel).await)
}

/// Installs packages by name, prebuilt ones only, so that none of their code runs while there is a network. The inner
/// error says what went wrong.
///
/// # Errors
/// When the sandbox fails.
pub async fn packages(
    suite: &Suite,
    registry: Registry,
    names: &[String],
    cancel: &CancellationToken,
) -> Result<Result<Packages, String>, sandbox::Error> {
    if suite.sandbox.backend() == Backend::None {
        return Ok(Err("packages are only installed in a sandbox with confinement".into()));
    }
    if let Err(why) = can_reach(suite) {
        return Ok(Err(why.into()));
    }
    let (tool, argv, variable, below) = match registry {
        Registry::Python => ("python3", &PIP[..], "PYTHONPATH", ""),
        Registry::Node => ("npm", &NPM[..], "NODE_PATH", "/node_modules"),
    };
    let (hosts, env) = sandbox_errors(install::of_tool(&suite.sandbox, tool, cancel).await)?;
    let folder = tempfile::Builder::new()
        .prefix("packages-")
        .tempdir_in(&suite.workspaces)?;
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))?;
    // Nothing from the tree can tell the tool where to install from.
    let empty = tempfile::tempdir_in(&suite.workspaces)?;
    let shown = |access| Mount {
        source: folder.path().to_path_buf(),
        target: PathBuf::from(PACKAGES),
        access,
    };
    let mut policy = suite.policy.clone();
    policy.limits.wall = INSTALL;
    policy.network = network(&hosts);
    let words = ["sh", "-c", INSTALLER, "sh"]
        .into_iter()
        .chain(argv.iter().copied())
        .map(str::to_owned);
    let mut command = sandbox::Command::new(words.chain(names.iter().cloned()), empty.path());
    command.mounts.push(shown(Access::ReadWrite));
    command.env.extend(env);
    let own = [("TMPDIR", "/packages/tmp"), ("npm_config_cache", "/packages/tmp/npm")];
    let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
    command.env.extend(own);
    let output = suite.sandbox.exec(&command, &policy, cancel).await?;
    if output.outcome != Outcome::Exited(0) {
        let printed = text::tail(&text::printed(&output.stdout, &output.stderr), SHOWN_BYTES);
        return Ok(Err(format!("the package installation {}\n{printed}", output.outcome)));
    }
    sandbox::take_back(folder.path())?;
    Ok(Ok(Packages {
        env: BTreeMap::from([(variable.to_owned(), format!("{PACKAGES}{below}"))]),
        mounts: vec![shown(Access::ReadOnly)],
        _folder: Some(folder),
    }))
}

/// Executes the installer. The Python in `PATH` may be a wrapper script that writes beside Python, so Python itself
/// is asked where it is.
const INSTALLER: &str = r#"umask 022; mkdir -p "$TMPDIR"
if [ "$1" = python3 ]; then shift; set -- "$(python3 -I -c 'import sys; print(sys.executable)')" "$@"; fi
exec "$@" 2>&1"#;

const PIP: [&str; 11] = [
    "python3",
    "-I",
    "-m",
    "pip",
    "install",
    "--no-input",
    "--no-cache-dir",
    "--disable-pip-version-check",
    "--only-binary=:all:",
    "--target=/packages",
    "--",
];

const NPM: [&str; 9] = [
    "npm",
    "install",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--no-save",
    "--prefix=/packages",
    "--global=false",
    "--",
];

fn network(hosts: &[String]) -> Network {
    if hosts.is_empty() {
        Network::Loopback
    } else {
        Network::Registries(hosts.to_vec())
    }
}

/// Reading the registries can only fail because of the sandbox.
fn sandbox_errors<T>(asked: Result<T, InstallError>) -> Result<T, sandbox::Error> {
    asked.map_err(|error| match error {
        InstallError::Sandbox(error) => error,
        other => sandbox::Error::Broken(std::io::Error::other(other)),
    })
}
