//! Who gets in: the browser that used the link, which is printed in the terminal where the server was started.
//!
//! On loopback, the `Host` has to be this server's own address, too. On another address the secret in the link is all
//! there is, because a proxy may be in front.
//!
//! GitHub sends the browser back, so the cookie is sent along with links of other sites (`SameSite=Lax`). Such a
//! request changes something only with the right `state`; forms must come from this server's own pages.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Form, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Redirect, Response};
use serde::Deserialize;
use url::Url;

use super::super::one_time::{LinkState, LocalNames, NoRandomness, OneTimeLink, is_of_no_other_site, text};
use super::{SetupState, view};

const COOKIE: &str = "greenlight-setup";
/// The answer to everyone else.
const WHAT_IS_HERE: &str =
    "This is greenlight. It is being set up: the link is in the terminal where it was started.\n";

pub(super) struct SetupDoor {
    /// `None` on an address that other machines reach.
    names: Option<LocalNames>,
    link: OneTimeLink,
}

impl SetupDoor {
    pub(super) fn new(address: SocketAddr) -> Result<(Self, String), NoRandomness> {
        let (link, secret) = OneTimeLink::new(COOKIE)?;
        let names = address.ip().is_loopback().then(|| LocalNames::of(address));
        let host = match address.ip().is_unspecified() {
            true => format!("localhost:{}", address.port()),
            false => address.to_string(),
        };
        Ok((Self { names, link }, format!("http://{host}/enter?link={secret}")))
    }

    fn is_addressed_by(&self, headers: &HeaderMap) -> bool {
        self.names.as_ref().is_none_or(|names| names.are_addressed_by(headers))
    }

    /// Where the page is for the browser, if its form was sent from the page itself. `None` for other sites.
    pub(super) fn origin(&self, headers: &HeaderMap) -> Option<Url> {
        let origin = text(headers, &header::ORIGIN)?;
        let (scheme, host) = origin.split_once("://")?;
        let forwarded = text(headers, &header::HeaderName::from_static("x-forwarded-host"));
        let is_ours = match &self.names {
            Some(names) => scheme == "http" && names.have(host),
            None => [forwarded, text(headers, &header::HOST)]
                .iter()
                .flatten()
                .any(|ours| ours.eq_ignore_ascii_case(host)),
        };
        let url: Url = origin.parse().ok()?;
        let is_plain = matches!(url.scheme(), "http" | "https") && url.origin().ascii_serialization() == origin;
        (is_ours && is_plain && is_of_no_other_site(headers)).then_some(url)
    }
}

pub(super) async fn only_with_cookie(State(inner): State<Arc<SetupState>>, request: Request, next: Next) -> Response {
    let (door, headers) = (&inner.door, request.headers());
    let path = request.uri().path();
    // GitHub is another site.
    let comes_from_here = is_of_no_other_site(headers) || path == "/setup/created";
    if door.is_addressed_by(headers) && door.link.was_used_by(headers) && comes_from_here {
        return next.run(request).await;
    }
    match path {
        "/" => WHAT_IS_HERE.into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

#[derive(Deserialize)]
pub(super) struct Entering {
    link: String,
}

/// Shows the button that uses the link. It may be followed from anywhere, such as a terminal in a browser; programs that
/// only look at links do not use it up.
pub(super) async fn get_enter(
    State(inner): State<Arc<SetupState>>,
    headers: HeaderMap,
    entering: Result<Query<Entering>, QueryRejection>,
) -> Response {
    let Some(Query(Entering { link })) = entering.ok().filter(|_| inner.door.is_addressed_by(&headers)) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    match inner.door.link.state(&link) {
        LinkState::Unused => view::enter(&link),
        LinkState::Used if inner.door.link.was_used_by(&headers) && is_of_no_other_site(&headers) => {
            Redirect::to("/").into_response()
        }
        refused => view::no_way_in(refused),
    }
}

/// Exchanges the link for the cookie, once.
pub(super) async fn post_enter(
    State(inner): State<Arc<SetupState>>,
    headers: HeaderMap,
    entering: Result<Form<Entering>, FormRejection>,
) -> Response {
    let may_enter = inner.door.is_addressed_by(&headers) && is_of_no_other_site(&headers);
    let Some(Form(Entering { link })) = entering.ok().filter(|_| may_enter) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let state = inner.door.link.state(&link);
    let Some(cookie) = inner.door.link.exchange(&link) else {
        return view::no_way_in(state);
    };
    let cookie = format!("{COOKIE}={cookie}; Path=/; HttpOnly; SameSite=Lax");
    ([(header::SET_COOKIE, cookie)], Redirect::to("/")).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pairs = pairs
            .iter()
            .map(|(name, value)| (header::HeaderName::from_static(name), value.parse().unwrap()));
        pairs.collect()
    }

    #[test]
    fn forms_come_from_the_page_itself() {
        let origin = |address: &str, pairs: &[(&'static str, &str)]| {
            let (door, _) = SetupDoor::new(address.parse().unwrap()).unwrap();
            door.origin(&headers(pairs)).map(|url| url.to_string())
        };
        let local = "127.0.0.1:8080";
        let host = ("host", local);
        assert_eq!(
            origin(local, &[host, ("origin", "http://localhost:8080")]).as_deref(),
            Some("http://localhost:8080/")
        );
        let everywhere = "0.0.0.0:8080";
        let proxied = [
            ("host", "10.0.0.7"),
            ("x-forwarded-host", "bots.example"),
            ("origin", "https://bots.example"),
        ];
        assert_eq!(origin(everywhere, &proxied).as_deref(), Some("https://bots.example/"));
        for strange in [
            vec![host],
            vec![host, ("origin", "null")],
            vec![host, ("origin", "http://127.0.0.1:8081")],
            vec![host, ("origin", "https://127.0.0.1:8080")],
            vec![host, ("origin", "http://evil.example")],
            vec![
                host,
                ("origin", "http://127.0.0.1:8080"),
                ("sec-fetch-site", "same-site"),
            ],
        ] {
            assert_eq!(origin(local, &strange), None, "{strange:?}");
        }
        for strange in [
            "https://evil.example",
            "http://bots.example/x",
            "javascript://bots.example",
            "null",
        ] {
            let pairs = [("host", "bots.example"), ("origin", strange)];
            assert_eq!(origin(everywhere, &pairs), None, "{strange}");
        }
    }

    #[test]
    fn the_link_names_an_address_that_a_browser_can_open() {
        let link = |address: &str| SetupDoor::new(address.parse().unwrap()).unwrap().1;
        assert!(link("0.0.0.0:8080").starts_with("http://localhost:8080/enter?link="));
        assert!(link("[::1]:8080").starts_with("http://[::1]:8080/enter?link="));
    }
}
