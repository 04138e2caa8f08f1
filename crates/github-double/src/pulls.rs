//! Routes and JSON objects of pull requests: the list, a single one, its files, its commits, its diff.

use git2::{Diff, DiffFormat, Oid};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::answer::RestAnswer;
use super::diff_rules::{self, FileDiff};
use super::merging::test_merge;
use super::paging::page;
use super::route::{Needs, Route, RouteCall, get};
use super::state::{Happening, PullRequest, Repository, State};
use super::{objects, store};

const READ: Needs = Needs::Read(&["pull_requests"]);

pub(super) const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/pulls", READ, list),
    get("/repos/{owner}/{repo}/pulls/{pull_number}", READ, show),
    get("/repos/{owner}/{repo}/pulls/{pull_number}/files", READ, list_files),
    get("/repos/{owner}/{repo}/pulls/{pull_number}/commits", READ, list_commits),
];

/// Longer diffs are answered with 406.
const MOST_DIFF_LINES: usize = 20_000;
/// The maximum number of files that the API lists.
const MOST_FILES: usize = 3000;

fn list(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let repository = call.repository()?;
    let wanted = |name: &str| call.query.get(name).map(String::as_str);
    let state = wanted("state").unwrap_or("open");
    let fits = |pull: &&PullRequest| {
        let owner = call
            .state
            .repository(pull.head_repository)
            .map_or("", |head| head.owner.as_str());
        let label = format!("{owner}:{}", pull.head_branch);
        (state == "all" || (state == "open") == pull.open)
            && wanted("base").is_none_or(|base| base == pull.base_branch)
            && wanted("head").is_none_or(|head| head.eq_ignore_ascii_case(&label))
    };
    let mut shown: Vec<Value> = repository
        .pulls
        .values()
        .filter(fits)
        .map(|pull| simple(call.state, repository, pull))
        .collect();
    if wanted("direction") != Some("asc") {
        shown.reverse();
    }
    Ok(page(call, shown))
}

fn show(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let (_, pull) = call.pull()?;
    let repository = call.repository()?;
    if call.accept.contains("diff") {
        let diff = diff_of(repository, &pull)?;
        let text = diff_text(&diff)?;
        if text.iter().filter(|byte| **byte == b'\n').count() > MOST_DIFF_LINES {
            return Err(RestAnswer::json(
                406,
                json!({
                    "message": format!("Sorry, the diff exceeded the maximum number of lines ({MOST_DIFF_LINES})"),
                    "errors": [{ "resource": "PullRequest", "field": "diff", "code": "too_large" }],
                    "documentation_url": "https://docs.github.com/rest/pulls/pulls#list-pull-requests-files",
                    "status": "406",
                }),
            ));
        }
        return Ok(RestAnswer::bytes("application/vnd.github.diff; charset=utf-8", text));
    }
    Ok(RestAnswer::ok(full(call.state, repository, &pull)))
}

fn list_files(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let (_, pull) = call.pull()?;
    let repository = call.repository()?;
    let diff = diff_of(repository, &pull)?;
    let mut entries = diff_entries(call.state, repository, &diff, pull.head)?;
    entries.truncate(MOST_FILES);
    Ok(page(call, entries))
}

fn list_commits(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let (_, pull) = call.pull()?;
    let repository = call.repository()?;
    let ids = commits_of(repository, &pull)?;
    let shown = ids
        .into_iter()
        .map(|id| commit(call.state, repository, id))
        .collect::<Result<Vec<Value>, _>>()?;
    Ok(page(call, shown))
}

/// The diff of a pull request: from its merge base to its head.
pub(super) fn diff_of<'git>(repository: &'git Repository, pull: &PullRequest) -> Result<Diff<'git>, git2::Error> {
    let base = store::tip(&repository.git, &pull.base_branch).unwrap_or(pull.head);
    store::three_dot(&repository.git, base, pull.head)
}

/// The commits of a pull request, oldest first.
pub(super) fn commits_of(repository: &Repository, pull: &PullRequest) -> Result<Vec<Oid>, git2::Error> {
    let base = store::tip(&repository.git, &pull.base_branch).unwrap_or(pull.head);
    store::commits_between(&repository.git, base, pull.head)
}

/// The output of `git diff`.
pub(super) fn diff_text(diff: &Diff<'_>) -> Result<Vec<u8>, git2::Error> {
    let mut text = Vec::new();
    diff.print(DiffFormat::Patch, |_, _, line| {
        if matches!(line.origin(), ' ' | '+' | '-') {
            text.push(u8::try_from(line.origin()).unwrap_or(b' '));
        }
        text.extend_from_slice(line.content());
        true
    })?;
    Ok(text)
}

