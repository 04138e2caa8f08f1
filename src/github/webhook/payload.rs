//! The few fields of GitHub's payloads that greenlight needs, with the names of the JSON.

use std::sync::LazyLock;

use greenlight_skim::Fields;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::domain::id::{self, AccountId, CommitSha, InstallationId, Login, RepositoryId, RepositoryName};

/// The bound on a reason, in characters, because it may quote the payload.
const MAXIMUM_REASON: usize = 200;

/// The paths of all fields that are read below.
pub(super) const PATHS: [&str; 56] = [
    "action",
    "changes.base",
    "check_run.app.slug",
    "check_run.check_suite.head_branch",
    "check_run.conclusion",
    "check_run.head_sha",
    "check_run.id",
    "check_run.name",
    "check_run.pull_requests.base.repo.id",
    "check_run.pull_requests.number",
    "check_suite.app.slug",
    "check_suite.conclusion",
    "check_suite.head_branch",
    "check_suite.head_sha",
    "check_suite.id",
    "check_suite.pull_requests.base.repo.id",
    "check_suite.pull_requests.number",
    "comment.body",
    "comment.created_at",
    "comment.id",
    "comment.performed_via_github_app",
    "comment.user.id",
    "comment.user.login",
    "comment.user.type",
    "context",
    "id",
    "installation.id",
    "issue.number",
    "issue.pull_request",
    "label.name",
    "pull_request.head.sha",
    "pull_request.number",
    "repositories.full_name",
    "repositories.id",
    "repositories_added.full_name",
    "repositories_removed.full_name",
    "repositories_removed.id",
    "repository.full_name",
    "repository.id",
    "requested_action.identifier",
    "sender.id",
    "sender.login",
    "sender.type",
    "sha",
    "state",
    "workflow_run.conclusion",
    "workflow_run.event",
    "workflow_run.head_branch",
    "workflow_run.head_repository.owner.login",
    "workflow_run.head_sha",
    "workflow_run.id",
    "workflow_run.name",
    "workflow_run.path",
    "workflow_run.pull_requests.base.repo.id",
    "workflow_run.pull_requests.number",
    "workflow_run.workflow_id",
];

pub(super) static FIELDS: LazyLock<Fields> = LazyLock::new(|| Fields::new(&PATHS));

/// A payload that lacks a field of its event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the payload cannot be used at `{field}`: {reason}")]
pub struct PayloadError {
    /// The path of the field, like `pull_request.head.sha`; `.` is the whole payload.
    pub field: String,
    /// What is wrong with the field; bounded, may quote the payload.
    pub reason: String,
}

/// Reads the fields of `T` from a payload, and skips all others.
pub(super) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, PayloadError> {
    // Tracking the path costs time for every field, including the skipped ones, so it is done only after an error.
    serde_json::from_slice(body).or_else(|_| read_with_path(body))
}

/// Reads an invalid payload again to find the path of the error.
fn read_with_path<T: DeserializeOwned>(body: &[u8]) -> Result<T, PayloadError> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let reason = error.inner().to_string().chars().take(MAXIMUM_REASON).collect();
        PayloadError {
            field: error.path().to_string(),
            reason,
        }
    })?;
    let trailing = |error: serde_json::Error| PayloadError {
        field: ".".into(),
        reason: error.to_string(),
    };
    json.end().map_err(trailing)?;
    Ok(value)
}

/// What every event has.
#[derive(Default, Deserialize)]
pub(super) struct Envelope {
    pub action: Option<String>,
    pub installation: Option<Installation>,
}

#[derive(Deserialize)]
pub(super) struct Revoked {
    pub action: String,
    pub sender: RevokedBy,
}

#[derive(Deserialize)]
pub(super) struct RevokedBy {
    pub id: AccountId,
}

#[derive(Deserialize)]
pub(super) struct Installation {
    pub id: InstallationId,
}

#[derive(Deserialize)]
pub(super) struct Repository {
    pub full_name: RepositoryName,
    id: Option<RepositoryId>,
}

impl From<Repository> for id::Repository {
    fn from(Repository { full_name: name, id }: Repository) -> Self {
        Self { id, name }
    }
}

#[derive(Deserialize)]
pub(super) struct Account {
    pub login: String,
    id: Option<AccountId>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

impl Account {
    pub(super) fn account(self) -> id::Account {
        id::Account {
            id: self.id,
            login: Login::new(self.login),
        }
    }

