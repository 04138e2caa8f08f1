//! What runs are doing right now in this process, for those who watch. The journal has what is done. Nothing relies on
//! this: in another process, nothing is known of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::domain::id::RunId;
use crate::suite::{Purpose, RunClock};

/// Work that takes a while, and is part of a step.
#[derive(Debug, Default)]
pub enum Activity {
    /// No more is known than what the run's next step is.
    #[default]
    Step,
    /// The code is fetched and laid out.
    Fetching,
    /// The dependencies are installed.
    Installing,
    /// Tests run from time to time, counted by this clock.
    Testing(RunClock),
}

/// What is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnderWayNow {
    /// As the kind of a step in the timeline.
    pub kind: &'static str,
    /// In words, such as `running the failing tests again`.
    pub what: &'static str,
    pub elapsed: Duration,
    /// How many test runs for the same purpose have ended.
    pub runs: u32,
    /// How much longer it takes if it takes as long as last time.
    pub left: Option<Duration>,
}

/// What one run is doing. Clones share it.
#[derive(Debug, Clone)]
pub struct CurrentActivity(Arc<Mutex<(Activity, Instant)>>);

impl Default for CurrentActivity {
    fn default() -> Self {
        Self(Arc::new(Mutex::new((Activity::default(), Instant::now()))))
    }
}

impl CurrentActivity {
    /// Replaces what it was doing.
    pub fn begins(&self, activity: Activity) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (activity, Instant::now());
    }

    /// `None` if no more is known than what the run's next step is.
    pub fn now(&self) -> Option<UnderWayNow> {
        let current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (activity, since) = &*current;
        let simple = |kind, what| UnderWayNow {
            kind,
            what,
            elapsed: since.elapsed(),
            runs: 0,
            left: None,
        };
        match activity {
            Activity::Step => None,
            Activity::Fetching => Some(simple("clone", "fetching the code")),
            Activity::Installing => Some(simple("install", "installing the dependencies")),
            Activity::Testing(clock) => clock.under_way().map(|tests| {
                let elapsed = tests.since.elapsed();
                let last = tests.last.filter(|_| tests.ended == 0);
                UnderWayNow {
                    kind: kind(tests.purpose),
                    what: purpose_in_words(tests.purpose),
                    elapsed,
                    runs: tests.ended,
                    left: last.and_then(|last| last.checked_sub(elapsed)),
                }
            }),
        }
    }
}

/// The kind of a step in whose work tests run for this purpose.
fn kind(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Preparation => "install",
        Purpose::Reproduction => "tests",
        Purpose::Triage => "triage",
        Purpose::Search | Purpose::Minimization => "search",
        Purpose::Model => "model",
        Purpose::Proof | Purpose::Confirmation => "proof",
    }
}

/// What tests are run for, as a person reads it.
pub fn purpose_in_words(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Preparation => "compiling the dependencies",
        Purpose::Reproduction => "running the tests",
        Purpose::Triage => "running the failing tests again",
        Purpose::Search => "trying edits",
        Purpose::Model => "running tests for the model",
        Purpose::Proof => "running all tests with the change",
        Purpose::Confirmation => "running the failing tests with the change",
        Purpose::Minimization => "leaving out what the change does not need",
    }
}

/// What every run of this process is doing.
#[derive(Debug, Clone, Default)]
pub struct Activities(Arc<Mutex<HashMap<RunId, CurrentActivity>>>);

/// A run that this process works on, until it is dropped.
#[derive(Debug)]
pub(super) struct Entered {
    of: Activities,
    run: RunId,
    pub(super) current: CurrentActivity,
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.of.all().remove(&self.run);
    }
}

impl Activities {
    /// Notes that this process works on a run.
    pub(super) fn enter(&self, run: &RunId) -> Entered {
        let current = CurrentActivity::default();
        self.all().insert(run.clone(), current.clone());
        Entered {
            of: self.clone(),
            run: run.clone(),
            current,
        }
    }

    /// `None` if no more is known than what the run's next step is.
    pub fn now(&self, run: &RunId) -> Option<UnderWayNow> {
        let current = self.all().get(run).cloned();
        current.and_then(|current| current.now())
    }

    /// What is under way in any run.
    pub fn any(&self) -> Option<UnderWayNow> {
        let all: Vec<CurrentActivity> = self.all().values().cloned().collect();
        all.iter().find_map(CurrentActivity::now)
    }

    fn all(&self) -> std::sync::MutexGuard<'_, HashMap<RunId, CurrentActivity>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_activity_is_known_while_its_run_is_worked_on() {
        let activities = Activities::default();
        let id = RunId("r1".into());
        let what = || activities.now(&id).map(|now| (now.kind, now.what));
        assert_eq!(what(), None);
        let entered = activities.enter(&id);
        assert_eq!(what(), None, "nothing is known besides the step");
        entered.current.begins(Activity::Fetching);
        assert_eq!(what(), Some(("clone", "fetching the code")));
        entered.current.begins(Activity::Installing);
        assert_eq!(what(), Some(("install", "installing the dependencies")));
        entered.current.begins(Activity::Testing(RunClock::default()));
        assert_eq!(what(), None, "no test is under way");
        entered.current.begins(Activity::Installing);
        assert_eq!(activities.any().map(|now| now.kind), Some("install"));
        drop(entered);
        assert_eq!((what(), activities.any()), (None, None));
    }
}
