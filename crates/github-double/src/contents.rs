//! The route for file contents: a file as JSON or raw, or a directory listing.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use git2::{ObjectType, Oid};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::answer::RestAnswer;
use super::names::DEFAULT_BRANCH;
use super::route::{Needs, Route, RouteCall, get};
use super::store;

/// Characters that stay unescaped in the path of a URL.
pub(super) const IN_PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');
/// The JSON form of larger files has no content.
const MOST_IN_JSON: usize = 1024 * 1024;

pub(super) const ROUTES: &[Route] = &[get(
    "/repos/{owner}/{repo}/contents/{path}",
    Needs::Read(&["contents"]),
    show,
)];

fn show(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let repository = call.repository()?;
    let git = &repository.git;
    let name = call.query.get("ref").map_or(DEFAULT_BRANCH, String::as_str);
    let commit = store::resolve(git, name)
        .ok_or_else(|| RestAnswer::error(404, &format!("No commit found for the ref {name}")))?;
    let path = call.capture("path").trim_end_matches('/');
    let tree = git.find_commit(commit)?.tree()?;
    let entry = |path: &str, name: &str, id: Oid, kind: &str, size: usize| {
        let (api, web) = (call.state.api(), &call.state.web);
        let full = repository.full_name();
        let at = utf8_percent_encode(path, IN_PATH);
        let reference = utf8_percent_encode(name, NON_ALPHANUMERIC);
        let (url, page) = (
            format!("{api}/repos/{full}/contents/{at}?ref={reference}"),
            format!("{web}/{full}/blob/{reference}/{at}"),
        );
        let git_url = format!(
            "{api}/repos/{full}/git/{}/{id}",
            if kind == "dir" { "trees" } else { "blobs" }
        );
        let download = (kind != "dir").then(|| format!("{web}/{full}/raw/{reference}/{at}"));
        json!({
            "name": path.rsplit('/').next().unwrap_or(path),
            "path": path,
            "sha": id.to_string(),
            "size": size,
            "url": url,
            "html_url": page,
            "git_url": git_url,
            "download_url": download,
            "type": kind,
            "_links": { "self": url, "git": git_url, "html": page },
        })
    };
    let (folder, prefix) = match tree.get_path(Path::new(path)) {
        _ if path.is_empty() => (tree, String::new()),
        Err(_) => return Err(RestAnswer::not_found()),
        Ok(found) if found.kind() == Some(ObjectType::Tree) => (git.find_tree(found.id())?, format!("{path}/")),
        Ok(found) => {
            let blob = git.find_blob(found.id())?;
            if call.accept.contains("raw") {
                return Ok(RestAnswer::bytes(
                    "application/vnd.github.raw+json; charset=utf-8",
                    blob.content().to_vec(),
                ));
            }
            let mut file = entry(path, name, found.id(), "file", blob.size());
            let small = blob.size() <= MOST_IN_JSON;
            file["encoding"] = json!(if small { "base64" } else { "none" });
            file["content"] = json!(if small {
                lines_of_base64(blob.content())
            } else {
                String::new()
            });
            return Ok(RestAnswer::ok(file));
        }
    };
    let listed: Vec<Value> = folder
        .iter()
        .map(|item| {
            let path = format!("{prefix}{}", String::from_utf8_lossy(item.name_bytes()));
            let size = git.find_blob(item.id()).map_or(0, |blob| blob.size());
            let kind = if item.kind() == Some(ObjectType::Tree) {
                "dir"
            } else {
                "file"
            };
            entry(&path, name, item.id(), kind, size)
        })
        .collect();
    Ok(RestAnswer::ok(Value::Array(listed)))
}

/// Base64 in lines of sixty characters, as GitHub sends it.
pub(super) fn lines_of_base64(bytes: &[u8]) -> String {
    let encoded = STANDARD.encode(bytes);
    let mut text = String::with_capacity(encoded.len() + encoded.len() / 60 + 1);
    for (index, character) in encoded.chars().enumerate() {
        if index > 0 && index % 60 == 0 {
            text.push('\n');
        }
        text.push(character);
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}
