//! Turns GitHub's deliveries into events: the signature is checked, then the payload is read.
//!
//! Apart from the time of arrival, this is a pure function of bytes. The server passes a request's header and body,
//! and the Action the file that `GITHUB_EVENT_PATH` names, which has the same format. Permissions are checked
//! elsewhere.

use serde::de::IgnoredAny;

use crate::domain::event::{CheckSource, Comment, CommentPlace, Event, Fact, FailedChecks, RERUN, WorkflowDetails};
use crate::domain::id::{AccountId, CommitSha, PullRequestId, Repository};

/// GitHub limits comments to 65,536 characters, so a longer one is not genuine.
const MAX_COMMENT: usize = 4 * 65_536;

mod one_pass;
mod payload;
mod signature;

use one_pass::Payload;
pub use payload::PayloadError;
use payload::read;
pub use signature::{EmptySecret, SignatureError, Verification, WebhookSecret};

/// Whether events of this kind are read. `kind` is the value of `X-GitHub-Event`.
pub fn is_of_concern(kind: &str) -> bool {
    reader(kind).is_some()
}

type PayloadReader = fn(&mut Payload<'_>) -> Result<Option<Fact>, PayloadError>;

fn reader(kind: &str) -> Option<PayloadReader> {
    Some(match kind {
        "check_run" => check_run,
        "check_suite" => check_suite,
        "installation" | "installation_repositories" => installation_changed,
        "issue_comment" => issue_comment,
        "ping" => pinged,
        "pull_request" => pull_request,
        "pull_request_review_comment" => review_comment,
        "status" => status,
        "workflow_run" => workflow_run,
        _ => return None,
    })
}

/// Reads one payload, as received now by this machine's clock. `None` if it does not concern greenlight. `kind` is the
/// value of `X-GitHub-Event`.
/// <https://docs.github.com/en/webhooks/webhook-events-and-payloads>
///
/// New events and actions appear at any time, and fields come and go, so fields that are not needed may have any
/// form.
///
/// # Errors
/// When the payload of a relevant event is not JSON, or lacks a required field.
pub fn parse(kind: &str, body: &[u8]) -> Result<Option<Event>, PayloadError> {
    let Some(read_fact) = reader(kind) else {
        return Ok(None);
    };
    let mut payload = Payload::new(body, !matches!(kind, "ping" | "status"));
    let fact = read_fact(&mut payload)?;
    Ok(fact.map(|fact| Event {
        installation: payload.installation(),
        received: jiff::Timestamp::now(),
        fact,
    }))
}

fn pinged(payload: &mut Payload<'_>) -> Result<Option<Fact>, PayloadError> {
    let ping = payload.event::<IgnoredAny>(&[])?;
    Ok(ping.map(|_| Fact::Pinged))
}

/// The account that withdrew the App's permission to act for it, which every App is told of. `None` if this is not that.
/// <https://docs.github.com/en/webhooks/webhook-events-and-payloads#github_app_authorization>
///
/// # Errors
/// When the payload is not JSON, or does not say whose permission it was.
pub fn revoked(kind: &str, body: &[u8]) -> Result<Option<AccountId>, PayloadError> {
    if kind != "github_app_authorization" {
        return Ok(None);
    }
    let payload::Revoked { action, sender } = read(body)?;
    Ok((action == "revoked").then_some(sender.id))
}

fn pull_request(payload: &mut Payload<'_>) -> Result<Option<Fact>, PayloadError> {
    let of_concern = ["closed", "edited", "labeled", "reopened", "synchronize"];
    let Some(payload::PullRequestEvent {
        pull_request,
        repository,
    }) = payload.event(&of_concern)?
    else {
        return Ok(None);
    };
    let head = pull_request.head.sha;
    let pull_request = PullRequestId {
        repository: repository.into(),
        number: pull_request.number,
    };
    Ok(Some(match payload.action() {
        "closed" => Fact::PullRequestClosed { pull_request },
        // Edits of titles and descriptions are ignored.
        "edited" => {
            let payload::Edited { changes } = payload.more()?;
            return Ok(changes.base.map(|_| Fact::PullRequestRetargeted { pull_request }));
        }
        "labeled" => {
            let payload::Labelled { label, sender } = payload.more()?;
            Fact::PullRequestLabelled {
                pull_request,
                label: label.name,
                by: sender.account(),
                head,
            }
        }
        _ => Fact::PullRequestPushed { pull_request, head },
    }))
}

fn issue_comment(payload: &mut Payload<'_>) -> Result<Option<Fact>, PayloadError> {
    let Some(payload::IssueComment {
        issue,
        comment,
        repository,
        sender,
    }) = payload.event(&["created"])?
    else {
        return Ok(None);
    };
    if issue.pull_request.is_none() {
        return Ok(None);
    }
    let pull_request = PullRequestId {
        repository: repository.into(),
        number: issue.number,
    };
    let place = (CommentPlace::Conversation, None);
    Ok(comment_created(pull_request, place, comment, sender))
}

fn review_comment(payload: &mut Payload<'_>) -> Result<Option<Fact>, PayloadError> {
    let Some(payload::ReviewComment {
        pull_request,
        comment,
        repository,
        sender,
    }) = payload.event(&["created"])?
    else {
        return Ok(None);
    };
    let place = (CommentPlace::Review, pull_request.head.map(|head| head.sha));
    let pull_request = PullRequestId {
        repository: repository.into(),
        number: pull_request.number,
    };
    Ok(comment_created(pull_request, place, comment, sender))
}

/// `None` for a comment that is longer than GitHub allows.
fn comment_created(
    pull_request: PullRequestId,
    (place, head): (CommentPlace, Option<CommitSha>),
    comment: payload::Comment,
    sender: Option<payload::Account>,
) -> Option<Fact> {
    if comment.body.as_ref().is_some_and(|body| body.len() > MAX_COMMENT) {
        return None;
    }
    // A comment that an App wrote in a person's name does not count as that person's.
    let author_is_bot = comment.user.is_bot()
        || sender.is_some_and(|sender| sender.is_bot())
        || comment.performed_via_github_app.is_some();
    Some(Fact::CommentCreated(Comment {
        pull_request,
        id: comment.id,
        place,
        author: comment.user.account(),
        author_is_bot,
        body: comment.body.unwrap_or_default(),
        head,
        written: comment.created_at.and_then(|at| at.parse().ok()),
    }))
}

fn workflow_run(payload: &mut Payload<'_>) -> Result<Option<Fact>, PayloadError> {
    let Some(payload::WorkflowRunEvent {
        workflow_run: run,
        repository,
    }) = payload.event(&["completed"])?
    else {
        return Ok(None);
    };
    if !ended_red(run.conclusion.as_deref()) {
        return Ok(None);
    }
    let details = match (run.workflow_id, run.path, run.event) {
        (Some(workflow), Some(path), Some(event)) => Some(WorkflowDetails { workflow, path, event }),
        _ => None,
    };
    Ok(Some(Fact::ChecksFailed(FailedChecks {
        pull_requests: payload::numbers(run.pull_requests, &repository),
        repository: repository.into(),
        head: run.head_sha,
        head_branch: run.head_branch,
        head_owner: run.head_repository.and_then(|head| head.owner).map(|owner| owner.login),
        source: CheckSource::WorkflowRun {
            id: run.id,
            name: run.name.unwrap_or_default(),
            details,
        },
    })))
}

fn check_run(payload: &mut Payload<'_>) -> Result<Option<Fact>, PayloadError> {
    let Some(payload::CheckRunEvent {
        check_run: run,
        repository,
    }) = payload.event(&["completed", "requested_action", "rerequested"])?
    else {
        return Ok(None);
    };
    let pull_requests = payload::numbers(run.pull_requests, &repository);
    if payload.action() == "rerequested" {
        let app = run.app.and_then(|app| app.slug);
        return rerequested(payload, repository, (pull_requests, run.head_sha, app));
    }
    if payload.action() == "requested_action" {
        let payload::ButtonPressed {
            requested_action,
            sender,
        } = payload.more()?;
        // Apps may request anything on GitHub, but only people may press a button.
        return Ok((!sender.is_bot()).then(|| Fact::ButtonPressed {
            repository: repository.into(),
            pull_requests,
            head: run.head_sha,
            identifier: requested_action.identifier,
            by: sender.account(),
            app: None,
        }));
    }
    if !ended_red(run.conclusion.as_deref()) {
        return Ok(None);
    }
    Ok(Some(Fact::ChecksFailed(FailedChecks {
        repository: repository.into(),
        head: run.head_sha,
        head_branch: run.check_suite.and_then(|suite| suite.head_branch),
        head_owner: None,
        pull_requests,
        source: CheckSource::CheckRun {
            id: run.id,
            name: run.name,
            app_slug: run.app.and_then(|app| app.slug),
        },
    })))
}

/// Handles "Re-run" of one check or of all checks of an App. GitHub sends this event only to the App that owns the
/// check. <https://docs.github.com/en/webhooks/webhook-events-and-payloads#check_run>
fn rerequested(
    payload: &Payload<'_>,
    repository: payload::Repository,
    (pull_requests, head, app): (Vec<u64>, CommitSha, Option<String>),
) -> Result<Option<Fact>, PayloadError> {
    let payload::Rerequested { sender } = payload.more()?;
    Ok((!sender.is_bot()).then(|| Fact::ButtonPressed {
        repository: repository.into(),
        pull_requests,
        head,
        identifier: RERUN.into(),
        by: sender.account(),
        app,
    }))
}

/// Reads a commit status. It names no pull request, so that is found by the head.
fn status(payload: &mut Payload<'_>) -> Result<Option<Fact>, PayloadError> {
    let Some(status) = payload.event::<payload::StatusEvent>(&[])? else {
        return Ok(None);
    };
    // The other states are `pending` and `success`.
    if !matches!(status.state.as_str(), "failure" | "error") {
        return Ok(None);
    }
    Ok(Some(Fact::ChecksFailed(FailedChecks {
        repository: status.repository.into(),
        head: status.sha,
        head_branch: None,
        head_owner: None,
        pull_requests: Vec::new(),
        source: CheckSource::Status {
            id: status.id,
            context: status.context.unwrap_or_default(),
            by: status.sender.map(payload::Account::account),
        },
    })))
}

fn check_suite(payload: &mut Payload<'_>) -> Result<Option<Fact>, PayloadError> {
    let Some(payload::CheckSuiteEvent {
        check_suite: suite,
        repository,
    }) = payload.event(&["completed", "rerequested"])?
    else {
        return Ok(None);
    };
    if payload.action() == "rerequested" {
        let pull_requests = payload::numbers(suite.pull_requests, &repository);
        let app = suite.app.and_then(|app| app.slug);
        return rerequested(payload, repository, (pull_requests, suite.head_sha, app));
    }
    if !ended_red(suite.conclusion.as_deref()) {
        return Ok(None);
    }
    Ok(Some(Fact::ChecksFailed(FailedChecks {
        pull_requests: payload::numbers(suite.pull_requests, &repository),
        repository: repository.into(),
        head: suite.head_sha,
        head_branch: suite.head_branch,
        head_owner: None,
        source: CheckSource::CheckSuite {
            id: suite.id,
            app_slug: suite.app.and_then(|app| app.slug),
        },
    })))
}

/// The conclusions that a code change can turn green.
fn ended_red(conclusion: Option<&str>) -> bool {
    crate::github::actions::is_red(conclusion)
}

fn installation_changed(payload: &mut Payload<'_>) -> Result<Option<Fact>, PayloadError> {
    let Some(changed) = payload.event::<payload::InstallationEvent>(&[])? else {
        return Ok(None);
    };
    let listed = |list: Option<Vec<payload::Repository>>| -> Vec<Repository> {
        list.into_iter().flatten().map(Into::into).collect()
    };
    let all = listed(changed.repositories);
    let mut removed = listed(changed.repositories_removed);
    let named = all.iter().chain(&removed).map(|repository| repository.name.clone());
    let added = listed(changed.repositories_added)
        .into_iter()
        .map(|repository| repository.name);
    let repositories = named.chain(added).collect();
    if payload.action() == "deleted" {
        removed.extend(all);
    }
    Ok(Some(Fact::InstallationChanged {
        repositories,
        removed,
        is_suspended: payload.action() == "suspend",
    }))
}
