//! The pages of the setup.

use askama::Template;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use url::Url;

use super::super::one_time::LinkState;
use super::super::page::rendered;
use super::form::Filled;
use super::progress::Trouble;
use super::reasons;
use crate::github::manifest::{AppOwner, Registrar, WantedApp};
use crate::github::own_app::{EVENTS, PERMISSIONS};

#[derive(Template)]
#[template(path = "setup.html")]
struct FormPage<'a> {
    github: String,
    filled: &'a Filled,
    mistake: Option<&'a str>,
}

#[derive(Template)]
#[template(path = "review.html")]
struct ReviewPage<'a> {
    github: String,
    action: Url,
    manifest: String,
    wanted: &'a WantedApp,
    owner: &'a str,
    webhook: Url,
    permissions: [(&'static str, &'static str, &'static str); PERMISSIONS.len()],
    events: [(&'static str, &'static str); EVENTS.len()],
}

#[derive(Template)]
#[template(path = "trouble.html")]
struct TroublePage {
    title: &'static str,
    text: String,
    advice: &'static str,
    onward: Onward,
}

/// How it continues from a page.
enum Onward {
    /// The same is tried again.
    Again,
    /// The form is filled in again.
    Over,
    Nowhere,
}

#[derive(Template)]
#[template(path = "enter.html")]
struct EnterPage<'a> {
    link: &'a str,
}

/// The button that uses the link.
pub(super) fn enter(link: &str) -> Response {
    rendered(&EnterPage { link })
}

/// The form, with what was filled in and the mistake in it.
pub(super) fn form(registrar: &Registrar, filled: &Filled, mistake: Option<&str>) -> Response {
    let page = FormPage {
        github: registrar.origin(),
        filled,
        mistake,
    };
    let status = if mistake.is_some() {
        StatusCode::UNPROCESSABLE_ENTITY
    } else {
        StatusCode::OK
    };
    (status, rendered(&page)).into_response()
}

/// What will be asked of GitHub, in the one form that goes there.
pub(super) fn review(registrar: &Registrar, wanted: &WantedApp, (action, manifest): (Url, String)) -> Response {
    let github = registrar.origin();
    let policy = policy(&format!("'self' {github}"));
    let page = ReviewPage {
        github,
        action,
        manifest,
        wanted,
        owner: match &wanted.owner {
            AppOwner::Person => "you",
            AppOwner::Organization(login) => login,
        },
        webhook: wanted.webhook(),
        permissions: PERMISSIONS.map(|(name, level)| (name, level, reasons::permission(name))),
        events: EVENTS.map(|name| (name, reasons::event(name))),
    };
    let mut response = rendered(&page);
    if let Ok(policy) = HeaderValue::try_from(policy) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// There is a code or an App that would be lost.
pub(super) fn unfinished() -> Response {
    let page = TroublePage {
        title: "The App was created, and greenlight does not have its key yet",
        text: "An earlier attempt did not get further.".into(),
        advice: "Its reason is in the terminal.",
        onward: Onward::Again,
    };
    (StatusCode::CONFLICT, rendered(&page)).into_response()
}

pub(super) fn trouble(trouble: &Trouble) -> Response {
    let delete = "The App exists on GitHub, but nobody has its key. Delete it there (Settings, Developer settings, GitHub \
                  Apps, Edit, Advanced), and create another one.";
    let (status, advice, onward) = match trouble {
        Trouble::Forged => (
            StatusCode::FORBIDDEN,
            "Nothing was changed. An answer counts once, and only for the form that was sent last. Fill it in again.",
            Onward::Over,
        ),
        Trouble::Expired | Trouble::Unreadable => (StatusCode::BAD_GATEWAY, delete, Onward::Over),
        Trouble::GitHub(_) => (
            StatusCode::BAD_GATEWAY,
            "Nothing is lost: GitHub hands the key out within an hour after the App was created. Leave greenlight running, \
             and try again.",
            Onward::Again,
        ),
        Trouble::Disk(_) => (
            StatusCode::INSUFFICIENT_STORAGE,
            "Nothing is lost as long as greenlight runs: it has the key in its memory. Make room or access, and try again.",
            Onward::Again,
        ),
    };
    let page = TroublePage {
        title: "That did not work",
        text: format!("{trouble}."),
        advice,
        onward,
    };
    (status, rendered(&page)).into_response()
}

/// The form was sent from a page of another site, or by a browser that does not say from where.
pub(super) fn from_elsewhere() -> Response {
    let page = TroublePage {
        title: "This form is not from here",
        text: "It has to be sent from greenlight's own page.".into(),
        advice: "A proxy in front of greenlight has to keep the Host header.",
        onward: Onward::Over,
    };
    (StatusCode::FORBIDDEN, rendered(&page)).into_response()
}

/// A link that lets nobody in.
pub(super) fn no_way_in(link: LinkState) -> Response {
    let (title, text, advice) = match link {
        LinkState::Wrong => (
            "This link is wrong",
            "It is not the link that greenlight printed.",
            "Copy all of it from the terminal. Each start of greenlight prints a new one.",
        ),
        LinkState::Used | LinkState::Unused => (
            "This link was used",
            "It works once, in one browser.",
            "If that was not you, start greenlight again for another one.",
        ),
    };
    let page = TroublePage {
        title,
        text: text.into(),
        advice,
        onward: Onward::Nowhere,
    };
    (StatusCode::FORBIDDEN, rendered(&page)).into_response()
}

pub(super) fn style(content: &'static str) -> Response {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], content).into_response()
}

fn policy(form_action: &str) -> String {
    format!("default-src 'none'; style-src 'self'; form-action {form_action}; base-uri 'none'; frame-ancestors 'none'")
}

/// No page loads anything from elsewhere, runs a script, or is part of another page. Other sites learn only the origin.
pub(super) async fn with_headers(request: axum::extract::Request, next: axum::middleware::Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Without it, forms would not say from which page they were sent.
        (header::REFERRER_POLICY, "strict-origin"),
        (header::CACHE_CONTROL, "no-store"),
        (
            header::HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            header::HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(policy) = HeaderValue::try_from(policy("'self'")) {
        headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(policy);
    }
    response
}
