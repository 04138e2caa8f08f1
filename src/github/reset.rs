//! Reads times from a response: how long to wait until GitHub accepts requests again, and GitHub's own clock.

use std::time::Duration;

use http::HeaderMap;
use jiff::Timestamp;

/// GitHub counts by the hour, so a reset further in the future means that a clock is wrong.
const LONGEST: Duration = Duration::from_secs(2 * 60 * 60);
/// How much two clocks may differ.
const TOLERATED: Duration = Duration::from_secs(60);

/// How long to wait according to a response: `retry-after`, or else the time of the reset. That time is compared with
/// the response's own date, because this machine's clock may be wrong.
pub(super) fn until_reset(headers: &HeaderMap) -> Option<Duration> {
    if let Some(seconds) = number(headers, "retry-after") {
        return Some(Duration::from_secs(seconds));
    }
    let reset = number(headers, "x-ratelimit-reset")?;
    let now = date(headers).unwrap_or_else(Timestamp::now);
    // Both are whole seconds, so one is added to avoid being early.
    let left = reset.saturating_sub(u64::try_from(now.as_second()).unwrap_or(0)) + 1;
    Some(Duration::from_secs(left).min(LONGEST))
}

/// When GitHub sent the response, by its own clock.
fn date(headers: &HeaderMap) -> Option<Timestamp> {
    let date = jiff::fmt::rfc2822::parse(text(headers, "date")?).ok()?;
    Some(date.timestamp())
}

/// Says that this machine's clock differs from GitHub's, if it does by more than GitHub tolerates: it refuses what an
/// App signed more than a minute in the future, and what lasts more than ten minutes.
/// <https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-json-web-token-jwt-for-a-github-app>
pub(super) fn wrong_clock(headers: &HeaderMap, now: Timestamp) -> Option<String> {
    let off = now.duration_since(date(headers)?);
    let direction = match off.is_negative() {
        true => "behind",
        false => "ahead of",
    };
    let off = off.unsigned_abs();
    (off > TOLERATED).then(|| {
        let minutes = off.as_secs().div_ceil(60);
        format!("this machine's clock is {minutes} minutes {direction} GitHub's: set it, and try again")
    })
}

pub(super) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

pub(super) fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
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

    /// GitHub's headers for the reset, in a response with a date.
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
    fn a_wrong_clock_is_said() {
        let headers = headers(&USED_UP[..1]);
        let at = |time: &str| wrong_clock(&headers, time.parse().unwrap());
        assert_eq!(at("2026-01-05T09:01:00Z"), None);
        assert_eq!(at("2026-01-05T08:59:00Z"), None);
        let said = |text: &str| {
            Some(format!(
                "this machine's clock is {text} GitHub's: set it, and try again"
            ))
        };
        assert_eq!(at("2026-01-05T10:00:00Z"), said("60 minutes ahead of"));
        assert_eq!(at("2026-01-05T08:57:30Z"), said("3 minutes behind"));
        assert_eq!(wrong_clock(&HeaderMap::new(), Timestamp::now()), None);
    }
}
