//! JSON objects that appear inside others: accounts, repositories, Apps, short forms of pull requests.
//!
//! Each has every property that GitHub's OpenAPI description requires. Objects that only one group of routes returns
//! are built in the file of that group.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::names::{DEFAULT_BRANCH, Role};
use super::state::{App, PullRequest, Repository, State};

/// The creation date of everything that existed before the story.
pub(super) const LONG_AGO: &str = "2025-12-01T08:00:00Z";

/// An opaque node id.
pub(super) fn node(kind: &str, id: u64) -> String {
    STANDARD.encode(format!("{kind}{id}"))
}

/// `simple-user`; null for a deleted login.
pub(super) fn account(state: &State, login: &str) -> Value {
    let Some(account) = state.account(login) else {
        return Value::Null;
    };
    let (api, web) = (state.api(), &state.web);
    let login = &account.login;
    let at = format!("{api}/users/{}", login.replace('[', "%5B").replace(']', "%5D"));
    let page = match login.strip_suffix("[bot]") {
        Some(slug) => format!("{web}/apps/{slug}"),
        None => format!("{web}/{login}"),
    };
    json!({
        "login": login,
        "id": account.id,
        "node_id": node("User", account.id),
        "avatar_url": format!("{web}/avatars/u/{}", account.id),
        "gravatar_id": "",
        "url": at,
        "html_url": page,
        "followers_url": format!("{at}/followers"),
        "following_url": format!("{at}/following{{/other_user}}"),
        "gists_url": format!("{at}/gists{{/gist_id}}"),
        "starred_url": format!("{at}/starred{{/owner}}{{/repo}}"),
        "subscriptions_url": format!("{at}/subscriptions"),
        "organizations_url": format!("{at}/orgs"),
        "repos_url": format!("{at}/repos"),
        "events_url": format!("{at}/events{{/privacy}}"),
        "received_events_url": format!("{at}/received_events"),
        "type": account.kind,
        "user_view_type": "public",
        "site_admin": false,
    })
}

/// The `organization` of a webhook payload.
pub(super) fn organization(state: &State, login: &str) -> Value {
    let id = state.account(login).map_or(0, |account| account.id);
    let at = format!("{}/orgs/{login}", state.api());
    json!({
        "login": login,
        "id": id,
        "node_id": node("Organization", id),
        "url": at,
        "repos_url": format!("{at}/repos"),
        "events_url": format!("{at}/events"),
        "hooks_url": format!("{at}/hooks"),
        "issues_url": format!("{at}/issues"),
        "members_url": format!("{at}/members{{/member}}"),
        "public_members_url": format!("{at}/public_members{{/member}}"),
        "avatar_url": format!("{}/avatars/u/{id}", state.web),
        "description": null,
    })
}

/// The `*_url` properties of a repository: name, and suffix of the repository's URL.
const REPOSITORY_URLS: [(&str, &str); 37] = [
    ("archive_url", "/{archive_format}{/ref}"),
    ("assignees_url", "/assignees{/user}"),
    ("blobs_url", "/git/blobs{/sha}"),
    ("branches_url", "/branches{/branch}"),
    ("collaborators_url", "/collaborators{/collaborator}"),
    ("comments_url", "/comments{/number}"),
    ("commits_url", "/commits{/sha}"),
    ("compare_url", "/compare/{base}...{head}"),
    ("contents_url", "/contents/{+path}"),
    ("contributors_url", "/contributors"),
    ("deployments_url", "/deployments"),
    ("downloads_url", "/downloads"),
    ("events_url", "/events"),
    ("forks_url", "/forks"),
    ("git_commits_url", "/git/commits{/sha}"),
    ("git_refs_url", "/git/refs{/sha}"),
    ("git_tags_url", "/git/tags{/sha}"),
    ("hooks_url", "/hooks"),
    ("issue_comment_url", "/issues/comments{/number}"),
    ("issue_events_url", "/issues/events{/number}"),
    ("issues_url", "/issues{/number}"),
    ("keys_url", "/keys{/key_id}"),
    ("labels_url", "/labels{/name}"),
    ("languages_url", "/languages"),
    ("merges_url", "/merges"),
    ("milestones_url", "/milestones{/number}"),
    ("notifications_url", "/notifications{?since,all,participating}"),
    ("pulls_url", "/pulls{/number}"),
    ("releases_url", "/releases{/id}"),
    ("stargazers_url", "/stargazers"),
    ("statuses_url", "/statuses/{sha}"),
    ("subscribers_url", "/subscribers"),
    ("subscription_url", "/subscription"),
    ("tags_url", "/tags"),
    ("teams_url", "/teams"),
    ("trees_url", "/git/trees{/sha}"),
    ("url", ""),
];

