//! Comments in the conversation of a pull request: routes, the JSON object, and the events of changes.

use serde_json::{Value, json};

use super::answer::RestAnswer;
use super::paging::page;
use super::route::{Needs, Route, RouteCall, delete, get, patch, post};
use super::state::{Comment, Edit, Happening, State};
use super::{objects, pulls};

const READ: Needs = Needs::Read(&["issues", "pull_requests"]);
const WRITE: Needs = Needs::Write(&["issues", "pull_requests"]);

pub(super) const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/issues/{issue_number}/comments", READ, list),
    post(
        "/repos/{owner}/{repo}/issues/{issue_number}/comments",
        WRITE,
        &["body"],
        create,
    ),
    get("/repos/{owner}/{repo}/issues/comments/{comment_id}", READ, show),
    patch(
        "/repos/{owner}/{repo}/issues/comments/{comment_id}",
        WRITE,
        &["body"],
        update,
    ),
    delete("/repos/{owner}/{repo}/issues/comments/{comment_id}", WRITE, remove),
];

fn list(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let (repository, pull) = call.pull()?;
    let ours = |comment: &&Comment| comment.repository == repository && comment.number == pull.number;
    let shown = call
        .state
        .comments
        .values()
        .filter(ours)
        .map(|comment| object(call.state, comment))
        .collect();
    Ok(page(call, shown))
}

fn create(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let (repository, pull) = call.pull()?;
    let body = call.comment_body()?;
    let login = call.login();
    let comment = add(call.state, repository, pull.number, &login, &body);
    Ok(RestAnswer::created(object(call.state, &comment)))
}

fn show(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let comment = find(call)?;
    Ok(RestAnswer::ok(object(call.state, &comment)))
}

fn update(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let comment = find(call)?;
    let body = call.comment_body()?;
    let login = call.login();
    let comment = edit(call.state, comment.id, &login, &body).ok_or_else(RestAnswer::not_found)?;
    Ok(RestAnswer::ok(object(call.state, &comment)))
}

fn remove(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let comment = find(call)?;
    let login = call.login();
    take_away(call.state, comment.id, &login).ok_or_else(RestAnswer::not_found)?;
    Ok(RestAnswer::empty(204))
}

/// Deletes a comment and sends `issue_comment.deleted`. `None` if there is no such comment.
pub(super) fn take_away(state: &mut State, id: u64, login: &str) -> Option<()> {
    let comment = state.comments.remove(&id)?;
    if let Some(pull) = state.pull_mut(comment.repository, comment.number) {
        pull.timeline.retain(|what| *what != Happening::Comment(id));
    }
    notify(state, "deleted", &comment, login, None);
    Some(())
}

fn find(call: &RouteCall<'_>) -> Result<Comment, RestAnswer> {
    let id = call.number("comment_id")?;
    let repository = call.repository_id()?;
    let comment = call
        .state
        .comments
        .get(&id)
        .filter(|comment| comment.repository == repository);
    comment.cloned().ok_or_else(RestAnswer::not_found)
}

/// Creates a comment and sends `issue_comment.created`.
pub(super) fn add(state: &mut State, repository: u64, number: u64, author: &str, body: &str) -> Comment {
    // Other dates are in the story's time, but receivers compare a comment's date with the current time.
    add_at(state, (repository, number), author, body, objects::present())
}

/// The same with an explicit date.
pub(super) fn add_at(
    state: &mut State,
    (repository, number): (u64, u64),
    author: &str,
    body: &str,
    now: String,
) -> Comment {
    let id = state.fresh_id();
    let comment = Comment {
        id,
        repository,
        number,
        author: author.into(),
        body: body.into(),
        created_at: now.clone(),
        updated_at: now,
    };
    state.comments.insert(id, comment.clone());
    state.happened(repository, number, Happening::Comment(id));
    notify(state, "created", &comment, author, None);
    comment
}

