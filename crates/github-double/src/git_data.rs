//! The git data routes: blobs, trees, commits. References are in [`super::refs`].

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use git2::build::TreeUpdateBuilder;
use git2::{FileMode, ObjectType, Oid, Tree, TreeWalkMode, TreeWalkResult};
use serde_json::{Value, json};

use super::answer::RestAnswer;
use super::contents::lines_of_base64;
use super::pulls::verification;
use super::route::{Needs, Route, RouteCall, delete, get, patch, post};
use super::state::{Repository, State};
use super::store::{self, Identity, NewCommit};
use super::{objects, refs};

const READ: Needs = Needs::Read(&["contents"]);
const WRITE: Needs = Needs::Write(&["contents"]);

pub(super) const ROUTES: &[Route] = &[
    post(
        "/repos/{owner}/{repo}/git/blobs",
        WRITE,
        &["content", "encoding"],
        create_blob,
    ),
    get("/repos/{owner}/{repo}/git/blobs/{file_sha}", READ, show_blob),
    post(
        "/repos/{owner}/{repo}/git/trees",
        WRITE,
        &["tree", "base_tree"],
        create_tree,
    ),
    get("/repos/{owner}/{repo}/git/trees/{tree_sha}", READ, show_tree),
    post(
        "/repos/{owner}/{repo}/git/commits",
        WRITE,
        &["message", "tree", "parents", "author", "committer", "signature"],
        create_commit,
    ),
    get("/repos/{owner}/{repo}/git/commits/{commit_sha}", READ, show_commit),
    get("/repos/{owner}/{repo}/git/ref/{ref}", READ, refs::show),
    get("/repos/{owner}/{repo}/git/matching-refs/{ref}", READ, refs::matching),
    post("/repos/{owner}/{repo}/git/refs", WRITE, &["ref", "sha"], refs::create),
    patch(
        "/repos/{owner}/{repo}/git/refs/{ref}",
        WRITE,
        &["sha", "force"],
        refs::update,
    ),
    delete("/repos/{owner}/{repo}/git/refs/{ref}", WRITE, refs::remove),
];

fn api(state: &State, repository: &Repository) -> String {
    format!("{}/repos/{}/git", state.api(), repository.full_name())
}

fn oid(text: &str) -> Result<Oid, RestAnswer> {
    let full = Some(text)
        .filter(|text| text.len() == 40)
        .and_then(|text| Oid::from_str(text).ok());
    full.ok_or_else(|| {
        RestAnswer::invalid(&format!(
            "The sha parameter must be exactly 40 characters and contain only [0-9a-f]: {text}"
        ))
    })
}

fn create_blob(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let content = call.text("content")?;
    let bytes = match call.optional_text("encoding")?.as_deref() {
        None | Some("utf-8") => content.into_bytes(),
        Some("base64") => {
            let compact: String = content.chars().filter(|c| !c.is_ascii_whitespace()).collect();
            STANDARD
                .decode(compact)
                .map_err(|_| RestAnswer::invalid("content is not valid Base64"))?
        }
        Some(_) => return Err(RestAnswer::invalid("encoding must be one of: utf-8, base64")),
    };
    let repository = call.repository()?;
    let id = repository.git.blob(&bytes)?;
    let url = format!("{}/blobs/{id}", api(call.state, repository));
    Ok(RestAnswer::created(json!({ "sha": id.to_string(), "url": url })))
}

fn show_blob(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let repository = call.repository()?;
    let id = oid(call.capture("file_sha"))?;
    let blob = repository.git.find_blob(id).map_err(|_| RestAnswer::not_found())?;
    if call.accept.contains("raw") {
        return Ok(RestAnswer::bytes(
            "application/vnd.github.raw+json; charset=utf-8",
            blob.content().to_vec(),
        ));
    }
    Ok(RestAnswer::ok(json!({
        "sha": id.to_string(),
        "node_id": objects::node(&format!("Blob{id}:"), repository.id),
        "size": blob.size(),
        "url": format!("{}/blobs/{id}", api(call.state, repository)),
        "content": lines_of_base64(blob.content()),
        "encoding": "base64",
    })))
}

