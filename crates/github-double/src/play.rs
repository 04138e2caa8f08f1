//! What people do to open pull requests on GitHub's pages: push, comment, label, close.
//!
//! Each method returns after all deliveries that it caused were answered.

use git2::Oid;

use super::names::{DEFAULT_BRANCH, HOME};
use super::state::{PullRequest, State};
use super::store::{self, Change, NewCommit};
use super::{Double, DoubleError, comments, objects, threads};

impl Double {
    /// Commits these changes on the head of a pull request and pushes; delivers `pull_request.synchronize`.
    /// A change is a path with its new content, or `None` to delete it. Returns the SHA of the commit.
    ///
    /// # Errors
    /// When there is no such pull request, or git refuses a path.
    pub async fn push(
        &self,
        number: u64,
        author: &str,
        changes: &[(&str, Option<&[u8]>)],
    ) -> Result<String, DoubleError> {
        let sha = self.act(author, |state| {
            let pull = known(state, number)?;
            let work = Work {
                author,
                message: "Change things",
                changes: &owned(changes),
            };
            let id = commit_on(state, pull.head_repository, pull.head, &work)?;
            state.move_reference(pull.head_repository, &pull.head_reference(), id, author)?;
            Ok(id.to_string())
        })?;
        self.delivered().await;
        Ok(sha)
    }

    /// Replaces the commits of a pull request by one commit on top of `main`, with a force push.
    ///
    /// # Errors
    /// When there is no such pull request, or git refuses a path.
    pub async fn force_push(
        &self,
        number: u64,
        author: &str,
        changes: &[(&str, Option<&[u8]>)],
    ) -> Result<String, DoubleError> {
        let sha = self.act(author, |state| {
            let pull = known(state, number)?;
            let base = branch_tip(state, HOME, DEFAULT_BRANCH)?;
            let work = Work {
                author,
                message: "Start over",
                changes: &owned(changes),
            };
            let id = commit_on(state, pull.head_repository, base, &work)?;
            state.move_reference(pull.head_repository, &pull.head_reference(), id, author)?;
            Ok(id.to_string())
        })?;
        self.delivered().await;
        Ok(sha)
    }

    /// Resets the branch of a pull request by one commit, with a force push.
    ///
    /// # Errors
    /// When there is no such pull request.
    pub async fn set_back(&self, number: u64, login: &str) -> Result<(), DoubleError> {
        self.act(login, |state| {
            let pull = known(state, number)?;
            let missing = DoubleError::Missing {
                what: "repository",
                id: pull.head_repository,
            };
            let there = state.repository(pull.head_repository).ok_or(missing)?;
            let before = there.git.find_commit(pull.head)?.parent_id(0)?;
            Ok(state.move_reference(pull.head_repository, &pull.head_reference(), before, login)?)
        })?;
        self.delivered().await;
        Ok(())
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
        let sha = self.act(author, |state| {
            let tip = branch_tip(state, HOME, branch)?;
            let work = Work {
                author,
                message: "Change things",
                changes: &owned(changes),
            };
            let id = commit_on(state, HOME, tip, &work)?;
            state.move_reference(HOME, &format!("refs/heads/{branch}"), id, author)?;
            Ok(id.to_string())
        })?;
        self.delivered().await;
        Ok(sha)
    }

    /// Adds a comment to the conversation; delivers `issue_comment.created`.
    ///
    /// # Errors
    /// When there is no such pull request.
    pub async fn comment(&self, number: u64, login: &str, body: &str) -> Result<u64, DoubleError> {
        let id = self.act(login, |state| {
            known(state, number)?;
            Ok(comments::add(state, HOME, number, login, body).id)
        })?;
        self.delivered().await;
        Ok(id)
    }

    /// The same with a comment written this many seconds ago.
    ///
    /// # Errors
    /// When there is no such pull request.
    pub async fn comment_earlier(
        &self,
        (number, seconds): (u64, i64),
        login: &str,
        body: &str,
    ) -> Result<u64, DoubleError> {
        let id = self.act(login, |state| {
            known(state, number)?;
            Ok(comments::add_at(state, (HOME, number), login, body, objects::ago(seconds)).id)
        })?;
        self.delivered().await;
        Ok(id)
    }

    /// Deletes a comment; delivers `issue_comment.deleted`.
    ///
    /// # Errors
    /// When there is no such comment.
    pub async fn delete_comment(&self, id: u64, login: &str) -> Result<(), DoubleError> {
        self.act(login, |state| {
            comments::take_away(state, id, login).ok_or(DoubleError::Missing { what: "comment", id })
        })?;
        self.delivered().await;
        Ok(())
    }

    /// Edits a comment; delivers `issue_comment.edited`.
    ///
    /// # Errors
    /// When there is no such comment.
    pub async fn edit_comment(&self, id: u64, login: &str, body: &str) -> Result<(), DoubleError> {
        self.act(login, |state| {
            comments::edit(state, id, login, body)
                .map(drop)
                .ok_or(DoubleError::Missing { what: "comment", id })
        })?;
        self.delivered().await;
        Ok(())
    }

