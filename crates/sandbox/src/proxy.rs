//! greenlight's side of an installation: a proxy that connects a sandbox to named hosts on port 443, and to nothing
//! else.
//!
//! It supports only `CONNECT`, listens on a Unix socket that only one sandbox can see, resolves names itself, and
//! connects to exactly the address that it checked. It does not inspect the traffic: code inside can send anything to
//! the operator of an allowed host. This is acceptable only because nothing inside is confidential.

pub mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use rules::Why;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket, UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use crate::host::launch;
use crate::kernel::scratch::Scratch;

/// The largest request, and how long it may take to arrive.
const MAX_HEAD: usize = 8 << 10;
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// How long resolving a name and connecting to an address may take.
const OUTSIDE_WITHIN: Duration = Duration::from_secs(10);
/// How many connections may be open at a time, while others wait; and how many are accepted in total.
const AT_ONCE: usize = 32;
const IN_ALL: u32 = 20_000;
/// The most bytes in both directions, over all connections.
const MAX_BYTES: u64 = 2 << 30;
/// How many addresses of one host are tried.
const MAX_ADDRESSES: usize = 4;
/// How many refused targets are recorded, and how many bytes of each.
const MAX_REFUSED: usize = 32;
const MAX_TARGET: usize = 100;

type Resolve = dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync;
type Dial = dyn Fn(SocketAddr) -> BoxFuture<'static, io::Result<TcpStream>> + Send + Sync;

/// How names are resolved and connections are made.
pub struct World {
    resolve: Box<Resolve>,
    dial: Box<Dial>,
}

/// Whether an address belongs to this machine, which the kernel knows without a query.
async fn is_own(address: SocketAddr) -> io::Result<bool> {
    let any: IpAddr = if address.is_ipv4() {
        Ipv4Addr::UNSPECIFIED.into()
    } else {
        Ipv6Addr::UNSPECIFIED.into()
    };
    let probe = UdpSocket::bind((any, 0)).await?;
    // Sends no packet.
    probe.connect(address).await?;
    Ok(probe.local_addr()?.ip() == address.ip())
}

impl World {
    /// The internet, through this machine's connection.
    pub fn internet() -> Self {
        Self::new(
            |host| {
                Box::pin(async move {
                    let found = tokio::net::lookup_host((host, 443)).await?;
                    Ok(found.map(|address| address.ip()).collect())
                })
            },
            |address| {
                Box::pin(async move {
                    if is_own(address).await? {
                        return Err(io::ErrorKind::PermissionDenied.into());
                    }
                    TcpStream::connect(address).await
                })
            },
        )
    }

    /// A replacement for the internet, for tests. Its addresses are checked like real ones.
    pub fn new(
        resolve: impl Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync + 'static,
        dial: impl Fn(SocketAddr) -> BoxFuture<'static, io::Result<TcpStream>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            resolve: Box::new(resolve),
            dial: Box::new(dial),
        }
    }
}

/// A proxy for one sandbox. Dropping it ends all its connections.
pub struct Proxy {
    /// No other user may enter this directory, so its socket can be reached only through a mount.
    directory: PathBuf,
    /// Removed with the proxy, or by the next greenlight if this one is killed.
    _scratch: Scratch,
    shared: Arc<Shared>,
    _task: AbortOnDropHandle<()>,
}

struct Shared {
    hosts: BTreeSet<String>,
    world: World,
    /// The remaining number of bytes.
    bytes: AtomicU64,
    traffic: Mutex<Traffic>,
}

#[derive(Default)]
struct Traffic {
    allowed: BTreeSet<String>,
    refused: BTreeMap<String, Why>,
}

