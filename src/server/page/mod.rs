//! The page: runs in a browser.
//!
//! On loopback it can be for the one person who started this server, who gets in by a one-time link; see [`door`]. That
//! person has proved no GitHub account, so nothing on it changes anything. Otherwise people sign in with GitHub; see
//! [`sign_in`]. They see what they may see there, and answer what they may answer.
//!
//! Pages are rendered by templates that escape every text. A small script reloads them when the journal has grown. What
//! is the same for everyone who may see it is folded and rendered once; see [`folds`].

mod alone;
mod ansi;
mod answer;
mod bars;
mod diff;
mod door;
mod folds;
mod forget;
mod held_back;
mod learned;
mod live;
mod notice;
mod now;
mod overview;
mod plot;
mod plots;
mod repository;
mod run;
mod secrets;
mod sign_in;
mod summaries;
mod text;
mod transcript;
mod viewer;

use std::time::Duration;

pub use alone::{Board, serve_run};
use askama::Template;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
pub use door::{LocalPage, NotLoopback};
use tower_http::timeout::TimeoutLayer;

use self::folds::Folds;
use self::learned::LearnedCache;
use self::sign_in::SignInDoor;
use self::summaries::Summaries;
use self::viewer::{Frame, Sight};
use super::queue::Queue;
use crate::github::SignInApp;
use crate::{github, journal};

/// How long a response may take to begin.
const MAX_ANSWER: Duration = Duration::from_secs(40);
/// The maximum size of a form, in bytes, and of a path that a sign-in returns to.
const MAX_FORM: usize = 64 << 10;
const MAX_PATH: usize = 300;

pub(super) const STYLE: &str = include_str!("assets/page.css");
const SCRIPT: &str = include_str!("assets/page.js");
const ICON: &str = include_str!("assets/page.svg");

/// The state that every page shares.
#[derive(Clone)]
struct Shelf {
    queue: Queue,
    listeners: live::Listeners,
    sight: Sight,
    folds: Folds,
    summaries: Summaries,
    learned: LearnedCache,
}

impl Shelf {
    /// Prepares the overview in the background.
    fn new(queue: Queue) -> Self {
        let shelf = Self {
            queue,
            listeners: live::Listeners::default(),
            sight: Sight::default(),
            folds: Folds::default(),
            summaries: Summaries::default(),
            learned: LearnedCache::default(),
        };
        tokio::spawn(overview::warm(shelf.clone()));
        shelf
    }
}

/// The page of this machine.
pub(super) fn local(queue: Queue, page: LocalPage) -> Router {
    within_time(pages(Shelf::new(queue)).merge(assets()))
        .layer(from_fn_with_state(page.clone(), door::only_with_cookie))
        .route("/enter", get(door::get_enter).with_state(page))
        .fallback(async || Missing::Nothing)
        .layer(from_fn_with_state("no-referrer", with_headers))
}

/// The page that people sign in to.
pub(super) fn with_sign_in(queue: Queue, app: SignInApp) -> Router {
    let shelf = Shelf::new(queue);
    let at = (SignInDoor::new(app), shelf.clone());
    let forms = Router::new()
        .route("/runs/{id}/gates/{gate}/approve", post(answer::post_approve))
        .route("/runs/{id}/gates/{gate}/reject", post(answer::post_reject))
        .route("/runs/{id}/cancel", post(answer::post_cancel))
        .route("/repositories/{owner}/{name}/forget", post(forget::post_forget))
        .route("/sign-out", post(sign_in::post_sign_out))
        .layer(DefaultBodyLimit::max(MAX_FORM))
        .with_state(at.clone());
    let signing_in = Router::new()
        .route("/sign-in", get(sign_in::get_sign_in))
        .route("/sign-in/callback", get(sign_in::get_callback))
        .with_state(at.clone());
    let signed_in = pages(shelf).merge(forms);
    let signed_in = signed_in.layer(from_fn_with_state(at, sign_in::only_signed_in));
    // With `no-referrer`, browsers would not say where a form comes from.
    within_time(signed_in.merge(signing_in).merge(assets()))
        .fallback(async || Missing::Nothing)
        .layer(from_fn_with_state("same-origin", with_headers))
}

fn pages(shelf: Shelf) -> Router {
    Router::new()
        .route("/", get(overview::get_overview))
        .route("/events", get(live::get_all))
        .route("/runs/{id}", get(run::get_run))
        .route("/runs/{id}/events", get(live::get_one))
        .route("/repositories/{owner}/{name}", get(repository::get_repository))
        .route("/repositories/{owner}/{name}/days.csv", get(repository::get_days))
        .route(
            "/repositories/{owner}/{name}/outcomes.csv",
            get(repository::get_outcomes),
        )
        .route("/repositories/{owner}/{name}/tests.csv", get(repository::get_tests))
        .with_state(shelf)
}