    /// Every account that GitHub does not call a user counts as a bot.
    pub(super) fn is_bot(&self) -> bool {
        self.kind.as_deref().is_some_and(|kind| kind != "User") || self.login.ends_with("[bot]")
    }
}

#[derive(Deserialize)]
pub(super) struct PullRequestEvent {
    pub pull_request: PullRequest,
    pub repository: Repository,
}

#[derive(Deserialize)]
pub(super) struct PullRequest {
    pub number: u64,
    pub head: Head,
}

#[derive(Deserialize)]
pub(super) struct Head {
    pub sha: CommitSha,
}

#[derive(Deserialize)]
pub(super) struct Edited {
    #[serde(default)]
    pub changes: Changes,
}

#[derive(Default, Deserialize)]
pub(super) struct Changes {
    /// Present if the base of the pull request was changed.
    pub base: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
pub(super) struct Labelled {
    pub label: Label,
    pub sender: Account,
}

#[derive(Deserialize)]
pub(super) struct Label {
    pub name: String,
}

#[derive(Deserialize)]
pub(super) struct IssueComment {
    pub issue: Issue,
    pub comment: Comment,
    pub repository: Repository,
    pub sender: Option<Account>,
}

#[derive(Deserialize)]
pub(super) struct Issue {
    pub number: u64,
    /// Present only if the issue is a pull request.
    pub pull_request: Option<IgnoredAny>,
}

#[derive(Deserialize)]
pub(super) struct ReviewComment {
    pub pull_request: Commented,
    pub comment: Comment,
    pub repository: Repository,
    pub sender: Option<Account>,
}

#[derive(Deserialize)]
pub(super) struct Commented {
    pub number: u64,
    pub head: Option<Head>,
}

#[derive(Deserialize)]
pub(super) struct Comment {
    pub id: u64,
    pub user: Account,
    pub body: Option<String>,
    pub created_at: Option<String>,
    pub performed_via_github_app: Option<IgnoredAny>,
}

#[derive(Deserialize)]
pub(super) struct WorkflowRunEvent {
    pub workflow_run: WorkflowRun,
    pub repository: Repository,
}

#[derive(Deserialize)]
pub(super) struct WorkflowRun {
    pub id: u64,
    pub name: Option<String>,
    pub head_sha: CommitSha,
    pub head_branch: Option<String>,
    pub head_repository: Option<HeadRepository>,
    pub conclusion: Option<String>,
    pub workflow_id: Option<u64>,
    pub path: Option<String>,
    pub event: Option<String>,
    pub pull_requests: Option<Vec<Mentioned>>,
}

#[derive(Deserialize)]
pub(super) struct HeadRepository {
    pub owner: Option<Owner>,
}

#[derive(Deserialize)]
pub(super) struct Owner {
    pub login: String,
}

#[derive(Deserialize)]
pub(super) struct CheckRunEvent {
    pub check_run: CheckRun,
    pub repository: Repository,
}

#[derive(Deserialize)]
pub(super) struct CheckRun {
    pub id: u64,
    pub name: String,
    pub head_sha: CommitSha,
    pub conclusion: Option<String>,
    pub app: Option<App>,
    pub check_suite: Option<SuiteOfRun>,
    pub pull_requests: Option<Vec<Mentioned>>,
}

#[derive(Deserialize)]
pub(super) struct SuiteOfRun {
    pub head_branch: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct App {
    pub slug: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct ButtonPressed {
    pub requested_action: RequestedAction,
    pub sender: Account,
}

#[derive(Deserialize)]
pub(super) struct RequestedAction {
    pub identifier: String,
}

#[derive(Deserialize)]
pub(super) struct CheckSuiteEvent {
    pub check_suite: CheckSuite,
    pub repository: Repository,
}

#[derive(Deserialize)]
pub(super) struct CheckSuite {
    pub id: u64,
    pub head_sha: CommitSha,
    pub head_branch: Option<String>,
    pub conclusion: Option<String>,
    pub app: Option<App>,
    pub pull_requests: Option<Vec<Mentioned>>,
}

/// <https://docs.github.com/en/webhooks/webhook-events-and-payloads#status>
#[derive(Deserialize)]
pub(super) struct StatusEvent {
    pub id: u64,
    pub sha: CommitSha,
    pub state: String,
    pub context: Option<String>,
    pub repository: Repository,
    pub sender: Option<Account>,
}

/// "Re-run" on the Checks tab.
#[derive(Deserialize)]
pub(super) struct Rerequested {
    pub sender: Account,
}

#[derive(Deserialize)]
pub(super) struct InstallationEvent {
    pub repositories: Option<Vec<Repository>>,
    pub repositories_added: Option<Vec<Repository>>,
    pub repositories_removed: Option<Vec<Repository>>,
}

/// A pull request that GitHub associates with a run of checks.
#[derive(Deserialize)]
pub(super) struct Mentioned {
    number: u64,
    base: Option<Base>,
}

#[derive(Deserialize)]
struct Base {
    repo: Option<BaseRepository>,
}

#[derive(Deserialize)]
struct BaseRepository {
    id: Option<RepositoryId>,
}

/// The numbers of the pull requests in this repository. For a fork, GitHub also lists pull requests from the fork's
/// branch to other repositories, whose numbers mean nothing here.
pub(super) fn numbers(mentioned: Option<Vec<Mentioned>>, repository: &Repository) -> Vec<u64> {
    let base_id = |pull_request: &Mentioned| pull_request.base.as_ref()?.repo.as_ref()?.id;
    let belongs = |pull_request: &Mentioned| base_id(pull_request).zip(repository.id).is_none_or(|(a, b)| a == b);
    mentioned
        .unwrap_or_default()
        .iter()
        .filter(|it| belongs(it))
        .map(|it| it.number)
        .collect()
}
