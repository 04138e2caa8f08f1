//! A command that runs tests: what it is, where it comes from, and how a person would type it.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use greenlight_anchor::RepoPath;
use serde::{Deserialize, Serialize};

use crate::ci_build::BuildCommand;
use crate::ci_install::CiInstall;
use crate::framework::{Ecosystem, Framework};
use crate::shell::quoted;

/// The time limit of a test command, unless another one is configured.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

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
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The directory in which it runs. `None` is the root.
    pub directory: Option<RepoPath>,
    /// What prints the results.
    pub framework: Framework,
    /// Where the command was found.
    pub source: Source,
    /// How long it may take.
    pub timeout: Duration,
    /// The directory, relative to that of the command, in which Python finds the project's own packages.
    pub import_root: Option<String>,
    /// Variables of the CI step that it comes from.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// What the CI job that it comes from installs.
    #[serde(default, skip_serializing_if = "CiInstall::is_empty")]
    pub ci_install: CiInstall,
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
            ci_install: CiInstall::default(),
        }
    }

    /// What CI builds before these tests, in order.
    pub fn builds(&self) -> impl Iterator<Item = &BuildCommand> {
        let own = self.framework.spec().ecosystem;
        let is_for_it = move |build: &&BuildCommand| {
            match build.ecosystem() {
                // The tools of the other languages build what they test.
                Ecosystem::Any => matches!(
                    own,
                    Ecosystem::Any | Ecosystem::JavaScript | Ecosystem::Php | Ecosystem::Python | Ecosystem::Ruby
                ),
                needed_by => own == needed_by || own == Ecosystem::Any,
            }
        };
        self.ci_install.builds.iter().filter(is_for_it)
    }

    /// The ecosystem of these tests, such as "Python". `None` if they may need any tools.
    pub fn ecosystem(&self) -> Option<&'static str> {
        self.framework.spec().ecosystem.name()
    }

    /// Whether CI starts services for these tests.
    pub fn has_services(&self) -> bool {
        !self.ci_install.services.is_empty()
    }

    /// What the tests have in CI and lack here, as sentences.
    pub fn lacks(&self) -> Vec<String> {
        if !self.has_services() {
            return Vec::new();
        }
        let services = &self.ci_install.services;
        vec![format!(
            "in CI, these tests have the services {}; greenlight does not start services, so tests that need them fail \
             here",
            services.join(", ")
        )]
    }
}

/// Whether a variable of a command is one that its tests must not have: `CI` without a value.
pub(crate) fn is_unset(name: &str, value: &str) -> bool {
    name == "CI" && value.is_empty()
}

impl fmt::Display for TestCommand {
    /// Writes the command as a person would type it, with its variables and what is built before it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for build in self.builds() {
            write!(f, "{} && ", build.line())?;
        }
        if let Some(directory) = &self.directory {
            write!(f, "cd {} && ", quoted(directory.as_str()))?;
        }
        let shown = self.env.iter().filter(|(name, value)| !is_unset(name, value));
        for (name, value) in shown.clone() {
            write!(f, "{name}={} ", quoted(value))?;
        }
        match self.argv.as_slice() {
            [shell, flag, script] if shell == "sh" && flag == "-c" && shown.count() == 0 => f.write_str(script),
            argv => {
                let words: Vec<_> = argv.iter().map(|word| quoted(word)).collect();
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
        /// The workflow file.
        workflow: RepoPath,
        /// The id of the job.
        job: String,
        /// The name of the step.
        step: String,
    },
    /// A step of the project's CI that runs its tests, whether or not it failed.
    Ci {
        /// The workflow file.
        workflow: RepoPath,
        /// The id of the job.
        job: String,
    },
    /// A file of the project that names its tests or their framework.
    File(RepoPath),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings => f.write_str("`[test] command` in greenlight.toml"),
            Self::Step { workflow, job, step } => write!(f, "the failed step `{step}` of `{job}` in `{workflow}`"),
            Self::Ci { workflow, job } => write!(f, "the job `{job}` in `{workflow}`"),
            Self::File(path) => write!(f, "`{path}`"),
        }
    }
}
