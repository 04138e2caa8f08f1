//! The HTTP door: verifies a delivery, writes it down, answers 202, and leaves the work to the queue. The only room
//! that names axum.

mod api;
mod clock;
mod connections;
mod lane;
mod queue;
mod sweep;
mod workers;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, FromRequest, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::routing::{get, post};
pub use clock::{TICK, take_up, watch};
pub use queue::{Queue, QueueFull, Work};
pub use sweep::sweep;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::domain::command;
use crate::domain::event::{Event, Fact};
use crate::domain::id::DeliveryId;
use crate::github::webhook::{self, SignatureError, WebhookSecret};
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

/// What somebody is told who looks at the address in a browser.
const WHAT_IS_HERE: &str = "This is greenlight. GitHub sends its webhooks to /webhook. Runs are read and answered over \
    REST at /api/v1/runs?repository=owner/name, with a GitHub token of your own. Whether all is well says /readyz.\n";

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
        .route("/", get(async || WHAT_IS_HERE))
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
    let sweeper = tokio::spawn(sweep::sweep_on(queue.clone()));
    let draining = queue.clone();
    let drained = async move {
        until.await;
        tracing::info!("ending: no more deliveries are taken");
        draining.drain(DRAIN).await;
    };
    connections::serve(&listener, &router(queue, secret), drained).await;
    clock.abort();
    sweeper.abort();
}

/// A status, and one sentence for whoever set the webhook up: GitHub shows both in its list of recent deliveries.
type Refusal = (StatusCode, String);

fn refuse(status: StatusCode, sentence: &str) -> Refusal {
    (status, format!("{sentence}\n"))
}

fn unsigned(error: SignatureError) -> &'static str {
    match error {
        SignatureError::Missing => {
            "There is no X-Hub-Signature-256 header: set the secret of the webhook to that in GREENLIGHT_WEBHOOK_SECRET."
        }
        SignatureError::Malformed => "The X-Hub-Signature-256 header is not `sha256=` and 64 hexadecimal digits.",
        SignatureError::Wrong => {
            "The signature does not fit: set the secret of the webhook to that in GREENLIGHT_WEBHOOK_SECRET."
        }
    }
}

/// What a webhook of a repository sends unless it is told otherwise.
/// <https://docs.github.com/en/webhooks/using-webhooks/creating-webhooks>
fn is_form(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| {
        kind.trim()
            .to_ascii_lowercase()
            .starts_with("application/x-www-form-urlencoded")
    })
}

const NO_ROOM: &str = "greenlight has no room for this now: have it delivered again later.";

/// A delivery whose signature is right; the event is none when it is not ours.
struct Delivery {
    id: DeliveryId,
    event: Option<Event>,
}

impl FromRequest<Door> for Delivery {
    type Rejection = Refusal;

    async fn from_request(request: Request, door: &Door) -> Result<Self, Refusal> {
        let headers = request.headers().clone();
        let _room = reserve(door, &headers)?;
        let body = Bytes::from_request(request, door)
            .await
            .map_err(|rejection: BytesRejection| {
                tracing::info!(status = rejection.status().as_u16(), "a delivery was not read");
                refuse(
                    rejection.status(),
                    "The payload is longer than GitHub's may be, or did not arrive whole.",
                )
            })?;
        let header = |name: &str| {
            headers
                .get(name)
                .and_then(|value| value.to_str().ok())
                .map(str::to_string)
        };
        let signature = signature(&headers).map(<[u8]>::to_vec);
        let form = is_form(&headers);
        let (kind, id) = (
            header("x-github-event").filter(|_| !form),
            header("x-github-delivery").filter(|id| !id.is_empty() && id.len() <= 100),
        );
        let secret = Arc::clone(&door.secret);
        // A large payload takes a while: not on the threads that answer others.
        let reading = tokio::task::spawn_blocking(move || {
            let read = read(&secret, signature.as_deref(), (kind, id), &body);
            read.map_err(|refusal| if form { formed(refusal) } else { refusal })
        });
        let broken = |_| {
            refuse(
                StatusCode::INTERNAL_SERVER_ERROR,
                "greenlight could not read this; its log says why.",
            )
        };
        reading.await.map_err(broken)?
    }
}

