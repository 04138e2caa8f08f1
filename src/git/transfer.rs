//! One fetch: a POST in protocol version 2, whose answer is indexed as a pack while it arrives.
//!
//! libgit2's own network code is not used: it first asks for every reference of the repository, has no limit in
//! bytes, and would need OpenSSL for `https`.

use std::io::Write as _;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use backon::{ExponentialBuilder, Retryable as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use git2::{Indexer, Oid};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION};
use reqwest::{Client, Response, StatusCode, redirect};
use secrecy::ExposeSecret as _;
use tokio::sync::mpsc;
use url::Url;

use super::wire::{self, PackParser, ServerMessage};
use super::{Error, FetchLimits, Mirror, Remote, at, printable, store};
use crate::domain::id::CommitSha;

const CONNECT: Duration = Duration::from_secs(10);
/// How long a server may be silent; it may have to count objects first.
const SILENCE: Duration = Duration::from_secs(60);
/// A renamed repository needs one redirect; more than a few are a loop.
const MAX_REDIRECTS: usize = 3;
/// A pack that claims more objects is refused before memory is allocated for them.
const MAX_OBJECTS: u32 = 5_000_000;
/// How many chunks of a pack may wait for the indexer, at most 64 KiB each.
const PIECES: usize = 64;

/// The deadline of a fetch.
#[derive(Debug, Clone, Copy)]
struct Wall {
    limit: Duration,
    end: Instant,
}

impl Wall {
    fn is_reached(self) -> bool {
        Instant::now() >= self.end
    }
}

/// The parameters of one fetch.
#[derive(Debug, Clone)]
struct Order {
    wants: Vec<CommitSha>,
    /// Commits whose objects the server need not send.
    haves: Vec<CommitSha>,
    max_bytes: u64,
    wall: Wall,
}

pub(super) async fn fetch(
    mirror: &Mirror,
    remote: &Remote,
    wants: Vec<CommitSha>,
    limits: &FetchLimits,
) -> Result<(), Error> {
    let order = Order {
        wants,
        haves: store::recorded(&mirror.directory),
        max_bytes: limits.bytes,
        wall: Wall {
            limit: limits.wall,
            end: Instant::now() + limits.wall,
        },
    };
    let everything = async {
        match fetch_with_retries(mirror, remote, &order).await {
            Err(Error::Damaged(reason)) if !order.haves.is_empty() => {
                tracing::warn!(mirror = %mirror.directory.display(), reason, "an incremental fetch failed; fetching everything");
                store::distrust(&mirror.directory);
                let haves = Vec::new();
                fetch_with_retries(mirror, remote, &Order { haves, ..order }).await
            }
            result => result,
        }
    };
    let in_time = tokio::time::timeout(limits.wall, everything).await;
    in_time.unwrap_or(Err(Error::TimedOut(limits.wall)))
}

/// Retries while the server has problems. A failed attempt leaves nothing behind.
async fn fetch_with_retries(mirror: &Mirror, remote: &Remote, order: &Order) -> Result<(), Error> {
    (|| attempt(mirror, remote, order))
        .retry(
            ExponentialBuilder::default()
                .with_min_delay(Duration::from_millis(200))
                .with_max_times(2),
        )
        .when(|error| matches!(error, Error::Unreachable { .. }))
        .await
}

async fn attempt(mirror: &Mirror, remote: &Remote, order: &Order) -> Result<(), Error> {
    let response = post(remote, wire::request(&order.wants, &order.haves)).await?;
    let (sender, receiver) = mpsc::channel(PIECES);
    let (owned_mirror, owned_order) = (mirror.clone(), order.clone());
    let indexing = tokio::task::spawn_blocking(move || index_pack(&owned_mirror, &owned_order, receiver));
    // The sender is dropped with this future, so the indexer ends when the fetch is cancelled.
    let received = receive(response, sender, order.max_bytes).await;
    let indexed = indexing
        .await
        .unwrap_or_else(|error| Err(Error::Server(format!("indexing stopped: {error}"))));
    match received {
        // The indexer ended first, so its error is the reason.
        Ok(Delivery::Declined) => indexed.and(Err(Error::Server("its pack was rejected".into()))),
        Ok(Delivery::Whole) => indexed,
        Err(error) => Err(error),
    }
}

