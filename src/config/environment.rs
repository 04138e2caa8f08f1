//! The environment variables that greenlight was started with, copied once, so that all other code depends only on
//! values.
//!
//! [`super::settings`] decides what a variable means.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::settings_error::SettingsError;
use crate::domain::id::{Repository, RepositoryId, RepositoryName};

/// Prefixes of the variables that are copied. All others, and any secrets in them, are ignored.
const PREFIXES: [&str; 4] = ["GREENLIGHT_", "GITHUB_", "OPENAI_", "OTEL_"];
/// Where the Python packages in use are installed, and where programs are searched for.
const NAMED: [&str; 3] = ["VIRTUAL_ENV", "CONDA_PREFIX", "PATH"];
/// What a browser needs to open a window.
const DESKTOP: [&str; 14] = [
    "BROWSER",
    "PATH",
    "HOME",
    "LANG",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
    "XDG_CURRENT_DESKTOP",
    "XDG_SESSION_TYPE",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_DATA_DIRS",
    "DBUS_SESSION_BUS_ADDRESS",
];

/// A snapshot of the variables that concern greenlight. It contains secrets, so it does not implement `Debug`.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Copies the environment of this process.
    pub fn of_this_process() -> Self {
        std::env::vars_os()
            .map(|(name, value)| {
                (
                    name.to_string_lossy().into_owned(),
                    value.to_string_lossy().into_owned(),
                )
            })
            .collect()
    }

    /// Only the variables that local commands use, so that settings of a service do not affect them.
    #[must_use]
    pub fn for_local_work(mut self) -> Self {
        const LOCAL: [&str; 7] = [
            "GREENLIGHT_MODEL",
            "GREENLIGHT_ENGINE",
            "OPENAI_",
            "GREENLIGHT_LOG",
            "GREENLIGHT_DATA_DIR",
            "GREENLIGHT_SANDBOX",
            "GREENLIGHT_DOCKER_SOCKET",
        ];
        let is_local = |name: &str| LOCAL.iter().any(|local| name.starts_with(local));
        self.0
            .retain(|name, _| is_local(name) || NAMED.contains(&name.as_str()) || DESKTOP.contains(&name.as_str()));
        self
    }

    /// Only the variables that say where runs are read from, so that other settings of a service do not matter.
    #[must_use]
    pub fn for_reading_runs(mut self) -> Self {
        const READING: [&str; 4] = [
            "GREENLIGHT_DATA_DIR",
            "GREENLIGHT_DATABASE_URL",
            "GREENLIGHT_GITHUB_TOKEN",
            "GITHUB_TOKEN",
        ];
        self.0
            .retain(|name, _| READING.iter().any(|reading| name.starts_with(reading)));
        self
    }

    /// The value of a variable. An empty value counts as unset, because workflows pass missing inputs that way.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The variables that a browser needs to open a window, and no others.
    pub fn desktop(&self) -> Vec<(String, String)> {
        let variable = |name: &&str| Some(((*name).to_owned(), self.get(name)?.to_owned()));
        DESKTOP.iter().filter_map(variable).collect()
    }

    /// The variables that GitHub sets for a step of a workflow.
    /// <https://docs.github.com/en/actions/reference/workflows-and-actions/variables>
    ///
    /// # Errors
    /// When a variable is missing that every step has, so this is not a step of a workflow.
    pub fn workflow_step(&self) -> Result<WorkflowStep, SettingsError> {
        let required = |name: &'static str| {
            self.get(name).ok_or_else(|| {
                let problem = "is not set, so this is not a step of a GitHub workflow";
                SettingsError::new(
                    name,
                    problem,
                    "start `greenlight action` from a workflow, or set it yourself",
                )
            })
        };
        let repository = required("GITHUB_REPOSITORY")?;
        let name: RepositoryName = repository.parse().map_err(|error| {
            SettingsError::new(
                "GITHUB_REPOSITORY",
                format!("is wrong: {error}"),
                "set it to `owner/name`",
            )
        })?;
        Ok(WorkflowStep {
            event_name: required("GITHUB_EVENT_NAME")?.into(),
            event_path: required("GITHUB_EVENT_PATH")?.into(),
            repository: Repository {
                id: self
                    .get("GITHUB_REPOSITORY_ID")
                    .and_then(|id| id.parse().ok())
                    .map(RepositoryId),
                name,
            },
            output: self.get("GITHUB_OUTPUT").map(PathBuf::from),
            summary: self.get("GITHUB_STEP_SUMMARY").map(PathBuf::from),
            run_id: self.get("GITHUB_RUN_ID").and_then(|id| id.parse().ok()),
        })
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Environment {
    /// Keeps the variables that concern greenlight.
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        let named = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        let concerns = |(name, _): &(String, String)| {
            PREFIXES.iter().any(|prefix| name.starts_with(prefix))
                || NAMED.contains(&name.as_str())
                || DESKTOP.contains(&name.as_str())
        };
        Self(named.filter(concerns).collect())
    }
}

/// The workflow step that greenlight runs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowStep {
    /// `GITHUB_EVENT_NAME`, the name a webhook carries in `X-GitHub-Event`.
    pub event_name: String,
    /// `GITHUB_EVENT_PATH`, a file with the payload of the event.
    pub event_path: PathBuf,
    /// `GITHUB_REPOSITORY`, the repository of the workflow, which is the base repository.
    pub repository: Repository,
    /// `GITHUB_OUTPUT`, the file to which outputs of the step are appended.
    pub output: Option<PathBuf>,
    /// `GITHUB_STEP_SUMMARY`, the file to which Markdown for the run's page is appended.
    pub summary: Option<PathBuf>,
    /// `GITHUB_RUN_ID`; "Re-run jobs" keeps it, so it identifies an event like a delivery id does.
    pub run_id: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_counts_as_unset_and_strangers_are_not_kept() {
        let environment: Environment = [("GREENLIGHT_MODEL", ""), ("AWS_SECRET", "x"), ("OPENAI_API_KEY", "k")]
            .into_iter()
            .collect();
        assert_eq!(environment.get("GREENLIGHT_MODEL"), None);
        assert_eq!(environment.get("AWS_SECRET"), None);
        assert_eq!(environment.get("OPENAI_API_KEY"), Some("k"));
    }

    #[test]
    fn outside_of_a_workflow_the_missing_variable_is_named() {
        let error = Environment::default().workflow_step().unwrap_err().to_string();
        assert!(error.starts_with("GITHUB_REPOSITORY is not set"), "{error}");
    }

    #[test]
    fn a_step_knows_its_event() {
        let step = [
            ("GITHUB_EVENT_NAME", "issue_comment"),
            ("GITHUB_EVENT_PATH", "/tmp/event.json"),
            ("GITHUB_REPOSITORY", "octo/hello"),
            ("GITHUB_RUN_ID", "17"),
            ("GITHUB_OUTPUT", ""),
        ]
        .into_iter()
        .collect::<Environment>()
        .workflow_step()
        .unwrap();
        assert_eq!(step.event_name, "issue_comment");
        assert_eq!((step.run_id, step.output), (Some(17), None));
    }
}
