//! Durations: counting how often and how long somebody else was waited for, and writing a duration down.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counts events and adds up their durations. Clones share the same counts.
#[derive(Debug, Clone, Default)]
pub struct Clock(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    times: AtomicU64,
    micros: AtomicU64,
}

impl Clock {
    /// Counts one more event that took this long.
    pub fn add(&self, wall: Duration) {
        self.0.times.fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(wall.as_micros()).unwrap_or(u64::MAX);
        self.0.micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// The number of events.
    pub fn times(&self) -> u64 {
        self.0.times.load(Ordering::Relaxed)
    }

    /// Their total duration.
    pub fn wall(&self) -> Duration {
        Duration::from_micros(self.0.micros.load(Ordering::Relaxed))
    }
}

/// A duration in whole milliseconds, as records store it.
pub fn millis(wall: Duration) -> u64 {
    u64::try_from(wall.as_millis()).unwrap_or(u64::MAX)
}

/// A duration for people, in the same form everywhere: `0.4 s`, `9 s`, `2 min 5 s`, `1 h 20 min`, `2 days`.
pub fn in_words(wall: Duration) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    let tenths = millis(wall).saturating_add(50) / 100;
    let seconds = tenths / 10;
    let of_two = |first: String, second: u64, unit: &str| match second {
        0 => first,
        _ => format!("{first} {second} {unit}"),
    };
    match seconds {
        0 if tenths == 0 && !wall.is_zero() => "less than 0.1 s".into(),
        0..MINUTE if tenths.is_multiple_of(10) => format!("{seconds} s"),
        0..MINUTE => format!("{seconds}.{} s", tenths % 10),
        MINUTE..HOUR => of_two(format!("{} min", seconds / MINUTE), seconds % MINUTE, "s"),
        HOUR..DAY => of_two(format!("{} h", seconds / HOUR), seconds % HOUR / MINUTE, "min"),
        _ => {
            let days = seconds / DAY;
            let unit = if days == 1 { "day" } else { "days" };
            of_two(format!("{days} {unit}"), seconds % DAY / HOUR, "h")
        }
    }
}

/// [`in_words`] for milliseconds, as records store them.
pub fn millis_in_words(millis: u64) -> String {
    in_words(Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_as_people_read_it() {
        for (millis, words) in [
            (0, "0 s"),
            (3, "less than 0.1 s"),
            (420, "0.4 s"),
            (9_000, "9 s"),
            (25_271, "25.3 s"),
            (59_960, "1 min"),
            (125_400, "2 min 5 s"),
            (3_600_000, "1 h"),
            (4_810_000, "1 h 20 min"),
            (86_400_000, "1 day"),
            (183_600_000, "2 days 3 h"),
        ] {
            assert_eq!(millis_in_words(millis), words);
        }
        assert!(in_words(Duration::MAX).ends_with('h'));
    }
}
