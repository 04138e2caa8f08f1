//! Git over smart HTTP, for reading: the endpoints of `git-upload-pack`, in protocol version 2 and the older one.
//!
//! [`super::pack`] decides what is sent. Pushing is not supported, because everything is written through the API.
//! <https://git-scm.com/docs/gitprotocol-v2> <https://git-scm.com/docs/gitprotocol-http>

use std::io::Read as _;

use axum::http::request::Parts;
use flate2::read::GzDecoder;
use git2::{ObjectType, Oid, Repository};

use super::answer::{ResponseBody, RestAnswer};
use super::auth::{self, Credentials};
use super::moving;
use super::names::{DEFAULT_BRANCH, Role};
use super::pack::{self, Wish};
use super::pkt::{self, PktLine};
use super::state::{Holder, State};

/// The largest decompressed request.
const LARGEST_REQUEST: u64 = 64 * 1024 * 1024;
const AGENT: &str = "agent=git/greenlight-double";

/// Answers a git client's request. `None` if it is not one.
pub(super) fn serve(state: &State, parts: &Parts, body: &[u8]) -> Option<RestAnswer> {
    let path = parts.uri.path().strip_prefix('/')?;
    let (owner, rest) = path.split_once('/')?;
    let (name, service) = rest.split_once('/')?;
    let wanted = match (parts.method.as_str(), service) {
        ("GET", "info/refs") => parts.uri.query() == Some("service=git-upload-pack"),
        ("POST", "git-upload-pack") => true,
        _ => return None,
    };
    let name = name.strip_suffix(".git").unwrap_or(name);
    if !wanted {
        return Some(plain(403, "only git-upload-pack is served"));
    }
    if let Some(moved) = moving::moved(state, owner, name) {
        let query = parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        let location = format!("{}/{}.git/{service}{query}", state.web, moved.full_name());
        return Some(plain(301, "").header("location", location));
    }
    let answered = open(state, parts, owner, name).and_then(|git| {
        let version = parts
            .headers
            .get("git-protocol")
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let modern = version.split(':').any(|part| part == "version=2");
        if service == "info/refs" {
            return Ok(if modern {
                advertise_capabilities()
            } else {
                advertise_refs(git)?
            });
        }
        let request = inflate(parts, body)?;
        let bytes = if modern {
            answer_v2(git, &request)?
        } else {
            answer_v0(git, &request)?
        };
        Ok(answer("application/x-git-upload-pack-result", bytes))
    });
    Some(answered.unwrap_or_else(|refusal| refusal))
}

fn answer(kind: &'static str, bytes: Vec<u8>) -> RestAnswer {
    RestAnswer::bytes(kind, bytes).header("cache-control", "no-cache")
}

fn plain(status: u16, text: &str) -> RestAnswer {
    RestAnswer {
        status,
        headers: Vec::new(),
        body: ResponseBody::Bytes("text/plain", text.as_bytes().to_vec()),
    }
}

/// The repository, if the caller may read it. A 401 makes git ask for credentials.
fn open<'a>(state: &'a State, parts: &Parts, owner: &str, name: &str) -> Result<&'a Repository, RestAnswer> {
    let challenge = || plain(401, "Authentication failed").header("www-authenticate", "Basic realm=\"GitHub\"");
    let credentials = auth::credentials(state, &parts.headers).map_err(|_| challenge())?;
    let repository = state.repository_named(owner, name);
    match (repository, credentials) {
        (None, Credentials::Missing) | (_, Credentials::App) => Err(challenge()),
        (None, Credentials::Token(..)) => Err(plain(404, "Repository not found.")),
        (Some(repository), Credentials::Missing) => {
            if repository.private {
                Err(challenge())
            } else {
                Ok(&repository.git)
            }
        }
        (Some(repository), Credentials::Token(holder)) => {
            let reads = match &holder {
                Holder::Installation { permissions, .. } => !repository.private || permissions.contains_key("contents"),
                Holder::Person { login, .. } | Holder::FineGrained { login, .. } => {
                    repository.role(login) >= Role::Read
                }
            };
            let seen = auth::may_see(state, &holder, repository);
            if seen && reads {
                Ok(&repository.git)
            } else {
                Err(plain(404, "Repository not found."))
            }
        }
    }
}

/// The body, decompressed if necessary: git compresses large requests.
fn inflate(parts: &Parts, body: &[u8]) -> Result<Vec<u8>, RestAnswer> {
    match parts
        .headers
        .get("content-encoding")
        .and_then(|value| value.to_str().ok())
    {
        None | Some("identity") => Ok(body.to_vec()),
        Some("gzip" | "x-gzip") => {
            let mut bytes = Vec::new();
            let read = GzDecoder::new(body).take(LARGEST_REQUEST + 1).read_to_end(&mut bytes);
            if read.is_err() || bytes.len() as u64 > LARGEST_REQUEST {
                return Err(plain(400, "the request cannot be unpacked"));
            }
            Ok(bytes)
        }
        Some(_) => Err(plain(415, "unknown content encoding")),
    }
}

