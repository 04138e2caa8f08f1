//! Who gets in: the browser that used the one-time link, which is printed where the server was started.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Redirect, Response};
use serde::Deserialize;

use super::super::one_time::{LinkState, LocalNames, NoRandomness, OneTimeLink, is_of_no_other_site, is_only_a_look};
use super::viewer::{Frame, Viewer};
use super::{MessagePage, rendered, within};

/// What a browser is told that has not used the link of a run.
const ONE_RUN: &str = "This is the page of one run on this machine. Only the browser that opened its link sees it; the \
                       link is where the command runs, and works once.\n";

const COOKIE: &str = "greenlight-page";

/// The page of a server on loopback.
#[derive(Clone)]
pub struct LocalPage(Arc<DoorState>);

struct DoorState {
    names: LocalNames,
    link: OneTimeLink,
    /// What everyone else is told.
    others: &'static str,
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum NotLoopback {
    #[error(
        "{0} is not a loopback address, where this page has no sign-in: listen on 127.0.0.1, or let people sign in with \
         GREENLIGHT_CLIENT_SECRET instead"
    )]
    Elsewhere(SocketAddr),
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
}

impl LocalPage {
    /// The page of a server that listens there, and its one-time link.
    ///
    /// # Errors
    /// When the address is not loopback.
    pub fn new(address: SocketAddr) -> Result<(Self, String), NotLoopback> {
        Self::telling_others(address, super::super::WHAT_IS_HERE)
    }

    /// The same for the page of a run, which is all that is there.
    ///
    /// # Errors
    /// When the address is not loopback.
    pub fn of_run(address: SocketAddr) -> Result<(Self, String), NotLoopback> {
        Self::telling_others(address, ONE_RUN)
    }

    fn telling_others(address: SocketAddr, others: &'static str) -> Result<(Self, String), NotLoopback> {
        if !address.ip().is_loopback() {
            return Err(NotLoopback::Elsewhere(address));
        }
        let (link, secret) = OneTimeLink::new(COOKIE)?;
        let names = LocalNames::of(address);
        let page = Self(Arc::new(DoorState { names, link, others }));
        Ok((page, format!("http://{address}/enter?link={secret}")))
    }

    /// Whether a request comes from this machine's own browser, and was not made by another site.
    fn is_addressed_by(&self, headers: &HeaderMap) -> bool {
        self.0.names.are_addressed_by(headers) && is_of_no_other_site(headers)
    }
}

/// Answers everyone else as if there were no page.
pub(super) async fn only_with_cookie(State(page): State<LocalPage>, mut request: Request, next: Next) -> Response {
    let headers = request.headers();
    if page.is_addressed_by(headers) && page.0.link.was_used_by(headers) {
        request.extensions_mut().insert(Viewer::Local);
        return next.run(request).await;
    }
    match request.uri().path() {
        "/" => page.0.others.into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

#[derive(Deserialize)]
pub(super) struct Entering {
    link: String,
    /// The page to begin with.
    to: Option<String>,
}

pub(super) async fn get_enter(
    State(page): State<LocalPage>,
    method: Method,
    headers: HeaderMap,
    entering: Result<Query<Entering>, QueryRejection>,
) -> Response {
    // A link may be followed from anywhere, such as a terminal in a browser.
    let mut of_anybody = headers.clone();
    of_anybody.remove("sec-fetch-site");
    let Some(Query(Entering { link, to })) = entering.ok().filter(|_| page.is_addressed_by(&of_anybody)) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    if is_only_a_look(&method, &headers) {
        // The link stays as it is. A browser that asked early asks again when somebody follows it.
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let state = page.0.link.state(&link);
    let Some(cookie) = page.0.link.exchange(&link) else {
        let (title, text) = match state {
            LinkState::Wrong => (
                "This link is wrong",
                "It is not the link that greenlight printed. Copy all of it from the terminal; each start prints a new one.",
            ),
            _ => (
                "This link was used",
                "It works once. Start greenlight again for another one.",
            ),
        };
        let message = MessagePage {
            frame: Frame::default(),
            title,
            text,
        };
        return (StatusCode::FORBIDDEN, rendered(&message)).into_response();
    };
    let cookie = format!("{COOKIE}={cookie}; Path=/; HttpOnly; SameSite=Strict");
    ([(header::SET_COOKIE, cookie)], Redirect::to(&within(to))).into_response()
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
    fn there_is_no_page_for_other_machines() {
        assert!(LocalPage::new("0.0.0.0:8080".parse().unwrap()).is_err());
        assert!(LocalPage::new("192.168.1.2:8080".parse().unwrap()).is_err());
        let (_, link) = LocalPage::new("[::1]:8080".parse().unwrap()).unwrap();
        assert!(link.starts_with("http://[::1]:8080/enter?link="), "{link}");
    }

    #[test]
    fn other_sites_and_proxies_are_turned_away() {
        let (page, _) = LocalPage::new("127.0.0.1:8080".parse().unwrap()).unwrap();
        let own = ("host", "127.0.0.1:8080");
        assert!(page.is_addressed_by(&headers(&[own])));
        assert!(page.is_addressed_by(&headers(&[("host", "localhost:8080"), ("sec-fetch-site", "none")])));
        for strange in [
            vec![],
            vec![("host", "evil.example:8080")],
            vec![("host", "127.0.0.1")],
            vec![own, ("sec-fetch-site", "same-site")],
            vec![own, ("sec-fetch-site", "cross-site")],
            vec![own, ("x-forwarded-for", "10.0.0.1")],
            vec![own, ("forwarded", "for=10.0.0.1")],
        ] {
            assert!(!page.is_addressed_by(&headers(&strange)), "{strange:?}");
        }
    }
}
