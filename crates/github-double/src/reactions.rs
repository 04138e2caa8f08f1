//! Reactions on comments and review comments.

use serde_json::{Value, json};

use super::answer::RestAnswer;
use super::objects;
use super::paging::page;
use super::route::{Needs, Route, RouteCall, get, post};
use super::state::{Reaction, State};

const READ: Needs = Needs::Read(&["issues", "pull_requests"]);
const WRITE: Needs = Needs::Write(&["issues", "pull_requests"]);
const KINDS: [&str; 8] = ["+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"];

pub(super) const ROUTES: &[Route] = &[
    get(
        "/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions",
        READ,
        list,
    ),
    post(
        "/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions",
        WRITE,
        &["content"],
        create,
    ),
    get(
        "/repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions",
        READ,
        list,
    ),
    post(
        "/repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions",
        WRITE,
        &["content"],
        create,
    ),
];

/// The id of the comment in the path, if it is of the kind that the path names.
fn subject(call: &RouteCall<'_>) -> Result<u64, RestAnswer> {
    let id = call.number("comment_id")?;
    let repository = call.repository_id()?;
    let found = if call.path.contains("/pulls/comments/") {
        call.state.review_comments.get(&id).map(|comment| comment.repository)
    } else {
        call.state.comments.get(&id).map(|comment| comment.repository)
    };
    if found == Some(repository) {
        Ok(id)
    } else {
        Err(RestAnswer::not_found())
    }
}

fn list(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let subject = subject(call)?;
    let wanted = call.query.get("content");
    let fits = |one: &&Reaction| wanted.is_none_or(|content| *content == one.content);
    let shown = call
        .state
        .reactions_to(subject)
        .filter(fits)
        .map(|one| object(call.state, one))
        .collect();
    Ok(page(call, shown))
}

/// 201 for a new reaction, 200 if the same account had already left it.
fn create(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let subject = subject(call)?;
    let content = call.text("content")?;
    if !KINDS.contains(&content.as_str()) {
        return Err(RestAnswer::invalid(&format!(
            "Invalid request.\n\nFor 'properties/content', \"{content}\" is not a possible value. Must be one of the following: {}.",
            KINDS.join(", ")
        )));
    }
    let login = call.login();
    let same = |one: &&Reaction| one.login == login && one.content == content;
    if let Some(known) = call.state.reactions_to(subject).find(same) {
        return Ok(RestAnswer::ok(object(call.state, known)));
    }
    let (id, created_at) = (call.state.fresh_id(), call.state.now());
    let reaction = Reaction {
        id,
        login,
        content,
        created_at,
    };
    let shown = object(call.state, &reaction);
    call.state.reactions.insert((subject, id), reaction);
    Ok(RestAnswer::created(shown))
}

fn object(state: &State, reaction: &Reaction) -> Value {
    json!({
        "id": reaction.id,
        "node_id": objects::node("Reaction", reaction.id),
        "user": objects::account(state, &reaction.login),
        "content": reaction.content,
        "created_at": reaction.created_at,
    })
}
