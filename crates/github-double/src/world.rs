//! The world before the story: one repository, the people around it, and the permissions of the App.
//!
//! It can be changed until [`super::Double::start`] takes it; later changes are made through the double.

use std::collections::BTreeMap;

use super::names::{AUTHOR, DEFAULT_BRANCH, HOME, MAINTAINER, OTHER_CI, READER, Role, STRANGER};
use super::state::{Account, Addresses, App, Repository, State};
use super::store::{self, Change};

/// The initial state of a double.
#[derive(Debug, Clone)]
pub struct World {
    owner: String,
    name: String,
    private: bool,
    prefix: String,
    files: Vec<(String, Vec<u8>)>,
    people: Vec<(String, Role)>,
    permissions: BTreeMap<String, String>,
    unaccepted: Vec<String>,
    events: Vec<String>,
}

impl World {
    /// A public repository `owner/name` with these files on `main`, and [`MAINTAINER`], [`AUTHOR`], [`READER`] and
    /// [`STRANGER`] as people. A name without `/` belongs to `acme`.
    pub fn with_repository(name: &str, files: &[(&str, &[u8])]) -> Self {
        let (owner, name) = name.split_once('/').unwrap_or(("acme", name));
        let granted = [
            ("actions", "write"),
            ("checks", "write"),
            ("contents", "write"),
            ("issues", "write"),
            ("metadata", "read"),
            ("pull_requests", "write"),
            ("statuses", "read"),
        ];
        let events = [
            "check_run",
            "check_suite",
            "issue_comment",
            "pull_request",
            "pull_request_review",
            "pull_request_review_comment",
            "status",
            "workflow_run",
        ];
        Self {
            owner: owner.into(),
            name: name.into(),
            private: false,
            prefix: String::new(),
            files: files
                .iter()
                .map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec()))
                .collect(),
            people: vec![
                (MAINTAINER.into(), Role::Maintain),
                (AUTHOR.into(), Role::Write),
                (READER.into(), Role::Read),
                (STRANGER.into(), Role::None),
            ],
            permissions: granted
                .iter()
                .map(|(name, level)| ((*name).to_owned(), (*level).to_owned()))
                .collect(),
            unaccepted: Vec::new(),
            events: events.map(str::to_owned).to_vec(),
        }
    }

    /// Sets somebody's role in the repository.
    #[must_use]
    pub fn person(mut self, login: &str, role: Role) -> Self {
        self.people.retain(|(name, _)| !name.eq_ignore_ascii_case(login));
        self.people.push((login.into(), role));
        self
    }

    /// Hides the repository from everybody without a role.
    #[must_use]
    pub fn private(mut self) -> Self {
        self.private = true;
        self
    }

    /// Serves the REST API below this path, as GitHub Enterprise Server does with `/api/v3`.
    #[must_use]
    pub fn prefix(mut self, prefix: &str) -> Self {
        self.prefix = prefix.trim_end_matches('/').into();
        self
    }

    /// Sets one permission of the App, such as `("checks", "read")`; the level `none` removes it.
    #[must_use]
    pub fn app_permission(mut self, name: &str, level: &str) -> Self {
        self.permissions.remove(name);
        if level != "none" {
            self.permissions.insert(name.into(), level.into());
        }
        self
    }

    /// Leaves the acceptance of one of the App's permissions to the owners of its installations, who have not given it.
    #[must_use]
    pub fn unaccepted(mut self, permission: &str) -> Self {
        self.unaccepted.push(permission.into());
        self
    }

    /// Unsubscribes the App from an event, which is delivered all the same.
    #[must_use]
    pub fn without_event(mut self, event: &str) -> Self {
        self.events.retain(|name| name != event);
        self
    }

    /// Builds the state that is served at `web`, with the logs at `store`.
    pub(super) fn build(self, web: String, store: String) -> Result<State, super::DoubleError> {
        let folder = tempfile::Builder::new().prefix("greenlight-double-").tempdir()?;
        let bare = store::init(&folder.path().join("1.git"), None)?;
        let ours = App {
            id: 4242,
            slug: "greenlight".into(),
            name: "greenlight".into(),
            permissions: self.permissions,
            unaccepted: self.unaccepted,
            events: self.events,
            installations: vec![(77, self.owner.clone())],
        };
        let actions = app_of_another(15368, "github-actions", "GitHub Actions");
        let other = app_of_another(18001, OTHER_CI, "CircleCI Checks");
        let mut state = State::empty(
            Addresses {
                web,
                store,
                prefix: self.prefix,
            },
            [ours, actions, other],
            folder,
        );
        state.accounts = vec![
            Account {
                id: 100,
                login: self.owner.clone(),
                kind: "Organization",
            },
            Account {
                id: 102,
                login: state.apps[0].bot(),
                kind: "Bot",
            },
            Account {
                id: 41_898_282,
                login: state.apps[1].bot(),
                kind: "Bot",
            },
            Account {
                id: 103,
                login: state.apps[2].bot(),
                kind: "Bot",
            },
        ];
        state.repositories.push(Repository {
            id: HOME,
            owner: self.owner,
            name: self.name,
            private: self.private,
            fork_of: None,
            created_at: super::objects::LONG_AGO.into(),
            roles: self.people.iter().cloned().collect(),
            pulls: BTreeMap::new(),
            git: bare,
        });
        for (number, (login, _)) in (1000_u64..).zip(&self.people) {
            state.accounts.push(Account {
                id: number,
                login: login.clone(),
                kind: "User",
            });
        }
        let changes: Vec<Change> = self
            .files
            .into_iter()
            .map(|(path, bytes)| (path, Some(bytes)))
            .collect();
        let author = state.identity(MAINTAINER);
        let when = state.commit_time();
        let git = &state.repositories[0].git;
        let tree = store::write_changes(git, None, &changes)?;
        let commit = store::NewCommit::by(&author, when, "First commit", tree, Vec::new());
        let first = store::commit(git, &commit)?;
        git.reference(&format!("refs/heads/{DEFAULT_BRANCH}"), first, true, "start")?;
        Ok(state)
    }
}

/// Another App, of which only its reports are visible.
fn app_of_another(id: u64, slug: &str, name: &str) -> App {
    App {
        id,
        slug: slug.into(),
        name: name.into(),
        permissions: BTreeMap::new(),
        unaccepted: Vec::new(),
        events: Vec::new(),
        installations: Vec::new(),
    }
}

impl State {
    /// Creates an account for somebody without one.
    pub(super) fn welcome(&mut self, login: &str) {
        if self.account(login).is_none() {
            let id = self.fresh_id();
            self.accounts.push(Account {
                id,
                login: login.into(),
                kind: "User",
            });
        }
    }
}
