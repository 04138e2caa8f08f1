//! Everything that can happen, as a closed enum in the past tense.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::command::Command;
use super::id::{Account, CommitSha, DeliveryId, InstallationId, PullRequestId, Repository, RepositoryName, authored};

/// One fact from one delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The App installation that the delivery came through; `None` with a plain webhook or in an Action.
    pub installation: Option<InstallationId>,
    /// When greenlight received it, by its own clock, even if it is handled much later.
    pub received: Timestamp,
    pub fact: Fact,
}

/// The identifier of "Re-run" in the Checks tab, which GitHub shows beside greenlight's own buttons.
pub const RERUN: &str = "rerun";

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fact {
    /// Somebody wrote on a pull request: in the conversation, or under a review comment.
    CommentCreated(Comment),
    /// The head of a pull request moved, or it was reopened with a new head.
    PullRequestPushed {
        pull_request: PullRequestId,
        head: CommitSha,
    },
    PullRequestClosed {
        pull_request: PullRequestId,
    },
    /// The pull request now has another base branch.
    PullRequestRetargeted {
        pull_request: PullRequestId,
    },
    PullRequestLabelled {
        pull_request: PullRequestId,
        label: String,
        #[serde(flatten)]
        by: Account,
        head: CommitSha,
    },
    /// CI failed on this commit.
    ChecksFailed(FailedChecks),
    /// Somebody pressed a button of greenlight's own check run, or "Re-run" on it, which is [`RERUN`].
    ButtonPressed {
        #[serde(flatten)]
        repository: Repository,
        pull_requests: Vec<u64>,
        head: CommitSha,
        identifier: String,
        #[serde(flatten)]
        by: Account,
        /// The App of the check that "Re-run" was pressed on. GitHub may leave it out, and then sends the event to
        /// that App only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        app: Option<String>,
    },
    /// Somebody gave a command through greenlight's own API, for a pull request with this head.
    CommandGiven {
        pull_request: PullRequestId,
        head: CommitSha,
        #[serde(flatten)]
        by: Account,
        command: Command,
    },
    InstallationChanged {
        repositories: Vec<RepositoryName>,
        /// Repositories that greenlight may no longer see: uninstalled, or removed from its list.
        #[serde(default)]
        removed: Vec<Repository>,
        /// Whether the installation is suspended: greenlight may do nothing until that is lifted.
        #[serde(default)]
        is_suspended: bool,
    },
    Pinged,
}

impl Fact {
    /// The one pull request that this is about. `None` if it may concern several or none; then the fact names them.
    pub fn pull_request(&self) -> Option<&PullRequestId> {
        match self {
            Self::CommentCreated(comment) => Some(&comment.pull_request),
            Self::PullRequestPushed { pull_request, .. }
            | Self::PullRequestClosed { pull_request }
            | Self::PullRequestRetargeted { pull_request }
            | Self::PullRequestLabelled { pull_request, .. }
            | Self::CommandGiven { pull_request, .. } => Some(pull_request),
            Self::ChecksFailed(_) | Self::ButtonPressed { .. } | Self::InstallationChanged { .. } | Self::Pinged => {
                None
            }
        }
    }
}

/// A comment on a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    pub pull_request: PullRequestId,
    pub id: u64,
    pub place: CommentPlace,
    #[serde(flatten, with = "authored")]
    pub author: Account,
    /// GitHub says that the author is a bot or an App. Such a comment never commands.
    pub author_is_bot: bool,
    pub body: String,
    /// The head that its author saw, if GitHub says so: only in events of comments on lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<CommitSha>,
    /// When it was written, by GitHub's clock, in whole seconds; it is part of what GitHub signs.
    pub written: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommentPlace {
    /// `issue_comment`: the conversation tab.
    Conversation,
    /// `pull_request_review_comment`: a thread on a line of the diff.
    Review,
}

/// Where CI failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedChecks {
    #[serde(flatten)]
    pub repository: Repository,
    pub head: CommitSha,
    /// The head's branch. It identifies a fork's pull request, which GitHub does not name.
    pub head_branch: Option<String>,
    /// The owner of the head's repository, to look the pull request up by `owner:branch`.
    pub head_owner: Option<String>,
    /// The pull requests GitHub names; empty for forks.
    pub pull_requests: Vec<u64>,
    pub source: CheckSource,
}

