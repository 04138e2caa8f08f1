//! Rate limits and conditional requests, which GitHub adds to every response.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use jiff::{Timestamp, ToSpan as _};
use sha2::{Digest, Sha256};

use super::answer::{ResponseBody, RestAnswer};

/// The documented number of content-creating requests a minute.
/// <https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api>
const CONTENT_A_MINUTE: usize = 80;
/// The documented number of requests an hour for an installation.
const REQUESTS_AN_HOUR: u32 = 5000;

/// A prefix of the caller for GraphQL requests, which have a separate limit.
pub(super) const GRAPHQL: &str = "graphql of ";

/// How much of the limits is used.
#[derive(Debug)]
pub(super) struct RateLimits {
    pub(super) secondary: bool,
    created: VecDeque<Instant>,
    /// By holder: all tokens of an installation count together.
    used: HashMap<String, u32>,
    allowance: u32,
    /// When the rate limit resets.
    reset: Timestamp,
    /// How far this clock is ahead of all others, in seconds.
    ahead: i64,
}

impl Default for RateLimits {
    fn default() -> Self {
        Self {
            secondary: true,
            created: VecDeque::new(),
            used: HashMap::new(),
            allowance: REQUESTS_AN_HOUR,
            reset: later(3600),
            ahead: 0,
        }
    }
}

fn later(seconds: i64) -> Timestamp {
    let now = Timestamp::now();
    now.checked_add(seconds.seconds()).unwrap_or(now)
}

impl RateLimits {
    /// Leaves this many requests until the rate limit resets, in this many seconds.
    pub(super) fn leave(&mut self, requests: u32, seconds: i64) {
        self.used.clear();
        self.allowance = requests;
        self.reset = later(seconds);
    }

    /// Sets the clock of this GitHub.
    pub(super) fn set_ahead(&mut self, seconds: i64) {
        self.ahead = seconds;
    }

    /// Counts one request. Fails if the limit is used up.
    pub(super) fn count(&mut self, holder: &str) -> Result<(), RestAnswer> {
        if Timestamp::now() >= self.reset {
            self.leave(REQUESTS_AN_HOUR, 3600);
        }
        let used = self.used.entry(holder.into()).or_default();
        if *used < self.allowance {
            *used += 1;
            return Ok(());
        }
        Err(RestAnswer::error(
            403,
            "API rate limit exceeded for installation ID 77.",
        ))
    }

    /// Takes back a request that does not count because its response was 304.
    /// <https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api#use-conditional-requests-if-appropriate>
    pub(super) fn forgive(&mut self, holder: &str) {
        if let Some(used) = self.used.get_mut(holder) {
            *used = used.saturating_sub(1);
        }
    }

    /// Counts one content-creating request. Fails if there were too many in the last minute.
    pub(super) fn create(&mut self) -> Result<(), RestAnswer> {
        let now = Instant::now();
        while self
            .created
            .front()
            .is_some_and(|then| now.duration_since(*then) >= Duration::from_secs(60))
        {
            self.created.pop_front();
        }
        if self.secondary && self.created.len() >= CONTENT_A_MINUTE {
            return Err(secondary_limit(60));
        }
        self.created.push_back(now);
        Ok(())
    }

    /// Adds the headers with the remaining requests, and the date.
    pub(super) fn headers(&self, holder: &str, answer: RestAnswer) -> RestAnswer {
        let used = self.used.get(holder).copied().unwrap_or_default();
        let resource = if holder.starts_with(GRAPHQL) { "graphql" } else { "core" };
        let date = jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&later(self.ahead));
        answer
            .header("x-ratelimit-limit", REQUESTS_AN_HOUR.to_string())
            .header("x-ratelimit-remaining", self.allowance.saturating_sub(used).to_string())
            .header("x-ratelimit-used", used.to_string())
            .header("x-ratelimit-reset", (self.reset.as_second() + self.ahead).to_string())
            .header("x-ratelimit-resource", resource)
            .header("date", date.unwrap_or_default())
    }
}

/// The response to a client that writes too fast.
pub(super) fn secondary_limit(retry_after: u64) -> RestAnswer {
    let message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
    RestAnswer::error(403, message).header("retry-after", retry_after.to_string())
}

/// Adds an `ETag` to a successful response, or answers 304 if the client already has it.
pub(super) fn conditional(answer: RestAnswer, if_none_match: Option<&str>) -> RestAnswer {
    let bytes = match &answer.body {
        ResponseBody::Json(value) if answer.status == 200 => value.to_string().into_bytes(),
        ResponseBody::Bytes(_, bytes) if answer.status == 200 => bytes.clone(),
        _ => return answer,
    };
    let tag = format!("\"{}\"", hex::encode(Sha256::digest(&bytes)));
    let known = if_none_match.is_some_and(|tags| tags.split(',').any(|one| one.trim().trim_start_matches("W/") == tag));
    if known {
        RestAnswer::empty(304).header("etag", tag)
    } else {
        answer.header("etag", format!("W/{tag}"))
    }
}
