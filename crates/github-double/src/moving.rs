//! Renames and transfers of repositories, renames of accounts, and what remains under the old names.
//!
//! A repository keeps its id. Its old name redirects to `/repositories/ID`, with 301 for GET and 307 for every other
//! method, until another repository takes the name. Recorded responses of both: octokit/fixtures,
//! `rename-repository`.
//! <https://docs.github.com/en/repositories/creating-and-managing-repositories/renaming-a-repository>
//! <https://docs.github.com/en/repositories/creating-and-managing-repositories/transferring-a-repository>
//!
//! The old login of an account does not redirect, and anybody may take it.
//! <https://docs.github.com/en/account-and-profile/reference/username-reference>

use serde_json::json;

use super::answer::RestAnswer;
use super::auth::{self, Credentials};
use super::names::{HOME, Role};
use super::state::{Account, Holder, PullRequest, Repository, State};
use super::{Double, DoubleError, comments, objects, store};

impl Double {
    /// Renames a repository, or transfers it to another owner, who has the App installed as well.
    ///
    /// # Errors
    /// When the name is taken, or there is no such repository.
    pub fn rename_repository(&self, id: u64, to: &str) -> Result<(), DoubleError> {
        self.change(|state| state.rename_repository(id, to))
    }

    /// Creates a repository with this name, with the App installed and the same commits and pull requests: the best
    /// imitation of the story's repository that somebody else can make. Its maker has all permissions there, and
    /// everybody else none. Returns its id.
    ///
    /// # Errors
    /// When the name is taken.
    pub fn copy_repository(&self, to: &str, maker: &str) -> Result<u64, DoubleError> {
        self.act(maker, |state| state.copy_repository(to, maker))
    }

    /// Adds a comment to the conversation of a pull request in any repository; delivers `issue_comment.created`.
    pub async fn comment_in(&self, repository: u64, number: u64, login: &str, body: &str) -> u64 {
        let id = {
            let mut state = self.shared.lock();
            state.welcome(login);
            comments::add(&mut state, repository, number, login, body).id
        };
        self.shared.changed();
        self.delivered().await;
        id
    }

    /// The texts that greenlight's App wrote on a pull request in any repository.
    pub fn said_in(&self, repository: u64, number: u64) -> Vec<String> {
        let state = self.shared.lock();
        let bot = state.app().bot();
        let here = state
            .comments
            .values()
            .filter(|one| (one.repository, one.number) == (repository, number));
        here.filter(|one| one.author == bot)
            .map(|one| one.body.clone())
            .collect()
    }

    /// The head of a pull request in any repository.
    pub fn head_in(&self, repository: u64, number: u64) -> Option<String> {
        let state = self.shared.lock();
        state.pull(repository, number).map(|pull| pull.head.to_string())
    }

    /// Renames an account; all its earlier actions are shown under the new login. The old one becomes available.
    ///
    /// # Errors
    /// When the login is taken, or nobody has the old one.
    pub fn rename_account(&self, from: &str, to: &str) -> Result<(), DoubleError> {
        self.change(|state| state.rename_account(from, to))
    }
}

impl State {
    pub(super) fn repository_named(&self, owner: &str, name: &str) -> Option<&Repository> {
        self.repositories
            .iter()
            .find(|r| r.owner.eq_ignore_ascii_case(owner) && r.name.eq_ignore_ascii_case(name))
    }

    /// The installation of greenlight's App on an account's repositories.
    pub(super) fn installation_of(&self, owner: &str) -> Option<u64> {
        let installations = &self.app().installations;
        let found = installations
            .iter()
            .find(|(_, account)| account.eq_ignore_ascii_case(owner));
        found.map(|(id, _)| *id)
    }

    fn rename_repository(&mut self, id: u64, to: &str) -> Result<(), DoubleError> {
        let (owner, name) = self.free_name(to)?;
        let repository = self
            .repository_mut(id)
            .ok_or(DoubleError::Missing { what: "repository", id })?;
        let old = repository.full_name().to_ascii_lowercase();
        (repository.owner, repository.name) = (owner, name);
        self.moved.insert(old, id);
        Ok(())
    }

    fn copy_repository(&mut self, to: &str, maker: &str) -> Result<u64, DoubleError> {
        let (owner, name) = self.free_name(to)?;
        let id = self.fresh_id();
        let home = self.repository(HOME).ok_or(DoubleError::Missing {
            what: "repository",
            id: HOME,
        })?;
        let git = store::init(&self.folder.path().join(format!("{id}.git")), Some(&home.git))?;
        for reference in home.git.references()?.flatten() {
            // greenlight's own references are not copied, because no clone contains them.
            if let (Ok(name), Some(target)) = (reference.name(), reference.target())
                && name.starts_with("refs/heads/")
            {
                git.reference(name, target, true, "copied")?;
            }
        }
        let copied = |pull: &PullRequest| PullRequest {
            head_repository: if pull.head_repository == HOME {
                id
            } else {
                pull.head_repository
            },
            timeline: Vec::new(),
            ..pull.clone()
        };
        let copy = Repository {
            id,
            owner,
            name,
            private: home.private,
            fork_of: None,
            created_at: objects::present(),
            roles: [(maker.to_owned(), Role::Admin)].into(),
            pulls: home
                .pulls
                .iter()
                .map(|(number, pull)| (*number, copied(pull)))
                .collect(),
            git,
        };
        self.repositories.push(copy);
        Ok(id)
    }

