//! Comments on lines of the diff: their current positions, replies to them, and their events.

use serde_json::{Value, json};

use super::answer::RestAnswer;
use super::paging::page;
use super::route::{Needs, Route, RouteCall, delete, get, patch, post};
use super::state::{CommentPosition, Edit, Happening, Review, ReviewComment, State};
use super::{diff_rules, objects, placing, pulls, store};

const READ: Needs = Needs::Read(&["pull_requests"]);
const WRITE: Needs = Needs::Write(&["pull_requests"]);

pub(super) const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/pulls/{pull_number}/comments", READ, list),
    post(
        "/repos/{owner}/{repo}/pulls/{pull_number}/comments",
        WRITE,
        &[
            "body",
            "commit_id",
            "path",
            "position",
            "line",
            "side",
            "start_line",
            "start_side",
            "in_reply_to",
            "subject_type",
        ],
        create,
    ),
    post(
        "/repos/{owner}/{repo}/pulls/{pull_number}/comments/{comment_id}/replies",
        WRITE,
        &["body"],
        reply,
    ),
    get("/repos/{owner}/{repo}/pulls/comments/{comment_id}", READ, show),
    patch(
        "/repos/{owner}/{repo}/pulls/comments/{comment_id}",
        WRITE,
        &["body"],
        update,
    ),
    delete("/repos/{owner}/{repo}/pulls/comments/{comment_id}", WRITE, remove),
];

fn list(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let (repository, pull) = call.pull()?;
    let ours = |one: &&ReviewComment| one.repository == repository && one.number == pull.number;
    let published = |one: &&ReviewComment| !is_pending(call.state, one);
    let shown: Vec<Value> = call
        .state
        .review_comments
        .values()
        .filter(ours)
        .filter(published)
        .map(|comment| object(call.state, comment))
        .collect();
    Ok(page(call, shown))
}

/// Creates a comment on the diff outside of any review, which starts a thread.
/// <https://docs.github.com/en/rest/pulls/comments#create-a-review-comment-for-a-pull-request>
fn create(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let (repository, pull) = call.pull()?;
    let body = call.comment_body()?;
    call.text("commit_id")?;
    let commit = placing::wanted_commit(call, &pull)?;
    let mut wanted = call.body.clone();
    if let Some(wanted) = wanted.as_object_mut() {
        wanted.remove("commit_id");
    }
    let placed = placing::place_all(call, &pull, commit, &[wanted])?;
    let Some((place, _)) = placed.into_iter().next() else {
        return Err(RestAnswer::not_found());
    };
    let login = call.login();
    let comment = ReviewComment {
        id: 0,
        repository,
        number: pull.number,
        review: 0,
        author: login.clone(),
        body,
        place,
        commit,
        reply_to: None,
        minimized: None,
        created_at: String::new(),
        updated_at: String::new(),
    };
    let comment = add(call.state, comment);
    Ok(RestAnswer::created(object(call.state, &comment)))
}

fn show(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let comment = find(call)?;
    Ok(RestAnswer::ok(object(call.state, &comment)))
}

fn update(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let comment = find(call)?;
    let body = call.comment_body()?;
    let (now, login) = (objects::present(), call.login());
    let Some(comment) = call.state.review_comments.get_mut(&comment.id) else {
        return Err(RestAnswer::not_found());
    };
    let before = std::mem::replace(&mut comment.body, body.clone());
    comment.updated_at.clone_from(&now);
    let comment = comment.clone();
    let was = Edit {
        at: comment.created_at.clone(),
        editor: comment.author.clone(),
        body: before.clone(),
    };
    let edit = Edit {
        at: now,
        editor: login.clone(),
        body,
    };
    call.state.note_edit(comment.id, was, edit);
    notify(call.state, "edited", &comment, &login, Some(before));
    Ok(RestAnswer::ok(object(call.state, &comment)))
}

fn remove(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let comment = find(call)?;
    let login = call.login();
    call.state.review_comments.remove(&comment.id);
    if let Some(pull) = call.state.pull_mut(comment.repository, comment.number) {
        pull.timeline.retain(|what| *what != Happening::Reply(comment.id));
    }
    notify(call.state, "deleted", &comment, &login, None);
    Ok(RestAnswer::empty(204))
}

fn reply(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let (_, pull) = call.pull()?;
    let top = find(call)?;
    if top.number != pull.number {
        return Err(RestAnswer::not_found());
    }
    let body = call.comment_body()?;
    let login = call.login();
    let comment = add_reply(call.state, &top, &login, &body);
    Ok(RestAnswer::created(object(call.state, &comment)))
}

fn find(call: &RouteCall<'_>) -> Result<ReviewComment, RestAnswer> {
    let id = call.number("comment_id")?;
    let repository = call.repository_id()?;
    let comment = call
        .state
        .review_comments
        .get(&id)
        .filter(|comment| comment.repository == repository);
    comment.cloned().ok_or_else(RestAnswer::not_found)
}

/// Adds a reply to a thread.
pub(super) fn add_reply(state: &mut State, top: &ReviewComment, author: &str, body: &str) -> ReviewComment {
    let reply = ReviewComment {
        author: author.into(),
        body: body.into(),
        reply_to: Some(top.reply_to.unwrap_or(top.id)),
        minimized: None,
        ..top.clone()
    };
    add(state, reply)
}

