//! Receives deliveries from GitHub. The signature is checked while the body arrives, the delivery is recorded, and
//! only then is it acknowledged.
//!
//! GitHub waits for the acknowledgement, so no content of a payload may delay it: a large payload is read afterwards.
//! Until then only its id is recorded, because people's conversations are not stored.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use futures::StreamExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::lane::Route;
use super::queue::{Queue, QueueFull};
use super::work::Work;
use crate::domain::event::Event;
use crate::domain::id::DeliveryId;
use crate::github::webhook::{self, PayloadError, SignatureError, Verification, WebhookSecret};
use crate::journal::{self, Admission};
use crate::metrics::DeliveryOutcome;

/// GitHub caps payloads at 25 MB.
/// <https://docs.github.com/en/webhooks/webhook-events-and-payloads#payload-cap>
const MAX_PAYLOAD: usize = 25 * 1024 * 1024;
/// A payload of this size is read in milliseconds and needs no reservation: the number of connections bounds how many
/// there are.
const SMALL_PAYLOAD: usize = 1024 * 1024;
/// A payload of this size is read in less time than another thread takes to start with it. Most are smaller.
const TINY_PAYLOAD: usize = 64 * 1024;
/// How many larger payloads may be in memory at once, until they are read. Their senders have not been authenticated
/// yet.
const MAX_LARGE_PAYLOADS: usize = 10;

const NO_ROOM: &str = "greenlight is at capacity: redeliver this later.";
const NOT_WRITTEN: &str = "greenlight cannot record this; its log says why. Redeliver it later.";

/// The state of the webhook route.
#[derive(Clone)]
pub(super) struct Door {
    queue: Queue,
    secret: Arc<WebhookSecret>,
    large_payloads: Arc<Semaphore>,
}

impl Door {
    pub(super) fn new(queue: Queue, secret: WebhookSecret) -> Self {
        Self {
            queue,
            secret: Arc::new(secret),
            large_payloads: Arc::new(Semaphore::new(MAX_LARGE_PAYLOADS)),
        }
    }

    pub(super) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Reserves memory for a large body before it is read. A body without a declared length may be large.
    fn reserve(&self, headers: &HeaderMap) -> Result<Option<OwnedSemaphorePermit>, WebhookRefusal> {
        if declared(headers).is_some_and(|length| length <= SMALL_PAYLOAD) {
            return Ok(None);
        }
        let room = Arc::clone(&self.large_payloads).try_acquire_owned();
        room.map(Some).map_err(|_| {
            tracing::warn!("too many large payloads arrive at once");
            refuse(StatusCode::SERVICE_UNAVAILABLE, NO_ROOM)
        })
    }
}

/// A status, and one sentence for the person who set up the webhook: GitHub shows both in its list of recent
/// deliveries.
type WebhookRefusal = (StatusCode, String);

fn refuse(status: StatusCode, sentence: &str) -> WebhookRefusal {
    (status, format!("{sentence}\n"))
}

fn unsigned(error: SignatureError) -> WebhookRefusal {
    tracing::warn!(%error, "a delivery was refused");
    let sentence = match error {
        SignatureError::Missing => {
            "There is no X-Hub-Signature-256 header: set the secret of the webhook to that in \
             GREENLIGHT_WEBHOOK_SECRET."
        }
        SignatureError::Malformed => "The X-Hub-Signature-256 header is not `sha256=` and 64 hexadecimal digits.",
        SignatureError::Wrong => {
            "The signature does not match: set the secret of the webhook to that in GREENLIGHT_WEBHOOK_SECRET."
        }
    };
    refuse(StatusCode::UNAUTHORIZED, sentence)
}

/// The declared length of the body in bytes, if there is one.
fn declared(headers: &HeaderMap) -> Option<usize> {
    let length = headers.get(header::CONTENT_LENGTH)?;
    length.to_str().ok()?.parse().ok()
}

/// Whether the body is form-encoded, which is the default of a repository's webhook.
/// <https://docs.github.com/en/webhooks/using-webhooks/creating-webhooks>
fn is_form(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| {
        kind.trim()
            .to_ascii_lowercase()
            .starts_with("application/x-www-form-urlencoded")
    })
}

/// A delivery whose signature is valid.
struct Delivery {
    id: String,
    /// The value of `X-GitHub-Event`.
    kind: String,
    body: Vec<u8>,
}