fn advertise_capabilities() -> RestAnswer {
    let mut bytes = Vec::new();
    pkt::text(&mut bytes, "# service=git-upload-pack\n");
    pkt::flush(&mut bytes);
    for line in [
        "version 2\n",
        &format!("{AGENT}\n"),
        "ls-refs\n",
        "fetch=shallow\n",
        "object-format=sha1\n",
    ] {
        pkt::text(&mut bytes, line);
    }
    pkt::flush(&mut bytes);
    answer("application/x-git-upload-pack-advertisement", bytes)
}

/// A reference and its target, and the commit behind an annotated tag.
struct KnownRef {
    name: String,
    id: Oid,
    peeled: Option<Oid>,
}

fn known_refs(git: &Repository) -> Result<Vec<KnownRef>, git2::Error> {
    let mut known: Vec<KnownRef> = git
        .references()?
        .filter_map(|reference| {
            let reference = reference.ok()?;
            let id = reference.target()?;
            let tag = git.find_object(id, Some(ObjectType::Tag)).ok();
            let peeled = tag
                .and_then(|tag| tag.peel(ObjectType::Commit).ok())
                .map(|commit| commit.id());
            Some(KnownRef {
                name: reference.name().ok()?.to_owned(),
                id,
                peeled,
            })
        })
        .collect();
    known.sort_by(|a, b| a.name.cmp(&b.name));
    let main = format!("refs/heads/{DEFAULT_BRANCH}");
    if let Some(id) = known.iter().find(|one| one.name == main).map(|one| one.id) {
        known.insert(
            0,
            KnownRef {
                name: "HEAD".into(),
                id,
                peeled: None,
            },
        );
    }
    Ok(known)
}

fn advertise_refs(git: &Repository) -> Result<RestAnswer, RestAnswer> {
    let mut bytes = Vec::new();
    pkt::text(&mut bytes, "# service=git-upload-pack\n");
    pkt::flush(&mut bytes);
    let capabilities = format!(
        "multi_ack_detailed side-band-64k ofs-delta shallow no-progress allow-tip-sha1-in-want allow-reachable-sha1-in-want \
         symref=HEAD:refs/heads/{DEFAULT_BRANCH} object-format=sha1 {AGENT}"
    );
    let mut first = Some(capabilities);
    for one in known_refs(git)? {
        let extra = first
            .take()
            .map(|capabilities| format!("\0{capabilities}"))
            .unwrap_or_default();
        pkt::text(&mut bytes, &format!("{} {}{extra}\n", one.id, one.name));
        if let Some(peeled) = one.peeled {
            pkt::text(&mut bytes, &format!("{peeled} {}^{{}}\n", one.name));
        }
    }
    pkt::flush(&mut bytes);
    Ok(answer("application/x-git-upload-pack-advertisement", bytes))
}

fn answer_v2(git: &Repository, request: &[u8]) -> Result<Vec<u8>, RestAnswer> {
    let lines = pkt::read(request).ok_or_else(|| plain(400, "bad pkt-line"))?;
    let arguments: Vec<&str> = lines
        .iter()
        .skip_while(|line| !matches!(line, PktLine::Delimiter))
        .filter_map(PktLine::as_text)
        .collect();
    match lines.first().and_then(PktLine::as_text) {
        Some("command=ls-refs") => Ok(list_refs(git, &arguments)?),
        Some("command=fetch") => {
            let wish = Wish::read(&arguments).ok_or_else(|| plain(400, "bad fetch arguments"))?;
            pack::fetch(git, &wish)
        }
        other => Ok(pkt::error(&format!("unknown command {other:?}"))),
    }
}

fn list_refs(git: &Repository, arguments: &[&str]) -> Result<Vec<u8>, git2::Error> {
    let prefixes: Vec<&str> = arguments
        .iter()
        .filter_map(|line| line.strip_prefix("ref-prefix "))
        .collect();
    let mut bytes = Vec::new();
    for one in known_refs(git)? {
        if !(prefixes.is_empty() || prefixes.iter().any(|prefix| one.name.starts_with(prefix))) {
            continue;
        }
        let mut line = format!("{} {}", one.id, one.name);
        if one.name == "HEAD" && arguments.contains(&"symrefs") {
            line = format!("{line} symref-target:refs/heads/{DEFAULT_BRANCH}");
        }
        if let Some(peeled) = one.peeled.filter(|_| arguments.contains(&"peel")) {
            line = format!("{line} peeled:{peeled}");
        }
        pkt::text(&mut bytes, &format!("{line}\n"));
    }
    pkt::flush(&mut bytes);
    Ok(bytes)
}

/// The older protocol, which libgit2 uses: all wishes in one list, and a response without sections.
fn answer_v0(git: &Repository, request: &[u8]) -> Result<Vec<u8>, RestAnswer> {
    let lines = pkt::read(request).ok_or_else(|| plain(400, "bad pkt-line"))?;
    let arguments: Vec<&str> = lines.iter().filter_map(PktLine::as_text).collect();
    let wish = Wish::read(&arguments).ok_or_else(|| plain(400, "bad fetch arguments"))?;
    // A client that only wants the shallow commits ends its request after its wishes.
    let only_wishes =
        lines.last() == Some(&PktLine::Flush) && lines.iter().filter(|line| **line == PktLine::Flush).count() == 1;
    pack::fetch_v0(git, &wish, only_wishes)
}