/// `diff-entry` for every file of a diff.
pub(super) fn diff_entries(
    state: &State,
    repository: &Repository,
    diff: &Diff<'_>,
    head: Oid,
) -> Result<Vec<Value>, git2::Error> {
    Ok(diff_rules::files(diff)?
        .iter()
        .map(|file| diff_entry(state, repository, file, head))
        .collect())
}

fn diff_entry(state: &State, repository: &Repository, file: &FileDiff, head: Oid) -> Value {
    let (api, web, full) = (state.api(), &state.web, repository.full_name());
    let path = utf8_percent_encode(&file.path, NON_ALPHANUMERIC)
        .to_string()
        .replace("%2F", "/");
    let mut entry = json!({
        "sha": file.blob.to_string(),
        "filename": file.path,
        "status": file.status,
        "additions": file.additions,
        "deletions": file.deletions,
        "changes": file.additions + file.deletions,
        "blob_url": format!("{web}/{full}/blob/{head}/{path}"),
        "raw_url": format!("{web}/{full}/raw/{head}/{path}"),
        "contents_url": format!("{api}/repos/{full}/contents/{path}?ref={head}"),
    });
    if let Some(previous) = &file.previous {
        entry["previous_filename"] = json!(previous);
    }
    if let Some(patch) = file.patch() {
        entry["patch"] = json!(patch);
    }
    entry
}

/// `commit`, in lists of commits.
pub(super) fn commit(state: &State, repository: &Repository, id: Oid) -> Result<Value, git2::Error> {
    let found = repository.git.find_commit(id)?;
    let full = repository.full_name();
    let (api, web) = (format!("{}/repos/{full}", state.api()), format!("{}/{full}", state.web));
    let person = |who: &git2::Signature<'_>| {
        json!({
            "name": String::from_utf8_lossy(who.name_bytes()),
            "email": String::from_utf8_lossy(who.email_bytes()),
            "date": store::moment(who.when()),
        })
    };
    let account = |who: &git2::Signature<'_>| {
        let email = String::from_utf8_lossy(who.email_bytes()).into_owned();
        let login = email
            .strip_suffix("@users.noreply.github.com")
            .and_then(|rest| rest.split_once('+'));
        login.map_or(Value::Null, |(_, login)| objects::account(state, login))
    };
    let parents: Vec<Value> = found
        .parent_ids()
        .map(|parent| {
            json!({
                "sha": parent.to_string(),
                "url": format!("{api}/commits/{parent}"),
                "html_url": format!("{web}/commit/{parent}"),
            })
        })
        .collect();
    Ok(json!({
        "sha": id.to_string(),
        "node_id": objects::node(&format!("Commit{id}:"), repository.id),
        "url": format!("{api}/commits/{id}"),
        "html_url": format!("{web}/commit/{id}"),
        "comments_url": format!("{api}/commits/{id}/comments"),
        "commit": {
            "url": format!("{api}/git/commits/{id}"),
            "author": person(&found.author()),
            "committer": person(&found.committer()),
            "message": String::from_utf8_lossy(found.message_bytes()),
            "comment_count": 0,
            "tree": { "sha": found.tree_id().to_string(), "url": format!("{api}/git/trees/{}", found.tree_id()) },
            "verification": verification(state, id),
        },
        "author": account(&found.author()),
        "committer": account(&found.committer()),
        "parents": parents,
    }))
}

/// Whether GitHub signed a commit: it signs those that an App makes through the API without naming an author.
pub(super) fn verification(state: &State, id: Oid) -> Value {
    let signed = state.verified.contains(&id);
    json!({
        "verified": signed,
        "reason": if signed { "valid" } else { "unsigned" },
        "signature": if signed { json!("-----BEGIN PGP SIGNATURE-----\n") } else { Value::Null },
        "payload": if signed { json!(format!("tree of {id}")) } else { Value::Null },
        "verified_at": if signed { json!(objects::LONG_AGO) } else { Value::Null },
    })
}

/// `label`.
pub(super) fn label(state: &State, repository: &Repository, name: &str) -> Value {
    let at = utf8_percent_encode(name, NON_ALPHANUMERIC);
    json!({
        "id": 9000,
        "node_id": objects::node("Label", 9000),
        "url": format!("{}/repos/{}/labels/{at}", state.api(), repository.full_name()),
        "name": name,
        "description": "",
        "color": "ededed",
        "default": false,
    })
}

