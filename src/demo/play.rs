//! What people do on GitHub's pages: open pull requests, push, comment, press buttons; and what CI does.
//!
//! Each returns when the deliveries it caused have been answered.

use git2::Oid;

use super::state::{Job, PullRequest, Repository, State, WorkflowRun};
use super::store::{self, Change, NewCommit};
use super::world::DEFAULT_BRANCH;
use super::{Double, DoubleError, actions, checks, comments, threads};

/// A pull request about to be opened.
#[derive(Debug, Clone)]
pub struct NewPullRequest {
    author: String,
    branch: String,
    title: String,
    body: String,
    changes: Vec<Change>,
    fork: bool,
    maintainer_can_modify: bool,
}

impl NewPullRequest {
    /// A pull request of `author` from `branch` of the repository itself.
    pub fn new(author: &str, branch: &str, title: &str) -> Self {
        Self {
            author: author.into(),
            branch: branch.into(),
            title: title.into(),
            body: String::new(),
            changes: Vec::new(),
            fork: false,
            maintainer_can_modify: false,
        }
    }

    #[must_use]
    pub fn body(mut self, body: &str) -> Self {
        self.body = body.into();
        self
    }

    /// Writes a file, new or known.
    #[must_use]
    pub fn write(mut self, path: &str, bytes: impl AsRef<[u8]>) -> Self {
        self.changes.push((path.into(), Some(bytes.as_ref().to_vec())));
        self
    }

    #[must_use]
    pub fn delete(mut self, path: &str) -> Self {
        self.changes.push((path.into(), None));
        self
    }

    /// From a fork of the author's; the flag is "Allow edits by maintainers".
    #[must_use]
    pub fn from_fork(mut self, maintainer_can_modify: bool) -> Self {
        self.fork = true;
        self.maintainer_can_modify = maintainer_can_modify;
        self
    }
}

/// A failed job of a workflow run.
#[derive(Debug, Clone)]
pub struct JobLog<'a> {
    pub workflow: &'a str,
    pub job: &'a str,
    pub step: &'a str,
    pub log: &'a str,
}

/// The repository every story is about.
const HOME: u64 = 1;

impl Double {
    /// Opens a pull request against `main` with one commit, and delivers `pull_request.opened`.
    ///
    /// # Errors
    /// When git refuses a path or the branch name.
    pub async fn open_pull_request(&self, new: NewPullRequest) -> Result<u64, DoubleError> {
        let number = self.change(|state| open(state, new))?;
        self.delivered().await;
        Ok(number)
    }

    /// Commits these changes on the head of a pull request and pushes; delivers `pull_request.synchronize`.
    ///
    /// # Errors
    /// When there is no such pull request, or git refuses a path.
    pub async fn push(
        &self,
        number: u64,
        author: &str,
        changes: &[(&str, Option<&[u8]>)],
    ) -> Result<String, DoubleError> {
        let sha = self.change(|state| {
            let pull = known(state, number)?;
            let changes = owned(changes);
            let id = commit_on(
                state,
                pull.head_repository,
                pull.head,
                author,
                "Change things",
                &changes,
            )?;
            state.move_reference(
                pull.head_repository,
                &format!("refs/heads/{}", pull.head_branch),
                id,
                author,
            )?;
            Ok(id.to_string())
        })?;
        self.delivered().await;
        Ok(sha)
    }

    /// Replaces the commits of a pull request by one on top of `main`: a force push.
    ///
    /// # Errors
    /// When there is no such pull request, or git refuses a path.
    pub async fn force_push(
        &self,
        number: u64,
        author: &str,
        changes: &[(&str, Option<&[u8]>)],
    ) -> Result<String, DoubleError> {
        let sha = self.change(|state| {
            let pull = known(state, number)?;
            let base = branch_tip(state, HOME, DEFAULT_BRANCH)?;
            let id = commit_on(state, pull.head_repository, base, author, "Start over", &owned(changes))?;
            state.move_reference(
                pull.head_repository,
                &format!("refs/heads/{}", pull.head_branch),
                id,
                author,
            )?;
            Ok(id.to_string())
        })?;
        self.delivered().await;
        Ok(sha)
    }

