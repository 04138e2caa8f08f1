//! Accepts a bounded number of connections. No client can occupy one for long or delay the shutdown. Knows no routes.
//!
//! A client that sends half a request, or none, keeps its connection only until another client needs it: when all are
//! in use, the connection whose request has been awaited longest is closed.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody as _};
use axum::extract::{ConnectInfo, Request};
use axum::http::{StatusCode, header};
use axum::response::Response;
use futures::{StreamExt as _, TryStreamExt as _};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

/// When all connections are in use and none can be closed, further clients wait in the socket's backlog. Most of them may
/// be pages that are told of changes, and all together need fewer file descriptors than a process usually may have.
const MAX_CONNECTIONS: usize = 768;
/// How long the head of a request may take, and how long a connection may be idle between two.
const MAX_HEAD: Duration = Duration::from_secs(10);
/// How long a connection may take during a shutdown until its first request begins.
const FIRST_WORDS: Duration = Duration::from_secs(1);
/// How long it may stay open after that.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// The pause after a failed accept, which may mean that there are no file descriptors left.
const BREATH: Duration = Duration::from_millis(200);

/// The connections whose request has not arrived completely, by when the wait for it began.
#[derive(Clone, Default)]
struct Arriving(Arc<Mutex<Waiting>>);

#[derive(Default)]
struct Waiting {
    next: u64,
    connections: BTreeMap<u64, CancellationToken>,
}

/// One of these connections. It may be closed while its request arrives.
#[derive(Clone)]
struct Patience {
    arriving: Arriving,
    since: Arc<Mutex<Option<u64>>>,
    closing: CancellationToken,
}

impl Arriving {
    /// Closes the connection that has waited longest.
    fn close_one(&self) {
        if let Some((_, closing)) = self.lock().connections.pop_first() {
            tracing::debug!("a connection was closed to make room");
            closing.cancel();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Patience {
    fn new(arriving: &Arriving) -> Self {
        let new = Self {
            arriving: arriving.clone(),
            since: Arc::default(),
            closing: CancellationToken::new(),
        };
        new.begins();
        new
    }

    /// The wait for a request begins.
    fn begins(&self) {
        let mut waiting = self.arriving.lock();
        let ticket = waiting.next;
        waiting.next += 1;
        waiting.connections.insert(ticket, self.closing.clone());
        let earlier = self
            .since
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .replace(ticket);
        if let Some(earlier) = earlier {
            waiting.connections.remove(&earlier);
        }
    }

    /// The request has arrived, or the connection is closed.
    fn ends(&self) {
        let ticket = self.since.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(ticket) = ticket {
            self.arriving.lock().connections.remove(&ticket);
        }
    }
}

/// Serves until `until` resolves; then gives open connections a few seconds, and returns.
pub(super) async fn serve(listener: &TcpListener, router: &Router, until: impl Future<Output = ()> + Send) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let arriving = Arriving::default();
    let connections = TaskTracker::new();
    let ending = CancellationToken::new();
    let accepting = async {
        loop {
            match listener.accept().await {
                Ok((stream, from)) => {
                    if places.available_permits() == 0 {
                        arriving.close_one();
                    }
                    let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                        return;
                    };
                    let patience = Patience::new(&arriving);
                    let connection = serve_one((stream, from), router.clone(), patience, ending.clone());
                    connections.spawn(async move {
                        connection.await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(BREATH).await;
                }
            }
        }
    };
    tokio::select! {
        () = accepting => {}
        () = until => {}
    }
    ending.cancel();
    connections.close();
    connections.wait().await;
}

/// Serves one connection. During a shutdown it may stay open for a few seconds only.
async fn serve_one(
    (stream, from): (TcpStream, SocketAddr),
    router: Router,
    patience: Patience,
    ending: CancellationToken,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "small responses may be delayed");
    }
    let (at_this, has_begun) = (patience.clone(), Arc::new(Notify::new()));
    let begins = Arc::clone(&has_begun);
    let service = tower::service_fn(move |request| {
        begins.notify_one();
        answer((router.clone(), from), at_this.clone(), request)
    });
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(MAX_HEAD)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service))
            .with_upgrades()
    );
    let result = tokio::select! {
        result = connection.as_mut() => result,
        () = patience.closing.cancelled() => Ok(()),
        () = ending.cancelled() => {
            // A connection that was just accepted may have a request on its way, which would be lost.
            let over = tokio::select! {
                result = connection.as_mut() => Some(result),
                () = has_begun.notified() => None,
                () = tokio::time::sleep(FIRST_WORDS) => None,
            };
            match over {
                Some(result) => result,
                None => {
                    connection.as_mut().graceful_shutdown();
                    tokio::time::timeout(LAST_WORDS, connection).await.unwrap_or(Ok(()))
                }
            }
        }
    };
    patience.ends();
    if let Err(error) = result {
        tracing::debug!(%error, "a connection was lost");
    }
}

/// Answers one request, and records when it has arrived completely and when the wait for the next one begins.
async fn answer(
    (router, from): (Router, SocketAddr),
    patience: Patience,
    mut request: hyper::Request<hyper::body::Incoming>,
) -> Result<Response, std::convert::Infallible> {
    request.extensions_mut().insert(ConnectInfo(from));
    let request: Request = if request.body().is_end_stream() {
        patience.ends();
        request.map(Body::new)
    } else {
        let here = patience.clone();
        request.map(|body| {
            let data = Body::new(body).into_data_stream();
            let end = futures::stream::once(async move {
                here.ends();
                Ok::<_, axum::Error>(axum::body::Bytes::new())
            });
            Body::from_stream(data.into_stream().chain(end))
        })
    };
    let response = router.oneshot(request).await?;
    let goes_on = response.status() == StatusCode::SWITCHING_PROTOCOLS
        || response
            .headers()
            .get(header::CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    if !goes_on {
        patience.begins();
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn a_request_that_is_on_its_way_during_a_shutdown_is_answered() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let accepted = listener.accept().await.unwrap();
        let ending = CancellationToken::new();
        ending.cancel();
        let router = Router::new().route("/", get(async || "here"));
        let serving = serve_one(accepted, router, Patience::new(&Arriving::default()), ending);
        let asking = async {
            tokio::task::yield_now().await;
            client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
            let mut answer = String::new();
            client.read_to_string(&mut answer).await.unwrap();
            answer
        };
        let ((), answer) = tokio::join!(serving, asking);
        assert!(
            answer.starts_with("HTTP/1.1 200") && answer.ends_with("here"),
            "{answer}"
        );
    }
}
