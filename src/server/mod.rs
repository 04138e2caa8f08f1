//! The HTTP door: verifies a delivery, writes it down, answers 202, and leaves the work to the queue. The only room
//! that names axum.

mod again;
mod api;
mod clock;
mod connections;
mod lane;
mod queue;
mod sweep;
mod webhook;
mod work;
mod workers;

use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
pub use clock::{TICK, take_up, watch};
pub use queue::{Queue, QueueFull};
pub use sweep::sweep;
use tokio::net::TcpListener;
pub use work::Work;

use crate::github::webhook::WebhookSecret;
use crate::journal::Journal;

/// A delivery that takes longer to arrive than GitHub waits for an answer is of no use.
const MAX_ARRIVAL: Duration = Duration::from_secs(10);
/// How long runs get to stop when greenlight ends.
const DRAIN: Duration = Duration::from_secs(10);

/// What somebody is told who looks at the address in a browser.
const WHAT_IS_HERE: &str = "This is greenlight. GitHub sends its webhooks to /webhook. Read and answer runs over REST \
                            at /api/v1/runs?repository=owner/name, with your GitHub token. /readyz reports health.\n";

/// The routes.
pub fn router(queue: Queue, secret: WebhookSecret) -> Router {
    let api = api::router(queue.clone());
    Router::new()
        .route("/webhook", post(webhook::post_webhook))
        .route("/", get(async || WHAT_IS_HERE))
        .route("/healthz", get(async || StatusCode::OK))
        .route("/readyz", get(get_readyz))
        .layer(tower_http::timeout::TimeoutLayer::with_status_code(
            StatusCode::REQUEST_TIMEOUT,
            MAX_ARRIVAL,
        ))
        .with_state(webhook::Door::new(queue, secret))
        .nest("/api/v1", api)
}

/// Serves until `until` resolves, then drains, and returns however slow a connection is. What an earlier process left
/// is taken up first.
pub async fn serve(listener: TcpListener, queue: Queue, secret: WebhookSecret, until: impl Future<Output = ()> + Send) {
    take_up(&queue).await;
    let clock = tokio::spawn(watch(queue.clone(), TICK));
    let sweeper = tokio::spawn(sweep::sweep_on(queue.clone()));
    let pruner = tokio::spawn(clock::prune_on(queue.clone()));
    let draining = queue.clone();
    let drained = async move {
        until.await;
        tracing::info!("ending: no more deliveries are taken");
        draining.drain(DRAIN).await;
    };
    connections::serve(&listener, &router(queue, secret), drained).await;
    clock.abort();
    sweeper.abort();
    pruner.abort();
}

async fn get_readyz(State(door): State<webhook::Door>) -> StatusCode {
    let queue = door.queue();
    let journal_is_well = match &queue.app().journal {
        Journal::Sqlite(sqlite) => sqlite.is_well().await,
        Journal::Refs(_) => true,
    };
    if journal_is_well && queue.has_room() {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    }
}
