//! Everything about test commands: finds them, runs them in the sandbox, parses their results, distils CI logs.
//!
//! The output of a test command is a claim of the code under test. It is bounded and cleaned, and it never controls
//! greenlight. A run counts as passed only if the exit code, the counts and the absence of failures agree.
//!
//! Not here: whether a change improved anything ([`crate::domain::test_run::is_better`]), and how a failing run is
//! classified ([`crate::domain::triage`]).

mod ci_log;
mod discover;
mod execute;
mod file_lookup;
mod filter;
mod frameworks;
mod go_library;
mod install;
mod parse;
mod reporters;
mod reports;
mod reuse;
mod run;
mod shell;
mod text;
mod workflow;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use self::ci_log::{Distillate, Distiller, GreenLog, distil, distil_archive};
pub use self::discover::{CiStep, CommandPart, Hints, NothingFound, find, find_all, has_member, parts};
pub use self::execute::{Job, Packages, Ran, Registry, can_reach, execute, granted_hosts, packages, place};
pub use self::filter::{narrows, package};
pub use self::frameworks::{Framework, Runtime, Snapshots};
pub use self::go_library::GoLibrary;
pub use self::install::{
    InstallError, InstallRequest, InstallSettings, Installed, Plan, hosts_of_tools, install, plan, remove_old_packages,
};
pub use self::parse::{Report, read};
pub use self::reuse::reuse_installed;
pub use self::run::{Error, Suite, place_of_tests, prepare, run, run_fresh};
pub use self::text::clean;
pub use self::workflow::{Failed, ReadFile, failed_step};
use crate::domain::id::RepoPath;

/// The time limit of a test command, unless another one is configured.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

/// Where files are mounted that a build left among the sources of a Python project. They are copied to the directory
/// of the command, unless the tree has them.
const GENERATED: &str = "/generated";

/// The `[test]` table of `greenlight.toml`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestSettings {
    /// The command as a person would type it in a shell. `None` means that greenlight finds one.
    pub command: Option<String>,
    /// `None` means [`DEFAULT_TIMEOUT`].
    pub timeout: Option<Duration>,
}

/// A command that runs a project's tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCommand {
    pub argv: Vec<String>,
    /// The directory in which it runs. `None` is the root.
    pub directory: Option<RepoPath>,
    pub framework: Framework,
    /// Where the command was found.
    pub source: Source,
    pub timeout: Duration,
    /// The directory, relative to that of the command, in which Python finds the project's own packages.
    pub import_root: Option<String>,
    /// Variables of the CI step that it comes from.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

impl TestCommand {
    /// A command that runs at the root, with only these arguments.
    pub fn new(argv: Vec<String>, framework: Framework, source: Source) -> Self {
        Self {
            argv,
            directory: None,
            framework,
            source,
            timeout: DEFAULT_TIMEOUT,
            import_root: None,
            env: BTreeMap::new(),
        }
    }
}

impl fmt::Display for TestCommand {
    /// Writes the command as a person would type it, with its variables.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(directory) = &self.directory {
            write!(f, "cd {} && ", discover::quoted(directory.as_str()))?;
        }
        for (name, value) in &self.env {
            write!(f, "{name}={} ", discover::quoted(value))?;
        }
        match self.argv.as_slice() {
            [shell, flag, script] if shell == "sh" && flag == "-c" && self.env.is_empty() => f.write_str(script),
            argv => {
                let words: Vec<_> = argv.iter().map(|word| discover::quoted(word)).collect();
                f.write_str(&words.join(" "))
            }
        }
    }
}

/// Where a test command was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// `[test] command` of `greenlight.toml`.
    Settings,
    /// The failed CI step: its workflow file, and the names of the job and the step.
    Step {
        workflow: RepoPath,
        job: String,
        step: String,
    },
    /// A file of the project that names its tests or their framework.
    File(RepoPath),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings => f.write_str("`[test] command` in greenlight.toml"),
            Self::Step { workflow, job, step } => write!(f, "the failed step `{step}` of `{job}` in `{workflow}`"),
            Self::File(path) => write!(f, "`{path}`"),
        }
    }
}
