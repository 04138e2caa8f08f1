//! Accepts connections, so many at a time, and lets nobody hold one or the end of greenlight up. Knows no route.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Whoever comes when so many are there waits in the socket's own queue.
const MAX_CONNECTIONS: usize = 256;
/// How long the head of a request may take, and how long a connection may be silent between two.
const MAX_HEAD: Duration = Duration::from_secs(10);
/// How long a connection may go on when greenlight ends.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// How long nothing is accepted after that failed: there are no file descriptors left, or something like that.
const BREATH: Duration = Duration::from_millis(200);

/// Serves until `until` resolves; then gives the connections that are there a few seconds, and returns.
pub(super) async fn serve(listener: &TcpListener, router: &Router, until: impl Future<Output = ()> + Send) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let connections = TaskTracker::new();
    let ending = CancellationToken::new();
    let accepting = async {
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                return;
            };
            match listener.accept().await {
                Ok((stream, _)) => {
                    let connection = talk(stream, router.clone(), ending.clone());
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

/// Serves one connection, for a few seconds only from the end of greenlight on.
async fn talk(stream: TcpStream, router: Router, ending: CancellationToken) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "small answers may be late");
    }
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(MAX_HEAD)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
            .with_upgrades()
    );
    let result = tokio::select! {
        result = connection.as_mut() => result,
        () = ending.cancelled() => {
            connection.as_mut().graceful_shutdown();
            tokio::time::timeout(LAST_WORDS, connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, "a connection broke off");
    }
}
