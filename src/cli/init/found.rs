//! What `greenlight init` finds in a checkout: its tests, its workflows, other CI systems, and its place.
//!
//! Only files and references are read; nothing is executed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::{Exit, app, folder, terminal};
use super::files::{Blanks, yaml};
use super::place::{Place, Server};
use super::workflows::{ListenedTo, with_other_end};
use crate::config::repository::{RunLimits, Trigger};
use crate::engine::worktree::CONFIG_FILE;
use crate::suite::{CiWorkflow, Stores, TestCommand};

/// The page about other CI systems.
pub(super) const OF_OTHER_CI: &str = "https://github.com/greenlight-rs/greenlight/blob/main/docs/how-to/other-ci.md";

/// The files by which other CI systems are known.
const OTHER_CI: [(&str, &str); 14] = [
    (".circleci/config.yml", "CircleCI"),
    (".gitlab-ci.yml", "GitLab CI"),
    ("azure-pipelines.yml", "Azure Pipelines"),
    (".azure-pipelines.yml", "Azure Pipelines"),
    (".azure-pipelines/azure-pipelines.yml", "Azure Pipelines"),
    (".buildkite/pipeline.yml", "Buildkite"),
    (".buildkite/pipeline.yaml", "Buildkite"),
    (".travis.yml", "Travis CI"),
    ("Jenkinsfile", "Jenkins"),
    (".drone.yml", "Drone"),
    (".woodpecker.yml", "Woodpecker"),
    (".cirrus.yml", "Cirrus CI"),
    ("appveyor.yml", "AppVeyor"),
    (".appveyor.yml", "AppVeyor"),
];

/// A checkout, looked at.
pub(super) struct Found {
    pub(super) place: Place,
    commands: Vec<TestCommand>,
    /// The workflows that greenlight listens to.
    workflows: Vec<CiWorkflow>,
    /// The label and the time limit that the settings of the repository name.
    label: Option<String>,
    wall: Duration,
    /// What a person should know about the other workflows.
    notes: Vec<String>,
    /// Other CI systems, each with its file.
    others: Vec<(&'static str, &'static str)>,
}

/// Looks at the repository that contains a folder.
pub(super) async fn look(path: &Path) -> Result<Found, Exit> {
    let named = folder::checkout(path)?;
    // A thread that may be abandoned, because a stranger's checkout may contain anything.
    let placed = tokio::task::spawn_blocking(move || Place::of(named)).await;
    let place = placed.map_err(|error| Exit::Fault(error.to_string()))?;
    // Nothing is run here, so no copies are made.
    let worktree = app::worktree(&place.root, PathBuf::new(), Stores::default()).await?;
    let listened_to = ListenedTo::of(&worktree);
    let paths = worktree.checkout.paths();
    let others = OTHER_CI
        .into_iter()
        .filter(|(file, _)| paths.iter().any(|path| path.as_str() == *file));
    Ok(Found {
        commands: worktree.selection().wanted,
        others: others.map(|(file, system)| (system, file)).collect(),
        workflows: listened_to.workflows,
        notes: listened_to.notes,
        label: worktree.config.trigger.label.clone(),
        wall: worktree.config.limits.wall,
        place,
    })
}

impl Found {
    /// What the files depend on.
    pub(super) fn blanks(&self) -> Blanks {
        Blanks {
            workflows: self.workflows.iter().map(|workflow| workflow.name.clone()).collect(),
            label: (self.label != Trigger::default().label).then(|| self.label.clone().unwrap_or_default()),
            wall: Some(self.wall).filter(|wall| *wall != RunLimits::default().wall),
            has_own_runners: matches!(self.place.server, Server::Enterprise(_)),
            is_elsewhere: matches!(self.place.server, Server::Cloud(_) | Server::Enterprise(_)),
            command: match self.commands.as_slice() {
                [one] => Some(one.to_string()),
                _ => None,
            },
        }
    }

    /// Where a workflow goes: to the path, or to the file that is there with the other ending.
    pub(super) fn path_of(&self, path: &str) -> String {
        let other = with_other_end(path);
        let is_there = |path: &str| self.place.root.join(path).symlink_metadata().is_ok();
        match !is_there(path) && is_there(&other) {
            true => other,
            false => path.into(),
        }
    }

    pub(super) fn has_tests(&self) -> bool {
        !self.commands.is_empty()
    }

    pub(super) fn has_workflows(&self) -> bool {
        !self.workflows.is_empty()
    }

    /// The files of the workflows that pull requests do not start yet. Empty if they start any.
    pub(super) fn of_pushes(&self) -> String {
        let of_pushes = self.workflows.iter().filter(|workflow| !workflow.is_for_pull_requests);
        let files: Vec<&str> = of_pushes.map(|workflow| workflow.path.as_str()).collect();
        files.join(" and ")
    }

    /// The CI system of a repository without workflows that pull requests start.
    pub(super) fn other_ci(&self) -> Option<&'static str> {
        let (system, _) = self.others.first()?;
        (!self.has_workflows()).then_some(*system)
    }

    pub(super) fn needs_token(&self) -> bool {
        self.blanks().is_elsewhere
    }

    pub(super) fn has_own_runners(&self) -> bool {
        self.blanks().has_own_runners
    }

    /// Prints how it is tested.
    pub(super) fn show_tests(&self) {
        if let Some(note) = &self.place.note {
            terminal::mention(&format!("note: {note}"));
        }
        for command in &self.commands {
            let ecosystem = command.ecosystem().map(|name| format!("{name}, ")).unwrap_or_default();
            detail(&format!(
                "tests:    `{command}` ({ecosystem}found in {}, read as {})",
                command.source, command.framework
            ));
        }
        if self.commands.is_empty() {
            detail("tests:    none found; set `command` under `[test]` in greenlight.toml");
        }
    }

    /// Prints its CI, and where it is hosted.
    pub(super) fn show_github(&self) {
        for workflow in &self.workflows {
            // A name may contain line breaks.
            let name = yaml(&workflow.name);
            let but = if workflow.is_for_pull_requests {
                ""
            } else {
                ", which pull requests do not start"
            };
            detail(&format!("CI:       {name} in {}{but}", workflow.path));
        }
        if self.workflows.is_empty() {
            detail("CI:       no workflow that pull requests start");
            for (system, file) in &self.others {
                detail(&format!("          {system} in {file}"));
            }
        }
        detail(&format!("remote:   {}", self.place.words()));
        for note in &self.notes {
            terminal::mention(&format!("note: {note}"));
        }
        if self.place.root.join(CONFIG_FILE).is_file() {
            terminal::mention(&format!("note: {CONFIG_FILE} is there already, and stays as it is"));
        }
    }
}

/// Prints what was found. `--quiet` leaves it out.
fn detail(line: &str) {
    if !terminal::is_quiet() {
        terminal::show(line);
    }
}
