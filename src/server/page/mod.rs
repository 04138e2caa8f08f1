//! The page: runs in a browser, for the one person who started this server.
//!
//! It is served on loopback only, to the browser that used the one-time link; see [`door`]. Nothing on it changes
//! anything: a person at this machine has proved no GitHub account, so answers are given in comments or over REST.
//!
//! Pages are rendered by templates that escape every text. A small script reloads them when the journal has grown.

mod door;
mod live;
mod overview;
mod plot;
mod repository;
mod run;
mod text;

use std::time::Duration;

use askama::Template;
use axum::Router;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
pub use door::{LocalPage, NotLoopback};
use tower_http::timeout::TimeoutLayer;

use super::queue::Queue;
use crate::journal;

/// How long a response may take to begin.
const MAX_ANSWER: Duration = Duration::from_secs(40);

const STYLE: &str = include_str!("assets/page.css");
const SCRIPT: &str = include_str!("assets/page.js");

/// The state that every page shares.
#[derive(Clone)]
struct Shelf {
    queue: Queue,
    listeners: live::Listeners,
}

/// The routes of the page.
pub(super) fn router(queue: Queue, page: LocalPage) -> Router {
    let shelf = Shelf {
        queue,
        listeners: live::Listeners::default(),
    };
    Router::new()
        .route("/", get(overview::get_overview))
        .route("/events", get(live::get_all))
        .route("/runs/{id}", get(run::get_run))
        .route("/runs/{id}/events", get(live::get_one))
        .route("/repositories/{owner}/{name}", get(repository::get_repository))
        .route("/repositories/{owner}/{name}/days.csv", get(repository::get_days))
        .route("/page.css", get(async || asset("text/css; charset=utf-8", STYLE)))
        .route(
            "/page.js",
            get(async || asset("text/javascript; charset=utf-8", SCRIPT)),
        )
        .with_state(shelf)
        .layer(TimeoutLayer::with_status_code(
            StatusCode::SERVICE_UNAVAILABLE,
            MAX_ANSWER,
        ))
        .layer(from_fn_with_state(page.clone(), door::only_with_cookie))
        .route("/enter", get(door::get_enter).with_state(page))
        .layer(from_fn(with_headers))
}

fn asset(kind: &'static str, content: &'static str) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, kind)], content)
}

/// No page may load anything from elsewhere, run what is not in [`SCRIPT`], or be part of another page.
async fn with_headers(request: axum::extract::Request, next: axum::middleware::Next) -> Response {
    const HEADERS: [(header::HeaderName, &str); 6] = [
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
             form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (
            header::HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            header::HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    let mut response = next.run(request).await;
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Why there is no page.
enum Missing {
    Nothing,
    Broken,
}

impl From<journal::Error> for Missing {
    fn from(error: journal::Error) -> Self {
        tracing::error!(%error, "the journal could not be used for the page");
        Self::Broken
    }
}

#[derive(Template)]
#[template(path = "message.html")]
struct MessagePage {
    title: &'static str,
    text: &'static str,
}

impl IntoResponse for Missing {
    fn into_response(self) -> Response {
        let (status, title, text) = match self {
            Self::Nothing => (StatusCode::NOT_FOUND, "Not found", "There is nothing here."),
            Self::Broken => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "Something broke",
                "The log of greenlight has the details.",
            ),
        };
        (status, rendered(&MessagePage { title, text })).into_response()
    }
}

fn rendered(page: &impl Template) -> Response {
    match page.render() {
        Ok(html) => Html(html).into_response(),
        Err(error) => {
            tracing::error!(%error, "a page could not be rendered");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