impl Delivery {
    /// Whether it may be read on the threads that answer other requests. Comments are searched for commands.
    fn is_quick_to_read(&self) -> bool {
        self.body.len() <= TINY_PAYLOAD && !self.kind.ends_with("_comment")
    }
}

pub(super) async fn post_webhook(State(door): State<Door>, request: Request) -> Result<StatusCode, WebhookRefusal> {
    match receive(&door, request).await {
        // What becomes of it is counted when it was read.
        Ok(None) => Ok(StatusCode::ACCEPTED),
        Ok(Some(outcome)) => counted(&door.queue, Ok(outcome)).map(|outcome| match outcome {
            DeliveryOutcome::Ignored => StatusCode::NO_CONTENT,
            _ => StatusCode::ACCEPTED,
        }),
        Err(refusal) => counted(&door.queue, Err(refusal)).map(|_| StatusCode::ACCEPTED),
    }
}

/// Counts what became of a delivery.
fn counted(queue: &Queue, became: Result<DeliveryOutcome, WebhookRefusal>) -> Result<DeliveryOutcome, WebhookRefusal> {
    let outcome = match &became {
        Ok(outcome) => *outcome,
        Err((StatusCode::UNAUTHORIZED, _)) => DeliveryOutcome::Unsigned,
        Err((StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE, _)) => DeliveryOutcome::Malformed,
        Err((_, sentence)) if sentence.starts_with(NO_ROOM) => DeliveryOutcome::NoRoom,
        Err(_) => DeliveryOutcome::Failed,
    };
    queue.app().metrics.deliveries.count(outcome);
    became
}

/// Receives a delivery. `None` if it is large, and read later.
async fn receive(door: &Door, request: Request) -> Result<Option<DeliveryOutcome>, WebhookRefusal> {
    let room = door.reserve(request.headers())?;
    let (parts, body) = request.into_parts();
    let body = arrive(&door.secret, &parts.headers, body).await?;
    let delivery = named(&parts.headers, body)?;
    if let Some(account) = webhook::revoked(&delivery.kind, &delivery.body).map_err(unreadable(&delivery))? {
        let ended = door.queue.app().journal.end_sessions_of(account).await;
        ended.map_err(not_written(&delivery.id))?;
        tracing::info!(delivery.id, "somebody withdrew their permission, and was signed out");
        return Ok(Some(DeliveryOutcome::Accepted));
    }
    if !webhook::is_of_concern(&delivery.kind) {
        tracing::debug!(delivery.id, delivery.kind, "not ours");
        return Ok(Some(DeliveryOutcome::Ignored));
    }
    if !door.queue.has_room() {
        tracing::warn!(delivery.id, "no room for a delivery");
        return Err(refuse(StatusCode::SERVICE_UNAVAILABLE, NO_ROOM));
    }
    if delivery.body.len() <= SMALL_PAYLOAD {
        drop(room);
        return take(&door.queue, delivery).await.map(Some);
    }
    let id = DeliveryId(delivery.id.clone());
    if door.queue.app().journal.arrive(&id).await.map_err(not_written(&id.0))? == Admission::Known {
        return Ok(Some(DeliveryOutcome::Duplicate));
    }
    let queue = door.queue.clone();
    door.queue.read_later(id, async move {
        let _room = room;
        let read = counted(&queue, take(&queue, delivery).await);
        // A delivery that could not be recorded is recovered by a sweep.
        !matches!(read, Err((StatusCode::SERVICE_UNAVAILABLE, _)))
    });
    Ok(None)
}

/// Checks the signature before anything in the body is parsed.
async fn arrive(secret: &WebhookSecret, headers: &HeaderMap, body: Body) -> Result<Vec<u8>, WebhookRefusal> {
    let signature = headers.get("x-hub-signature-256").map(header::HeaderValue::as_bytes);
    let mut verification = Verification::begin(secret, signature);
    // Invalid bodies are not kept, but read to the end, because the sender only then reads the answer.
    let mut kept = Vec::new();
    if verification.is_ok() {
        kept.reserve_exact(declared(headers).unwrap_or_default().min(MAX_PAYLOAD));
    }
    let (mut chunks, mut length) = (body.into_data_stream(), 0);
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| {
            tracing::info!(%error, "a delivery was not read");
            refuse(StatusCode::BAD_REQUEST, "The payload did not arrive in full.")
        })?;
        length += chunk.len();
        if length > MAX_PAYLOAD {
            tracing::info!("a delivery is too long");
            let what = "The payload is larger than GitHub's limit.";
            return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, what));
        }
        if let Ok(verification) = &mut verification {
            verification.take(&chunk);
            kept.extend_from_slice(&chunk);
        }
    }
    verification.and_then(Verification::end).map_err(unsigned)?;
    Ok(kept)
}

