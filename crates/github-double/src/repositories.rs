//! Routes for a whole repository: the repository itself, permissions in it, and comparisons of commits.

use serde_json::{Value, json};

use super::answer::RestAnswer;
use super::pulls::{commit, diff_entries};
use super::route::{Needs, Route, RouteCall, get};
use super::{objects, store};

pub(super) const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}", Needs::Read(&["metadata"]), show),
    get(
        "/repos/{owner}/{repo}/collaborators/{username}/permission",
        Needs::Read(&["metadata"]),
        permission,
    ),
    get(
        "/repos/{owner}/{repo}/compare/{basehead}",
        Needs::Read(&["contents"]),
        compare,
    ),
];

fn show(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let repository = call.repository()?;
    let mut object = objects::repository(call.state, repository);
    object["network_count"] = object["forks_count"].clone();
    object["subscribers_count"] = json!(0);
    if let Some(origin) = repository.fork_of.and_then(|id| call.state.repository(id)) {
        object["parent"] = objects::repository(call.state, origin);
        object["source"] = object["parent"].clone();
    }
    Ok(RestAnswer::ok(object))
}

/// Somebody's permission. GitHub answers this for every account, and 404 only for names without one.
fn permission(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let login = call.capture("username");
    let account = call.state.account(login).ok_or_else(RestAnswer::not_found)?;
    let role = call.repository()?.role(&account.login);
    let mut user = objects::account(call.state, &account.login);
    let at_least = |least: super::names::Role| role >= least;
    user["permissions"] = json!({
        "pull": at_least(super::names::Role::Read),
        "triage": at_least(super::names::Role::Triage),
        "push": at_least(super::names::Role::Write),
        "maintain": at_least(super::names::Role::Maintain),
        "admin": at_least(super::names::Role::Admin),
    });
    user["role_name"] = json!(role.name());
    Ok(RestAnswer::ok(
        json!({ "permission": role.permission(), "role_name": role.name(), "user": user }),
    ))
}

/// `base...head`, with branches, tags or SHAs, and `owner:branch` for the branch of a fork.
fn compare(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let repository = call.repository()?;
    let (base_name, head_name) = call
        .capture("basehead")
        .split_once("...")
        .ok_or_else(RestAnswer::not_found)?;
    let find = |name: &str| match name.split_once(':') {
        None => store::resolve(&repository.git, name),
        Some((owner, branch)) => {
            let there = call
                .state
                .repositories
                .iter()
                .find(|other| other.owner.eq_ignore_ascii_case(owner))?;
            store::resolve(&there.git, branch)
        }
    };
    let base = find(base_name).ok_or_else(RestAnswer::not_found)?;
    let head = find(head_name).ok_or_else(RestAnswer::not_found)?;
    let git = &repository.git;
    let fork_point = git
        .merge_base(base, head)
        .map_err(|_| RestAnswer::error(404, &format!("No common ancestor between {base_name} and {head_name}.")))?;
    let diff = store::three_dot(git, base, head)?;
    if call.accept.contains("diff") {
        return Ok(RestAnswer::bytes(
            "application/vnd.github.diff; charset=utf-8",
            super::pulls::diff_text(&diff)?,
        ));
    }
    let (ahead, behind) = git.graph_ahead_behind(head, base)?;
    let commits = store::commits_between(git, base, head)?;
    let status = match (ahead, behind) {
        (0, 0) => "identical",
        (_, 0) => "ahead",
        (0, _) => "behind",
        _ => "diverged",
    };
    let at = format!(
        "{}/repos/{}/compare/{base_name}...{head_name}",
        call.state.api(),
        repository.full_name()
    );
    let page = format!(
        "{}/{}/compare/{base_name}...{head_name}",
        call.state.web,
        repository.full_name()
    );
    let show = |id: git2::Oid| commit(call.state, repository, id);
    let shown = commits.iter().map(|id| show(*id)).collect::<Result<Vec<Value>, _>>()?;
    Ok(RestAnswer::ok(json!({
        "url": at,
        "html_url": page,
        "permalink_url": page,
        "diff_url": format!("{page}.diff"),
        "patch_url": format!("{page}.patch"),
        "base_commit": show(base)?,
        "merge_base_commit": show(fork_point)?,
        "status": status,
        "ahead_by": ahead,
        "behind_by": behind,
        "total_commits": commits.len(),
        "commits": shown,
        "files": diff_entries(call.state, repository, &diff, head)?,
    })))
}
