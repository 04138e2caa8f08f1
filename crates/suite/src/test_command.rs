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

/// How many commands that do not run are named in a sentence, and how much of each, in characters.
const MAX_NAMED: usize = 3;
const MAX_SHOWN: usize = 100;
/// How many of them are kept, and how much of each, in characters.
const MAX_LEFT_OUT: usize = 20;
const MAX_KEPT: usize = 400;

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
    /// What the project's CI or scripts run besides, such as checks, as people type it. It does not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
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
            left_out: Vec::new(),
        }
    }

    /// What CI builds before these tests, in order.
    pub fn builds(&self) -> impl Iterator<Item = &BuildCommand> {
        let own = self.framework.spec().ecosystem;
        let is_other = self.framework == Framework::Other;
        let has_cmake = self.ci_install.builds.iter().any(BuildCommand::is_of_cmake);
        let is_for_it = move |build: &&BuildCommand| {
            match build.ecosystem() {
                _ if build.is_of_cmake() || has_cmake && build.is_plain_make() => is_other,
                _ if build.is_script() => own == Ecosystem::Any,
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

    /// Whether these tests are likely to run the code of a file: those of Go run no Python. What CI builds before them
    /// may be written in any language.
    pub fn may_run(&self, path: &RepoPath) -> bool {
        let endings: &[&str] = match self.framework.spec().ecosystem {
            Ecosystem::Rust => &["rs"],
            Ecosystem::Python => &["py"],
            Ecosystem::JavaScript => &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"],
            Ecosystem::Go => &["go"],
            Ecosystem::Java => &["java"],
            Ecosystem::Ruby | Ecosystem::Php | Ecosystem::Dotnet | Ecosystem::C | Ecosystem::Any => return true,
        };
        let ending = path.as_str().rsplit('.').next().unwrap_or_default();
        endings.contains(&ending) || self.builds().next().is_some()
    }

    /// The services that CI starts for these tests, by their images.
    pub fn services(&self) -> &[String] {
        &self.ci_install.services
    }

    /// Whether CI starts services for these tests.
    pub fn has_services(&self) -> bool {
        !self.services().is_empty()
    }

    /// What the tests have in CI and lack here, and which checks do not run with them, as sentences.
    pub fn lacks(&self) -> Vec<String> {
        let services = (self.has_services()).then(|| {
            format!(
                "in CI, these tests have the services {}; greenlight does not start services, so tests that need them \
                 fail here",
                self.ci_install.services.join(", ")
            )
        });
        let named: Vec<String> = self
            .left_out
            .iter()
            .take(MAX_NAMED)
            .map(|line| format!("`{}`", shortened(line, MAX_SHOWN)))
            .collect();
        let more = match self.left_out.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let left_out = (!named.is_empty()).then(|| {
            // Who has set the command knows how.
            let how = match self.source {
                Source::Settings => "",
                _ => "; `[test] command` in greenlight.toml can run more",
            };
            format!(
                "not run, although the project's CI or scripts run them: {}{more}{how}",
                named.join(", ")
            )
        });
        services.into_iter().chain(left_out).collect()
    }
}

/// Adds a command to those that do not run: on one line and shortened, each once, and not more than a few.
pub(crate) fn leave_out(left_out: &mut Vec<String>, line: &str) {
    if left_out.len() >= MAX_LEFT_OUT {
        return;
    }
    let words = line.split_whitespace().take(MAX_KEPT).collect::<Vec<_>>().join(" ");
    let short = shortened(&words, MAX_KEPT).replace('`', "'");
    if !left_out.contains(&short) {
        left_out.push(short);
    }
}

/// The first characters of a line.
fn shortened(line: &str, max: usize) -> String {
    match line.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_run_code_of_their_own_language() {
        let command = |framework| TestCommand::new(vec!["x".into()], framework, Source::Settings);
        let may = |framework, path: &str| command(framework).may_run(&path.parse().unwrap());
        assert!(may(Framework::Go, "a/b.go") && may(Framework::Jest, "a.test.tsx") && may(Framework::Other, "a.py"));
        assert!(!may(Framework::Go, "a.py") && !may(Framework::Pytest, "go") && !may(Framework::Cargo, "a.rs.js"));
    }
}
