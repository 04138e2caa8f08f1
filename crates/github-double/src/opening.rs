//! Opens pull requests: creates the commit, the branch, and the fork if there is one.

use super::names::{DEFAULT_BRANCH, HOME};
use super::play::{Work, branch_tip, commit_on};
use super::state::{PullRequest, Repository, State};
use super::store::{self, Change};
use super::{Double, DoubleError, Role};

/// A pull request to be opened.
#[derive(Debug, Clone)]
pub struct NewPullRequest {
    author: String,
    branch: String,
    title: String,
    body: String,
    changes: Vec<Change>,
    /// The owner of the fork that contains the branch, if there is one.
    fork: Option<String>,
    maintainer_can_modify: bool,
}

impl NewPullRequest {
    /// A pull request by `author` from `branch` of the repository itself.
    pub fn new(author: &str, branch: &str, title: &str) -> Self {
        Self {
            author: author.into(),
            branch: branch.into(),
            title: title.into(),
            body: String::new(),
            changes: Vec::new(),
            fork: None,
            maintainer_can_modify: false,
        }
    }

    /// Sets the description.
    #[must_use]
    pub fn body(mut self, body: &str) -> Self {
        self.body = body.into();
        self
    }

    /// Creates or changes a file.
    #[must_use]
    pub fn write(mut self, path: &str, bytes: impl AsRef<[u8]>) -> Self {
        self.changes.push((path.into(), Some(bytes.as_ref().to_vec())));
        self
    }

    /// Deletes a file on the branch.
    #[must_use]
    pub fn delete(mut self, path: &str) -> Self {
        self.changes.push((path.into(), None));
        self
    }

    /// From a fork of the author; the flag is "Allow edits by maintainers".
    #[must_use]
    pub fn from_fork(self, maintainer_can_modify: bool) -> Self {
        let owner = self.author.clone();
        self.from_fork_of(&owner, maintainer_can_modify)
    }

    /// From somebody else's fork: anybody who can read both may open a pull request from it.
    #[must_use]
    pub fn from_fork_of(mut self, owner: &str, maintainer_can_modify: bool) -> Self {
        self.fork = Some(owner.into());
        self.maintainer_can_modify = maintainer_can_modify;
        self
    }
}

impl Double {
    /// Opens a pull request against `main` with one commit, and delivers `pull_request.opened`.
    ///
    /// # Errors
    /// When git refuses a path or the branch name.
    pub async fn open_pull_request(&self, new: NewPullRequest) -> Result<u64, DoubleError> {
        let number = self.act(&new.author.clone(), |state| open(state, new))?;
        self.delivered().await;
        Ok(number)
    }
}

fn open(state: &mut State, new: NewPullRequest) -> Result<u64, DoubleError> {
    let NewPullRequest {
        author,
        branch,
        title,
        body,
        changes,
        fork,
        maintainer_can_modify,
    } = new;
    let head_repository = match &fork {
        Some(owner) => fork_of(state, owner)?,
        None => HOME,
    };
    let base = branch_tip(state, HOME, DEFAULT_BRANCH)?;
    let head = commit_on(
        state,
        head_repository,
        base,
        &Work {
            author: &author,
            message: &title,
            changes: &changes,
        },
    )?;
    state.move_reference(head_repository, &format!("refs/heads/{branch}"), head, &author)?;
    let (id, now) = (state.fresh_id(), state.now());
    let pulls = &mut state
        .repository_mut(HOME)
        .ok_or(DoubleError::Missing {
            what: "repository",
            id: HOME,
        })?
        .pulls;
    let number = pulls.keys().next_back().copied().unwrap_or_default() + 1;
    pulls.insert(
        number,
        PullRequest {
            id,
            number,
            title,
            body,
            author: author.clone(),
            head_repository,
            head_branch: branch,
            head,
            base_branch: DEFAULT_BRANCH.into(),
            open: true,
            labels: Vec::new(),
            maintainer_can_modify,
            created_at: now.clone(),
            updated_at: now,
            timeline: Vec::new(),
        },
    );
    state.show_commits(HOME, number)?;
    let payload = state.pull_payload("opened", HOME, number);
    state.notify("pull_request", HOME, &author, payload);
    Ok(number)
}

/// Somebody's fork, created if there is none yet.
fn fork_of(state: &mut State, owner: &str) -> Result<u64, DoubleError> {
    let ours = |one: &&Repository| one.fork_of == Some(HOME) && one.owner.eq_ignore_ascii_case(owner);
    if let Some(known) = state.repositories.iter().find(ours) {
        return Ok(known.id);
    }
    let id = state.fresh_id();
    let home = state.repository(HOME).ok_or(DoubleError::Missing {
        what: "repository",
        id: HOME,
    })?;
    let git = store::init(&state.folder.path().join(format!("{id}.git")), Some(&home.git))?;
    if let Some(tip) = store::tip(&home.git, DEFAULT_BRANCH) {
        git.reference(&format!("refs/heads/{DEFAULT_BRANCH}"), tip, true, "forked")?;
    }
    let fork = Repository {
        id,
        owner: owner.into(),
        name: home.name.clone(),
        private: home.private,
        fork_of: Some(HOME),
        created_at: super::objects::LONG_AGO.into(),
        roles: [(owner.to_owned(), Role::Admin)].into(),
        pulls: std::collections::BTreeMap::new(),
        git,
    };
    state.repositories.push(fork);
    Ok(id)
}
