//! The clock that all processes of a journal share, because the clocks of machines differ: an answer that one machine
//! received is compared with a request that another one opened.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::Journal;

/// A reading that took longer than this is not used if there is an earlier one: nobody knows when it was taken.
const MAX_ROUND_TRIP: Duration = Duration::from_secs(1);

/// The last reading of the database's clock, and when it was taken.
#[derive(Clone, Default)]
pub(super) struct SharedClock(Arc<Mutex<Option<(Timestamp, Instant)>>>);

impl SharedClock {
    /// This machine's time before the first reading.
    pub(super) fn now(&self) -> Timestamp {
        match *self.lock() {
            Some((read, at)) => read.checked_add(at.elapsed()).unwrap_or(Timestamp::MAX),
            None => Timestamp::now(),
        }
    }

    /// Notes a reading that was asked for at a moment and has just arrived.
    pub(super) fn note(&self, read: Timestamp, asked: Instant) {
        let round_trip = asked.elapsed();
        let mut noted = self.lock();
        if noted.is_none() || round_trip <= MAX_ROUND_TRIP {
            *noted = Some((read, asked + round_trip / 2));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<(Timestamp, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal {
    /// The time by the clock that all processes of this journal share: PostgreSQL's, or else this machine's.
    pub fn now(&self) -> Timestamp {
        match self {
            Self::Database(database) => database.now(),
            Self::Refs(_) => Timestamp::now(),
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    #[test]
    fn a_slow_reading_does_not_replace_an_earlier_one() {
        let clock = SharedClock::default();
        let (early, late) = ("2026-03-01T10:00:00Z", "2026-03-01T12:00:00Z");
        let read = |at: &str| at.parse::<Timestamp>().unwrap();
        let (now, long_ago) = (
            Instant::now(),
            Instant::now().checked_sub(Duration::from_secs(3)).unwrap(),
        );
        let is_near = |at: &str, ahead| {
            (clock.now() - SignedDuration::from_secs(ahead))
                .duration_since(read(at))
                .abs()
                < SignedDuration::from_secs(1)
        };
        clock.note(read(early), long_ago);
        assert!(
            is_near(early, 1) || is_near(early, 2),
            "half of the way back: {}",
            clock.now()
        );
        clock.note(read(late), long_ago);
        assert!(clock.now() < read(late), "{}", clock.now());
        clock.note(read(late), now);
        assert!(clock.now() >= read(late), "{}", clock.now());
    }
}