/// Creates a tree from entries with a SHA, inline content, or `"sha": null` to delete; on top of `base_tree` if
/// given.
fn create_tree(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let entries = call.list("tree")?;
    let base = call.optional_text("base_tree")?;
    if entries.is_empty() {
        return Err(RestAnswer::invalid("Invalid tree info"));
    }
    let repository = call.repository()?;
    let git = &repository.git;
    let base = match base {
        // GitHub also accepts the SHA of a commit here.
        Some(sha) => git
            .find_object(oid(&sha)?, None)
            .and_then(|object| object.peel_to_tree())
            .map_err(|_| RestAnswer::invalid("base_tree is not a valid tree oid"))?,
        None => git.find_tree(git.treebuilder(None)?.write()?)?,
    };
    let mut update = TreeUpdateBuilder::new();
    for entry in &entries {
        put_entry(repository, &base, &mut update, entry)?;
    }
    let id = update
        .create_updated(git, &base)
        .map_err(|_| RestAnswer::invalid("GitRPC::BadObjectState"))?;
    let tree = git.find_tree(id)?;
    Ok(RestAnswer::created(tree_object(call.state, repository, &tree, false)?))
}

fn put_entry(
    repository: &Repository,
    base: &Tree<'_>,
    update: &mut TreeUpdateBuilder,
    entry: &Value,
) -> Result<(), RestAnswer> {
    let git = &repository.git;
    let path = entry["path"].as_str().unwrap_or_default();
    let malformed = || RestAnswer::invalid("tree.path contains a malformed path component");
    let bad = |part: &str| part.is_empty() || part == "." || part == ".." || part.eq_ignore_ascii_case(".git");
    if path.split('/').any(bad) {
        return Err(malformed());
    }
    let mode = match entry["mode"].as_str() {
        Some("100644") => FileMode::Blob,
        Some("100755") => FileMode::BlobExecutable,
        Some("120000") => FileMode::Link,
        Some("040000") => FileMode::Tree,
        Some("160000") => FileMode::Commit,
        _ => {
            return Err(RestAnswer::invalid(
                "tree.mode must be one of 100644, 100755, 040000, 160000, 120000",
            ));
        }
    };
    let id = match (&entry["sha"], &entry["content"]) {
        (Value::Null, Value::Null) if entry.get("sha").is_some() => {
            base.get_path(std::path::Path::new(path))
                .map_err(|_| RestAnswer::invalid("GitRPC::BadObjectState"))?;
            update.remove(path);
            return Ok(());
        }
        (Value::String(sha), Value::Null) => {
            let id = oid(sha)?;
            git.find_object(id, None)
                .map_err(|_| RestAnswer::invalid(&format!("tree.sha {sha} is not a valid blob")))?;
            id
        }
        (Value::Null, Value::String(content)) => git.blob(content.as_bytes())?,
        _ => return Err(RestAnswer::invalid("Must supply either tree.sha or tree.content")),
    };
    update.upsert(path, id, mode);
    Ok(())
}

fn show_tree(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let repository = call.repository()?;
    let git = &repository.git;
    let name = call.capture("tree_sha");
    let tree = match oid(name).ok().and_then(|id| git.find_tree(id).ok()) {
        Some(tree) => tree,
        None => {
            let commit = store::resolve(git, name).ok_or_else(RestAnswer::not_found)?;
            git.find_commit(commit)?.tree()?
        }
    };
    let recursive = call.query.contains_key("recursive");
    Ok(RestAnswer::ok(tree_object(call.state, repository, &tree, recursive)?))
}

fn tree_object(state: &State, repository: &Repository, tree: &Tree<'_>, recursive: bool) -> Result<Value, git2::Error> {
    let at = api(state, repository);
    let mut entries = Vec::new();
    tree.walk(TreeWalkMode::PreOrder, |folder, item| {
        let (kind, route) = match item.kind() {
            Some(ObjectType::Tree) => ("tree", "trees"),
            Some(ObjectType::Commit) => ("commit", "commits"),
            _ => ("blob", "blobs"),
        };
        let mut entry = json!({
            "path": format!("{folder}{}", String::from_utf8_lossy(item.name_bytes())),
            "mode": format!("{:06o}", item.filemode()),
            "type": kind,
            "sha": item.id().to_string(),
            "url": format!("{at}/{route}/{}", item.id()),
        });
        if kind == "blob" {
            entry["size"] = json!(repository.git.find_blob(item.id()).map_or(0, |blob| blob.size()));
        }
        entries.push(entry);
        if recursive {
            TreeWalkResult::Ok
        } else {
            TreeWalkResult::Skip
        }
    })?;
    Ok(
        json!({ "sha": tree.id().to_string(), "url": format!("{at}/trees/{}", tree.id()), "tree": entries, "truncated": false }),
    )
}