    /// Splits an unused full name, creates an account for its owner if necessary, and installs the App there.
    fn free_name(&mut self, full_name: &str) -> Result<(String, String), DoubleError> {
        let (owner, name) = full_name.split_once('/').unwrap_or(("acme", full_name));
        if self.repository_named(owner, name).is_some() {
            return Err(DoubleError::Refused(format!(
                "The repository {full_name} already exists."
            )));
        }
        self.moved.remove(&full_name.to_ascii_lowercase());
        if self.account(owner).is_none() {
            let id = self.fresh_id();
            let (login, kind) = (owner.into(), "Organization");
            self.accounts.push(Account { id, login, kind });
        }
        if self.installation_of(owner).is_none() {
            let id = self.fresh_id();
            self.apps[0].installations.push((id, owner.into()));
        }
        Ok((owner.into(), name.into()))
    }

    fn rename_account(&mut self, from: &str, to: &str) -> Result<(), DoubleError> {
        if self.account(to).is_some() {
            return Err(DoubleError::Refused("Username is not available.".into()));
        }
        let account = self
            .accounts
            .iter_mut()
            .find(|account| account.login.eq_ignore_ascii_case(from));
        let account = account.ok_or(DoubleError::Missing { what: "account", id: 0 })?;
        let old = std::mem::replace(&mut account.login, to.into());
        let pulls = self.repositories.iter_mut().flat_map(|repository| {
            if let Some(role) = repository.roles.remove(&old) {
                repository.roles.insert(to.into(), role);
            }
            repository.pulls.values_mut()
        });
        let authors = pulls
            .map(|one| &mut one.author)
            .chain(self.comments.values_mut().map(|one| &mut one.author))
            .chain(self.reviews.values_mut().map(|one| &mut one.author))
            .chain(self.review_comments.values_mut().map(|one| &mut one.author))
            .chain(self.workflow_runs.values_mut().map(|one| &mut one.actor))
            .chain(self.reactions.values_mut().map(|one| &mut one.login));
        let holders = self.tokens.values_mut().filter_map(|token| match &mut token.holder {
            Holder::Person { login, .. } | Holder::FineGrained { login, .. } => Some(login),
            Holder::Installation { .. } => None,
        });
        for author in authors.chain(holders).filter(|author| **author == old) {
            to.clone_into(author);
        }
        Ok(())
    }
}

/// The path itself, or for `/repositories/ID` the same path below the repository's current name.
pub(super) fn by_id(state: &State, path: &str) -> String {
    let present = || {
        let (id, rest) = split(path.strip_prefix("/repositories/")?);
        let repository = state.repository(id.parse().ok()?)?;
        Some(format!("/repos/{}{rest}", repository.full_name()))
    };
    present().unwrap_or_else(|| path.to_owned())
}

/// The redirect for a former name of a repository. `None` if the name is used now, or never was.
pub(super) fn redirect(
    state: &State,
    (method, path, query): (&str, &str, Option<&str>),
    credentials: &Credentials,
) -> Option<RestAnswer> {
    let (owner, rest) = path.strip_prefix("/repos/")?.split_once('/')?;
    let (name, rest) = split(rest);
    let moved = moved(state, owner, name)?;
    let may_know = match credentials {
        Credentials::Missing => !moved.private,
        Credentials::App => true,
        Credentials::Token(holder) => auth::may_see(state, holder, moved),
    };
    if !may_know {
        return Some(RestAnswer::not_found());
    }
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    let location = format!("{}/repositories/{}{rest}{query}", state.api(), moved.id);
    let (status, message) = match method {
        "GET" => (301, "Moved Permanently"),
        _ => (307, "Temporary Redirect"),
    };
    let body = json!({
        "message": message, "url": location, "documentation_url": "https://docs.github.com/v3/#http-redirects"
    });
    Some(RestAnswer::json(status, body).header("location", location))
}

/// The repository that formerly had this name.
pub(super) fn moved<'a>(state: &'a State, owner: &str, name: &str) -> Option<&'a Repository> {
    if state.repository_named(owner, name).is_some() {
        return None;
    }
    let old = format!("{owner}/{name}").to_ascii_lowercase();
    state.repository(*state.moved.get(&old)?)
}

/// The first segment, and the rest with its slash.
fn split(path: &str) -> (&str, &str) {
    path.split_at(path.find('/').unwrap_or(path.len()))
}
