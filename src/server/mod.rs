//! The HTTP server: verifies a delivery, records it, answers 202, and leaves the work to the queue. Only this folder
//! uses axum.

mod again;
mod answers;
mod api;
mod clock;
mod connections;
mod credentials;
mod deliver;
mod fleet;
mod forwarded;
mod lane;
mod metrics;
mod one_time;
mod page;
mod pauses;
mod queue;
mod reach;
mod remembered;
mod setup;
mod shared;
mod sweep;
mod webhook;
mod words;
mod work;
mod workers;

use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
pub use clock::{TICK, take_up, watch};
pub use page::{Board, LocalPage, NotLoopback, serve_run};
pub use queue::{Queue, QueueFull};
use secrecy::SecretString;
pub use setup::{CheckUrl, Keep, Setup, SetupEnd};
pub use sweep::sweep;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
pub use work::Work;
pub use workers::WorkerSettings;

use crate::github::SignInApp;
use crate::github::webhook::WebhookSecret;
use crate::journal::Journal;

/// GitHub waits this long for an answer, so a delivery that takes longer to arrive is useless.
const MAX_ARRIVAL: Duration = Duration::from_secs(10);
/// How long runs have to stop during a shutdown.
const DRAIN: Duration = Duration::from_secs(10);

/// The answer to a browser.
const WHAT_IS_HERE: &str = "This is greenlight. GitHub sends its webhooks to /webhook. Read and answer runs over REST \
                            at /api/v1/runs?repository=owner/name, with your GitHub token. /readyz reports health.\n";

/// What a browser is told that loads the last page of the setup again.
const SETUP_IS_OVER: &str = "greenlight has its GitHub App, and the setup is over. If the App is not installed on your \
                             repositories yet, install it on GitHub. `greenlight doctor --app` names what is missing.\n";

/// What a browser is told if nobody can sign in.
const HOW_TO_SIGN_IN: &str = "There is no page, because nobody can sign in: set GREENLIGHT_CLIENT_ID, \
                              GREENLIGHT_CLIENT_SECRET (or GREENLIGHT_CLIENT_SECRET_FILE) and GREENLIGHT_PUBLIC_URL, \
                              and add the public URL with /sign-in/callback to the callback URLs of the GitHub App.\n";

/// Who may do what, besides GitHub's accounts.
pub struct Access {
    pub webhook: WebhookSecret,
    /// The token for the metrics. `None` if only programs on this machine may read them.
    pub metrics: Option<SecretString>,
    /// The page of this machine. `None`: there is none.
    pub page: Option<LocalPage>,
    /// The App that people sign in to the page with, unless there is one of this machine. `None`: nobody signs in.
    pub sign_in: Option<SignInApp>,
}

impl From<WebhookSecret> for Access {
    fn from(webhook: WebhookSecret) -> Self {
        Self {
            webhook,
            metrics: None,
            page: None,
            sign_in: None,
        }
    }
}

/// The routes.
pub fn router(queue: Queue, access: impl Into<Access>) -> Router {
    let Access {
        webhook,
        metrics,
        page,
        sign_in,
    } = access.into();
    let api = api::router(queue.clone());
    let metrics = metrics::router(queue.clone(), metrics.map(metrics::MetricsToken::new));
    let front = match (page, sign_in) {
        (Some(page), _) => page::local(queue.clone(), page),
        (None, Some(app)) => page::with_sign_in(queue.clone(), app),
        (None, None) => Router::new().route("/", get(async || format!("{WHAT_IS_HERE}{HOW_TO_SIGN_IN}"))),
    };
    Router::new()
        .route("/webhook", post(webhook::post_webhook))
        .route("/healthz", get(async || StatusCode::OK))
        .route("/readyz", get(get_readyz))
        .route("/setup/created", get(async || SETUP_IS_OVER))
        .layer(tower_http::timeout::TimeoutLayer::with_status_code(
            StatusCode::REQUEST_TIMEOUT,
            MAX_ARRIVAL,
        ))
        .with_state(webhook::Door::new(queue, webhook))
        .merge(metrics)
        .nest("/api/v1", api)
        .merge(front)
}

/// The description of the REST API, in OpenAPI 3.1.
pub fn openapi() -> &'static str {
    api::description()
}

/// Resumes what an earlier process left, serves until `until` resolves, and then drains. Slow connections do not
/// delay the return.
pub async fn serve(
    listener: TcpListener,
    queue: Queue,
    access: impl Into<Access>,
    until: impl Future<Output = ()> + Send,
) {
    let router = router(queue.clone(), access);
    take_up(&queue).await;
    let mut recurring = recurring(&queue);
    let draining = queue.clone();
    let drained = async move {
        until.await;
        tracing::info!("shutting down: no more deliveries are accepted");
        draining.drain(DRAIN).await;
    };
    connections::serve(&listener, &router, drained).await;
    recurring.shutdown().await;
}

/// Starts what is done again and again while a service runs.
fn recurring(queue: &Queue) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    tasks.spawn(watch(queue.clone(), TICK));
    tasks.spawn(sweep::sweep_on(queue.clone()));
    tasks.spawn(clock::prune_on(queue.clone()));
    tasks
}

/// Does the work of a shared journal, until `until` resolves, and then drains. Serves the metrics if there is a
/// listener for them, and nothing else.
pub async fn work(
    queue: Queue,
    until: impl Future<Output = ()> + Send,
    metrics: Option<(TcpListener, Option<SecretString>)>,
) {
    take_up(&queue).await;
    let mut recurring = recurring(&queue);
    let draining = queue.clone();
    let drained = async move {
        until.await;
        tracing::info!("shutting down: no more work is claimed");
        draining.drain(DRAIN).await;
    };
    match metrics {
        None => drained.await,
        Some((listener, token)) => {
            let router = Router::new()
                .route("/healthz", get(async || StatusCode::OK))
                .merge(metrics::router(queue, token.map(metrics::MetricsToken::new)));
            connections::serve(&listener, &router, drained).await;
        }
    }
    recurring.shutdown().await;
}

async fn get_readyz(State(door): State<webhook::Door>) -> StatusCode {
    let queue = door.queue();
    let journal_is_well = match &queue.app().journal {
        Journal::Database(database) => database.is_well().await,
        Journal::Refs(_) => true,
    };
    if journal_is_well && queue.has_room() {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    }
}
