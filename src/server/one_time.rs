//! A link that works once. The browser that uses it gets a cookie in exchange, and nobody else gets in.
//!
//! Every web site can make a browser send requests to loopback, and can rebind its own name to it. So a server on
//! loopback also wants its own address as the `Host`, and no sign of another site or of a proxy. A cookie is sent to
//! every port of its host: a program of somebody else on this machine that the browser is pointed at can see it.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use axum::http::{HeaderMap, Method, header};
use sha2::{Digest as _, Sha256};

use super::forwarded::is_forwarded;

pub(super) type SecretDigest = [u8; 32];

/// No secret can be made.
#[derive(Debug, thiserror::Error)]
#[error("no random numbers are available")]
pub struct NoRandomness;

/// The link, until it is used, and then the cookie. Only digests are kept.
pub(super) struct OneTimeLink {
    cookie_name: &'static str,
    secrets: Mutex<Secrets>,
}

struct Secrets {
    link: SecretDigest,
    /// `None` until the link is used.
    cookie: Option<SecretDigest>,
}

/// What the secret of a link is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkState {
    Unused,
    Used,
    /// It was never the secret of this link.
    Wrong,
}

impl OneTimeLink {
    /// A new link, and the secret in it.
    pub(super) fn new(cookie_name: &'static str) -> Result<(Self, String), NoRandomness> {
        let secret = token()?;
        let secrets = Secrets {
            link: fingerprint(&secret),
            cookie: None,
        };
        let link = Self {
            cookie_name,
            secrets: Mutex::new(secrets),
        };
        Ok((link, secret))
    }

    /// Exchanges the secret of the link for that of the cookie, once.
    pub(super) fn exchange(&self, link: &str) -> Option<String> {
        let cookie = token().ok()?;
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        if secrets.state(link) != LinkState::Unused {
            return None;
        }
        secrets.cookie = Some(fingerprint(&cookie));
        Some(cookie)
    }

    /// Looks at the secret of a link without using it.
    pub(super) fn state(&self, link: &str) -> LinkState {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner).state(link)
    }

    /// Whether a request has the cookie.
    pub(super) fn was_used_by(&self, headers: &HeaderMap) -> bool {
        let secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        // Digests are compared, so that the time says nothing about the secret.
        let is_right = |value: &str| secrets.cookie.is_some_and(|cookie| cookie == fingerprint(value));
        cookies(headers, self.cookie_name).any(is_right)
    }
}

impl Secrets {
    fn state(&self, link: &str) -> LinkState {
        // Digests are compared, so that the time says nothing about the secret.
        match (self.link == fingerprint(link), self.cookie) {
            (false, _) => LinkState::Wrong,
            (true, None) => LinkState::Unused,
            (true, Some(_)) => LinkState::Used,
        }
    }
}

/// The names under which a server on loopback may be addressed.
pub(super) struct LocalNames([String; 2]);

impl LocalNames {
    pub(super) fn of(address: SocketAddr) -> Self {
        Self([address.to_string(), format!("localhost:{}", address.port())])
    }

    /// Whether one of them is the `Host` of a request that came through no proxy.
    pub(super) fn are_addressed_by(&self, headers: &HeaderMap) -> bool {
        let host = text(headers, &header::HOST);
        host.is_some_and(|host| self.have(host)) && !is_forwarded(headers)
    }

    pub(super) fn have(&self, host: &str) -> bool {
        self.0.iter().any(|ours| ours.eq_ignore_ascii_case(host))
    }
}

/// Whether a request was made by a page of this server, or by nobody's page.
pub(super) fn is_of_no_other_site(headers: &HeaderMap) -> bool {
    let site = text(headers, &header::HeaderName::from_static("sec-fetch-site"));
    site.is_none_or(|site| matches!(site, "none" | "same-origin"))
}

/// Whether a request only looks at a page, and nobody followed a link: `HEAD`, or a browser that loads pages early.
pub(super) fn is_only_a_look(method: &Method, headers: &HeaderMap) -> bool {
    let is_early = |name: &str| {
        let purpose = headers.get(name).and_then(|value| value.to_str().ok());
        purpose.is_some_and(|purpose| {
            ["prefetch", "prerender", "preview"]
                .iter()
                .any(|early| purpose.contains(early))
        })
    };
    method == Method::HEAD
        || ["sec-purpose", "purpose", "x-purpose", "x-moz"]
            .into_iter()
            .any(is_early)
}

pub(super) fn text<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The values of the cookies with this name.
pub(super) fn cookies<'a>(headers: &'a HeaderMap, name: &str) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(header::COOKIE).iter();
    let pairs = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    pairs.filter_map(move |(its, value)| (its == name).then_some(value))
}

pub(super) fn fingerprint(secret: &str) -> SecretDigest {
    Sha256::digest(secret).into()
}

/// 256 random bits.
pub(super) fn token() -> Result<String, NoRandomness> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(hex::encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_exchanged_once() {
        let (link, secret) = OneTimeLink::new("a-cookie").unwrap();
        let with = |value: &str| HeaderMap::from_iter([(header::COOKIE, value.parse().unwrap())]);
        assert_eq!(link.exchange("other"), None);
        assert_eq!(
            (link.state(&secret), link.state("other")),
            (LinkState::Unused, LinkState::Wrong)
        );
        let cookie = link.exchange(&secret).unwrap();
        assert_eq!(link.exchange(&secret), None);
        assert_eq!(
            (link.state(&secret), link.state("other")),
            (LinkState::Used, LinkState::Wrong)
        );
        assert!(link.was_used_by(&with(&format!("a=b; a-cookie={cookie}"))));
        assert!(!link.was_used_by(&with(&format!("a-cookie={secret}"))));
        assert!(!link.was_used_by(&with(&format!("other={cookie}"))));
        assert!(!link.was_used_by(&HeaderMap::new()));
    }

    #[test]
    fn programs_that_only_look_are_told_from_people() {
        let none = HeaderMap::new();
        assert!(is_only_a_look(&Method::HEAD, &none) && !is_only_a_look(&Method::GET, &none));
        for (name, value, is_look) in [
            ("sec-purpose", "prefetch;prerender", true),
            ("purpose", "prefetch", true),
            ("x-moz", "prefetch", true),
            ("x-purpose", "preview", true),
            ("sec-fetch-site", "prefetch", false),
        ] {
            let name = header::HeaderName::from_static(name);
            let headers = HeaderMap::from_iter([(name, value.parse().unwrap())]);
            assert_eq!(is_only_a_look(&Method::GET, &headers), is_look, "{headers:?}");
        }
    }
}