fn assets() -> Router {
    Router::new()
        .route("/page.svg", get(async || asset("image/svg+xml", ICON)))
        .route("/page.css", get(async || asset("text/css; charset=utf-8", STYLE)))
        .route(
            "/page.js",
            get(async || asset("text/javascript; charset=utf-8", SCRIPT)),
        )
}

fn within_time(router: Router) -> Router {
    router.layer(TimeoutLayer::with_status_code(
        StatusCode::SERVICE_UNAVAILABLE,
        MAX_ANSWER,
    ))
}

/// A page of this server that a link may lead to, or else the overview.
fn within(path: Option<String>) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/".contains(&byte);
    let fits = |path: &String| {
        path.len() <= MAX_PATH && ["/runs/", "/repositories/"].iter().any(|start| path.starts_with(start))
    };
    path.filter(|path| fits(path) && path.bytes().all(is_plain))
        .unwrap_or_else(|| "/".into())
}

fn asset(kind: &'static str, content: &'static str) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, kind)], content)
}

/// No page may load anything from elsewhere, run what is not in [`SCRIPT`], or be part of another page.
async fn with_headers(State(referrer): State<&'static str>, request: Request, next: Next) -> Response {
    let headers: [(header::HeaderName, &'static str); 6] = [
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
             form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, referrer),
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
    let mut response = readable(next.run(request).await);
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Replaces the framework's plain-text refusals by pages.
fn readable(response: Response) -> Response {
    let is_page = response.headers().get(header::CONTENT_TYPE);
    let is_page = is_page.is_some_and(|kind| !kind.as_bytes().starts_with(b"text/plain"));
    match response.status() {
        _ if is_page => response,
        StatusCode::BAD_REQUEST => Missing::Malformed.into_response(),
        StatusCode::METHOD_NOT_ALLOWED => {
            let allowed = response.headers().get(header::ALLOW).cloned();
            let mut page = Missing::OtherMethod.into_response();
            if let Some(allowed) = allowed {
                page.headers_mut().insert(header::ALLOW, allowed);
            }
            page
        }
        _ => response,
    }
}

/// Why there is no page.
#[derive(Debug)]
enum Missing {
    Nothing,
    /// The path or the query cannot be read.
    Malformed,
    OtherMethod,
    Broken,
    /// GitHub does not say what may be seen.
    Away,
    /// A form was not sent from a page of the session.
    Forged,
}

impl From<github::Error> for Missing {
    fn from(error: github::Error) -> Self {
        tracing::warn!(%error, "a request to GitHub for the page failed");
        Self::Away
    }
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
    frame: Frame,
    title: &'static str,
    text: &'static str,
}

impl IntoResponse for Missing {
    fn into_response(self) -> Response {
        let (status, title, text) = match self {
            Self::Nothing => (StatusCode::NOT_FOUND, "Not found", "There is nothing here."),
            Self::Malformed => (
                StatusCode::BAD_REQUEST,
                "Malformed address",
                "This address has a part that greenlight cannot read. Go to the overview, and follow the links there.",
            ),
            Self::OtherMethod => (
                StatusCode::METHOD_NOT_ALLOWED,
                "Not here",
                "This address does not take this kind of request.",
            ),
            Self::Broken => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "Something broke",
                "The log of greenlight has the details.",
            ),
            Self::Away => (
                StatusCode::SERVICE_UNAVAILABLE,
                "Not now",
                "GitHub does not answer, or greenlight is at capacity. Try again in a minute.",
            ),
            Self::Forged => (
                StatusCode::FORBIDDEN,
                "Nothing was done",
                "This form is not from a page that you opened since you signed in. Open the page again.",
            ),
        };
        let frame = Frame::default();
        (status, rendered(&MessagePage { frame, title, text })).into_response()
    }
}

pub(super) fn rendered(page: &impl Template) -> Response {
    match page.render() {
        Ok(html) => Html(html).into_response(),
        Err(error) => {
            tracing::error!(%error, "a page could not be rendered");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_nowhere_else() {
        for (to, path) in [
            ("/runs/r1", "/runs/r1"),
            ("//evil.example", "/"),
            ("https://evil.example", "/"),
            ("/runs/\r\nset-cookie: a=b", "/"),
            ("/runs/r1?to=//evil.example", "/"),
            ("/runs/a;b", "/"),
            ("/enter", "/"),
        ] {
            assert_eq!(within(Some(to.into())), path);
        }
        assert_eq!(within(Some(format!("/runs/{}", "a".repeat(MAX_PATH)))), "/");
    }
}