/// What an event says of a workflow run, so that nobody has to ask for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowDetails {
    /// The id of the workflow.
    pub workflow: u64,
    /// The file of the workflow, as GitHub writes it.
    pub path: String,
    /// The event that triggered the run.
    pub event: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckSource {
    /// A workflow run of GitHub Actions, whose jobs and logs can be read.
    WorkflowRun {
        id: u64,
        name: String,
        /// `None` in what an earlier version stored.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<WorkflowDetails>,
    },
    /// A single check run of any App.
    CheckRun {
        id: u64,
        name: String,
        app_slug: Option<String>,
    },
    /// A whole suite of check runs.
    CheckSuite { id: u64, app_slug: Option<String> },
    /// A commit status, as CI outside of GitHub Actions reports it: classic Jenkins, CircleCI, Travis, Buildkite.
    Status {
        id: u64,
        context: String,
        by: Option<Account>,
    },
}

impl Event {
    /// The id under which this event is remembered, so that it is handled once. GitHub does not sign a delivery's id,
    /// so a comment is known by its own id.
    pub fn identity(&self, delivery: DeliveryId) -> DeliveryId {
        match &self.fact {
            Fact::CommentCreated(comment) => {
                let Comment {
                    pull_request,
                    place,
                    id,
                    ..
                } = comment;
                DeliveryId(format!("comment {} {place:?} {id}", pull_request.key()))
            }
            _ => delivery,
        }
    }

    /// GitHub's name of the event and of its action, for logs. The action is empty if the event has none.
    pub fn named(&self) -> (&'static str, &'static str) {
        match &self.fact {
            Fact::CommentCreated(comment) => match comment.place {
                CommentPlace::Conversation => ("issue_comment", "created"),
                CommentPlace::Review => ("pull_request_review_comment", "created"),
            },
            Fact::PullRequestPushed { .. } => ("pull_request", "synchronize"),
            Fact::PullRequestClosed { .. } => ("pull_request", "closed"),
            Fact::PullRequestRetargeted { .. } => ("pull_request", "edited"),
            Fact::PullRequestLabelled { .. } => ("pull_request", "labeled"),
            Fact::ChecksFailed(checks) => match checks.source {
                CheckSource::WorkflowRun { .. } => ("workflow_run", "completed"),
                CheckSource::CheckRun { .. } => ("check_run", "completed"),
                CheckSource::CheckSuite { .. } => ("check_suite", "completed"),
                CheckSource::Status { .. } => ("status", ""),
            },
            Fact::ButtonPressed { identifier, .. } if identifier == RERUN => ("check_run", "rerequested"),
            Fact::ButtonPressed { .. } => ("check_run", "requested_action"),
            Fact::CommandGiven { .. } => ("api", "command"),
            Fact::InstallationChanged { .. } => ("installation", "changed"),
            Fact::Pinged => ("ping", ""),
        }
    }

    /// The repository that this is about, to check it against the allow-list. `None` for a ping.
    pub fn repository(&self) -> Option<&Repository> {
        match &self.fact {
            Fact::ChecksFailed(checks) => Some(&checks.repository),
            Fact::ButtonPressed { repository, .. } => Some(repository),
            fact => fact.pull_request().map(|pull_request| &pull_request.repository),
        }
    }

    /// The same repository, mutable, to fill in which one it is.
    pub fn repository_mut(&mut self) -> Option<&mut Repository> {
        match &mut self.fact {
            Fact::CommentCreated(comment) => Some(&mut comment.pull_request.repository),
            Fact::PullRequestPushed { pull_request, .. }
            | Fact::PullRequestClosed { pull_request }
            | Fact::PullRequestRetargeted { pull_request }
            | Fact::PullRequestLabelled { pull_request, .. }
            | Fact::CommandGiven { pull_request, .. } => Some(&mut pull_request.repository),
            Fact::ChecksFailed(checks) => Some(&mut checks.repository),
            Fact::ButtonPressed { repository, .. } => Some(repository),
            Fact::InstallationChanged { .. } | Fact::Pinged => None,
        }
    }
}
