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
        self.at(Instant::now()).unwrap_or_else(Timestamp::now)
    }

    fn at(&self, moment: Instant) -> Option<Timestamp> {
        let (read, at) = (*self.lock())?;
        let passed = moment.saturating_duration_since(at);
        Some(read.checked_add(passed).unwrap_or(Timestamp::MAX))
    }

    /// Notes a reading, and when it was asked for and arrived.
    pub(super) fn note(&self, read: Timestamp, asked: Instant, arrived: Instant) {
        let round_trip = arrived.saturating_duration_since(asked);
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
    use super::*;

    #[test]
    fn the_time_of_a_reading_is_half_way_and_a_slow_one_replaces_none() {
        let clock = SharedClock::default();
        let time = |text: &str| text.parse::<Timestamp>().unwrap();
        let start = Instant::now();
        let second = |nth| start + Duration::from_secs(nth);
        assert_eq!(clock.at(start), None);
        clock.note(time("2026-03-01T10:00:02Z"), start, second(4));
        assert_eq!(clock.at(second(5)), Some(time("2026-03-01T10:00:05Z")));
        clock.note(time("2026-03-01T12:00:00Z"), second(6), second(8));
        assert_eq!(clock.at(second(9)), Some(time("2026-03-01T10:00:09Z")));
        clock.note(time("2026-03-01T12:00:00Z"), second(10), second(10));
        assert_eq!(clock.at(second(11)), Some(time("2026-03-01T12:00:01Z")));
    }
}