/// `pull-request-simple`, in lists.
pub(super) fn simple(state: &State, repository: &Repository, pull: &PullRequest) -> Value {
    let full = repository.full_name();
    let api = format!("{}/repos/{full}", state.api());
    let (number, head) = (pull.number, pull.head);
    let page = format!("{}/{full}/pull/{number}", state.web);
    let (at, issue) = (format!("{api}/pulls/{number}"), format!("{api}/issues/{number}"));
    let head_repository = state.repository(pull.head_repository).unwrap_or(repository);
    let end = |at: &Repository, branch: &str, sha: String| {
        json!({
            "label": format!("{}:{branch}", at.owner),
            "ref": branch,
            "sha": sha,
            "user": objects::account(state, &at.owner),
            "repo": objects::repository(state, at),
        })
    };
    let labels: Vec<Value> = pull.labels.iter().map(|name| label(state, repository, name)).collect();
    let mut object = json!({
        "url": at,
        "id": pull.id,
        "node_id": objects::node("PullRequest", pull.id),
        "html_url": page,
        "diff_url": format!("{page}.diff"),
        "patch_url": format!("{page}.patch"),
        "issue_url": issue,
        "commits_url": format!("{at}/commits"),
        "review_comments_url": format!("{at}/comments"),
        "review_comment_url": format!("{api}/pulls/comments{{/number}}"),
        "comments_url": format!("{issue}/comments"),
        "statuses_url": format!("{api}/statuses/{head}"),
        "head": end(head_repository, &pull.head_branch, head.to_string()),
        "base": end(repository, &pull.base_branch, objects::base_sha(repository, pull)),
    });
    let about = json!({
        "number": number,
        "state": if pull.open { "open" } else { "closed" },
        "locked": false,
        "active_lock_reason": null,
        "title": pull.title,
        "user": objects::account(state, &pull.author),
        "body": pull.body,
        "labels": labels,
        "milestone": null,
        "created_at": pull.created_at,
        "updated_at": pull.updated_at,
        "closed_at": if pull.open { Value::Null } else { json!(pull.updated_at) },
        "merged_at": null,
        "merge_commit_sha": test_merge(repository, pull).map(|merge| merge.to_string()),
        "assignee": null,
        "assignees": [],
        "requested_reviewers": [],
        "requested_teams": [],
        "author_association": objects::association(repository, &pull.author),
        "auto_merge": null,
        "draft": false,
    });
    object["_links"] = json!({
        "self": { "href": at },
        "html": { "href": page },
        "issue": { "href": issue },
        "comments": { "href": format!("{issue}/comments") },
        "review_comments": { "href": format!("{at}/comments") },
        "review_comment": { "href": format!("{api}/pulls/comments{{/number}}") },
        "commits": { "href": format!("{at}/commits") },
        "statuses": { "href": format!("{api}/statuses/{head}") },
    });
    objects::merge(&mut object, about);
    object
}

/// `pull-request`, in its own route and in webhook payloads.
pub(super) fn full(state: &State, repository: &Repository, pull: &PullRequest) -> Value {
    let mut object = simple(state, repository, pull);
    let has_merge = !object["merge_commit_sha"].is_null();
    let mergeable_state = match (pull.open, has_merge) {
        (false, _) => "unknown",
        (true, true) => "clean",
        (true, false) => "dirty",
    };
    let files = diff_of(repository, pull)
        .and_then(|diff| diff_rules::files(&diff))
        .unwrap_or_default();
    let count = |wanted: fn(&Happening) -> bool| pull.timeline.iter().filter(|what| wanted(what)).count();
    let review_comments = state
        .review_comments
        .values()
        .filter(|c| c.repository == repository.id && c.number == pull.number)
        .count();
    let more = json!({
        "merged": false,
        "mergeable": pull.open.then_some(has_merge),
        "rebaseable": pull.open.then_some(has_merge),
        "mergeable_state": mergeable_state,
        "merged_by": null,
        "comments": count(|what| matches!(what, Happening::Comment(_))),
        "review_comments": review_comments,
        "maintainer_can_modify": pull.maintainer_can_modify,
        "commits": commits_of(repository, pull).map_or(0, |ids| ids.len()),
        "additions": files.iter().map(|file| file.additions).sum::<usize>(),
        "deletions": files.iter().map(|file| file.deletions).sum::<usize>(),
        "changed_files": files.len(),
    });
    objects::merge(&mut object, more);
    object
}
