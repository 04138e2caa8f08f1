//! The rate limit of an installation or token: what every response says about it, and when to retry.
//!
//! Not here: secondary limits, which each request waits for on its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::HeaderMap;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::error::{Error, Pause};
use super::reset::{number, text, until_reset};
use super::urgent;
use crate::metrics::Metrics;

/// The only route with a separate limit.
pub(super) const GRAPHQL: &str = "/graphql";

/// When the requests of an hour are used up, nothing is sent until the next hour begins: "Continuing to make requests
/// while you are rate limited may result in the banning of your integration". REST and GraphQL have separate limits.
/// <https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit>
#[derive(Debug, Default)]
pub(super) struct RateLimit {
    rest: Resource,
    graphql: Resource,
    /// `None` if nobody counts.
    pub(super) traffic: Option<Traffic>,
}

/// Who counts the requests that this limit is for.
#[derive(Debug)]
pub(super) struct Traffic {
    pub(super) metrics: Arc<Metrics>,
    /// The number of the installation, under which its limit is recorded. `None` for the tokens of callers: what they
    /// have left is nobody else's concern.
    pub(super) installation: Option<u64>,
}

#[derive(Debug, Default)]
struct Resource {
    state: Mutex<State>,
    answered: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// When requests may be sent again.
    until: Option<Instant>,
    /// When requests may be sent again that are not urgent.
    kept_until: Option<Instant>,
    left: Left,
    /// How many requests have no answer yet.
    under_way: u64,
}

/// How many requests are left, according to the answers so far.
#[derive(Debug, Default, Clone, Copy)]
enum Left {
    /// There was no answer yet, so one request has to find out.
    #[default]
    Unknown,
    /// The server names no limit.
    Unlimited,
    /// Until this reset, in seconds of GitHub's clock.
    Until { reset: u64, requests: u64, kept: u64 },
}

impl Left {
    /// The answers to requests that were sent side by side arrive in any order, so the smallest number counts.
    fn after(self, headers: &HeaderMap) -> Self {
        let named = number(headers, "x-ratelimit-remaining").zip(number(headers, "x-ratelimit-reset"));
        let Some((requests, reset)) = named else {
            return match self {
                Self::Unknown => Self::Unlimited,
                known => known,
            };
        };
        let kept = number(headers, "x-ratelimit-limit").map_or(0, urgent::kept);
        match self {
            Self::Until { reset: known, .. } if known > reset => self,
            Self::Until {
                reset: known,
                requests: left,
                ..
            } if known == reset => Self::Until {
                reset,
                requests: left.min(requests),
                kept,
            },
            _ => Self::Until { reset, requests, kept },
        }
    }

    /// Whether only urgent requests may still be sent.
    fn is_kept(self) -> bool {
        matches!(self, Self::Until { requests, kept, .. } if requests <= kept)
    }

    /// How many requests may be under way at the same time.
    fn side_by_side(self, is_urgent: bool) -> u64 {
        match self {
            Self::Unknown => 1,
            Self::Unlimited => u64::MAX,
            // Nothing is left if the limit says so, and `until` is set.
            Self::Until { requests, .. } if is_urgent => requests.max(1),
            Self::Until { requests, kept, .. } => requests.saturating_sub(kept).max(1),
        }
    }
}

/// A request that may be sent. It is dropped when its answer was read.
#[derive(Debug)]
pub(super) struct Permit<'a>(&'a Resource);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.lock().under_way -= 1;
        self.0.answered.notify_waiters();
    }
}

impl RateLimit {
    /// An unknown limit of requests that are counted.
    pub(super) fn counted(metrics: &Arc<Metrics>, installation: Option<u64>) -> Self {
        let traffic = Traffic {
            metrics: Arc::clone(metrics),
            installation,
        };
        Self {
            traffic: Some(traffic),
            ..Self::default()
        }
    }

    /// Whether a request may be sent now. If those under way may use up the limit, this waits for an answer, for as
    /// long as the timeouts of those requests. The last tenth of the limit is for urgent requests.
    ///
    /// # Errors
    /// [`Error::RateLimited`] until the reset.
    pub(super) async fn permit(&self, route: &str) -> Result<Permit<'_>, Error> {
        let resource = self.of(route);
        let is_urgent = urgent::is_urgent();
        loop {
            let mut answered = std::pin::pin!(resource.answered.notified());
            answered.as_mut().enable();
            {
                let mut state = resource.lock();
                state.check(is_urgent)?;
                if state.under_way < state.left.side_by_side(is_urgent) {
                    state.under_way += 1;
                    return Ok(Permit(resource));
                }
            }
            answered.await;
        }
    }

    /// Whether the limit is not used up.
    ///
    /// # Errors
    /// [`Error::RateLimited`] until the reset.
    pub(super) fn check(&self, route: &str) -> Result<(), Error> {
        self.of(route).lock().check(urgent::is_urgent())
    }

    /// Reads the rate limit from the headers of a response.
    pub(super) fn heed(&self, route: &str, headers: &HeaderMap) {
        let resource = text(headers, "x-ratelimit-resource");
        if !resource.is_none_or(|resource| ["core", "graphql"].contains(&resource)) {
            return;
        }
        let mut state = self.of(route).lock();
        state.left = state.left.after(headers);
        if state.left.is_kept()
            && let Some(left) = until_reset(headers)
        {
            state.kept_until = Some(Instant::now() + left);
        }
        if number(headers, "x-ratelimit-remaining") == Some(0)
            && let Some(left) = until_reset(headers)
        {
            state.until = Some(Instant::now() + left);
        }
    }

    fn of(&self, route: &str) -> &Resource {
        if route == GRAPHQL { &self.graphql } else { &self.rest }
    }
}

