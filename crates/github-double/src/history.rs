//! Histories: the edits of comments, through GraphQL, and the moves of branches, as a repository's activity.
//!
//! GitHub keeps every revision of a comment with its author. `diff` is the whole text of a revision. The original
//! text is the first revision, once there is a second.
//! <https://docs.github.com/en/graphql/reference/objects#usercontentedit>

use git2::Oid;
use serde_json::{Value, json};

use super::answer::RestAnswer;
use super::objects;
use super::paging::page;
use super::route::{Needs, Route, RouteCall, get};
use super::state::{Activity, Edit, State};

pub(super) const ROUTES: &[Route] = &[get(
    "/repos/{owner}/{repo}/activity",
    Needs::Read(&["contents"]),
    activity,
)];

/// Whether a query asks for the history of a comment, which [`answer`] returns.
pub(super) fn is_asked_for(query: &str) -> bool {
    query.starts_with("query($id: ID!") && query.contains("node(id: $id) { ... on Comment { lastEditedAt")
}

/// When a comment was last edited, and all of its edits, newest first.
pub(super) fn answer(call: &RouteCall<'_>) -> RestAnswer {
    let variables = &call.body["variables"];
    let wanted = variables["id"].as_str().unwrap_or_default();
    let names = |id: &u64| {
        let kinds = ["IssueComment", "PullRequestReviewComment"];
        kinds.iter().any(|kind| objects::node(kind, *id) == wanted)
    };
    let state = &call.state;
    let Some(id) = state
        .comments
        .keys()
        .chain(state.review_comments.keys())
        .find(|id| names(id))
    else {
        let message = format!("Could not resolve to a node with the global id of '{wanted}'");
        let error = json!({ "type": "NOT_FOUND", "path": ["node"], "message": message });
        return RestAnswer::ok(json!({ "data": { "node": null }, "errors": [error] }));
    };
    let edits = state.edits.get(id).map_or(&[][..], Vec::as_slice);
    let first = variables["first"].as_u64().unwrap_or(0) as usize;
    let from: usize = variables["after"].as_str().and_then(|at| at.parse().ok()).unwrap_or(0);
    let nodes: Vec<Value> = edits
        .iter()
        .rev()
        .skip(from)
        .take(first)
        .map(|edit| json!({ "editedAt": edit.at, "diff": edit.body, "editor": actor(state, &edit.editor) }))
        .collect();
    let until = from + nodes.len();
    let page = json!({ "hasNextPage": until < edits.len(), "endCursor": until.to_string() });
    let mut node = json!({ "lastEditedAt": edits.last().map(|edit| &edit.at) });
    if call.body["query"]
        .as_str()
        .is_some_and(|query| query.contains("userContentEdits"))
    {
        node["userContentEdits"] = json!({ "nodes": nodes, "pageInfo": page });
    }
    RestAnswer::ok(json!({ "data": { "node": node } }))
}

/// An actor in GraphQL's format, where the login of a bot has no suffix.
fn actor(state: &State, login: &str) -> Value {
    let id = objects::account(state, login)["id"].clone();
    match login.strip_suffix("[bot]") {
        Some(name) => json!({ "__typename": "Bot", "login": name, "databaseId": id }),
        None => json!({ "__typename": "User", "login": login, "databaseId": id }),
    }
}

/// The activity on the branches of a repository, newest first.
fn activity(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let repository = call.repository_id()?;
    let fits = |one: &&Activity| {
        let asked = call.query.get("ref").map(String::as_str);
        let short = one.reference.strip_prefix("refs/heads/");
        one.repository == repository && asked.is_none_or(|asked| asked == one.reference || Some(asked) == short)
    };
    let mut shown: Vec<Value> = call
        .state
        .activities
        .iter()
        .rev()
        .filter(fits)
        .map(|one| {
            json!({
                "id": one.id,
                "node_id": objects::node("Activity", one.id),
                "before": one.before,
                "after": one.after,
                "ref": one.reference,
                "timestamp": one.at,
                "activity_type": one.kind,
                "actor": objects::account(call.state, &one.actor),
            })
        })
        .collect();
    if call.query.get("direction").is_some_and(|direction| direction == "asc") {
        shown.reverse();
    }
    Ok(page(call, shown))
}

impl State {
    /// Records an edit of a comment. The original text is recorded with the first edit.
    pub(super) fn note_edit(&mut self, comment: u64, was: Edit, now: Edit) {
        let edits = self.edits.entry(comment).or_default();
        if edits.is_empty() {
            edits.push(was);
        }
        edits.push(now);
    }

    /// Records the move of a branch. New branches are dated before the story; all other moves happen now.
    pub(super) fn note_move(
        &mut self,
        repository: u64,
        reference: &str,
        (before, after): (Option<Oid>, Oid),
        by: &str,
    ) {
        let is_forward = |git: &git2::Repository, before| git.graph_descendant_of(after, before).unwrap_or(false);
        let kind = match (before, self.repository(repository)) {
            (Some(before), Some(here)) if is_forward(&here.git, before) => "push",
            (Some(_), _) => "force_push",
            (None, _) => "branch_creation",
        };
        let at = match before {
            Some(_) => objects::present(),
            None => objects::LONG_AGO.into(),
        };
        let none = "0".repeat(40);
        let activity = Activity {
            id: self.activities.len() as u64 + 1,
            repository,
            reference: reference.into(),
            before: before.map_or(none, |before| before.to_string()),
            after: after.to_string(),
            at,
            actor: by.into(),
            kind,
        };
        self.activities.push(activity);
    }
}
