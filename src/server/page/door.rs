//! Who gets in: the browser that used the one-time link, which is printed where the server was started.
//!
//! Every web site can make a browser send requests to loopback, and can rebind its own name to it. So a request needs
//! the cookie that the link was exchanged for, this server's own address as its `Host`, and no sign of another site or
//! of a proxy. A cookie is sent to every port of its host: a program of somebody else on this machine that the browser
//! is pointed at can see it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Redirect, Response};
use serde::Deserialize;

use super::super::forwarded::is_forwarded;
use super::secrets::{SecretDigest, cookies, fingerprint, random};
use super::viewer::{Frame, Viewer};
use super::{MessagePage, rendered, within};

const COOKIE: &str = "greenlight-page";

/// The page of a server on loopback.
#[derive(Clone)]
pub struct LocalPage(Arc<DoorState>);

struct DoorState {
    /// The names under which this server may be addressed.
    hosts: [String; 2],
    secrets: Mutex<Secrets>,
}

#[derive(Default)]
struct Secrets {
    /// Until it is used.
    link: Option<SecretDigest>,
    cookie: Option<SecretDigest>,
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum NotLoopback {
    #[error(
        "{0} is not a loopback address, where this page has no sign-in: listen on 127.0.0.1, or let people sign in with \
         GREENLIGHT_CLIENT_SECRET instead"
    )]
    Elsewhere(SocketAddr),
    #[error("no random numbers are available")]
    NoRandomness,
}

impl LocalPage {
    /// The page of a server that listens there, and its one-time link.
    ///
    /// # Errors
    /// When the address is not loopback.
    pub fn new(address: SocketAddr) -> Result<(Self, String), NotLoopback> {
        if !address.ip().is_loopback() {
            return Err(NotLoopback::Elsewhere(address));
        }
        let token = random().ok_or(NotLoopback::NoRandomness)?;
        let secrets = Secrets {
            link: Some(fingerprint(&token)),
            cookie: None,
        };
        let hosts = [address.to_string(), format!("localhost:{}", address.port())];
        let page = Self(Arc::new(DoorState {
            hosts,
            secrets: Mutex::new(secrets),
        }));
        Ok((page, format!("http://{address}/enter?link={token}")))
    }

    /// Whether a request comes from this machine's own browser, and was not made by another site.
    fn is_addressed_by(&self, headers: &HeaderMap) -> bool {
        let value = |name: header::HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let is_ours =
            value(header::HOST).is_some_and(|host| self.0.hosts.iter().any(|ours| ours.eq_ignore_ascii_case(host)));
        let site = value(header::HeaderName::from_static("sec-fetch-site"));
        let is_from_here = site.is_none_or(|site| matches!(site, "none" | "same-origin"));
        is_ours && is_from_here && !is_forwarded(headers)
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let secrets = self.0.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        let is_right = |value: &str| secrets.cookie.is_some_and(|cookie| cookie == fingerprint(value));
        cookies(headers, COOKIE).any(is_right)
    }

    /// Exchanges the link for a cookie, once.
    fn exchange(&self, link: &str) -> Option<String> {
        let cookie = random()?;
        let mut secrets = self.0.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.link.take_if(|wanted| *wanted == fingerprint(link))?;
        secrets.cookie = Some(fingerprint(&cookie));
        Some(cookie)
    }
}

/// Answers everyone else as if there were no page.
pub(super) async fn only_with_cookie(State(page): State<LocalPage>, mut request: Request, next: Next) -> Response {
    let headers = request.headers();
    if page.is_addressed_by(headers) && page.has_cookie(headers) {
        request.extensions_mut().insert(Viewer::Local);
        return next.run(request).await;
    }
    match request.uri().path() {
        "/" => super::super::WHAT_IS_HERE.into_response(),
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
    headers: HeaderMap,
    entering: Result<Query<Entering>, QueryRejection>,
) -> Response {
    // A link may be followed from anywhere, such as a terminal in a browser.
    let mut of_anybody = headers.clone();
    of_anybody.remove("sec-fetch-site");
    let Some(Query(Entering { link, to })) = entering.ok().filter(|_| page.is_addressed_by(&of_anybody)) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let Some(cookie) = page.exchange(&link) else {
        let message = MessagePage {
            frame: Frame::default(),
            title: "This link was used",
            text: "It works once. Start greenlight again for another one.",
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

    fn page() -> (LocalPage, String) {
        let (page, link) = LocalPage::new("127.0.0.1:8080".parse().unwrap()).unwrap();
        (page, link.split_once("link=").unwrap().1.to_string())
    }

    #[test]
    fn there_is_no_page_for_other_machines() {
        assert!(LocalPage::new("0.0.0.0:8080".parse().unwrap()).is_err());
        assert!(LocalPage::new("192.168.1.2:8080".parse().unwrap()).is_err());
        let (_, link) = LocalPage::new("[::1]:8080".parse().unwrap()).unwrap();
        assert!(link.starts_with("http://[::1]:8080/enter?link="), "{link}");
    }

    #[test]
    fn a_link_is_exchanged_once() {
        let (page, link) = page();
        assert_eq!(page.exchange("other"), None);
        let cookie = page.exchange(&link).unwrap();
        assert_eq!(page.exchange(&link), None);
        let sent = format!("a=b; {COOKIE}={cookie}");
        assert!(page.has_cookie(&headers(&[("cookie", &sent)])));
        let sent = format!("{COOKIE}={link}");
        assert!(!page.has_cookie(&headers(&[("cookie", &sent)])));
        assert!(!page.has_cookie(&HeaderMap::new()));
    }

    #[test]
    fn other_sites_and_proxies_are_turned_away() {
        let (page, _) = page();
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
