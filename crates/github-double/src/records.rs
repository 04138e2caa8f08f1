//! The double's records: repositories, pull requests, and everything about them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::names::Role;

/// One repository, in a separate bare git repository. A fork shares the objects of its origin.
pub(super) struct Repository {
    pub(super) id: u64,
    pub(super) owner: String,
    pub(super) name: String,
    pub(super) private: bool,
    pub(super) fork_of: Option<u64>,
    pub(super) created_at: String,
    pub(super) roles: BTreeMap<String, Role>,
    pub(super) pulls: BTreeMap<u64, PullRequest>,
    pub(super) git: git2::Repository,
}

impl Repository {
    pub(super) fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    /// This login's role: anybody may read a public repository.
    pub(super) fn role(&self, login: &str) -> Role {
        let floor = if self.private { Role::None } else { Role::Read };
        let known = self
            .roles
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(login))
            .map(|(_, role)| *role);
        known.unwrap_or(Role::None).max(floor)
    }
}

#[derive(Debug, Clone)]
pub(super) struct PullRequest {
    pub(super) id: u64,
    pub(super) number: u64,
    pub(super) title: String,
    pub(super) body: String,
    pub(super) author: String,
    /// The repository of the head, which differs for a fork.
    pub(super) head_repository: u64,
    pub(super) head_branch: String,
    pub(super) head: git2::Oid,
    pub(super) base_branch: String,
    pub(super) open: bool,
    pub(super) labels: Vec<String>,
    pub(super) maintainer_can_modify: bool,
    pub(super) created_at: String,
    pub(super) updated_at: String,
    pub(super) timeline: Vec<Happening>,
}

impl PullRequest {
    /// The full name of the head's branch.
    pub(super) fn head_reference(&self) -> String {
        format!("refs/heads/{}", self.head_branch)
    }
}

/// One entry of the conversation tab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Happening {
    Commit(git2::Oid),
    Comment(u64),
    Review(u64),
    Reply(u64),
    CheckRun(u64),
    Closed,
}

#[derive(Debug, Clone)]
pub(super) struct Comment {
    pub(super) id: u64,
    pub(super) repository: u64,
    pub(super) number: u64,
    pub(super) author: String,
    pub(super) body: String,
    pub(super) created_at: String,
    pub(super) updated_at: String,
}

#[derive(Debug, Clone)]
pub(super) struct Reaction {
    pub(super) id: u64,
    pub(super) login: String,
    pub(super) content: String,
    pub(super) created_at: String,
}

#[derive(Debug, Clone)]
pub(super) struct Review {
    pub(super) id: u64,
    pub(super) repository: u64,
    pub(super) number: u64,
    pub(super) author: String,
    pub(super) body: String,
    /// `COMMENTED`, `APPROVED`, `CHANGES_REQUESTED` or `PENDING`.
    pub(super) state: String,
    pub(super) commit: git2::Oid,
    pub(super) submitted_at: String,
}

/// The position of a review comment, in the line numbers of its commit.
#[derive(Debug, Clone)]
pub(super) struct CommentPosition {
    pub(super) path: String,
    pub(super) side: String,
    pub(super) line: u32,
    pub(super) start_line: Option<u32>,
    pub(super) start_side: Option<String>,
    pub(super) position: usize,
    pub(super) hunk: String,
}

#[derive(Debug, Clone)]
pub(super) struct ReviewComment {
    pub(super) id: u64,
    pub(super) repository: u64,
    pub(super) number: u64,
    pub(super) review: u64,
    pub(super) author: String,
    pub(super) body: String,
    pub(super) place: CommentPosition,
    pub(super) commit: git2::Oid,
    pub(super) reply_to: Option<u64>,
    /// The classifier that it was hidden with.
    pub(super) minimized: Option<String>,
    pub(super) created_at: String,
    pub(super) updated_at: String,
}

#[derive(Debug, Clone)]
pub(super) struct CheckRun {
    pub(super) id: u64,
    pub(super) repository: u64,
    pub(super) head: git2::Oid,
    pub(super) name: String,
    pub(super) app: String,
    pub(super) suite: u64,
    pub(super) status: String,
    pub(super) conclusion: Option<String>,
    pub(super) started_at: Option<String>,
    pub(super) completed_at: Option<String>,
    pub(super) external_id: Option<String>,
    pub(super) details_url: Option<String>,
    pub(super) title: Option<String>,
    pub(super) summary: Option<String>,
    pub(super) text: Option<String>,
    pub(super) annotations: Vec<Value>,
    pub(super) actions: Vec<Value>,
}

#[derive(Debug, Clone)]
pub(super) struct WorkflowRun {
    pub(super) id: u64,
    pub(super) repository: u64,
    pub(super) number: u64,
    pub(super) name: String,
    pub(super) head_repository: u64,
    pub(super) head_branch: String,
    pub(super) head: git2::Oid,
    pub(super) event: &'static str,
    pub(super) actor: String,
    pub(super) status: String,
    pub(super) conclusion: Option<String>,
    pub(super) attempt: u64,
    pub(super) suite: u64,
    pub(super) created_at: String,
    pub(super) updated_at: String,
}

#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) id: u64,
    pub(super) run: u64,
    pub(super) check_run: u64,
    pub(super) name: String,
    pub(super) attempt: u64,
    pub(super) status: String,
    pub(super) conclusion: Option<String>,
    pub(super) failed_step: Option<String>,
    pub(super) log: String,
    pub(super) created_at: String,
    pub(super) completed_at: Option<String>,
}

/// A revision of a comment.
#[derive(Debug, Clone)]
pub(super) struct Edit {
    pub(super) at: String,
    pub(super) editor: String,
    pub(super) body: String,
}

/// One move of a branch.
#[derive(Debug, Clone)]
pub(super) struct Activity {
    pub(super) id: u64,
    pub(super) repository: u64,
    pub(super) reference: String,
    pub(super) before: String,
    pub(super) after: String,
    pub(super) at: String,
    pub(super) actor: String,
    pub(super) kind: &'static str,
}

/// A system's status for a commit.
#[derive(Debug, Clone)]
pub(super) struct Status {
    pub(super) id: u64,
    pub(super) repository: u64,
    pub(super) commit: git2::Oid,
    pub(super) context: String,
    pub(super) state: String,
    pub(super) at: String,
}