/// Sends the request. A redirect of a renamed repository is followed only on the same host.
async fn post(remote: &Remote, body: Vec<u8>) -> Result<Response, Error> {
    let host = host(&remote.url);
    let mut url = remote.url.clone();
    // A password in a URL would end up in logs and errors, so only `token` is used. Neither call fails if there is a
    // host.
    let _ = url.set_username("").and_then(|()| url.set_password(None));
    url.set_query(None);
    url.set_path(&format!("{}/git-upload-pack", remote.url.path().trim_end_matches('/')));
    let unreachable = |error: reqwest::Error| Error::Unreachable {
        host: host.clone(),
        reason: reason(&error),
    };
    let client = client(&url).map_err(unreachable)?;
    let authorization = authorization(remote)?;
    let body = Bytes::from(body);
    for _ in 0..=MAX_REDIRECTS {
        let mut request = client
            .post(url.clone())
            .header(CONTENT_TYPE, "application/x-git-upload-pack-request")
            .header(ACCEPT, "application/x-git-upload-pack-result")
            .header("Git-Protocol", "version=2")
            .body(body.clone());
        if let Some(authorization) = &authorization {
            request = request.header(AUTHORIZATION, authorization.clone());
        }
        let response = request.send().await.map_err(unreachable)?;
        if !response.status().is_redirection() {
            return checked(response, &host).await;
        }
        let location = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
        let next = location
            .and_then(|to| url.join(to).ok())
            .ok_or_else(|| Error::Server("its redirect has no target".into()))?;
        if next.origin() != remote.url.origin() {
            return Err(Error::Refused(format!(
                "{host} redirects the fetch to {}, which does not get the token; give the repository's new URL",
                self::host(&next)
            )));
        }
        url = next;
    }
    Err(Error::Server("it redirects in a loop".into()))
}