impl Proxy {
    /// Starts a proxy to these hosts. Invalid names, and those of GitHub, are ignored.
    ///
    /// # Errors
    /// When its socket cannot be created.
    pub fn start(hosts: &[String], world: World) -> io::Result<Self> {
        let scratch = Scratch::make(&launch::run_name())?;
        let directory = scratch.directory("proxy")?;
        let socket = directory.join("s");
        let listener = UnixListener::bind(&socket)?;
        // The user inside may be a different one, chosen for the run.
        std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o666))?;
        let names = hosts.iter().filter_map(|host| rules::host_name(host));
        let shared = Arc::new(Shared {
            hosts: names.filter(|host| !rules::is_github(host)).collect(),
            world,
            bytes: AtomicU64::new(MAX_BYTES),
            traffic: Mutex::default(),
        });
        let task = tokio::spawn(serve(listener, Arc::clone(&shared)));
        Ok(Self {
            directory,
            _scratch: scratch,
            shared,
            _task: AbortOnDropHandle::new(task),
        })
    }

    /// Refused targets, by host, or by the requested text if it is not a host; bounded.
    pub fn refused(&self) -> BTreeMap<String, Why> {
        self.shared.traffic().refused.clone()
    }

    /// The socket to mount into the sandbox.
    pub(super) fn socket(&self) -> PathBuf {
        self.directory.join("s")
    }

    pub(super) fn hosts(&self) -> Vec<String> {
        self.shared.hosts.iter().cloned().collect()
    }
}

impl Shared {
    fn traffic(&self) -> std::sync::MutexGuard<'_, Traffic> {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a permitted host, and logs it the first time.
    fn allow(&self, host: &str) {
        if self.traffic().allowed.insert(host.to_owned()) {
            tracing::info!(host, "ALLOW a connection for an installation");
        }
    }

    /// Records and logs a refused target, of which only harmless characters are kept.
    fn refuse(&self, target: &str, why: Why) {
        let target: String = target.escape_default().take(MAX_TARGET).collect();
        let mut traffic = self.traffic();
        if traffic.refused.len() < MAX_REFUSED && traffic.refused.insert(target.clone(), why).is_none() {
            tracing::warn!(target, why = why.text(), "DENY a connection for an installation");
        }
    }

    /// Takes bytes from the remaining number.
    fn spend(&self, bytes: usize) -> io::Result<()> {
        let bytes = bytes as u64;
        let take = |left: u64| left.checked_sub(bytes);
        match self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(_) => Ok(()),
            Err(_) => Err(io::Error::other("the installation reached its download limit")),
        }
    }
}

async fn serve(listener: UnixListener, shared: Arc<Shared>) {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut connections = JoinSet::new();
    for _ in 0..IN_ALL {
        // The permit is held until the connection ends. Clients without one wait in the socket's backlog.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        let Ok((client, _)) = listener.accept().await else {
            return;
        };
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            // A broken connection is the client's problem.
            let _ = attend(client, &shared).await;
            drop(place);
        });
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    tracing::warn!("an installation made {IN_ALL} connections and may make no more");
    while connections.join_next().await.is_some() {}
}

async fn attend(mut client: UnixStream, shared: &Shared) -> io::Result<()> {
    let (head, early) = match timeout(HEAD_WITHIN, read_head(&mut client)).await {
        Ok(Ok(Some(read))) => read,
        Ok(Ok(None)) => {
            return answer(
                &mut client,
                "431 Request Header Fields Too Large",
                "the request is too long",
            )
            .await;
        }
        Ok(Err(error)) => return Err(error),
        Err(_) => return answer(&mut client, "408 Request Timeout", "the request takes too long").await,
    };
    let target = match target(&head) {
        Ok(target) => target,
        Err((status, target, why)) => {
            shared.refuse(&target, why);
            return answer(&mut client, status, "this proxy supports only CONNECT host:443").await;
        }
    };
    let (host, reached) = match rules::permit(&target, &shared.hosts) {
        Ok(host) => {
            let reached = reach(&host, &shared.world).await;
            (host, reached)
        }
        // The message names the host without its port, unless the port is the problem.
        Err(why @ (Why::NotAllowed | Why::GitHub)) => {
            let host = target.rsplit_once(':').and_then(|(host, _)| rules::host_name(host));
            (host.unwrap_or(target), Err(why))
        }
        Err(why) => (target, Err(why)),
    };
    let mut server = match reached {
        Ok(server) => server,
        Err(why) => {
            shared.refuse(&host, why);
            let status = if why == Why::Unreachable {
                "502 Bad Gateway"
            } else {
                "403 Forbidden"
            };
            return answer(
                &mut client,
                status,
                &format!("{} {}", host.escape_default(), why.text()),
            )
            .await;
        }
    };
    shared.allow(&host);
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    shared.spend(early.len())?;
    server.write_all(&early).await?;
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    tokio::try_join!(
        carry(from_client, to_server, shared),
        carry(from_server, to_client, shared)
    )?;
    Ok(())
}