/// A commit that is not on a branch. Without author and committer, GitHub uses the caller's identity, and signs if it
/// is an App.
fn create_commit(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let message = call.text("message")?;
    let tree = oid(&call.text("tree")?)?;
    let parents = call.list("parents")?;
    let parents = parents
        .iter()
        .map(|sha| oid(sha.as_str().unwrap_or_default()))
        .collect::<Result<Vec<_>, _>>()?;
    let login = call.login();
    let now = call.state.commit_time();
    let own = call.state.identity(&login);
    let custom = !call.body["author"].is_null() || !call.body["committer"].is_null();
    let (author, author_seconds) = person(&call.body["author"], &own, now)?;
    let github = Identity {
        name: "GitHub".into(),
        email: "noreply@github.com".into(),
    };
    // An author without a committer is used for both, including the date.
    let (fallback, fallback_seconds) = if custom {
        (&author, author_seconds)
    } else {
        (&github, now)
    };
    let (committer, committer_seconds) = person(&call.body["committer"], fallback, fallback_seconds)?;
    let repository = call.repository()?;
    let git = &repository.git;
    git.find_tree(tree)
        .map_err(|_| RestAnswer::invalid("Tree SHA does not exist"))?;
    if parents.iter().any(|id| git.find_commit(*id).is_err()) {
        return Err(RestAnswer::invalid(
            "Parent SHA does not exist or is not a commit object",
        ));
    }
    let new = NewCommit {
        author,
        author_seconds,
        committer,
        committer_seconds,
        message,
        tree,
        parents,
    };
    let id = store::commit(git, &new)?;
    if !custom && call.app().is_some() {
        call.state.verified.insert(id);
    }
    let repository = call.repository()?;
    Ok(RestAnswer::created(commit_object(call.state, repository, id)?))
}

fn person(given: &Value, otherwise: &Identity, now: i64) -> Result<(Identity, i64), RestAnswer> {
    if given.is_null() {
        return Ok((otherwise.clone(), now));
    }
    let text = |key: &str| given[key].as_str().map(str::to_owned);
    let name = text("name").ok_or_else(|| RestAnswer::invalid("Invalid request.\n\n\"name\" wasn't supplied."))?;
    let email = text("email").ok_or_else(|| RestAnswer::invalid("Invalid request.\n\n\"email\" wasn't supplied."))?;
    let seconds = match text("date") {
        Some(date) => date
            .parse::<jiff::Timestamp>()
            .map_err(|_| RestAnswer::invalid("date is not a valid timestamp"))?
            .as_second(),
        None => now,
    };
    Ok((Identity { name, email }, seconds))
}

fn show_commit(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let repository = call.repository()?;
    let id = oid(call.capture("commit_sha"))?;
    repository.git.find_commit(id).map_err(|_| RestAnswer::not_found())?;
    Ok(RestAnswer::ok(commit_object(call.state, repository, id)?))
}

/// `git-commit`.
fn commit_object(state: &State, repository: &Repository, id: Oid) -> Result<Value, git2::Error> {
    let commit = repository.git.find_commit(id)?;
    let (api, page) = (
        api(state, repository),
        format!("{}/{}/commit", state.web, repository.full_name()),
    );
    let person = |who: &git2::Signature<'_>| {
        json!({
            "name": String::from_utf8_lossy(who.name_bytes()),
            "email": String::from_utf8_lossy(who.email_bytes()),
            "date": store::moment(who.when()),
        })
    };
    let parents: Vec<Value> = commit
        .parent_ids()
        .map(|parent| {
            json!({
                "sha": parent.to_string(),
                "url": format!("{api}/commits/{parent}"),
                "html_url": format!("{page}/{parent}"),
            })
        })
        .collect();
    Ok(json!({
        "sha": id.to_string(),
        "node_id": objects::node(&format!("Commit{id}:"), repository.id),
        "url": format!("{api}/commits/{id}"),
        "html_url": format!("{page}/{id}"),
        "author": person(&commit.author()),
        "committer": person(&commit.committer()),
        "tree": { "sha": commit.tree_id().to_string(), "url": format!("{api}/trees/{}", commit.tree_id()) },
        "message": String::from_utf8_lossy(commit.message_bytes()),
        "parents": parents,
        "verification": verification(state, id),
    }))
}
