//! Pauses that GitHub asks for with a secondary limit. They concern all requests of an installation, so nothing is sent
//! for it until the pause is over, by no process that has heard of it: "Continuing to make requests while you are rate
//! limited may result in the banning of your integration".
//! <https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api#handle-rate-limit-errors-appropriately>
//!
//! Not here: the primary limit, which every response reports (`limit.rs`).

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::GitHub;

/// A longer pause is a mistake.
const LONGEST: Duration = Duration::from_secs(2 * 60 * 60);

/// The pauses of installations, by their numbers.
#[derive(Debug, Default)]
pub struct Pauses(Mutex<HashMap<u64, Paused>>);

#[derive(Debug, Clone, Copy)]
struct Paused {
    until: Instant,
    /// Whether other processes have not been told yet.
    is_fresh: bool,
}

impl Pauses {
    /// GitHub asked this process for a pause.
    pub fn begin(&self, installation: u64, length: Duration) {
        self.extend(installation, length, true);
    }

    /// GitHub asked another process for a pause, which lasts this much longer.
    pub fn learn(&self, installation: u64, left: Duration) {
        self.extend(installation, left, false);
    }

    fn extend(&self, installation: u64, length: Duration, is_fresh: bool) {
        let now = Instant::now();
        let until = now + length.min(LONGEST);
        let mut all = self.lock();
        all.retain(|_, paused| paused.until > now);
        if until > now && all.get(&installation).is_none_or(|known| known.until < until) {
            all.insert(installation, Paused { until, is_fresh });
        }
    }

    /// How much longer nothing may be sent. `None` if there is no pause.
    pub fn left(&self, installation: u64) -> Option<Duration> {
        let until = self.lock().get(&installation)?.until;
        let left = until.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// The pauses that began here since the last call, and how long they last.
    pub fn take_fresh(&self) -> Vec<(u64, Duration)> {
        let now = Instant::now();
        let mut all = self.lock();
        let fresh = all.iter_mut().filter(|(_, paused)| paused.is_fresh);
        fresh
            .map(|(installation, paused)| {
                paused.is_fresh = false;
                (*installation, paused.until.saturating_duration_since(now))
            })
            .collect()
    }

    /// Other processes could not be told of a pause.
    pub fn retell(&self, installation: u64) {
        if let Some(paused) = self.lock().get_mut(&installation) {
            paused.is_fresh = true;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Paused>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GitHub {
    /// The pauses of its installations.
    pub fn pauses(&self) -> &Pauses {
        &self.pauses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_lasts_until_its_latest_end_and_is_told_once() {
        let pauses = Pauses::default();
        let minute = Duration::from_secs(60);
        pauses.begin(1, Duration::ZERO);
        assert_eq!((pauses.left(1), pauses.take_fresh()), (None, vec![]));
        pauses.begin(1, minute);
        pauses.begin(1, Duration::from_secs(1));
        assert!(pauses.left(1).unwrap() > minute / 2);
        assert_eq!(pauses.left(2), None);
        let fresh = pauses.take_fresh();
        assert!(matches!(fresh.as_slice(), [(1, left)] if *left <= minute));
        // What another process says is not told again.
        pauses.learn(1, minute / 2);
        pauses.learn(2, minute);
        assert!(pauses.left(1).unwrap() > minute / 2);
        assert!(pauses.left(2).is_some());
        assert_eq!(pauses.take_fresh(), []);
        pauses.learn(3, Duration::MAX);
        assert!(pauses.left(3).unwrap() <= LONGEST);
    }
}
