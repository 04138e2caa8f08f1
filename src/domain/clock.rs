//! Times as they are counted: how often something of others was waited for, and for how long: what of a run's time is not
//! greenlight's own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counts times and adds up durations. Clones count together.
#[derive(Debug, Clone, Default)]
pub struct Clock(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    times: AtomicU64,
    micros: AtomicU64,
}

impl Clock {
    /// Counts once more, and this much longer.
    pub fn add(&self, wall: Duration) {
        self.0.times.fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(wall.as_micros()).unwrap_or(u64::MAX);
        self.0.micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// How often.
    pub fn times(&self) -> u64 {
        self.0.times.load(Ordering::Relaxed)
    }

    /// How long altogether.
    pub fn wall(&self) -> Duration {
        Duration::from_micros(self.0.micros.load(Ordering::Relaxed))
    }
}

/// A time in whole milliseconds, as records have it.
pub fn millis(wall: Duration) -> u64 {
    u64::try_from(wall.as_millis()).unwrap_or(u64::MAX)
}