/// Reads the headers of a delivery.
fn named(headers: &HeaderMap, body: Vec<u8>) -> Result<Delivery, WebhookRefusal> {
    if is_form(headers) {
        tracing::warn!("a delivery is form-encoded");
        let what = "The payload is form-encoded: set the content type of the webhook to application/json.";
        return Err(refuse(StatusCode::BAD_REQUEST, what));
    }
    let header = |name: &str| headers.get(name)?.to_str().ok().map(str::to_string);
    let id = header("x-github-delivery").filter(|id| !id.is_empty() && id.len() <= 100);
    let (Some(kind), Some(id)) = (header("x-github-event"), id) else {
        tracing::warn!("a delivery has no X-GitHub-Event or X-GitHub-Delivery header");
        let what = "There is no X-GitHub-Event or X-GitHub-Delivery header: only GitHub's webhooks are accepted here.";
        return Err(refuse(StatusCode::BAD_REQUEST, what));
    };
    Ok(Delivery { id, kind, body })
}

/// Reads a delivery, records its event if it requires action, and queues it.
async fn take(queue: &Queue, delivery: Delivery) -> Result<DeliveryOutcome, WebhookRefusal> {
    let (id, read) = match delivery.is_quick_to_read() {
        true => read(&delivery).map(|read| (delivery.id, read))?,
        false => read_elsewhere(delivery).await?,
    };
    let app = queue.app();
    let is_allowed = |event: &Event| {
        event
            .repository()
            .is_none_or(|repository| app.allow_list.allows(repository))
    };
    let Some((mut event, route)) = read.filter(|(event, _)| is_allowed(event)) else {
        tracing::debug!(delivery.id = id, "not ours");
        return Ok(DeliveryOutcome::Ignored);
    };
    event.received = app.journal.now();
    let id = event.identity(DeliveryId(id));
    let waiting = route.waiting(&event);
    let admitted = app.journal.admit(&id, &event, &waiting).await;
    if admitted.map_err(not_written(&id.0))? == Admission::Known {
        return Ok(DeliveryOutcome::Duplicate);
    }
    let (kind, action) = event.named();
    let repository = event.repository().map(tracing::field::display);
    tracing::info!(delivery.id = id.0, event = kind, action, repository, "accepted");
    // It is safe in the journal: if the queue has filled up meanwhile, the clock picks it up.
    let pushed = queue.push_as(route, Work::Delivery(id, Box::new(event)));
    pushed.map_err(|QueueFull| refuse(StatusCode::SERVICE_UNAVAILABLE, NO_ROOM))?;
    Ok(DeliveryOutcome::Accepted)
}

/// Reads a delivery on a thread that answers no requests.
async fn read_elsewhere(delivery: Delivery) -> Result<(String, Option<(Event, Route)>), WebhookRefusal> {
    let reading = tokio::task::spawn_blocking(move || read(&delivery).map(|read| (delivery.id, read)));
    reading.await.map_err(|error| {
        tracing::error!(%error, "a payload was not read");
        let what = "greenlight could not read this; its log says why.";
        refuse(StatusCode::INTERNAL_SERVER_ERROR, what)
    })?
}

/// The event and its route. `None` if there is nothing to do.
fn read(delivery: &Delivery) -> Result<Option<(Event, Route)>, WebhookRefusal> {
    let event = webhook::parse(&delivery.kind, &delivery.body).map_err(unreadable(delivery))?;
    Ok(event.and_then(|event| {
        let route = Route::of_concern(&event)?;
        Some((event, route))
    }))
}

fn unreadable(delivery: &Delivery) -> impl FnOnce(PayloadError) -> WebhookRefusal {
    move |error| {
        tracing::warn!(delivery.id, event = delivery.kind, %error, "a payload cannot be read");
        let what = "The payload is not the JSON that GitHub sends for this event.";
        refuse(StatusCode::BAD_REQUEST, what)
    }
}

fn not_written(id: &str) -> impl FnOnce(journal::Error) -> WebhookRefusal {
    move |error| {
        tracing::error!(delivery.id = id, %error, "a delivery could not be recorded");
        refuse(StatusCode::SERVICE_UNAVAILABLE, NOT_WRITTEN)
    }
}
