//! How often tests ran, and for how long: runs at the same time count once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How many intervals are kept to recognise what overlaps them. Earlier ones are only added up.
const MAX_INTERVALS: usize = 64;

/// What tests are run for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// To compile beforehand what many runs need.
    Preparation,
    /// To see which tests fail.
    #[default]
    Reproduction,
    /// To find out why they fail, on both trees.
    Triage,
    /// To try an edit.
    Search,
    /// Because a model asked for it.
    Model,
    /// To prove a patch.
    Proof,
    /// To rule out that it passed by luck.
    Confirmation,
    /// To leave out unnecessary parts of it.
    Minimization,
}

impl Purpose {
    /// Its name in documents for scripts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Preparation => "preparation",
            Self::Reproduction => "reproduction",
            Self::Triage => "triage",
            Self::Search => "search",
            Self::Model => "model",
            Self::Proof => "proof",
            Self::Confirmation => "confirmation",
            Self::Minimization => "minimization",
        }
    }
}

/// Counts test runs, and adds up the time during which at least one of them happened. Clones share the same counts.
#[derive(Debug, Clone, Default)]
pub struct RunClock(Arc<Mutex<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    times: BTreeMap<Purpose, u64>,
    /// Without the intervals below.
    wall: Duration,
    /// Disjoint, in their order.
    intervals: Vec<(Instant, Instant)>,
    /// How long the last run for each purpose took.
    last: BTreeMap<Purpose, Duration>,
    /// What the newest run is for, and how many are under way.
    newest: Option<(UnderWay, usize)>,
}

/// Test runs that are under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnderWay {
    /// What they are for.
    pub purpose: Purpose,
    /// When the first of those began that directly followed each other.
    pub since: Instant,
    /// How many of those have ended.
    pub ended: u32,
    /// How long the last run for this purpose took, or one of the whole suite where this runs no more than that.
    pub last: Option<Duration>,
}

/// A test run, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Begun(RunClock);

impl Drop for Begun {
    fn drop(&mut self) {
        if let Some((_, running)) = &mut self.0.counts().newest {
            *running = running.saturating_sub(1);
        }
    }
}

impl RunClock {
    /// Notes that a run begins.
    pub(crate) fn begins(&self, purpose: Purpose) -> Begun {
        let mut counts = self.counts();
        let no_more = matches!(purpose, Purpose::Triage | Purpose::Proof | Purpose::Confirmation);
        let whole = no_more.then_some(&Purpose::Reproduction);
        let last = [Some(&purpose), whole]
            .into_iter()
            .flatten()
            .find_map(|known| counts.last.get(known).copied());
        let (newest, running) = counts
            .newest
            .filter(|(newest, _)| newest.purpose == purpose)
            .unwrap_or((
                UnderWay {
                    purpose,
                    since: Instant::now(),
                    ended: 0,
                    last,
                },
                0,
            ));
        counts.newest = Some((UnderWay { last, ..newest }, running + 1));
        drop(counts);
        Begun(self.clone())
    }

    /// The runs that are under way, if there are any.
    pub fn under_way(&self) -> Option<UnderWay> {
        let (newest, running) = self.counts().newest?;
        (running > 0).then_some(newest)
    }

    /// Counts one more run that took this long and has just ended.
    pub fn add(&self, purpose: Purpose, wall: Duration) {
        let mut counts = self.counts();
        *counts.times.entry(purpose).or_default() += 1;
        counts.last.insert(purpose, wall);
        if let Some((newest, _)) = counts.newest.as_mut().filter(|(newest, _)| newest.purpose == purpose) {
            newest.ended = newest.ended.saturating_add(1);
            newest.last = Some(wall);
        }
        drop(counts);
        self.add_until(Instant::now(), wall);
    }

    /// Adds time that had to pass before tests could run, and has just ended.
    pub(crate) fn add_preparation(&self, wall: Duration) {
        self.add_until(Instant::now(), wall);
    }

    fn add_until(&self, ended: Instant, wall: Duration) {
        let mut counts = self.counts();
        let mut began = ended.checked_sub(wall).unwrap_or(ended);
        while let Some((earlier, _)) = counts.intervals.pop_if(|(_, end)| *end >= began) {
            began = began.min(earlier);
        }
        counts.intervals.push((began, ended));
        if counts.intervals.len() > MAX_INTERVALS {
            let (began, ended) = counts.intervals.remove(0);
            counts.wall += ended.saturating_duration_since(began);
        }
    }

    /// The number of runs.
    pub fn times(&self) -> u64 {
        self.counts().times.values().sum()
    }

    /// The number of runs for each purpose.
    pub fn by_purpose(&self) -> BTreeMap<Purpose, u64> {
        self.counts().times.clone()
    }

    /// For how long at least one of them, or what they need, was under way.
    pub fn wall(&self) -> Duration {
        let counts = self.counts();
        let intervals = counts.intervals.iter();
        counts.wall
            + intervals
                .map(|(began, ended)| ended.saturating_duration_since(*began))
                .sum::<Duration>()
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_at_the_same_time_counts_once() {
        let seconds = Duration::from_secs;
        let start = Instant::now();
        let total = |events: &[(u64, u64)]| {
            let clock = RunClock::default();
            for (began, ended) in events {
                clock.add_until(start + seconds(*ended), seconds(ended - began));
            }
            clock.wall()
        };
        assert_eq!(total(&[]), seconds(0));
        assert_eq!(total(&[(1, 2), (3, 5)]), seconds(3));
        assert_eq!(total(&[(0, 2), (1, 3)]), seconds(3));
        // One that lasted longer than all others, with gaps between them.
        assert_eq!(total(&[(1, 2), (4, 5), (0, 6), (8, 9)]), seconds(7));
        let many: Vec<(u64, u64)> = (0..200).map(|turn| (3 * turn, 3 * turn + 1)).collect();
        assert_eq!(total(&many), seconds(200));
    }

    #[test]
    fn runs_are_counted_by_purpose() {
        let clock = RunClock::default();
        for purpose in [Purpose::Triage, Purpose::Proof, Purpose::Triage] {
            clock.clone().add(purpose, Duration::from_secs(1));
        }
        assert_eq!(clock.times(), 3);
        assert_eq!(
            clock.by_purpose(),
            BTreeMap::from([(Purpose::Triage, 2), (Purpose::Proof, 1)])
        );
    }
    #[test]
    fn what_is_under_way_says_how_long_it_took_last_time() {
        let clock = RunClock::default();
        let under_way = || {
            let newest = clock.under_way();
            newest.map(|newest| (newest.purpose, newest.ended, newest.last.map(|last| last.as_secs())))
        };
        assert_eq!(under_way(), None);
        let first = clock.begins(Purpose::Reproduction);
        assert_eq!(under_way(), Some((Purpose::Reproduction, 0, None)));
        clock.add(Purpose::Reproduction, Duration::from_secs(9));
        drop(first);
        assert_eq!(under_way(), None, "while nothing runs");
        let two = [Purpose::Triage; 2].map(|purpose| clock.begins(purpose));
        assert_eq!(under_way(), Some((Purpose::Triage, 0, Some(9))), "at most");
        clock.add(Purpose::Triage, Duration::from_secs(2));
        assert_eq!(under_way(), Some((Purpose::Triage, 1, Some(2))));
        drop(two);
        let _again = clock.begins(Purpose::Triage);
        assert_eq!(under_way(), Some((Purpose::Triage, 1, Some(2))));
        // The whole suite runs, as at first.
        let _proof = clock.begins(Purpose::Proof);
        assert_eq!(under_way(), Some((Purpose::Proof, 0, Some(9))));
    }
}
