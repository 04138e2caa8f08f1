//! Knows test commands: finds them, runs them in the sandbox, reads their results, distils CI logs.
//!
//! What a test command prints is a claim of the code under test. It is bounded and cleaned, it never steers, and a
//! run counts as passed only when the exit code, the counts and the absence of failures agree.
//!
//! Not here: whether a change made things better ([`crate::domain::test_run::is_better`]), what kind of red a red
//! run is ([`crate::domain::triage`]).

mod distil;
mod find;
mod install;
mod read;
mod run;
mod select;
mod text;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use self::distil::{Distillate, distil};
pub use self::find::{NothingFound, find};
pub use self::install::{InstallError, InstallSettings, Installed, Plan, Request, hosts_of_tools, install, plan};
pub use self::read::read;
pub use self::run::{Error, Suite, run, run_fresh};
use crate::domain::id::RepoPath;

/// How long a test command may take when nothing else is configured.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

/// The `[test]` table of `greenlight.toml`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestSettings {
    /// The command as a person would type it in a shell; none means it is found.
    pub command: Option<String>,
    /// None means [`DEFAULT_TIMEOUT`].
    pub timeout: Option<Duration>,
}

/// A command that runs a project's tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCommand {
    pub argv: Vec<String>,
    /// Where in the tree it runs; none is the root.
    pub directory: Option<RepoPath>,
    pub framework: Framework,
    /// Where the command was found.
    pub source: Source,
    pub timeout: Duration,
    /// The directory, relative to where the command runs, in which Python finds the project's own packages.
    pub import_root: Option<String>,
}

impl fmt::Display for TestCommand {
    /// Writes the command as a person would type it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(directory) = &self.directory {
            write!(f, "cd {} && ", find::quoted(directory.as_str()))?;
        }
        match self.argv.as_slice() {
            [shell, flag, script] if shell == "sh" && flag == "-c" => f.write_str(script),
            argv => {
                let words: Vec<_> = argv.iter().map(|word| find::quoted(word)).collect();
                f.write_str(&words.join(" "))
            }
        }
    }
}

/// What prints the results, and therefore how they are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Framework {
    /// `cargo test` with Rust's own test harness.
    Cargo,
    Pytest,
    /// Python's own `unittest`.
    Unittest,
    /// `node --test`.
    Node,
    Jest,
    Vitest,
    Mocha,
    /// `go test`.
    Go,
    /// Surefire, as Maven runs it.
    Maven,
    /// Anything else. Read by what its output looks like; failing that, the command as a whole is one test.
    Other,
}

impl fmt::Display for Framework {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cargo => "cargo test",
            Self::Pytest => "pytest",
            Self::Unittest => "unittest",
            Self::Node => "node --test",
            Self::Jest => "Jest",
            Self::Vitest => "Vitest",
            Self::Mocha => "Mocha",
            Self::Go => "go test",
            Self::Maven => "Maven",
            Self::Other => "an unknown framework",
        })
    }
}

/// Where a test command was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// `[test] command` of `greenlight.toml`.
    Settings,
    /// A file of the project that names its tests or their framework.
    File(RepoPath),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings => f.write_str("`[test] command` in greenlight.toml"),
            Self::File(path) => write!(f, "`{path}`"),
        }
    }
}
