//! Reviews and their comments on lines of the diff: routes, rules, and events.

use git2::Oid;
use serde_json::{Value, json};

use super::answer::RestAnswer;
use super::paging::page;
use super::placing::{check_body, place_all, refuse, wanted_commit};
use super::route::{Needs, Route, RouteCall, get, post, put};
use super::state::{CommentPosition, Happening, Review, ReviewComment, State};
use super::{pulls, threads};

const READ: Needs = Needs::Read(&["pull_requests"]);
const WRITE: Needs = Needs::Write(&["pull_requests"]);

pub(super) const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/pulls/{pull_number}/reviews", READ, list),
    post(
        "/repos/{owner}/{repo}/pulls/{pull_number}/reviews",
        WRITE,
        &["commit_id", "body", "event", "comments"],
        create,
    ),
    put(
        "/repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}",
        WRITE,
        &["body"],
        update,
    ),
    get(
        "/repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}/comments",
        READ,
        list_comments,
    ),
];

fn list(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let (repository, pull) = call.pull()?;
    let ours = |review: &&Review| review.repository == repository && review.number == pull.number;
    let shown = call
        .state
        .reviews
        .values()
        .filter(ours)
        .map(|review| object(call.state, review))
        .collect();
    Ok(page(call, shown))
}

/// Creates a review with all of its comments, or nothing: one invalid comment rejects the whole review.
fn create(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let (repository_id, pull) = call.pull()?;
    let body = call.optional_text("body")?.unwrap_or_default();
    check_body(&body)?;
    let state = match call.optional_text("event")?.as_deref() {
        None => "PENDING",
        Some("COMMENT") => "COMMENTED",
        Some("APPROVE") => "APPROVED",
        Some("REQUEST_CHANGES") => "CHANGES_REQUESTED",
        Some(_) => {
            return Err(refuse(&[
                "Variable $event of type PullRequestReviewEvent was provided invalid value",
            ]));
        }
    };
    let login = call.login();
    let comments = call.list("comments")?;
    if matches!(state, "APPROVED" | "CHANGES_REQUESTED") && login == pull.author {
        return Err(refuse(&["Can not approve your own pull request"]));
    }
    if body.trim().is_empty() && (state == "CHANGES_REQUESTED" || (state == "COMMENTED" && comments.is_empty())) {
        return Err(refuse(&[
            "You need to leave a comment indicating the requested changes.",
        ]));
    }
    let waiting = |one: &Review| one.state == "PENDING" && one.author == login && one.number == pull.number;
    if call.state.reviews.values().any(waiting) {
        return Err(refuse(&["User can only have one pending review per pull request"]));
    }
    let commit = wanted_commit(call, &pull)?;
    let placed = place_all(call, &pull, commit, &comments)?;
    let review = add(
        call.state,
        NewReview {
            repository: repository_id,
            number: pull.number,
            login,
            body,
            state,
            commit,
            placed,
        },
    );
    Ok(RestAnswer::ok(object(call.state, &review)))
}

fn update(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let review = find(call)?;
    let body = call.text("body")?;
    check_body(&body)?;
    let Some(review) = call.state.reviews.get_mut(&review.id) else {
        return Err(RestAnswer::not_found());
    };
    let before = std::mem::replace(&mut review.body, body);
    let (review, login) = (review.clone(), call.login());
    notify(call.state, "edited", &review, &login, Some(before));
    Ok(RestAnswer::ok(object(call.state, &review)))
}

fn list_comments(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let review = find(call)?;
    let ours = call
        .state
        .review_comments
        .values()
        .filter(|comment| comment.review == review.id);
    let shown = ours.map(|comment| threads::object(call.state, comment)).collect();
    Ok(page(call, shown))
}

fn find(call: &RouteCall<'_>) -> Result<Review, RestAnswer> {
    let (repository, pull) = call.pull()?;
    let id = call.number("review_id")?;
    let review = call.state.reviews.get(&id);
    let ours = |review: &&Review| review.repository == repository && review.number == pull.number;
    review.filter(ours).cloned().ok_or_else(RestAnswer::not_found)
}

/// A review that has passed all rules.
struct NewReview {
    repository: u64,
    number: u64,
    login: String,
    body: String,
    state: &'static str,
    commit: Oid,
    placed: Vec<(CommentPosition, String)>,
}

fn add(state: &mut State, new: NewReview) -> Review {
    let (id, now) = (state.fresh_id(), state.now());
    let NewReview {
        repository,
        number,
        login,
        commit,
        ..
    } = new;
    let review = Review {
        id,
        repository,
        number,
        author: login.clone(),
        body: new.body,
        state: new.state.into(),
        commit,
        submitted_at: now.clone(),
    };
    state.reviews.insert(id, review.clone());
    state.happened(repository, number, Happening::Review(id));
    let mut added = Vec::new();
    for (place, body) in new.placed {
        let comment = ReviewComment {
            id: state.fresh_id(),
            repository,
            number,
            review: id,
            author: login.clone(),
            body,
            place,
            commit,
            reply_to: None,
            minimized: None,
            created_at: now.clone(),
            updated_at: now.clone(),
        };
        state.review_comments.insert(comment.id, comment.clone());
        added.push(comment);
    }
    if review.state != "PENDING" {
        notify(state, "submitted", &review, &login, None);
        for comment in &added {
            threads::notify(state, "created", comment, &login, None);
        }
    }
    review
}

fn notify(state: &mut State, action: &str, review: &Review, sender: &str, before: Option<String>) {
    let mut shown = object(state, review);
    shown["state"] = json!(review.state.to_lowercase());
    let found = state
        .repository(review.repository)
        .zip(state.pull(review.repository, review.number));
    let pull = found.map(|(repository, pull)| pulls::simple(state, repository, pull));
    let mut payload = json!({ "action": action, "review": shown, "pull_request": pull });
    if let Some(before) = before {
        payload["changes"] = json!({ "body": { "from": before } });
    }
    state.notify("pull_request_review", review.repository, sender, payload);
}

/// `pull-request-review`.
fn object(state: &State, review: &Review) -> Value {
    let Some(repository) = state.repository(review.repository) else {
        return Value::Null;
    };
    let full = repository.full_name();
    let page = format!(
        "{}/{full}/pull/{}#pullrequestreview-{}",
        state.web, review.number, review.id
    );
    let pull = format!("{}/repos/{full}/pulls/{}", state.api(), review.number);
    let mut object = json!({
        "id": review.id,
        "node_id": super::objects::node("PullRequestReview", review.id),
        "user": super::objects::account(state, &review.author),
        "body": review.body,
        "state": review.state,
        "html_url": page,
        "pull_request_url": pull,
        "author_association": super::objects::association(repository, &review.author),
        "_links": { "html": { "href": page }, "pull_request": { "href": pull } },
        "commit_id": review.commit.to_string(),
    });
    if review.state != "PENDING" {
        object["submitted_at"] = json!(review.submitted_at);
    }
    object
}