/// Adds a comment with a new id and sends `pull_request_review_comment.created`. GitHub wraps each of them in a
/// review.
fn add(state: &mut State, comment: ReviewComment) -> ReviewComment {
    let (review, id, now) = (state.fresh_id(), state.fresh_id(), state.now());
    // Receivers compare a comment's date with the current time.
    let written = objects::present();
    let wrapper = Review {
        id: review,
        repository: comment.repository,
        number: comment.number,
        author: comment.author.clone(),
        body: String::new(),
        state: "COMMENTED".into(),
        commit: comment.commit,
        submitted_at: now.clone(),
    };
    state.reviews.insert(review, wrapper);
    let comment = ReviewComment {
        id,
        review,
        created_at: written.clone(),
        updated_at: written,
        ..comment
    };
    state.review_comments.insert(id, comment.clone());
    state.happened(comment.repository, comment.number, Happening::Reply(id));
    notify(state, "created", &comment, &comment.author, None);
    comment
}

/// Sends an event about a comment in a thread.
pub(super) fn notify(state: &mut State, action: &str, comment: &ReviewComment, sender: &str, before: Option<String>) {
    let found = state
        .repository(comment.repository)
        .zip(state.pull(comment.repository, comment.number));
    let pull = found.map(|(repository, pull)| pulls::simple(state, repository, pull));
    let mut payload = json!({ "action": action, "comment": object(state, comment), "pull_request": pull });
    if let Some(before) = before {
        payload["changes"] = json!({ "body": { "from": before } });
    }
    state.notify("pull_request_review_comment", comment.repository, sender, payload);
}

/// Whether the comment belongs to a review that is not submitted yet.
pub(super) fn is_pending(state: &State, comment: &ReviewComment) -> bool {
    state
        .reviews
        .get(&comment.review)
        .is_some_and(|review| review.state == "PENDING")
}

/// The current first and last line of a comment. `None` if any of its lines changed, so that it is outdated.
pub(super) fn current_lines(state: &State, comment: &ReviewComment) -> Option<(u32, u32)> {
    let place = &comment.place;
    let (first, last) = (place.start_line.unwrap_or(place.line), place.line);
    let repository = state.repository(comment.repository)?;
    let head = repository.pulls.get(&comment.number)?.head;
    if head == comment.commit {
        return Some((first, last));
    }
    if place.side == "LEFT" {
        return None;
    }
    let git = &repository.git;
    let tree = |id| git.find_commit(id).and_then(|commit| commit.tree()).ok();
    moved_lines(git, (&tree(comment.commit)?, &tree(head)?), place)
}

/// Where the lines of a position are in a later tree. `None` if they changed.
pub(super) fn moved_lines(
    git: &git2::Repository,
    (from, to): (&git2::Tree<'_>, &git2::Tree<'_>),
    place: &CommentPosition,
) -> Option<(u32, u32)> {
    let diff = store::tree_diff(git, from, to).ok()?;
    let files = diff_rules::files(&diff).ok()?;
    let touched = files
        .iter()
        .find(|file| file.previous.as_ref().unwrap_or(&file.path) == &place.path);
    if touched.is_some_and(|file| file.path != place.path) {
        return None;
    }
    diff_rules::follow(touched, place.start_line.unwrap_or(place.line), place.line)
}

/// `pull-request-review-comment`, which also serves as `review-comment`.
pub(super) fn object(state: &State, comment: &ReviewComment) -> Value {
    let Some(repository) = state.repository(comment.repository) else {
        return Value::Null;
    };
    let full = repository.full_name();
    let api = format!("{}/repos/{full}", state.api());
    let at = format!("{api}/pulls/comments/{}", comment.id);
    let page = format!(
        "{}/{full}/pull/{}#discussion_r{}",
        state.web, comment.number, comment.id
    );
    let pull = format!("{api}/pulls/{}", comment.number);
    let place = &comment.place;
    let now = current_lines(state, comment);
    let head = repository
        .pulls
        .get(&comment.number)
        .map_or(comment.commit, |pull| pull.head);
    let mut object = json!({
        "url": at,
        "pull_request_review_id": comment.review,
        "id": comment.id,
        "node_id": objects::node("PullRequestReviewComment", comment.id),
        "diff_hunk": place.hunk,
        "path": place.path,
        "commit_id": if now.is_some() { head } else { comment.commit }.to_string(),
        "original_commit_id": comment.commit.to_string(),
        "user": objects::account(state, &comment.author),
        "body": comment.body,
        "created_at": comment.created_at,
        "updated_at": comment.updated_at,
        "html_url": page,
        "pull_request_url": pull,
        "author_association": objects::association(repository, &comment.author),
        "_links": { "self": { "href": at }, "html": { "href": page }, "pull_request": { "href": pull } },
        "reactions": objects::reaction_counts(state, comment.id, &at),
        "start_line": now.filter(|_| place.start_line.is_some()).map(|(first, _)| first),
        "original_start_line": place.start_line,
        "start_side": place.start_side,
        "line": now.map(|(_, last)| last),
        "original_line": place.line,
        "side": place.side,
        "original_position": place.position,
        "position": now.map(|_| place.position),
        "subject_type": "line",
    });
    if let Some(top) = comment.reply_to {
        object["in_reply_to_id"] = json!(top);
    }
    object
}
