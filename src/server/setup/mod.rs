//! The setup page: creates greenlight's App on GitHub, for the person who started a `serve` without one.
//!
//! It answers only the browser that used the link that was printed; see [`door`]. What was done so far is kept in
//! [`progress`], so that no code and no secret is lost when GitHub or the disk fails.

mod door;
mod form;
mod ping;
mod progress;
mod reasons;
mod view;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, Form, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{get, post};
use secrecy::SecretString;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, Notify};
use tower_http::timeout::TimeoutLayer;
use url::Url;

use self::door::SetupDoor;
use self::form::Filled;
use self::ping::FirstPing;
use self::progress::{SetupProgress, Trouble};
use super::connections;
use super::one_time::{NoRandomness, token};
use super::page::STYLE;
use crate::github::manifest::{CreatedApp, Registrar, WantedApp};

/// The maximum size of a form, in bytes.
const MAX_FORM: usize = 16 << 10;
/// How long an answer may take: longer than GitHub has for its own.
const MAX_ANSWER: Duration = Duration::from_secs(60);
/// How long the page waits for a person.
const MAX_SETUP: Duration = Duration::from_hours(1);

/// Stores a new App. The text of an error is shown.
pub type Keep = Box<dyn Fn(&CreatedApp, &WantedApp) -> Result<(), String> + Send + Sync>;

/// Checks the public URL that a person filled in. The text of an error is shown.
pub type CheckUrl = Box<dyn Fn(&str) -> Result<Url, String> + Send + Sync>;

/// A setup page that is not served yet.
pub struct Setup(Arc<SetupState>);

struct SetupState {
    door: SetupDoor,
    registrar: Registrar,
    keep: Keep,
    check_url: CheckUrl,
    progress: Mutex<SetupProgress>,
    first_ping: FirstPing,
    is_done: Notify,
}

type SharedState = State<Arc<SetupState>>;

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupEnd {
    /// The App is stored.
    Created,
    /// Nobody finished within an hour.
    Late,
    /// `until` resolved.
    Stopped,
}

impl Setup {
    /// The page of a server that listens there, and its one-time link.
    ///
    /// # Errors
    /// When no random numbers are available.
    pub fn new(
        address: SocketAddr,
        registrar: Registrar,
        (check_url, keep): (CheckUrl, Keep),
    ) -> Result<(Self, String), NoRandomness> {
        let (door, link) = SetupDoor::new(address)?;
        let inner = SetupState {
            door,
            registrar,
            keep,
            check_url,
            progress: Mutex::default(),
            first_ping: FirstPing::default(),
            is_done: Notify::new(),
        };
        Ok((Self(Arc::new(inner)), link))
    }

    /// Serves the page until the App is stored. The listener stays open for what follows.
    pub async fn serve(self, listener: &TcpListener, until: impl Future<Output = ()> + Send) -> SetupEnd {
        let mut end = SetupEnd::Late;
        let ended = async {
            tokio::select! {
                () = self.0.is_done.notified() => end = SetupEnd::Created,
                () = self.0.nobody_comes() => {}
                () = until => end = SetupEnd::Stopped,
            }
        };
        connections::serve(listener, &router(&self.0), ended).await;
        end
    }
}

impl SetupState {
    /// Resolves after an hour, but never while there is a code or a key that would be lost.
    async fn nobody_comes(&self) {
        loop {
            tokio::time::sleep(MAX_SETUP).await;
            if !self.progress.lock().await.has_something_to_lose() {
                return;
            }
        }
    }
}

fn router(inner: &Arc<SetupState>) -> Router {
    Router::new()
        .route("/", get(get_form))
        .route("/setup", post(post_form))
        .route("/setup/created", get(get_created))
        .route("/setup/again", post(post_again))
        .layer(from_fn_with_state(Arc::clone(inner), door::only_with_cookie))
        .route("/enter", get(door::get_enter).post(door::post_enter))
        .route("/page.css", get(async || view::style(STYLE)))
        .layer(from_fn(view::with_headers))
        .route(
            "/webhook",
            post(post_webhook).layer(DefaultBodyLimit::max(ping::MAX_PING)),
        )
        .route("/healthz", get(async || StatusCode::OK))
        .route("/readyz", get(async || StatusCode::SERVICE_UNAVAILABLE))
        .layer(TimeoutLayer::with_status_code(
            StatusCode::SERVICE_UNAVAILABLE,
            MAX_ANSWER,
        ))
        .layer(DefaultBodyLimit::max(MAX_FORM))
        .with_state(Arc::clone(inner))
}

async fn post_webhook(State(inner): SharedState, headers: HeaderMap, body: Bytes) -> StatusCode {
    inner.first_ping.answer(&headers, &body).await
}

async fn get_form(State(inner): SharedState) -> Response {
    match &*inner.progress.lock().await {
        SetupProgress::Returned { .. } | SetupProgress::Created { .. } => view::unfinished(),
        SetupProgress::Begun | SetupProgress::Sent { .. } => view::form(&inner.registrar, &Filled::default(), None),
    }
}

/// Shows what will be asked of GitHub, in the form that asks it.
async fn post_form(
    State(inner): SharedState,
    headers: HeaderMap,
    filled: Result<Form<Filled>, FormRejection>,
) -> Response {
    let Some(origin) = inner.door.origin(&headers) else {
        return view::from_elsewhere();
    };
    let Ok(Form(filled)) = filled else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let wanted = match filled.read(&inner.check_url) {
        Ok(wanted) => wanted,
        Err(mistake) => return view::form(&inner.registrar, &filled, Some(&mistake)),
    };
    let Ok(state) = token() else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let mut progress = inner.progress.lock().await;
    if progress.has_something_to_lose() {
        return view::unfinished();
    }
    let Ok(back) = origin.join("setup/created") else {
        return view::from_elsewhere();
    };
    let form = inner.registrar.form(&wanted, &back, &state);
    let response = view::review(&inner.registrar, &wanted, form);
    *progress = SetupProgress::sent(&state, wanted);
    response
}

#[derive(Deserialize)]
struct Back {
    code: SecretString,
    state: String,
}

/// GitHub sends the browser here when the App was created.
async fn get_created(State(inner): SharedState, back: Result<Query<Back>, QueryRejection>) -> Response {
    let Ok(Query(Back { code, state })) = back else {
        return view::trouble(&Trouble::Forged);
    };
    let mut progress = inner.progress.lock().await;
    match progress.take_code(&state, code) {
        Ok(()) => finish(&inner, &mut progress).await,
        Err(trouble) => view::trouble(&trouble),
    }
}

/// Continues with what is there after GitHub or the disk failed.
async fn post_again(State(inner): SharedState, headers: HeaderMap) -> Response {
    if inner.door.origin(&headers).is_none() {
        return view::from_elsewhere();
    }
    let mut progress = inner.progress.lock().await;
    match progress.has_something_to_lose() {
        true => finish(&inner, &mut progress).await,
        false => Redirect::to("/").into_response(),
    }
}

async fn finish(inner: &SetupState, progress: &mut SetupProgress) -> Response {
    match progress.advance(&inner.registrar, &inner.keep).await {
        Ok((install, webhook_secret)) => {
            inner.first_ping.know(webhook_secret.as_ref());
            inner.is_done.notify_one();
            Redirect::to(install.as_str()).into_response()
        }
        Err(trouble) => {
            tracing::error!(%trouble, "the setup did not get further");
            view::trouble(&trouble)
        }
    }
}