/// Edits a comment and sends `issue_comment.edited`. `None` if there is no such comment.
pub(super) fn edit(state: &mut State, id: u64, editor: &str, body: &str) -> Option<Comment> {
    let now = objects::present();
    let comment = state.comments.get_mut(&id)?;
    let before = std::mem::replace(&mut comment.body, body.into());
    comment.updated_at.clone_from(&now);
    let comment = comment.clone();
    let was = Edit {
        at: comment.created_at.clone(),
        editor: comment.author.clone(),
        body: before.clone(),
    };
    let (editor_login, body) = (editor.to_owned(), body.to_owned());
    let edit = Edit {
        at: now,
        editor: editor_login,
        body,
    };
    state.note_edit(id, was, edit);
    notify(state, "edited", &comment, editor, Some(before));
    Some(comment)
}

fn notify(state: &mut State, action: &str, comment: &Comment, sender: &str, before: Option<String>) {
    let mut payload = json!({
        "action": action,
        "issue": issue(state, comment.repository, comment.number),
        "comment": object(state, comment),
    });
    if let Some(before) = before {
        payload["changes"] = json!({ "body": { "from": before } });
    }
    state.notify("issue_comment", comment.repository, sender, payload);
}

/// `issue-comment`.
pub(super) fn object(state: &State, comment: &Comment) -> Value {
    let Some(repository) = state.repository(comment.repository) else {
        return Value::Null;
    };
    let full = repository.full_name();
    let api = format!("{}/repos/{full}", state.api());
    let at = format!("{api}/issues/comments/{}", comment.id);
    json!({
        "url": at,
        "html_url": format!("{}/{full}/pull/{}#issuecomment-{}", state.web, comment.number, comment.id),
        "issue_url": format!("{api}/issues/{}", comment.number),
        "id": comment.id,
        "node_id": objects::node("IssueComment", comment.id),
        "user": objects::account(state, &comment.author),
        "created_at": comment.created_at,
        "updated_at": comment.updated_at,
        "author_association": objects::association(repository, &comment.author),
        "body": comment.body,
        "reactions": objects::reaction_counts(state, comment.id, &at),
        "performed_via_github_app": app_of(state, &comment.author),
    })
}

fn app_of(state: &State, login: &str) -> Value {
    state
        .apps
        .iter()
        .find(|app| app.bot() == login)
        .map_or(Value::Null, |app| objects::app(state, app))
}

/// The pull request as the `issue` of an `issue_comment` payload.
fn issue(state: &State, repository: u64, number: u64) -> Value {
    let Some((repository, pull)) = state.repository(repository).zip(state.pull(repository, number)) else {
        return Value::Null;
    };
    let full = repository.full_name();
    let api = format!("{}/repos/{full}", state.api());
    let at = format!("{api}/issues/{number}");
    let page = format!("{}/{full}/pull/{number}", state.web);
    let labels: Vec<Value> = pull
        .labels
        .iter()
        .map(|name| pulls::label(state, repository, name))
        .collect();
    let mut object = json!({
        "url": at,
        "repository_url": api,
        "labels_url": format!("{at}/labels{{/name}}"),
        "comments_url": format!("{at}/comments"),
        "events_url": format!("{at}/events"),
        "html_url": page,
        "id": pull.id,
        "node_id": objects::node("PullRequest", pull.id),
        "number": number,
        "title": pull.title,
        "user": objects::account(state, &pull.author),
        "labels": labels,
        "state": if pull.open { "open" } else { "closed" },
        "locked": false,
        "assignee": null,
        "assignees": [],
        "milestone": null,
        "comments": pull.timeline.iter().filter(|what| matches!(what, Happening::Comment(_))).count(),
        "created_at": pull.created_at,
        "updated_at": pull.updated_at,
        "closed_at": if pull.open { Value::Null } else { json!(pull.updated_at) },
    });
    let more = json!({
        "author_association": objects::association(repository, &pull.author),
        "active_lock_reason": null,
        "draft": false,
        "pull_request": {
            "url": format!("{api}/pulls/{number}"),
            "html_url": page,
            "diff_url": format!("{page}.diff"),
            "patch_url": format!("{page}.patch"),
            "merged_at": null,
        },
        "body": pull.body,
        "reactions": objects::reaction_counts(state, pull.id, &at),
        "timeline_url": format!("{at}/timeline"),
        "performed_via_github_app": null,
        "state_reason": null,
    });
    objects::merge(&mut object, more);
    object
}