impl Resource {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn check(&mut self, is_urgent: bool) -> Result<(), Error> {
        let waits = [self.until, self.kept_until.filter(|_| !is_urgent)];
        let Some(until) = waits.into_iter().flatten().max() else {
            return Ok(());
        };
        let left = until.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            return Err(Error::RateLimited(Pause::of(left)));
        }
        (self.until, self.kept_until, self.left) = (None, None, Left::Unknown);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt as _;
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
        limit.check("/app").unwrap();
        limit.heed("/app", &headers(&USED_UP));
        let Err(Error::RateLimited(pause)) = limit.check("/repos/o/r") else {
            panic!("it is sent")
        };
        assert!(pause.length <= Duration::from_secs(901));
        limit.check(GRAPHQL).unwrap();
        let mut over = headers(&USED_UP);
        over.insert("retry-after", HeaderValue::from_static("0"));
        limit.heed("/app", &over);
        limit.check("/repos/o/r").unwrap();
    }

    #[test]
    fn other_limits_and_remaining_requests_delay_nothing() {
        let limit = RateLimit::default();
        for (name, value) in [("x-ratelimit-remaining", "1"), ("x-ratelimit-resource", "search")] {
            let mut all = headers(&USED_UP);
            all.insert(name, HeaderValue::from_static(value));
            limit.heed("/app", &all);
            limit.check("/app").unwrap();
        }
    }

    #[test]
    fn requests_side_by_side_do_not_overrun_the_limit() {
        let permit = |limit: &'static RateLimit| limit.permit("/app").now_or_never().map(Result::unwrap);
        let says = |remaining: &'static str, reset: &'static str| {
            headers(&[("x-ratelimit-remaining", remaining), ("x-ratelimit-reset", reset)])
        };
        let limit: &RateLimit = Box::leak(Box::default());
        // Until the first answer, the others wait.
        let first = permit(limit).unwrap();
        assert!(permit(limit).is_none());
        limit.heed("/app", &says("2", "50"));
        let second = permit(limit).unwrap();
        assert!(permit(limit).is_none());
        drop(first);
        // A late answer gives nothing back, but a new hour does.
        limit.heed("/app", &says("9", "50"));
        let third = permit(limit).unwrap();
        assert!(permit(limit).is_none());
        limit.heed("/app", &says("4999", "60"));
        limit.heed("/app", &says("1", "50"));
        let more: Vec<_> = (0..20).map(|_| permit(limit).unwrap()).collect();
        drop((second, third, more));
        assert_eq!(limit.rest.lock().under_way, 0);
    }

    #[tokio::test]
    async fn the_last_tenth_is_kept_for_what_is_urgent() {
        let limit = RateLimit::default();
        let left = |requests| {
            let mut left = headers(&USED_UP);
            left.insert("x-ratelimit-limit", HeaderValue::from_static("5000"));
            left.insert("x-ratelimit-remaining", HeaderValue::from_static(requests));
            left
        };
        limit.heed("/app", &left("502"));
        let two = [limit.permit("/app").await.unwrap(), limit.permit("/app").await.unwrap()];
        assert!(limit.permit("/app").now_or_never().is_none());
        let urgent = urgent::urgent(true, limit.permit("/app")).await.unwrap();
        drop((two, urgent));
        limit.heed("/app", &left("500"));
        assert!(matches!(limit.permit("/app").await, Err(Error::RateLimited(_))));
        assert!(limit.check("/app").is_err());
        let nested = urgent::urgent(true, urgent::urgent(false, limit.permit("/app")));
        assert!(nested.await.is_err());
        drop(urgent::urgent(true, limit.permit("/app")).await.unwrap());
        limit.heed("/app", &left("0"));
        assert!(urgent::urgent(true, limit.permit("/app")).await.is_err());
    }

    #[test]
    fn a_server_without_limits_delays_nothing() {
        let limit = RateLimit::default();
        drop(limit.permit("/app").now_or_never().unwrap().unwrap());
        limit.heed("/app", &HeaderMap::new());
        let all: Vec<_> = (0..20).map(|_| limit.permit("/app").now_or_never().unwrap()).collect();
        assert_eq!(all.len(), 20);
    }
}