    /// Commits these changes on a branch of the repository itself, such as `main`.
    ///
    /// # Errors
    /// When there is no such branch, or git refuses a path.
    pub async fn push_to(
        &self,
        branch: &str,
        author: &str,
        changes: &[(&str, Option<&[u8]>)],
    ) -> Result<String, DoubleError> {
        let sha = self.change(|state| {
            let tip = branch_tip(state, HOME, branch)?;
            let id = commit_on(state, HOME, tip, author, "Change things", &owned(changes))?;
            state.move_reference(HOME, &format!("refs/heads/{branch}"), id, author)?;
            Ok(id.to_string())
        })?;
        self.delivered().await;
        Ok(sha)
    }

    /// Writes a comment in the conversation; delivers `issue_comment.created`.
    ///
    /// # Errors
    /// When there is no such pull request.
    pub async fn comment(&self, number: u64, login: &str, body: &str) -> Result<u64, DoubleError> {
        let id = self.change(|state| {
            known(state, number)?;
            Ok(comments::add(state, HOME, number, login, body).id)
        })?;
        self.delivered().await;
        Ok(id)
    }

    /// Changes a comment; delivers `issue_comment.edited`.
    ///
    /// # Errors
    /// When there is no such comment.
    pub async fn edit_comment(&self, id: u64, login: &str, body: &str) -> Result<(), DoubleError> {
        self.change(|state| {
            comments::edit(state, id, login, body)
                .map(drop)
                .ok_or(DoubleError::Missing { what: "comment", id })
        })?;
        self.delivered().await;
        Ok(())
    }

    /// Answers in the thread of a review comment; delivers `pull_request_review_comment.created`.
    ///
    /// # Errors
    /// When there is no such review comment.
    pub async fn review_comment_reply(&self, to: u64, login: &str, body: &str) -> Result<u64, DoubleError> {
        let id = self.change(|state| {
            let top = state.review_comments.get(&to).cloned();
            let top = top.ok_or(DoubleError::Missing {
                what: "review comment",
                id: to,
            })?;
            Ok(threads::add_reply(state, &top, login, body).id)
        })?;
        self.delivered().await;
        Ok(id)
    }

    /// Adds a label; delivers `pull_request.labeled`.
    ///
    /// # Errors
    /// When there is no such pull request.
    pub async fn label(&self, number: u64, login: &str, name: &str) -> Result<(), DoubleError> {
        self.change(|state| {
            known(state, number)?;
            if let Some(pull) = state.pull_mut(HOME, number) {
                pull.labels.push(name.into());
            }
            let mut payload = state.pull_payload("labeled", HOME, number);
            if let Some(repository) = state.repository(HOME) {
                payload["label"] = super::pulls::label(state, repository, name);
            }
            state.notify("pull_request", HOME, login, payload);
            Ok(())
        })?;
        self.delivered().await;
        Ok(())
    }

    /// Closes a pull request; delivers `pull_request.closed`.
    ///
    /// # Errors
    /// When there is no such pull request.
    pub async fn close(&self, number: u64, login: &str) -> Result<(), DoubleError> {
        self.change(|state| {
            known(state, number)?;
            state.close(HOME, number, login);
            Ok(())
        })?;
        self.delivered().await;
        Ok(())
    }

    /// Presses a button of a check run; delivers `check_run.requested_action`.
    ///
    /// # Errors
    /// When there is no such check run, or it has no such button.
    pub async fn press_button(&self, check_run: u64, identifier: &str, login: &str) -> Result<(), DoubleError> {
        self.change(|state| {
            let run = state.check_runs.get(&check_run).cloned();
            let run = run.ok_or(DoubleError::Missing {
                what: "check run",
                id: check_run,
            })?;
            if !run.actions.iter().any(|action| action["identifier"] == identifier) {
                return Err(DoubleError::Refused(format!(
                    "the check run has no button {identifier:?}"
                )));
            }
            checks::notify(state, "requested_action", &run, Some((identifier, login)));
            Ok(())
        })?;
        self.delivered().await;
        Ok(())
    }

    /// Ends a workflow run on the head of a pull request with one failed job; delivers `check_run.completed`,
    /// `check_suite.completed` and `workflow_run.completed`. Returns the id of the workflow run.
    ///
    /// # Errors
    /// When there is no such pull request.
    pub async fn fail_ci(&self, number: u64, log: JobLog<'_>) -> Result<u64, DoubleError> {
        let id = self.change(|state| end_ci(state, number, &log, "failure"))?;
        self.delivered().await;
        Ok(id)
    }

