//! Signs of a proxy. Behind one, neither the address of the peer nor `Host` says who asks.

use axum::http::HeaderMap;

/// Headers that proxies add.
pub(super) const OF_PROXIES: [&str; 7] = [
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
    "cf-connecting-ip",
    "via",
];

/// Whether a proxy passed a request on, as far as its headers say.
pub(super) fn is_forwarded(headers: &HeaderMap) -> bool {
    OF_PROXIES.iter().any(|name| headers.contains_key(*name))
}
