//! The few GraphQL operations that clients of the REST API need: the viewer, hiding a comment, moving branches by
//! compare-and-swap ([`super::update_refs`]), the history of a comment ([`super::history`]), and a pull request right
//! before a review ([`super::before_review`]). All others fail with a clear error.
//!
//! Errors have status 200, as on GitHub.

use serde_json::{Value, json};

use super::answer::RestAnswer;
use super::auth::{self, Credentials};
use super::names::Role;
use super::route::{Needs, Route, RouteCall, post};
use super::{before_review, history, objects, update_refs};

pub(super) const PATH: &str = "/graphql";

pub(super) const ROUTES: &[Route] = &[post(
    PATH,
    Needs::Token,
    &["query", "variables", "operationName"],
    answer,
)];

/// `ReportedContentClassifiers`.
/// <https://docs.github.com/en/graphql/reference/enums#reportedcontentclassifiers>
const CLASSIFIERS: [&str; 6] = ["ABUSE", "DUPLICATE", "OFF_TOPIC", "OUTDATED", "RESOLVED", "SPAM"];

/// The path in the route tables. GraphQL is beside the prefix of GitHub Enterprise, not below it.
pub(super) fn rest_path<'a>(prefix: &str, path: &'a str) -> Option<&'a str> {
    if prefix == "/api/v3" && path.ends_with(PATH) {
        return (path == "/api/graphql").then_some(PATH);
    }
    path.strip_prefix(prefix)
}

/// Whether a request reads or changes something, as a planned fault names it after the path.
pub(super) fn operation(body: &[u8]) -> &'static str {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let query = body["query"].as_str().unwrap_or_default();
    if query.trim_start().starts_with("mutation") {
        " mutation"
    } else {
        " query"
    }
}

fn answer(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let query = call.text("query")?;
    let words: Vec<&str> = query
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    if let ["viewer", fields @ ..] | ["query", "viewer", fields @ ..] = words.as_slice()
        && fields.iter().all(|field| ["login", "databaseId"].contains(field))
    {
        return Ok(viewer(call));
    }
    if let Some(answer) = before_review::answer(call, &words) {
        return Ok(answer);
    }
    if let Some(answer) = update_refs::answer(call, &query) {
        return Ok(answer);
    }
    if history::is_asked_for(&query) {
        return Ok(history::answer(call));
    }
    if !query.trim_start().starts_with("mutation") || !query.contains("minimizeComment(input: $input)") {
        let line = format!("the double does not know this query: {query}");
        call.state.recorder.violation(line.clone());
        return Ok(refuse("undefinedField", &line));
    }
    let input = call.body["variables"]["input"].clone();
    let keys = input.as_object().map(serde_json::Map::keys).into_iter().flatten();
    if let Some(unknown) = keys
        .into_iter()
        .find(|key| !["subjectId", "classifier", "clientMutationId"].contains(&key.as_str()))
    {
        let line = format!("MinimizeCommentInput has no argument {unknown:?}");
        call.state.recorder.violation(line.clone());
        return Ok(refuse("argumentNotAccepted", &line));
    }
    let classifier = input["classifier"].as_str().unwrap_or_default();
    if !CLASSIFIERS.contains(&classifier) {
        let line = format!("Expected {classifier:?} to be one of: {}", CLASSIFIERS.join(", "));
        call.state.recorder.violation(line.clone());
        return Ok(refuse("INVALID", &line));
    }
    let subject = input["subjectId"].as_str().unwrap_or_default();
    Ok(minimize(call, subject, classifier))
}

/// The login of the token's holder. Unlike `GET /user`, this also works for installation tokens.
/// <https://github.com/fullsend-ai/fullsend/pull/1953>
fn viewer(call: &RouteCall<'_>) -> RestAnswer {
    let login = call.login();
    let id = objects::account(call.state, &login)["id"].clone();
    RestAnswer::ok(json!({ "data": { "viewer": { "login": login, "databaseId": id } } }))
}

fn minimize(call: &mut RouteCall<'_>, subject: &str, classifier: &str) -> RestAnswer {
    let named = |id: &&u64| objects::node("PullRequestReviewComment", **id) == subject;
    let Some(id) = call.state.review_comments.keys().find(named).copied() else {
        return refuse(
            "NOT_FOUND",
            &format!("Could not resolve to a node with the global id of '{subject}'."),
        );
    };
    if !may(call, id) {
        return refuse("FORBIDDEN", "Resource not accessible by integration");
    }
    if let Some(comment) = call.state.review_comments.get_mut(&id) {
        comment.minimized = Some(classifier.into());
    }
    let comment = json!({ "isMinimized": true });
    RestAnswer::ok(json!({ "data": { "minimizeComment": { "minimizedComment": comment } } }))
}

/// Whether the caller may hide a comment: Apps with permission to write pull requests may, and people with push
/// access.
fn may(call: &RouteCall<'_>, comment: u64) -> bool {
    let comment = call.state.review_comments.get(&comment);
    let Some(repository) = comment.and_then(|comment| call.state.repository(comment.repository)) else {
        return false;
    };
    match &call.holder {
        None => false,
        Some(super::state::Holder::Person { login, .. }) => repository.role(login) >= Role::Write,
        Some(holder) => {
            let credentials = Credentials::Token(holder.clone());
            let needs = Needs::Write(&["pull_requests"]);
            auth::permit(call.state, needs, &credentials, Some(repository)).is_ok()
        }
    }
}

fn refuse(kind: &str, message: &str) -> RestAnswer {
    let error: Value = json!({ "type": kind, "path": ["minimizeComment"], "message": message });
    RestAnswer::ok(json!({ "data": { "minimizeComment": null }, "errors": [error] }))
}