    /// Replies in the thread of a review comment; delivers `pull_request_review_comment.created`.
    ///
    /// # Errors
    /// When there is no such review comment.
    pub async fn review_comment_reply(&self, to: u64, login: &str, body: &str) -> Result<u64, DoubleError> {
        let id = self.act(login, |state| {
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
        self.act(login, |state| {
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

    /// Changes the base branch of a pull request; delivers `pull_request.edited`. Its author may do this without push
    /// access.
    ///
    /// # Errors
    /// When there is no such pull request or branch.
    pub async fn change_base(&self, number: u64, login: &str, branch: &str) -> Result<(), DoubleError> {
        self.act(login, |state| {
            let pull = known(state, number)?;
            let from = branch_tip(state, HOME, &pull.base_branch)?;
            branch_tip(state, HOME, branch)?;
            if let Some(pull) = state.pull_mut(HOME, number) {
                pull.base_branch = branch.into();
            }
            let mut payload = state.pull_payload("edited", HOME, number);
            let before =
                serde_json::json!({ "ref": { "from": pull.base_branch }, "sha": { "from": from.to_string() } });
            payload["changes"] = serde_json::json!({ "base": before });
            state.notify("pull_request", HOME, login, payload);
            Ok(())
        })?;
        self.delivered().await;
        Ok(())
    }

    /// Changes the title of a pull request; delivers `pull_request.edited`.
    ///
    /// # Errors
    /// When there is no such pull request.
    pub async fn retitle(&self, number: u64, login: &str, title: &str) -> Result<(), DoubleError> {
        self.act(login, |state| {
            let before = known(state, number)?.title;
            if let Some(pull) = state.pull_mut(HOME, number) {
                pull.title = title.into();
            }
            let mut payload = state.pull_payload("edited", HOME, number);
            payload["changes"] = serde_json::json!({ "title": { "from": before } });
            state.notify("pull_request", HOME, login, payload);
            Ok(())
        })?;
        self.delivered().await;
        Ok(())
    }

    /// Creates a branch of the repository at the tip of another one.
    ///
    /// # Errors
    /// When there is no such branch.
    pub fn branch_off(&self, from: &str, branch: &str) -> Result<(), DoubleError> {
        self.change(|state| {
            let tip = branch_tip(state, HOME, from)?;
            let missing = DoubleError::Missing {
                what: "repository",
                id: HOME,
            };
            let git = &state.repository(HOME).ok_or(missing)?.git;
            git.reference(&format!("refs/heads/{branch}"), tip, false, "branch off")?;
            Ok(())
        })
    }

    /// Closes a pull request; delivers `pull_request.closed`.
    ///
    /// # Errors
    /// When there is no such pull request.
    pub async fn close(&self, number: u64, login: &str) -> Result<(), DoubleError> {
        self.act(login, |state| {
            known(state, number)?;
            state.close(HOME, number, login);
            Ok(())
        })?;
        self.delivered().await;
        Ok(())
    }
}

fn owned(changes: &[(&str, Option<&[u8]>)]) -> Vec<Change> {
    changes
        .iter()
        .map(|(path, bytes)| ((*path).to_owned(), bytes.map(<[u8]>::to_vec)))
        .collect()
}

/// A pull request of the home repository.
pub(super) fn known(state: &State, number: u64) -> Result<PullRequest, DoubleError> {
    state.pull(HOME, number).cloned().ok_or(DoubleError::Missing {
        what: "pull request",
        id: number,
    })
}

/// The commit at the tip of a branch.
pub(super) fn branch_tip(state: &State, repository: u64, branch: &str) -> Result<Oid, DoubleError> {
    let tip = state
        .repository(repository)
        .and_then(|repository| store::tip(&repository.git, branch));
    tip.ok_or_else(|| DoubleError::Refused(format!("there is no branch {branch}")))
}

/// The contents of a commit that somebody makes.
pub(super) struct Work<'a> {
    pub(super) author: &'a str,
    pub(super) message: &'a str,
    pub(super) changes: &'a [Change],
}

/// Writes a commit on top of another one, without moving a branch.
pub(super) fn commit_on(state: &mut State, repository: u64, parent: Oid, work: &Work<'_>) -> Result<Oid, DoubleError> {
    let (author, when) = (state.identity(work.author), state.commit_time());
    let missing = DoubleError::Missing {
        what: "repository",
        id: repository,
    };
    let git = &state.repository(repository).ok_or(missing)?.git;
    let base = git.find_commit(parent)?.tree()?;
    let tree = store::write_changes(git, Some(&base), work.changes)?;
    Ok(store::commit(
        git,
        &NewCommit::by(&author, when, work.message, tree, vec![parent]),
    )?)
}