/// The request up to its empty line, and the bytes after it; `None` if it is too long.
async fn read_head(client: &mut UnixStream) -> io::Result<Option<(Vec<u8>, Vec<u8>)>> {
    const END: &[u8] = b"\r\n\r\n";
    let mut head = Vec::with_capacity(1024);
    loop {
        let searched = head.len().saturating_sub(END.len() - 1);
        if (&mut *client)
            .take((MAX_HEAD - head.len()) as u64)
            .read_buf(&mut head)
            .await?
            == 0
        {
            return if head.len() == MAX_HEAD {
                Ok(None)
            } else {
                Err(io::ErrorKind::UnexpectedEof.into())
            };
        }
        if let Some(at) = head[searched..].windows(END.len()).position(|window| window == END) {
            let early = head.split_off(searched + at + END.len());
            return Ok(Some((head, early)));
        }
    }
}

/// The target of a `CONNECT` request, or the status to refuse it with, the requested text and the reason.
fn target(head: &[u8]) -> Result<String, (&'static str, String, Why)> {
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        ["CONNECT", target, "HTTP/1.1" | "HTTP/1.0"] => Ok(target.to_owned()),
        ["CONNECT", ..] => Err(("400 Bad Request", line.into_owned(), Why::NoName)),
        _ => {
            // Plain HTTP, which greenlight never forwards.
            let about = words.get(1).unwrap_or(&"");
            Err(("405 Method Not Allowed", (*about).to_owned(), Why::Port))
        }
    }
}

/// Connects to the first public address of a host that accepts the connection.
async fn reach(host: &str, world: &World) -> Result<TcpStream, Why> {
    let found = timeout(OUTSIDE_WITHIN, (world.resolve)(host.to_owned())).await;
    let Ok(Ok(addresses)) = found else {
        return Err(Why::Unreachable);
    };
    let public: Vec<IpAddr> = addresses
        .into_iter()
        .filter(|address| rules::is_public(*address))
        .collect();
    if public.is_empty() {
        return Err(Why::NotPublic);
    }
    for address in public.into_iter().take(MAX_ADDRESSES) {
        if let Ok(Ok(server)) = timeout(OUTSIDE_WITHIN, (world.dial)(SocketAddr::new(address, 443))).await {
            return Ok(server);
        }
    }
    Err(Why::Unreachable)
}

async fn carry(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, shared: &Shared) -> io::Result<()> {
    let mut buffer = vec![0; 16 << 10];
    loop {
        let count = from.read(&mut buffer).await?;
        if count == 0 {
            return to.shutdown().await;
        }
        shared.spend(count)?;
        to.write_all(&buffer[..count]).await?;
    }
}

async fn answer(client: &mut UnixStream, status: &str, reason: &str) -> io::Result<()> {
    let body = format!("greenlight: {reason}\n");
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    // A client that does not read is dropped after a while.
    timeout(HEAD_WITHIN, client.write_all(answer.as_bytes())).await??;
    client.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn this_machine_is_not_the_internet() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let refused = (World::internet().dial)(listener.local_addr().unwrap()).await;
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }
}
