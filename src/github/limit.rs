//! The rate limit of an installation or token: what every answer says of it, and when to ask again.
//!
//! Not here: secondary limits, which each request waits for automatically.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::HeaderMap;
use tokio::time::Instant;

use super::error::{Error, Pause};
use super::graphql;

/// GitHub counts by the hour; a reset that is further away than this is a mistake of somebody's clock.
const LONGEST: Duration = Duration::from_secs(2 * 60 * 60);

/// When the requests of an hour are used up, nothing is sent until the next one begins: "Continuing to make requests
/// while you are rate limited may result in the banning of your integration". REST and GraphQL count apart.
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

    /// Reads what an answer says of the limit.
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
        if route == graphql::ROUTE {
            &self.graphql
        } else {
            &self.rest
        }
    }
}

/// How long until more requests are allowed, as an answer says: `retry-after`, or else the time of the reset, by the
/// clock that wrote the answer. This machine's may be wrong.
pub(super) fn until_reset(headers: &HeaderMap) -> Option<Duration> {
    if let Some(seconds) = number(headers, "retry-after") {
        return Some(Duration::from_secs(seconds));
    }
    let reset = number(headers, "x-ratelimit-reset")?;
    let now = text(headers, "date")
        .and_then(|date| jiff::fmt::rfc2822::parse(date).ok())
        .map_or_else(jiff::Timestamp::now, |date| date.timestamp());
    // Both are whole seconds: one more, so as not to be early.
    let left = reset.saturating_sub(u64::try_from(now.as_second()).unwrap_or(0)) + 1;
    Some(Duration::from_secs(left).min(LONGEST))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    text(headers, name).and_then(|value| value.trim().parse().ok())
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

    /// The reset as GitHub writes it, in an answer that says when it was written.
    const USED_UP: [(&str, &str); 4] = [
        ("date", "Mon, 05 Jan 2026 09:00:00 GMT"),
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", "1767604500"),
        ("x-ratelimit-resource", "core"),
    ];

    #[test]
    fn the_reset_is_read_by_the_clock_of_the_answer() {
        assert_eq!(until_reset(&headers(&USED_UP)), Some(Duration::from_secs(901)));
    }

    #[test]
    fn a_wait_that_is_asked_for_wins() {
        let mut all = headers(&USED_UP);
        all.insert("retry-after", HeaderValue::from_static("7"));
        assert_eq!(until_reset(&all), Some(Duration::from_secs(7)));
    }

    #[test]
    fn no_header_makes_it_wait_for_long() {
        let mut all = headers(&USED_UP);
        all.insert("x-ratelimit-reset", HeaderValue::from_static("18446744073709551615"));
        assert_eq!(until_reset(&all), Some(LONGEST));
        all.insert("x-ratelimit-reset", HeaderValue::from_static("-1"));
        assert_eq!(until_reset(&all), None);
        all.insert("x-ratelimit-reset", HeaderValue::from_static("1"));
        assert_eq!(until_reset(&all), Some(Duration::from_secs(1)));
    }

    #[test]
    fn nothing_is_sent_before_the_reset_and_graphql_counts_apart() {
        let limit = RateLimit::default();
        limit.permit("/app").unwrap();
        limit.heed("/app", &headers(&USED_UP));
        let Err(Error::RateLimited(pause)) = limit.permit("/repos/o/r") else {
            panic!("it is sent")
        };
        assert!(pause.length <= Duration::from_secs(901));
        limit.permit(graphql::ROUTE).unwrap();
        let mut over = headers(&USED_UP);
        over.insert("retry-after", HeaderValue::from_static("0"));
        limit.heed("/app", &over);
        limit.permit("/repos/o/r").unwrap();
    }

    #[test]
    fn other_resources_and_what_is_left_hold_nothing_up() {
        let limit = RateLimit::default();
        for (name, value) in [("x-ratelimit-remaining", "1"), ("x-ratelimit-resource", "search")] {
            let mut all = headers(&USED_UP);
            all.insert(name, HeaderValue::from_static(value));
            limit.heed("/app", &all);
            limit.permit("/app").unwrap();
        }
    }
}