/// `repository`, which also serves as `minimal-repository`.
pub(super) fn repository(state: &State, repository: &Repository) -> Value {
    let full = repository.full_name();
    let (api, web) = (state.api(), &state.web);
    let mut object = Map::new();
    for (name, tail) in REPOSITORY_URLS {
        object.insert(name.into(), json!(format!("{api}/repos/{full}{tail}")));
    }
    let open = repository.pulls.values().filter(|pull| pull.open).count();
    let forks = state
        .repositories
        .iter()
        .filter(|other| other.fork_of == Some(repository.id))
        .count();
    let mut object = Value::Object(object);
    let about = json!({
        "id": repository.id,
        "node_id": node("Repository", repository.id),
        "name": repository.name,
        "full_name": full,
        "private": repository.private,
        "owner": account(state, &repository.owner),
        "html_url": format!("{web}/{full}"),
        "description": null,
        "fork": repository.fork_of.is_some(),
        "created_at": repository.created_at,
        "updated_at": repository.created_at,
        "pushed_at": repository.created_at,
        "git_url": format!("{}/{full}.git", web.replacen("http:", "git:", 1)),
        "ssh_url": format!("git@127.0.0.1:{full}.git"),
        "clone_url": format!("{web}/{full}.git"),
        "svn_url": format!("{web}/{full}"),
        "homepage": null,
        "visibility": if repository.private { "private" } else { "public" },
        "default_branch": DEFAULT_BRANCH,
    });
    let counts = json!({
        "size": 8,
        "stargazers_count": 0,
        "watchers_count": 0,
        "language": null,
        "has_issues": true,
        "has_projects": false,
        "has_downloads": false,
        "has_wiki": false,
        "has_pages": false,
        "has_discussions": false,
        "forks_count": forks,
        "mirror_url": null,
        "archived": false,
        "disabled": false,
        "open_issues_count": open,
        "license": null,
        "allow_forking": true,
        "is_template": false,
        "web_commit_signoff_required": false,
        "topics": [],
        "custom_properties": {},
        "forks": forks,
        "open_issues": open,
        "watchers": 0,
    });
    merge(&mut object, about);
    merge(&mut object, counts);
    object
}

/// Adds the properties of one object to another.
pub(super) fn merge(object: &mut Value, more: Value) {
    if let (Value::Object(object), Value::Object(more)) = (object, more) {
        object.extend(more);
    }
}

/// `integration`, which is an App.
pub(super) fn app(state: &State, app: &App) -> Value {
    let owner = state.repositories.first().map_or("", |first| first.owner.as_str());
    json!({
        "id": app.id,
        "slug": app.slug,
        "node_id": node("App", app.id),
        "client_id": format!("Iv23li{:08}", app.id),
        "owner": account(state, owner),
        "name": app.name,
        "description": null,
        "external_url": format!("{}/{}", state.web, app.slug),
        "html_url": format!("{}/apps/{}", state.web, app.slug),
        "created_at": LONG_AGO,
        "updated_at": LONG_AGO,
        "permissions": app.permissions,
        "events": app.events,
    })
}

/// `pull-request-minimal`, which check runs and workflow runs contain.
pub(super) fn short_pull(state: &State, repository: &Repository, pull: &PullRequest) -> Value {
    let api = state.api();
    let end = |branch: &str, sha: String, at: &Repository| {
        json!({
            "ref": branch,
            "sha": sha,
            "repo": { "id": at.id, "url": format!("{api}/repos/{}", at.full_name()), "name": at.name },
        })
    };
    let head = state.repository(pull.head_repository).unwrap_or(repository);
    json!({
        "id": pull.id,
        "number": pull.number,
        "url": format!("{api}/repos/{}/pulls/{}", repository.full_name(), pull.number),
        "head": end(&pull.head_branch, pull.head.to_string(), head),
        "base": end(&pull.base_branch, base_sha(repository, pull), repository),
    })
}

/// The open pull requests with this head commit, without those from forks, which GitHub omits.
pub(super) fn pulls_of(state: &State, repository: u64, head: git2::Oid) -> Vec<Value> {
    let Some(repository) = state.repository(repository) else {
        return Vec::new();
    };
    let ours = |pull: &&PullRequest| pull.open && pull.head == head && pull.head_repository == repository.id;
    repository
        .pulls
        .values()
        .filter(ours)
        .map(|pull| short_pull(state, repository, pull))
        .collect()
}

/// The tip of a pull request's base branch.
pub(super) fn base_sha(repository: &Repository, pull: &PullRequest) -> String {
    super::store::tip(&repository.git, &pull.base_branch)
        .unwrap_or(pull.head)
        .to_string()
}

/// The author's association with a repository.
pub(super) fn association(repository: &Repository, login: &str) -> &'static str {
    match repository.role(login) {
        _ if repository.owner.eq_ignore_ascii_case(login) => "OWNER",
        Role::Admin | Role::Maintain => "MEMBER",
        Role::Write | Role::Triage => "COLLABORATOR",
        Role::Read | Role::None => "NONE",
    }
}

/// The numbers of reactions to a comment.
pub(super) fn reaction_counts(state: &State, subject: u64, url: &str) -> Value {
    let mut counts = Map::new();
    for content in ["+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"] {
        let one = state.reactions_to(subject).filter(|r| r.content == content).count();
        counts.insert(content.into(), json!(one));
    }
    counts.insert("total_count".into(), json!(state.reactions_to(subject).count()));
    counts.insert("url".into(), json!(format!("{url}/reactions")));
    Value::Object(counts)
}

/// `simple-commit`, which workflow runs and check suites contain for their head.
pub(super) fn short_commit(repository: &Repository, id: git2::Oid) -> Value {
    let Ok(commit) = repository.git.find_commit(id) else {
        return Value::Null;
    };
    let person = |who: &git2::Signature<'_>| {
        json!({
            "name": String::from_utf8_lossy(who.name_bytes()),
            "email": String::from_utf8_lossy(who.email_bytes()),
        })
    };
    json!({
        "id": id.to_string(),
        "tree_id": commit.tree_id().to_string(),
        "message": String::from_utf8_lossy(commit.message_bytes()),
        "timestamp": super::store::moment(commit.time()),
        "author": person(&commit.author()),
        "committer": person(&commit.committer()),
    })
}

/// The current time in whole seconds.
pub(super) fn present() -> String {
    ago(0)
}

/// The time this many seconds ago.
pub(super) fn ago(seconds: i64) -> String {
    let now = jiff::Timestamp::now();
    let then = now.checked_sub(jiff::SignedDuration::from_secs(seconds));
    then.unwrap_or(now).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