/// What whoever sends a form is told, once the signature is right.
fn formed(refusal: Refusal) -> Refusal {
    if refusal.0 != StatusCode::BAD_REQUEST {
        return refusal;
    }
    tracing::warn!("a delivery is form-encoded");
    let what = "The payload is form-encoded: set the content type of the webhook to application/json.";
    refuse(StatusCode::BAD_REQUEST, what)
}

/// Checks the signature, before anything in the body is looked at, and reads the payload.
fn read(
    secret: &WebhookSecret,
    signature: Option<&[u8]>,
    (kind, id): (Option<String>, Option<String>),
    body: &[u8],
) -> Result<Delivery, Refusal> {
    if let Err(error) = webhook::verify(secret, signature, body) {
        tracing::warn!(%error, "a delivery was refused");
        return Err(refuse(StatusCode::UNAUTHORIZED, unsigned(error)));
    }
    let (Some(kind), Some(id)) = (kind, id) else {
        tracing::warn!("a delivery has no X-GitHub-Event or X-GitHub-Delivery header");
        let what = "There is no X-GitHub-Event or X-GitHub-Delivery header: only GitHub's webhooks belong here.";
        return Err(refuse(StatusCode::BAD_REQUEST, what));
    };
    let event = webhook::parse(&kind, body).map_err(|error| {
        tracing::warn!(delivery.id = id, event = kind, %error, "a payload cannot be read");
        let what = "The payload is not the JSON that GitHub sends for this event.";
        refuse(StatusCode::BAD_REQUEST, what)
    })?;
    let event = event.filter(is_of_concern);
    Ok(Delivery {
        id: event
            .as_ref()
            .map_or(DeliveryId(id.clone()), |event| event.identity(DeliveryId(id.clone()))),
        event,
    })
}

/// Whether there is anything to remember: what people write to each other is not.
fn is_of_concern(event: &Event) -> bool {
    match &event.fact {
        Fact::CommentCreated(comment) => !comment.author_is_bot && !command::parse(&comment.body).is_empty(),
        _ => true,
    }
}

/// Makes room for a large body before it is read; one that does not say how long it is may be large.
fn reserve<'a>(door: &'a Door, headers: &HeaderMap) -> Result<Option<SemaphorePermit<'a>>, Refusal> {
    let length: Option<usize> = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok())
        .and_then(|length| length.parse().ok());
    if length.is_some_and(|length| length <= SMALL_PAYLOAD) {
        return Ok(None);
    }
    door.large_payloads.try_acquire().map(Some).map_err(|_| {
        tracing::warn!("too many large payloads arrive at once");
        refuse(StatusCode::SERVICE_UNAVAILABLE, NO_ROOM)
    })
}

fn signature(headers: &HeaderMap) -> Option<&[u8]> {
    headers
        .get("x-hub-signature-256")
        .map(axum::http::HeaderValue::as_bytes)
}

async fn post_webhook(State(door): State<Door>, delivery: Delivery) -> Result<StatusCode, Refusal> {
    let Delivery { id, event } = delivery;
    let app = door.queue.app();
    let Some(event) = event.filter(|event| {
        event
            .repository()
            .is_none_or(|repository| app.allow_list.allows(repository))
    }) else {
        tracing::debug!(delivery.id = id.0, "not ours");
        return Ok(StatusCode::NO_CONTENT);
    };
    let no_room = || refuse(StatusCode::SERVICE_UNAVAILABLE, NO_ROOM);
    if !door.queue.has_room() {
        tracing::warn!(delivery.id = id.0, "no room for a delivery");
        return Err(no_room());
    }
    match app.journal.admit(&id, &event).await {
        Ok(Admission::Known) => Ok(StatusCode::ACCEPTED),
        Ok(Admission::New) => {
            let (kind, action) = event.named();
            let repository = event.repository().map(tracing::field::display);
            tracing::info!(delivery.id = id.0, event = kind, action, repository, "accepted");
            // In the journal it is safe: should the queue have filled up meanwhile, the clock picks it up.
            let pushed = door.queue.push(Work::Delivery(id, Box::new(event))).await;
            pushed.map(|()| StatusCode::ACCEPTED).map_err(|QueueFull| no_room())
        }
        Err(error) => {
            tracing::error!(delivery.id = id.0, %error, "a delivery could not be written down");
            let what = "greenlight cannot write this down; its log says why. Have it delivered again later.";
            Err(refuse(StatusCode::SERVICE_UNAVAILABLE, what))
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
