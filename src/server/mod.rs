//! The HTTP door: verifies a delivery, writes it down, answers 202, and leaves the work to the queue. The only room
//! that names axum.

mod api;
mod clock;
mod connections;
mod queue;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, FromRequest, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::routing::{get, post};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, SemaphorePermit};

pub use clock::{TICK, take_up, watch};
pub use queue::{Queue, QueueFull, Work};

use crate::domain::event::Event;
use crate::domain::id::DeliveryId;
use crate::github::webhook::{self, WebhookSecret};
use crate::journal::{Admission, Journal};

/// GitHub caps payloads at 25 MB.
/// <https://docs.github.com/en/webhooks/webhook-events-and-payloads#payload-cap>
const MAX_PAYLOAD: usize = 25 * 1024 * 1024;
/// A delivery that takes longer to arrive than GitHub waits for an answer is of no use.
const MAX_ARRIVAL: Duration = Duration::from_secs(10);
/// A payload of this size needs no room of its own: the number of connections bounds how many there are.
const SMALL_PAYLOAD: usize = 1024 * 1024;
/// How many larger payloads are in memory at once: whoever sends them has not shown a signature yet.
const MAX_LARGE_PAYLOADS: usize = 10;
/// How long runs get to stop when greenlight ends.
const DRAIN: Duration = Duration::from_secs(10);

#[derive(Clone)]
struct Door {
    queue: Queue,
    secret: Arc<WebhookSecret>,
    large_payloads: Arc<Semaphore>,
}

/// The routes.
pub fn router(queue: Queue, secret: WebhookSecret) -> Router {
    let api = api::router(queue.clone());
    let door = Door {
        queue,
        secret: Arc::new(secret),
        large_payloads: Arc::new(Semaphore::new(MAX_LARGE_PAYLOADS)),
    };
    Router::new()
        .route("/webhook", post(post_webhook))
        .route("/healthz", get(async || StatusCode::OK))
        .route("/readyz", get(get_readyz))
        .layer(tower_http::timeout::TimeoutLayer::with_status_code(
            StatusCode::REQUEST_TIMEOUT,
            MAX_ARRIVAL,
        ))
        .layer(DefaultBodyLimit::max(MAX_PAYLOAD))
        .with_state(door)
        .nest("/api/v1", api)
}

/// Serves until `until` resolves, then drains, and returns however slow a connection is. What an earlier process left
/// is taken up first.
pub async fn serve(listener: TcpListener, queue: Queue, secret: WebhookSecret, until: impl Future<Output = ()> + Send) {
    take_up(&queue).await;
    let clock = tokio::spawn(watch(queue.clone(), TICK));
    let draining = queue.clone();
    let drained = async move {
        until.await;
        tracing::info!("ending: no more deliveries are taken");
        draining.drain(DRAIN).await;
    };
    connections::serve(&listener, &router(queue, secret), drained).await;
    clock.abort();
}

/// A delivery whose signature is right; the event is none when it is not ours.
struct Delivery {
    id: DeliveryId,
    event: Option<Event>,
}

impl FromRequest<Door> for Delivery {
    type Rejection = StatusCode;

    async fn from_request(request: Request, door: &Door) -> Result<Self, StatusCode> {
        let headers = request.headers().clone();
        let _room = reserve(door, &headers)?;
        let body = Bytes::from_request(request, door)
            .await
            .map_err(|rejection: BytesRejection| {
                tracing::info!(status = rejection.status().as_u16(), "a delivery was not read");
                rejection.status()
            })?;
        let header = |name: &str| {
            headers
                .get(name)
                .and_then(|value| value.to_str().ok())
                .map(str::to_string)
        };
        // The signature comes before anything in the body is looked at.
        if let Err(error) = webhook::verify(&door.secret, signature(&headers), &body) {
            tracing::warn!(%error, "a delivery was refused");
            return Err(StatusCode::UNAUTHORIZED);
        }
        let (Some(kind), Some(id)) = (
            header("x-github-event"),
            header("x-github-delivery").filter(|id| !id.is_empty() && id.len() <= 100),
        ) else {
            tracing::warn!("a delivery has no X-GitHub-Event or X-GitHub-Delivery header");
            return Err(StatusCode::BAD_REQUEST);
        };
        let event = webhook::parse(&kind, &body).map_err(|error| {
            tracing::warn!(delivery.id = id, event = kind, %error, "a payload cannot be read");
            StatusCode::BAD_REQUEST
        })?;
        Ok(Self {
            id: event
                .as_ref()
                .map_or(DeliveryId(id.clone()), |event| event.identity(DeliveryId(id.clone()))),
            event,
        })
    }
}

/// Makes room for a large body before it is read; one that does not say how long it is may be large.
fn reserve<'a>(door: &'a Door, headers: &HeaderMap) -> Result<Option<SemaphorePermit<'a>>, StatusCode> {
    let length: Option<usize> = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok())
        .and_then(|length| length.parse().ok());
    if length.is_some_and(|length| length <= SMALL_PAYLOAD) {
        return Ok(None);
    }
    door.large_payloads.try_acquire().map(Some).map_err(|_| {
        tracing::warn!("too many large payloads arrive at once");
        StatusCode::SERVICE_UNAVAILABLE
    })
}

fn signature(headers: &HeaderMap) -> Option<&[u8]> {
    headers
        .get("x-hub-signature-256")
        .map(axum::http::HeaderValue::as_bytes)
}

async fn post_webhook(State(door): State<Door>, delivery: Delivery) -> StatusCode {
    let Delivery { id, event } = delivery;
    let app = door.queue.app();
    let Some(event) = event.filter(|event| {
        event
            .repository()
            .is_none_or(|repository| app.allow_list.allows(repository))
    }) else {
        tracing::debug!(delivery.id = id.0, "not ours");
        return StatusCode::NO_CONTENT;
    };
    if !door.queue.has_room() {
        tracing::warn!(delivery.id = id.0, "no room for a delivery");
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    match app.journal.admit(&id, &event).await {
        Ok(Admission::Known) => StatusCode::ACCEPTED,
        Ok(Admission::New) => {
            tracing::info!(delivery.id = id.0, "accepted");
            // In the journal it is safe: should the queue have filled up meanwhile, the clock picks it up.
            match door.queue.push(Work::Delivery(id, Box::new(event))) {
                Ok(()) => StatusCode::ACCEPTED,
                Err(QueueFull) => StatusCode::SERVICE_UNAVAILABLE,
            }
        }
        Err(error) => {
            tracing::error!(delivery.id = id.0, %error, "a delivery could not be written down");
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}

async fn get_readyz(State(door): State<Door>) -> StatusCode {
    let journal_is_well = match &door.queue.app().journal {
        Journal::Sqlite(sqlite) => sqlite.is_well().await,
        Journal::Refs(_) => true,
    };
    if journal_is_well && door.queue.has_room() {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    }
}
