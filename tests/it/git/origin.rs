//! A repository to fetch from: made with libgit2, served by real git, with servers that misbehave in various ways.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode, Uri};
use axum::response::IntoResponse as _;
use git2::{ObjectType, Oid, Repository};
use greenlight::domain::id::CommitSha;
use greenlight::git::{FetchLimits, Mirror, Remote};
use tokio::io::AsyncWriteExt as _;

/// A directory with an origin and a mirror of it.
pub(super) struct World {
    pub(super) directory: tempfile::TempDir,
    pub(super) repository: Repository,
}

impl World {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let repository = Repository::init_bare(directory.path().join("o/r.git")).unwrap();
        Self { directory, repository }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(super) fn mirror(&self) -> Mirror {
        Mirror::open(&self.path("mirror")).unwrap()
    }

    /// Serves the origin with `git http-backend`.
    pub(super) async fn serve(&self) -> Server {
        let root = self.directory.path().to_path_buf();
        Server::start(move |request| {
            let root = root.clone();
            async move { http_backend(&root, request).await }
        })
        .await
    }

    pub(super) fn blob(&self, bytes: &[u8]) -> Oid {
        self.repository.blob(bytes).unwrap()
    }

    /// A tree with exactly these entries, which git itself would not make.
    pub(super) fn raw_tree(&self, entries: &[(&str, &[u8], Oid)]) -> Oid {
        let mut raw = Vec::new();
        for (mode, name, id) in entries {
            raw.extend_from_slice(mode.as_bytes());
            raw.push(b' ');
            raw.extend_from_slice(name);
            raw.push(0);
            raw.extend_from_slice(id.as_bytes());
        }
        self.raw(ObjectType::Tree, &raw)
    }

    pub(super) fn raw(&self, kind: ObjectType, bytes: &[u8]) -> Oid {
        self.repository.odb().unwrap().write(kind, bytes).unwrap()
    }

    /// A commit with nested directories, from paths with slashes.
    pub(super) fn commit(&self, files: &[(&str, &str, &[u8])], parent: Option<&CommitSha>) -> CommitSha {
        let mut index = git2::Index::new().unwrap();
        for (path, mode, bytes) in files {
            let time = git2::IndexTime::new(0, 0);
            let id = if *mode == "160000" {
                Oid::from_bytes(&[7; 20]).unwrap()
            } else {
                self.blob(bytes)
            };
            let entry = git2::IndexEntry {
                ctime: time,
                mtime: time,
                dev: 0,
                ino: 0,
                mode: u32::from_str_radix(mode, 8).unwrap(),
                uid: 0,
                gid: 0,
                file_size: 0,
                id,
                flags: 0,
                flags_extended: 0,
                path: path.as_bytes().to_vec(),
            };
            index.add(&entry).unwrap();
        }
        let tree = index.write_tree_to(&self.repository).unwrap();
        self.commit_tree(tree, parent)
    }

    pub(super) fn commit_tree(&self, tree: Oid, parent: Option<&CommitSha>) -> CommitSha {
        let parent = parent.map_or(String::new(), |parent| format!("parent {parent}\n"));
        let who = "A <a@example.com> 1700000000 +0000";
        let text = format!("tree {tree}\n{parent}author {who}\ncommitter {who}\n\nwork\n");
        self.raw(ObjectType::Commit, text.as_bytes())
            .to_string()
            .parse()
            .unwrap()
    }
}

/// A client's request.
pub(super) struct Request {
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

pub(super) type Answer = Response<Body>;

/// A server on loopback that counts its requests.
pub(super) struct Server {
    pub(super) url: url::Url,
    seen: Arc<Mutex<Vec<HeaderMap>>>,
}

impl Server {
    pub(super) async fn start<F, R>(answer: F) -> Self
    where
        F: Fn(Request) -> R + Clone + Send + Sync + 'static,
        R: Future<Output = Answer> + Send + 'static,
    {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let router = Router::new()
            .fallback(
                async |State((seen, answer)): State<(Arc<Mutex<Vec<HeaderMap>>>, F)>,
                       uri: Uri,
                       headers: HeaderMap,
                       body: Bytes| {
                    seen.lock().unwrap().push(headers.clone());
                    answer(Request { uri, headers, body }).await
                },
            )
            .with_state((seen.clone(), answer));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/o/r.git", listener.local_addr().unwrap())
            .parse()
            .unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, seen }
    }

    /// Answers every request with these bytes as if they were a pack.
    pub(super) async fn answering(body: impl Into<Bytes>) -> Self {
        let body = body.into();
        Self::start(move |_| {
            let body = body.clone();
            async move { pack_response(body) }
        })
        .await
    }

    pub(super) fn remote(&self) -> Remote {
        Remote {
            url: self.url.clone(),
            token: None,
        }
    }

    pub(super) fn requests(&self) -> Vec<HeaderMap> {
        self.seen.lock().unwrap().clone()
    }
}

pub(super) fn pack_response(body: impl Into<Body>) -> Answer {
    ([("content-type", "application/x-git-upload-pack-result")], body.into()).into_response()
}

/// Incompressible bytes.
pub(super) fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let step = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_be_bytes()[0]
    };
    std::iter::repeat_with(step).take(length).collect()
}

pub(super) fn limits() -> FetchLimits {
    FetchLimits {
        bytes: 50 << 20,
        wall: std::time::Duration::from_secs(60),
    }
}

/// Runs real git without the machine's configuration.
#[expect(
    clippy::disallowed_methods,
    reason = "real git is the independent peer in these tests"
)]
pub(super) fn git(directory: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = std::process::Command::new("git")
        .args(arguments)
        .current_dir(directory)
        .env("HOME", "/nonexistent")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs([("GIT_AUTHOR_NAME", "A"), ("GIT_AUTHOR_EMAIL", "a@example.com")])
        .envs([("GIT_COMMITTER_NAME", "A"), ("GIT_COMMITTER_EMAIL", "a@example.com")])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

/// `git http-backend` as a CGI program. <https://git-scm.com/docs/git-http-backend>
#[expect(
    clippy::disallowed_methods,
    reason = "real git is the independent peer in these tests"
)]
pub(super) async fn http_backend(root: &Path, request: Request) -> Answer {
    let header = |name: &str| {
        let value = request.headers.get(name).map(|value| value.to_str().unwrap());
        value.unwrap_or_default().to_string()
    };
    let mut child = tokio::process::Command::new("git")
        .arg("http-backend")
        .env("HOME", "/nonexistent")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_PROTOCOL", header("git-protocol"))
        .env("REQUEST_METHOD", "POST")
        .env("CONTENT_TYPE", header("content-type"))
        .env("CONTENT_LENGTH", request.body.len().to_string())
        .env("PATH_INFO", request.uri.path())
        .env("QUERY_STRING", request.uri.query().unwrap_or_default())
        .env("REMOTE_ADDR", "127.0.0.1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&request.body).await.unwrap();
    drop(stdin);
    let output = child.wait_with_output().await.unwrap().stdout;
    let end = output.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head: HashMap<_, _> = std::str::from_utf8(&output[..end])
        .unwrap()
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_string()))
        .collect();
    let status = head.get("status").map_or(200, |status| status[..3].parse().unwrap());
    let kind = head.get("content-type").cloned().unwrap_or_default();
    let mut response = ([("content-type", kind)], output[end + 4..].to_vec()).into_response();
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
}