/// The client for one fetch.
fn client(url: &Url) -> Result<Client, reqwest::Error> {
    // Reading the machine's certificates takes longer than a fetch from a fast server, so it is done once.
    static CLIENT: OnceLock<Client> = OnceLock::new();
    greenlight_crypto::install();
    let builder = Client::builder()
        .user_agent(concat!("greenlight/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .connect_timeout(CONNECT)
        .read_timeout(SILENCE)
        // Fetches are rare, so a pooled connection would be stale by the next one.
        .pool_max_idle_per_host(0);
    if url.scheme() == "http" {
        let builder = builder.tls_certs_only([]);
        // A proxy from the environment cannot reach this machine's loopback.
        return if is_loopback(url) { builder.no_proxy() } else { builder }.build();
    }
    if let Some(client) = CLIENT.get() {
        return Ok(client.clone());
    }
    let client = builder.build()?;
    Ok(CLIENT.get_or_init(|| client).clone())
}

/// The token in the form that GitHub expects for git. It is never sent without TLS.
/// <https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/authenticating-as-a-github-app-installation>
fn authorization(remote: &Remote) -> Result<Option<HeaderValue>, Error> {
    let Some(token) = &remote.token else { return Ok(None) };
    if remote.url.scheme() != "https" && !is_loopback(&remote.url) {
        return Err(Error::Refused(format!(
            "the token is not sent to {} without TLS; use an https URL",
            host(&remote.url)
        )));
    }
    let value = format!(
        "Basic {}",
        STANDARD.encode(format!("x-access-token:{}", token.expose_secret()))
    );
    let mut value =
        HeaderValue::try_from(value).map_err(|_| Error::Refused("the token cannot be sent in a header".into()))?;
    value.set_sensitive(true);
    Ok(Some(value))
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// The host for error messages, without the user part and the query of the URL.
fn host(url: &Url) -> String {
    url.host_str().unwrap_or("the git server").to_string()
}

/// The innermost cause, which is the informative one; reqwest's own text repeats the URL.
fn reason(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    if error.is_timeout() {
        "it does not respond".into()
    } else {
        printable(cause.to_string().as_bytes())
    }
}

/// Turns an answer that is not a pack into an error with the server's message.
async fn checked(mut response: Response, host: &str) -> Result<Response, Error> {
    let status = response.status();
    if status == StatusCode::OK {
        let kind = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        return if kind == Some(b"application/x-git-upload-pack-result") {
            Ok(response)
        } else {
            Err(Error::Server(format!("{host} does not answer with a pack")))
        };
    }
    // One chunk is enough to explain the error, and limits a hostile body.
    let message = response.chunk().await.ok().flatten().unwrap_or_default();
    let message = printable(&message);
    Err(match status.as_u16() {
        401 | 403 | 404 => Error::Refused(format!(
            "{host} refuses the fetch ({status}: {message}); give the token, or the App's installation, read access to \
             this \
             repository's contents"
        )),
        408 | 429 | 500.. => Error::Unreachable {
            host: host.into(),
            reason: format!("{status}: {message}"),
        },
        _ => Error::Server(format!("{host} answers {status}: {message}")),
    })
}

/// How the transfer of the pack ended.
enum Delivery {
    Whole,
    Declined,
}

/// Forwards the answer to the indexer, chunk by chunk.
async fn receive(
    mut response: Response,
    indexer: mpsc::Sender<ServerMessage>,
    max_bytes: u64,
) -> Result<Delivery, Error> {
    let host = host(response.url());
    let mut answer = PackParser::new();
    let mut received = 0_u64;
    loop {
        let chunk = response.chunk().await.map_err(|error| Error::Unreachable {
            host: host.clone(),
            reason: reason(&error),
        })?;
        let Some(chunk) = chunk else {
            return Err(Error::Unreachable {
                host,
                reason: "the pack is incomplete".into(),
            });
        };
        received += chunk.len() as u64;
        if received > max_bytes {
            return Err(Error::TooLarge {
                what: "the repository".into(),
                limit: max_bytes,
            });
        }
        answer.push(&chunk);
        while let Some(part) = answer.part()? {
            let whole = part == ServerMessage::End;
            if indexer.send(part).await.is_err() {
                return Ok(Delivery::Declined);
            }
            if whole {
                return Ok(Delivery::Whole);
            }
        }
    }
}

/// Indexes the pack beside the mirror, checks that it contains the wanted commits, and then moves it into the mirror.
fn index_pack(mirror: &Mirror, order: &Order, mut parts: mpsc::Receiver<ServerMessage>) -> Result<(), Error> {
    let incoming = tempfile::Builder::new()
        .prefix(store::INCOMING)
        .tempdir_in(&mirror.directory)
        .map_err(at(&mirror.directory))?;
    let packs = incoming.path().join("pack");
    std::fs::create_dir(&packs).map_err(at(&packs))?;
    let known = store::objects(&[&mirror.directory.join("objects")])?;
    let known = known.odb().map_err(|error| store::broken(&error))?;
    // The base objects of a thin pack are copied into it, so each pack is self-contained.
    let mut indexer = Indexer::new(Some(&known), &packs, 0o444, false).map_err(|error| store::broken(&error))?;
    let wall = order.wall;
    indexer.progress(move |_| !wall.is_reached());
    let mut shallow = Vec::new();
    let mut head = Vec::with_capacity(HEADER);
    loop {
        match parts.blocking_recv() {
            None => return Err(Error::Server("the pack is incomplete".into())),
            Some(ServerMessage::Shallow(sha)) => shallow.push(sha),
            Some(ServerMessage::Pack(bytes)) => {
                check_header(&mut head, &bytes)?;
                indexer.write_all(&bytes).map_err(|error| bad_pack(&error, order))?;
            }
            Some(ServerMessage::End) => break,
        }
    }
    indexer.commit().map_err(|error| bad_pack(&error, order))?;
    check_wanted(mirror, incoming.path(), &order.wants)?;
    store::install(&mirror.directory, incoming.path(), &order.wants, &shallow)
}

/// `PACK`, the version, and the number of objects. <https://git-scm.com/docs/gitformat-pack>
const HEADER: usize = 12;

/// Checks the number of objects before the indexer allocates memory for them.
fn check_header(head: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Error> {
    if head.len() == HEADER {
        return Ok(());
    }
    head.extend(bytes.iter().take(HEADER - head.len()));
    match head[..] {
        [b'P', b'A', b'C', b'K', _, _, _, _, a, b, c, d] if u32::from_be_bytes([a, b, c, d]) > MAX_OBJECTS => {
            Err(Error::TooLarge {
                what: "the number of objects".into(),
                limit: u64::from(MAX_OBJECTS),
            })
        }
        _ if b"PACK".starts_with(&head[..head.len().min(4)]) => Ok(()),
        _ => Err(Error::Server("it does not send a pack".into())),
    }
}

fn bad_pack(error: &dyn std::error::Error, order: &Order) -> Error {
    let reason = printable(error.to_string().as_bytes());
    if order.wall.is_reached() {
        Error::TimedOut(order.wall.limit)
    } else if order.haves.is_empty() {
        Error::Server(format!("its pack is broken: {reason}"))
    } else {
        // The object that the pack builds upon may be the broken one.
        Error::Damaged(reason)
    }
}

/// A wanted object counts only if it is a commit and its tree exists.
fn check_wanted(mirror: &Mirror, incoming: &Path, wants: &[CommitSha]) -> Result<(), Error> {
    let repository = store::objects(&[incoming, &mirror.directory.join("objects")])?;
    for want in wants {
        let tree = Oid::from_str(want.as_str())
            .and_then(|id| repository.find_commit(id))
            .and_then(|commit| repository.odb()?.read_header(commit.tree_id()));
        if tree.is_err() {
            return Err(Error::Missing(want.to_string()));
        }
    }
    Ok(())
}
