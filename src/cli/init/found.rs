//! What `greenlight init` finds in a checkout: its tests, its workflows, its default branch, and where it is hosted.
//!
//! Only files and references are read; nothing is executed.

use std::path::{Path, PathBuf};

use super::super::{Exit, app, folder, terminal};
use super::files::{Blanks, COMMANDS_PATH, WORKFLOW_PATH, yaml};
use crate::engine::worktree::Worktree;
use crate::git::LocalRepository;
use crate::suite::{self, CiWorkflow, TestCommand};

/// A checkout, looked at.
pub(super) struct Found {
    pub(super) root: PathBuf,
    commands: Vec<TestCommand>,
    /// The workflows that greenlight listens to.
    workflows: Vec<CiWorkflow>,
    server: Server,
    pub(super) default_branch: Option<String>,
    pub(super) current_branch: Option<String>,
}

/// Where the repository is hosted, as far as the remote `origin` says.
#[derive(Debug, PartialEq, Eq)]
enum Server {
    /// github.com.
    GitHub,
    /// GitHub Enterprise Cloud with data residency: a subdomain of ghe.com.
    Cloud(String),
    /// GitHub Enterprise Server, unless it is no GitHub at all.
    Enterprise(String),
    /// There is no remote, or it names no host.
    Unknown,
}

/// What git says about a folder.
struct Place {
    root: PathBuf,
    host: Option<String>,
    default_branch: Option<String>,
    current_branch: Option<String>,
    /// What a person should know.
    note: Option<String>,
}

/// Looks at the repository that contains a folder.
pub(super) async fn look(path: &Path) -> Result<Found, Exit> {
    let named = folder::checkout(path)?;
    // A thread that may be abandoned, because a stranger's checkout may contain anything.
    let placed = tokio::task::spawn_blocking(move || place(named)).await;
    let place = placed.map_err(|error| Exit::Fault(error.to_string()))?;
    if let Some(note) = &place.note {
        terminal::mention(&format!("note: {note}"));
    }
    // Nothing is run here, so no copies are made.
    let worktree = app::worktree(&place.root, PathBuf::new(), PathBuf::new()).await?;
    Ok(Found {
        commands: worktree.selection().wanted,
        workflows: listened_to(&worktree),
        server: Server::at(place.host),
        default_branch: place.default_branch,
        current_branch: place.current_branch,
        root: place.root,
    })
}

fn place(named: PathBuf) -> Place {
    match LocalRepository::open(&named) {
        Ok(repository) => {
            let root = repository.work_tree().unwrap_or(&named).to_path_buf();
            Place {
                host: repository.origin_host(),
                default_branch: repository.default_branch(),
                current_branch: repository.current_branch(),
                note: (root != named).then(|| format!("the repository begins at {}", root.display())),
                root,
            }
        }
        Err(error) => Place {
            note: Some(format!("{error}, so the files are for the folder itself")),
            root: named,
            host: None,
            default_branch: None,
            current_branch: None,
        },
    }
}

/// The workflows that pull requests start and that run tests; if none is known to run tests, all that pull requests
/// start.
fn listened_to(worktree: &Worktree) -> Vec<CiWorkflow> {
    let checkout = &worktree.checkout;
    let mut all = suite::ci_workflows(checkout.paths(), &mut |path| checkout.read_text(path));
    all.retain(|workflow| workflow.is_for_pull_requests);
    // GitHub refuses an expression in a name, here and in that workflow.
    all.retain(|workflow| !workflow.name.contains("${{"));
    all.retain(|workflow| ![WORKFLOW_PATH, COMMANDS_PATH].contains(&workflow.path.as_str()));
    if all.iter().any(|workflow| workflow.has_tests) {
        all.retain(|workflow| workflow.has_tests);
    }
    all
}

impl Server {
    fn at(host: Option<String>) -> Self {
        let Some(host) = host else { return Self::Unknown };
        // People with several accounts give the host other names in their settings of SSH: `github.com-work`.
        let is_github = ["github.com", "www.github.com", "ssh.github.com"].contains(&host.as_str());
        match host {
            _ if is_github || host.starts_with("github.com-") => Self::GitHub,
            host if host.ends_with(".ghe.com") => Self::Cloud(host),
            host => Self::Enterprise(host),
        }
    }

    fn words(&self) -> String {
        match self {
            Self::GitHub => "github.com".into(),
            Self::Cloud(host) => format!("{host}, GitHub Enterprise Cloud"),
            Self::Enterprise(host) => format!("{host}, taken for GitHub Enterprise Server"),
            Self::Unknown => "no remote `origin` with a host, taken for github.com".into(),
        }
    }
}

impl Found {
    /// What the files depend on.
    pub(super) fn blanks(&self) -> Blanks {
        Blanks {
            workflows: self.workflows.iter().map(|workflow| workflow.name.clone()).collect(),
            has_own_runners: matches!(self.server, Server::Enterprise(_)),
            is_elsewhere: matches!(self.server, Server::Cloud(_) | Server::Enterprise(_)),
            command: match self.commands.as_slice() {
                [one] => Some(one.to_string()),
                _ => None,
            },
        }
    }

    pub(super) fn has_tests(&self) -> bool {
        !self.commands.is_empty()
    }

    pub(super) fn has_workflows(&self) -> bool {
        !self.workflows.is_empty()
    }

    pub(super) fn needs_token(&self) -> bool {
        self.blanks().is_elsewhere
    }

    pub(super) fn has_own_runners(&self) -> bool {
        self.blanks().has_own_runners
    }

    /// Prints how it is tested.
    pub(super) fn show_tests(&self) {
        for command in &self.commands {
            let ecosystem = command.ecosystem().map(|name| format!("{name}, ")).unwrap_or_default();
            terminal::show(&format!(
                "tests:    `{command}` ({ecosystem}found in {}, read as {})",
                command.source, command.framework
            ));
        }
        if self.commands.is_empty() {
            terminal::show("tests:    none found; set `command` under `[test]` in greenlight.toml");
        }
    }

    /// Prints its CI, and where it is hosted.
    pub(super) fn show_github(&self) {
        for workflow in &self.workflows {
            // A name may contain line breaks.
            let name = yaml(&workflow.name);
            terminal::show(&format!("CI:       {name} in {}", workflow.path));
        }
        if self.workflows.is_empty() {
            terminal::show("CI:       no workflow that pull requests start");
        }
        let branch = self.default_branch.as_ref();
        let branch = branch
            .map(|branch| format!(", default branch `{branch}`"))
            .unwrap_or_default();
        terminal::show(&format!("hosted:   {}{branch}", self.server.words()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_by_their_hosts() {
        let at = |host: &str| Server::at(Some(host.into()));
        for host in ["github.com", "ssh.github.com", "github.com-work"] {
            assert_eq!(at(host), Server::GitHub);
        }
        assert_eq!(at("acme.ghe.com"), Server::Cloud("acme.ghe.com".into()));
        for host in ["github.example.org", "notgithub.com", "github.com.evil.org", "ghe.com"] {
            assert_eq!(at(host), Server::Enterprise(host.into()));
        }
        assert_eq!(Server::at(None), Server::Unknown);
    }
}
