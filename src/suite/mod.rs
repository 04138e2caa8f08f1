//! Knows test commands: finds them, runs them in the sandbox, reads their results, distils CI logs.
//!
//! What a test command prints is a claim of the code under test. It is bounded and cleaned, it never steers, and a
//! run counts as passed only when the exit code, the counts and the absence of failures agree.
//!
//! Not here: whether a change made things better ([`crate::domain::test_run::is_better`]), what kind of red a red
//! run is ([`crate::domain::triage`]).

mod ask;
mod distil;
mod find;
mod install;
mod lend;
mod node_ids;
mod places;
mod read;
mod reports;
mod run;
mod select;
mod text;
mod workflow;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use self::distil::{Distillate, Distiller, GreenLog, distil, distil_archive};
pub use self::find::{CiStep, Hints, NothingFound, find, find_all, has_member};
pub use self::install::{InstallError, InstallSettings, Installed, Plan, Request, hosts_of_tools, install, plan};
pub use self::lend::lend;
pub use self::read::{Report, read};
pub use self::run::{Error, Suite, run, run_fresh};
pub use self::select::package;
pub use self::workflow::{Failed, ReadFile, failed_step};
use crate::domain::id::RepoPath;

/// How long a test command may take when nothing else is configured.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

/// Where files are found inside that a build left among the sources of a Python project; they are copied to where the
/// command runs, unless the tree has them.
const GENERATED: &str = "/generated";

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
    /// Variables of the CI step it comes from.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

impl fmt::Display for TestCommand {
    /// Writes the command as a person would type it, with the variables that are set for it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(directory) = &self.directory {
            write!(f, "cd {} && ", find::quoted(directory.as_str()))?;
        }
        for (name, value) in &self.env {
            write!(f, "{name}={} ", find::quoted(value))?;
        }
        match self.argv.as_slice() {
            [shell, flag, script] if shell == "sh" && flag == "-c" && self.env.is_empty() => f.write_str(script),
            argv => {
                let words: Vec<_> = argv.iter().map(|word| find::quoted(word)).collect();
                f.write_str(&words.join(" "))
            }
        }
    }
}

/// What prints the results, and therefore how they are asked for and read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Framework {
    /// `cargo test` with Rust's own test harness.
    Cargo,
    /// `cargo nextest run`.
    Nextest,
    /// `cargo check`, `cargo build` and `cargo clippy`: diagnostics of rustc.
    Rustc,
    Pytest,
    /// Python's own `unittest`.
    Unittest,
    Ruff,
    Mypy,
    /// `node --test`.
    Node,
    Jest,
    Vitest,
    Mocha,
    /// `bun test`.
    Bun,
    /// Anything that prints the Test Anything Protocol.
    Tap,
    /// The TypeScript compiler.
    Tsc,
    Eslint,
    /// `go test`.
    Go,
    GoVet,
    /// Surefire and Failsafe, as Maven runs them.
    Maven,
    Gradle,
    /// `dotnet test`.
    Dotnet,
    Rspec,
    /// Minitest and test-unit.
    Minitest,
    Phpunit,
    Ctest,
    /// gcc, clang or javac: diagnostics, whoever called them.
    Compiler,
    /// Anything else. Read by what its output looks like; failing that, the command as a whole is one test.
    Other,
}

impl Framework {
    /// Every one that is known.
    pub const ALL: [Self; 26] = [
        Self::Cargo,
        Self::Nextest,
        Self::Rustc,
        Self::Pytest,
        Self::Unittest,
        Self::Ruff,
        Self::Mypy,
        Self::Node,
        Self::Jest,
        Self::Vitest,
        Self::Mocha,
        Self::Bun,
        Self::Tap,
        Self::Tsc,
        Self::Eslint,
        Self::Go,
        Self::GoVet,
        Self::Maven,
        Self::Gradle,
        Self::Dotnet,
        Self::Rspec,
        Self::Minitest,
        Self::Phpunit,
        Self::Ctest,
        Self::Compiler,
        Self::Other,
    ];

    /// Whether it finds faults in the code without running any of it.
    pub fn is_linter(self) -> bool {
        matches!(
            self,
            Self::Rustc | Self::Ruff | Self::Mypy | Self::Tsc | Self::Eslint | Self::GoVet | Self::Compiler
        )
    }
}

impl fmt::Display for Framework {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cargo => "cargo test",
            Self::Nextest => "cargo nextest",
            Self::Rustc => "rustc",
            Self::Pytest => "pytest",
            Self::Unittest => "unittest",
            Self::Ruff => "Ruff",
            Self::Mypy => "mypy",
            Self::Node => "node --test",
            Self::Jest => "Jest",
            Self::Vitest => "Vitest",
            Self::Mocha => "Mocha",
            Self::Bun => "bun test",
            Self::Tap => "TAP",
            Self::Tsc => "tsc",
            Self::Eslint => "ESLint",
            Self::Go => "go test",
            Self::GoVet => "go vet",
            Self::Maven => "Maven",
            Self::Gradle => "Gradle",
            Self::Dotnet => "dotnet test",
            Self::Rspec => "RSpec",
            Self::Minitest => "Minitest",
            Self::Phpunit => "PHPUnit",
            Self::Ctest => "CTest",
            Self::Compiler => "a compiler",
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
    /// The step of the CI that failed: the file of its workflow, and the names of job and step.
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
