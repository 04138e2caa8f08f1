//! The rate limit of an installation or token: what every response says about it, and when to retry.
//!
//! Not here: secondary limits, which each request waits for on its own.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::HeaderMap;
use tokio::time::Instant;

use super::error::{Error, Pause};
use super::reset::{number, text, until_reset};

/// The only route with a separate limit.
pub(super) const GRAPHQL: &str = "/graphql";

/// When the requests of an hour are used up, nothing is sent until the next hour begins: "Continuing to make requests
/// while you are rate limited may result in the banning of your integration". REST and GraphQL have separate limits.
/// <https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit>
#[derive(Debug, Default)]
pub(super) struct RateLimit {
    rest: Mutex<Option<Instant>>,
    graphql: Mutex<Option<Instant>>,
}

impl RateLimit {
    /// Whether a request may be sent now.
    ///
    /// # Errors
    /// [`Error::RateLimited`] until the reset.
    pub(super) fn permit(&self, route: &str) -> Result<(), Error> {
        let mut until = self.of(route).lock().unwrap_or_else(PoisonError::into_inner);
        let left = until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            *until = None;
            return Ok(());
        }
        Err(Error::RateLimited(Pause::of(left)))
    }

    /// Reads the rate limit from the headers of a response.
    pub(super) fn heed(&self, route: &str, headers: &HeaderMap) {
        let resource = text(headers, "x-ratelimit-resource");
        let is_ours = resource.is_none_or(|resource| ["core", "graphql"].contains(&resource));
        if !is_ours || number(headers, "x-ratelimit-remaining") != Some(0) {
            return;
        }
        let Some(left) = until_reset(headers) else { return };
        *self.of(route).lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + left);
    }

    fn of(&self, route: &str) -> &Mutex<Option<Instant>> {
        if route == GRAPHQL { &self.graphql } else { &self.rest }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (http::HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        pairs.iter().map(pair).collect()
    }

    /// GitHub's headers for the reset, in a response with a date.
    const USED_UP: [(&str, &str); 4] = [
        ("date", "Mon, 05 Jan 2026 09:00:00 GMT"),
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", "1767604500"),
        ("x-ratelimit-resource", "core"),
    ];

    #[test]
    fn nothing_is_sent_before_the_reset_and_graphql_counts_apart() {
        let limit = RateLimit::default();
        limit.permit("/app").unwrap();
        limit.heed("/app", &headers(&USED_UP));
        let Err(Error::RateLimited(pause)) = limit.permit("/repos/o/r") else {
            panic!("it is sent")
        };
        assert!(pause.length <= Duration::from_secs(901));
        limit.permit(GRAPHQL).unwrap();
        let mut over = headers(&USED_UP);
        over.insert("retry-after", HeaderValue::from_static("0"));
        limit.heed("/app", &over);
        limit.permit("/repos/o/r").unwrap();
    }

    #[test]
    fn other_limits_and_remaining_requests_delay_nothing() {
        let limit = RateLimit::default();
        for (name, value) in [("x-ratelimit-remaining", "1"), ("x-ratelimit-resource", "search")] {
            let mut all = headers(&USED_UP);
            all.insert(name, HeaderValue::from_static(value));
            limit.heed("/app", &all);
            limit.permit("/app").unwrap();
        }
    }
}
