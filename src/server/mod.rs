//! The HTTP door: verifies a delivery, writes it down, answers 202, and leaves the work to the queue. The only room
//! that names axum.

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
use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, SemaphorePermit};

pub use queue::{Queue, QueueFull, Work};

use crate::domain::event::Event;
use crate::domain::id::DeliveryId;
use crate::domain::run::Run;
use crate::engine::App;
use crate::github::webhook::{self, WebhookSecret};
use crate::journal::{Admission, Journal};

/// GitHub caps payloads at 25 MB.
/// <https://docs.github.com/en/webhooks/webhook-events-and-payloads#payload-cap>
const MAX_PAYLOAD: usize = 25 * 1024 * 1024;
/// A delivery that takes longer to arrive than GitHub waits for an answer is of no use.
const MAX_ARRIVAL: Duration = Duration::from_secs(10);
/// How many bytes of payloads are in memory at once: whoever sends them has not shown a signature yet.
const MAX_PAYLOADS: usize = 10 * MAX_PAYLOAD;
/// How long runs get to stop when greenlight ends.
const DRAIN: Duration = Duration::from_secs(10);
/// How often what nobody works on is looked for, and how old a delivery must be to be one.
const CLOCK: Duration = Duration::from_secs(60);

#[derive(Clone)]
struct Door {
    queue: Queue,
    secret: Arc<WebhookSecret>,
    /// One permit a byte.
    memory: Arc<Semaphore>,
}

/// The routes.
pub fn router(queue: Queue, secret: WebhookSecret) -> Router {
    let door = Door {
        queue,
        secret: Arc::new(secret),
        memory: Arc::new(Semaphore::new(MAX_PAYLOADS)),
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
}

/// Serves until `until` resolves, then drains, and returns however slow a connection is. What an earlier process left
/// is taken up first.
pub async fn serve(listener: TcpListener, queue: Queue, secret: WebhookSecret, until: impl Future<Output = ()> + Send) {
    take_up(&queue).await;
    let clock = tokio::spawn(watch_the_clock(queue.clone()));
    let draining = queue.clone();
    let drained = async move {
        until.await;
        tracing::info!("ending: no more deliveries are taken");
        draining.drain(DRAIN).await;
    };
    connections::serve(&listener, &router(queue, secret), drained).await;
    clock.abort();
}

/// Goes on with what an earlier process left: first the runs, then the deliveries nobody finished.
pub async fn take_up(queue: &Queue) {
    pick_up(queue, |_| true, Timestamp::MAX).await;
}

/// Wakes what nobody works on: the runs whose gate expired, those that did not get to say their end, those that wait for
/// nobody, and the deliveries that met an outage or a full queue.
async fn watch_the_clock(queue: Queue) {
    let mut tick = tokio::time::interval(CLOCK);
    tick.tick().await;
    loop {
        tick.tick().await;
        let now = Timestamp::now();
        let is_due = |run: &Run| {
            let gates = run.open_gates();
            run.end.is_some() || gates.is_empty() || gates.iter().any(|gate| now >= gate.expires)
        };
        pick_up(&queue, is_due, now - CLOCK).await;
    }
}

/// Puts what is due, and not in hand, into the queue. What finds no room is picked up at the next tick of the clock.
async fn pick_up(queue: &Queue, is_due: impl Fn(&Run) -> bool, received_before: Timestamp) {
    // Before the journal is read: what is finished in between must not be taken for left over.
    let in_hand = queue.in_hand();
    let app: &App = queue.app();
    match app.journal.open_runs().await {
        Ok(runs) => {
            let is_left = |run: &Run| is_due(run) && !in_hand.has_lane_of(&run.started.pull_request);
            for run in runs.into_iter().filter(is_left) {
                if queue.push(Work::Resume(Box::new(run))).is_err() {
                    return;
                }
            }
        }
        Err(error) => tracing::error!(%error, "open runs could not be read"),
    }
    match app.journal.unfinished().await {
        Ok(deliveries) => {
            for (id, event) in deliveries {
                let is_left = event.received <= received_before && !in_hand.has_delivery(&id);
                if is_left && queue.push(Work::Delivery(id, Box::new(event))).is_err() {
                    return;
                }
            }
        }
        Err(error) => tracing::error!(%error, "unfinished deliveries could not be read"),
    }
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
        let _memory = reserve(door, &headers)?;
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
            id: DeliveryId(id),
            event,
        })
    }
}

/// Makes room for a body before it is read; one that does not say how long it is may be as long as any.
fn reserve<'a>(door: &'a Door, headers: &HeaderMap) -> Result<SemaphorePermit<'a>, StatusCode> {
    let length = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok())
        .and_then(|length| length.parse().ok())
        .unwrap_or(MAX_PAYLOAD);
    let length = u32::try_from(length.min(MAX_PAYLOAD)).unwrap_or(u32::MAX);
    door.memory.try_acquire_many(length).map_err(|_| {
        tracing::warn!("too many payloads arrive at once");
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
