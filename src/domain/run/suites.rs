//! The suites of a repository with several: which ones a run tries, and the results of those that it set aside.

use super::super::test_run::{Outcome, TestRun};
use super::super::triage::{Triage, Verdict};

/// The suites of a run's tree. Commands are as people type them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suites {
    /// Those that the change may have broken, in the order in which they run.
    pub wanted: Vec<String>,
    /// Those that do not depend on what changed; they do not run.
    pub unaffected: Vec<String>,
    /// The results of those without a failure to work on.
    pub set_aside: Vec<(TestRun, Triage)>,
}

impl Suites {
    /// Whether this suite ran already and has no failure to work on.
    pub fn is_set_aside(&self, command: &str) -> bool {
        self.set_aside.iter().any(|(run, _)| run.command == command)
    }

    pub(super) fn new(wanted: Vec<String>, unaffected: Vec<String>) -> Self {
        Self {
            wanted,
            unaffected,
            set_aside: Vec::new(),
        }
    }

    pub(super) fn set_aside(&mut self, seen: (TestRun, Triage)) {
        self.set_aside.push(seen);
    }

    /// Takes in the last suite's result, and returns the result that speaks for all of them: a failure to work on,
    /// else the first that is not green.
    pub(super) fn telling(suites: Option<&mut Self>, last: (TestRun, Triage)) -> (TestRun, Triage) {
        let Some(suites) = suites.filter(|_| !last.1.has_regression()) else {
            return last;
        };
        // A suite without any tests says nothing, as long as another one has some.
        let rank = |(run, triage): &(TestRun, Triage)| match triage.verdict {
            Verdict::Green => 1,
            _ if run.outcome == Outcome::NothingRan => 2,
            _ => 0,
        };
        let first = suites.set_aside.iter().enumerate().min_by_key(|(_, seen)| rank(seen));
        match first.filter(|(_, seen)| rank(seen) <= rank(&last)) {
            Some((at, _)) => std::mem::replace(&mut suites.set_aside[at], last),
            None => last,
        }
    }

    /// The wanted suites that have not run, given the one whose result speaks for all.
    pub fn not_reached(&self, telling: &TestRun) -> impl Iterator<Item = &str> {
        let is_reached = |command: &str| telling.command == command || self.is_set_aside(command);
        let wanted = self.wanted.iter().map(String::as_str);
        wanted.filter(move |command| !is_reached(command))
    }

    /// One sentence for each suite besides the one that speaks for all, and one for each that did not run.
    pub fn others(&self, telling: &TestRun) -> Vec<String> {
        let ran = self.set_aside.iter().map(|(run, triage)| triage.why_not(run));
        let ran = ran.map(|why| format!("{}.", why.trim_end_matches('.')));
        let not_reached = self
            .not_reached(telling)
            .map(|command| format!("`{command}` was not run."));
        let unaffected = self
            .unaffected
            .iter()
            .map(|command| format!("`{command}` was not run, because nothing that it depends on changed."));
        ran.chain(not_reached).chain(unaffected).collect()
    }
}
