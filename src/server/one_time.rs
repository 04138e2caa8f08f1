//! A link that works once. The browser that uses it gets a cookie in exchange, and nobody else gets in.
//!
//! Every web site can make a browser send requests to loopback, and can rebind its own name to it. So a server on
//! loopback also wants its own address as the `Host`, and no sign of another site or of a proxy. A cookie is sent to
//! every port of its host: a program of somebody else on this machine that the browser is pointed at can see it.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use axum::http::{HeaderMap, header};
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

#[derive(Default)]
struct Secrets {
    link: Option<SecretDigest>,
    cookie: Option<SecretDigest>,
}

impl OneTimeLink {
    /// A new link, and the secret in it.
    pub(super) fn new(cookie_name: &'static str) -> Result<(Self, String), NoRandomness> {
        let secret = token()?;
        let secrets = Secrets {
            link: Some(fingerprint(&secret)),
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
        secrets.link.take_if(|wanted| *wanted == fingerprint(link))?;
        secrets.cookie = Some(fingerprint(&cookie));
        Some(cookie)
    }

    /// Whether a request has the cookie.
    pub(super) fn was_used_by(&self, headers: &HeaderMap) -> bool {
        let secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        // Digests are compared, so that the time says nothing about the secret.
        let is_right = |value: &str| secrets.cookie.is_some_and(|cookie| cookie == fingerprint(value));
        cookies(headers, self.cookie_name).any(is_right)
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
    let random = rustls::crypto::aws_lc_rs::default_provider().secure_random;
    random.fill(&mut bytes).map_err(|_| NoRandomness)?;
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
        let cookie = link.exchange(&secret).unwrap();
        assert_eq!(link.exchange(&secret), None);
        assert!(link.was_used_by(&with(&format!("a=b; a-cookie={cookie}"))));
        assert!(!link.was_used_by(&with(&format!("a-cookie={secret}"))));
        assert!(!link.was_used_by(&with(&format!("other={cookie}"))));
        assert!(!link.was_used_by(&HeaderMap::new()));
    }
}
