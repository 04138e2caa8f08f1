//! The progress of a search, in a line now and then.

use std::time::{Duration, Instant};

use crate::domain::clock::in_words;

/// The minimum time between two lines, and the time after which a continuing search prints one in any case.
const LEAST: Duration = Duration::from_secs(2);
const MOST: Duration = Duration::from_secs(20);

/// The state of the progress lines.
#[derive(Debug, Default)]
pub(super) struct SoFar {
    began: Option<Instant>,
    last: Option<Instant>,
    /// A line is due at this many edits.
    next: u32,
}

impl SoFar {
    /// The line to print now, if one is due: after twice as many edits as the last one, or after a while. The
    /// remaining time is an estimate within the limit.
    pub(super) fn line(&mut self, (tried, about): (u32, u32), limit: Duration, now: Instant) -> Option<String> {
        let began = *self.began.get_or_insert(now);
        let since = now.saturating_duration_since(self.last.unwrap_or(began));
        if since < LEAST || (tried < self.next && since < MOST) {
            return None;
        }
        self.last = Some(now);
        self.next = tried.saturating_mul(2);
        let about = about.max(tried);
        let so_far = now.saturating_duration_since(began);
        let left = so_far
            .checked_mul(about - tried)
            .map_or(Duration::MAX, |all| all / tried.max(1));
        let left = left.min(limit.saturating_sub(so_far));
        let left = in_words(Duration::from_secs(left.as_secs().max(1)));
        Some(format!("{tried} of about {about} edits tried, at most {left} left"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(180);

    #[test]
    fn lines_are_rare_and_show_the_remaining_time() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let mut so_far = SoFar::default();
        assert_eq!(so_far.line((1, 1_000), LIMIT, at(0)), None);
        assert_eq!(so_far.line((90, 1_000), LIMIT, at(1)), None);
        assert_eq!(
            so_far.line((100, 1_000), LIMIT, at(10)).as_deref(),
            Some("100 of about 1000 edits tried, at most 1 min 30 s left")
        );
        assert_eq!(so_far.line((300, 1_000), LIMIT, at(11)), None, "too soon");
        assert_eq!(so_far.line((150, 1_000), LIMIT, at(20)), None, "too little");
        assert!(so_far.line((200, 1_000), LIMIT, at(20)).is_some());
        assert!(so_far.line((201, 1_000), LIMIT, at(41)).is_some(), "after a while");
        assert!(
            so_far.line((u32::MAX, 5), LIMIT, at(90)).is_some(),
            "no matter what the estimate was"
        );
        let mut slow = SoFar::default();
        assert_eq!(slow.line((1, 20_000), LIMIT, at(0)), None);
        assert_eq!(
            slow.line((7, 20_000), LIMIT, at(20)).as_deref(),
            Some("7 of about 20000 edits tried, at most 2 min 40 s left")
        );
    }
}