    /// Ends a workflow run on the head of a pull request with one green job; delivers the same events.
    ///
    /// # Errors
    /// When there is no such pull request.
    pub async fn pass_ci(&self, number: u64, log: JobLog<'_>) -> Result<u64, DoubleError> {
        let id = self.change(|state| end_ci(state, number, &log, "success"))?;
        self.delivered().await;
        Ok(id)
    }
}

fn owned(changes: &[(&str, Option<&[u8]>)]) -> Vec<Change> {
    changes
        .iter()
        .map(|(path, bytes)| ((*path).to_owned(), bytes.map(<[u8]>::to_vec)))
        .collect()
}

pub(super) fn known(state: &State, number: u64) -> Result<PullRequest, DoubleError> {
    state.pull(HOME, number).cloned().ok_or(DoubleError::Missing {
        what: "pull request",
        id: number,
    })
}

fn branch_tip(state: &State, repository: u64, branch: &str) -> Result<Oid, DoubleError> {
    let tip = state
        .repository(repository)
        .and_then(|repository| store::tip(&repository.git, branch));
    tip.ok_or_else(|| DoubleError::Refused(format!("there is no branch {branch}")))
}

/// Writes a commit on top of another one, without moving a branch.
pub(super) fn commit_on(
    state: &mut State,
    repository: u64,
    parent: Oid,
    author: &str,
    message: &str,
    changes: &[Change],
) -> Result<Oid, DoubleError> {
    let (identity, when) = (state.identity(author), state.commit_time());
    let repository = state.repository(repository).ok_or(DoubleError::Missing {
        what: "repository",
        id: repository,
    })?;
    let git = &repository.git;
    let base = git.find_commit(parent)?.tree()?;
    let tree = store::write_changes(git, Some(&base), changes)?;
    Ok(store::commit(
        git,
        &NewCommit::by(&identity, when, message, tree, vec![parent]),
    )?)
}

/// The author's fork, made when it is needed first.
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
    let git = store::init(&state.folder.path().join(format!("{id}.git")), Some(home.git.path()))?;
    if let Some(tip) = store::tip(&home.git, DEFAULT_BRANCH) {
        git.reference(&format!("refs/heads/{DEFAULT_BRANCH}"), tip, true, "forked")?;
    }
    let fork = Repository {
        id,
        owner: owner.into(),
        name: home.name.clone(),
        private: home.private,
        fork_of: Some(HOME),
        roles: [(owner.to_owned(), super::Role::Admin)].into(),
        pulls: std::collections::BTreeMap::new(),
        git,
    };
    state.repositories.push(fork);
    Ok(id)
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
    let head_repository = if fork { fork_of(state, &author)? } else { HOME };
    let base = branch_tip(state, HOME, DEFAULT_BRANCH)?;
    let head = commit_on(state, head_repository, base, &author, &title, &changes)?;
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

fn end_ci(state: &mut State, number: u64, log: &JobLog<'_>, conclusion: &str) -> Result<u64, DoubleError> {
    let pull = known(state, number)?;
    let (started, ended) = (state.now(), state.now());
    let slug = state.apps[1].slug.clone();
    let mut check = checks::blank(state, HOME, pull.head, log.job, &slug);
    check.status = "completed".into();
    check.conclusion = Some(conclusion.into());
    check.started_at = Some(started.clone());
    check.completed_at = Some(ended.clone());
    let run = WorkflowRun {
        id: state.fresh_id(),
        repository: HOME,
        number: u64::try_from(state.workflow_runs.len()).unwrap_or_default() + 1,
        name: log.workflow.into(),
        head_repository: pull.head_repository,
        head_branch: pull.head_branch.clone(),
        head: pull.head,
        actor: pull.author.clone(),
        status: "completed".into(),
        conclusion: Some(conclusion.into()),
        attempt: 1,
        suite: check.suite,
        created_at: started.clone(),
        updated_at: ended.clone(),
    };
    let job = Job {
        id: state.fresh_id(),
        run: run.id,
        check_run: check.id,
        name: log.job.into(),
        attempt: 1,
        status: "completed".into(),
        conclusion: Some(conclusion.into()),
        failed_step: Some(log.step.into()),
        log: log.log.into(),
        created_at: started,
        completed_at: Some(ended),
    };
    state.jobs.insert(job.id, job);
    state.workflow_runs.insert(run.id, run.clone());
    checks::add(state, check);
    actions::notify(state, "completed", &run, &pull.author);
    Ok(run.id)
}
