//! Finds the positions of comments in a diff, or reports all errors in them.

use git2::Oid;
use serde_json::{Value, json};

use super::answer::{self, ResponseBody, RestAnswer};
use super::diff_rules::{self, Wanted};
use super::route::RouteCall;
use super::state::{CommentPosition, PullRequest, Repository};
use super::{pulls, store};

/// The keys GitHub documents for one comment of a review.
pub(super) const COMMENT_KEYS: [&str; 7] = ["path", "position", "body", "line", "side", "start_line", "start_side"];

/// 422 with these errors, in the format of these routes.
pub(super) fn refuse(errors: &[&str]) -> RestAnswer {
    let mut answer = RestAnswer::error(422, "Unprocessable Entity");
    if let ResponseBody::Json(body) = &mut answer.body {
        body["errors"] = json!(errors);
    }
    answer
}

/// Checks the length of reviews and their comments, with errors in the format of these routes.
pub(super) fn check_body(body: &str) -> Result<(), RestAnswer> {
    answer::check_body(body).map_err(|_| refuse(&["Body is too long (maximum is 65536 characters)"]))
}

/// The commit that a review is about: the head, or an older commit of the pull request.
pub(super) fn wanted_commit(call: &RouteCall<'_>, pull: &PullRequest) -> Result<Oid, RestAnswer> {
    let Some(text) = call.optional_text("commit_id")? else {
        return Ok(pull.head);
    };
    let repository = call.repository()?;
    let known = pulls::commits_of(repository, pull)?;
    let commit = Oid::from_str(&text).ok().filter(|id| known.contains(id));
    commit.ok_or_else(|| refuse(&["The given commit_id is not part of the pull request"]))
}

/// The positions of all comments in the diff of this commit.
pub(super) fn place_all(
    call: &mut RouteCall<'_>,
    pull: &PullRequest,
    commit: Oid,
    comments: &[Value],
) -> Result<Vec<(CommentPosition, String)>, RestAnswer> {
    for key in comments
        .iter()
        .filter_map(Value::as_object)
        .flat_map(serde_json::Map::keys)
    {
        if !COMMENT_KEYS.contains(&key.as_str()) {
            call.state
                .recorder
                .violation(format!("a review comment has the unknown key {key:?}"));
        }
    }
    if comments.is_empty() {
        return Ok(Vec::new());
    }
    let files = files_at(call.repository()?, pull, commit)?;
    place_in(&files, comments)
}

/// Finds the positions of all comments in the diff, or refuses all of them with every error.
pub(super) fn place_in(
    files: &[diff_rules::FileDiff],
    comments: &[Value],
) -> Result<Vec<(CommentPosition, String)>, RestAnswer> {
    let mut errors: Vec<String> = Vec::new();
    let mut placed = Vec::new();
    for comment in comments {
        let wanted = read_comment(comment)?;
        let body = comment["body"].as_str().unwrap_or_default().to_owned();
        check_body(&body)?;
        if body.trim().is_empty() {
            errors.push("Body can't be blank".into());
        }
        match diff_rules::place(files, wanted) {
            Ok(place) => placed.push((place, body)),
            Err(reasons) => errors.extend(reasons),
        }
    }
    if errors.is_empty() {
        return Ok(placed);
    }
    errors.dedup();
    Err(refuse(&errors.iter().map(String::as_str).collect::<Vec<_>>()))
}

/// The diff in which comments on this commit are positioned.
fn files_at(
    repository: &Repository,
    pull: &PullRequest,
    commit: Oid,
) -> Result<Vec<diff_rules::FileDiff>, git2::Error> {
    let base = store::tip(&repository.git, &pull.base_branch).unwrap_or(commit);
    diff_rules::files(&store::three_dot(&repository.git, base, commit)?)
}

fn read_comment(comment: &Value) -> Result<Wanted, RestAnswer> {
    let text = |key: &str| comment[key].as_str().map(str::to_owned);
    let number = |key: &str| comment[key].as_u64().and_then(|number| u32::try_from(number).ok());
    let path = text("path").ok_or_else(|| refuse(&["Pull request review thread path is required"]))?;
    let line = number("line").ok_or_else(|| refuse(&["Pull request review thread line is required"]))?;
    for key in ["side", "start_side"] {
        if text(key).is_some_and(|side| side != "LEFT" && side != "RIGHT") {
            return Err(refuse(&["Variable $threads was provided invalid value for side"]));
        }
    }
    let side = text("side").unwrap_or_else(|| "RIGHT".into());
    Ok(Wanted {
        path,
        side,
        line,
        start_line: number("start_line"),
        start_side: text("start_side"),
    })
}
