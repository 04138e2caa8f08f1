//! Reads from a response how long to wait until GitHub accepts requests again.

use std::time::Duration;

use http::HeaderMap;

/// GitHub counts by the hour, so a reset further in the future means that a clock is wrong.
const LONGEST: Duration = Duration::from_secs(2 * 60 * 60);

/// How long to wait according to a response: `retry-after`, or else the time of the reset. That time is compared with
/// the response's own date, because this machine's clock may be wrong.
pub(super) fn until_reset(headers: &HeaderMap) -> Option<Duration> {
    if let Some(seconds) = number(headers, "retry-after") {
        return Some(Duration::from_secs(seconds));
    }
    let reset = number(headers, "x-ratelimit-reset")?;
    let now = text(headers, "date")
        .and_then(|date| jiff::fmt::rfc2822::parse(date).ok())
        .map_or_else(jiff::Timestamp::now, |date| date.timestamp());
    // Both are whole seconds, so one is added to avoid being early.
    let left = reset.saturating_sub(u64::try_from(now.as_second()).unwrap_or(0)) + 1;
    Some(Duration::from_secs(left).min(LONGEST))
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
}
