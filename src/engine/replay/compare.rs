//! Compares recorded results with new ones.

use std::sync::LazyLock;

use regex::Regex;

use super::super::Broken;
use super::{Difference, Replayed};
use crate::agent::{self, ModelError};
use crate::domain::redact::bounded;
use crate::domain::run::{End, Step};
use crate::domain::test_run::TestRun;

/// How much of each side of a difference is kept, in bytes.
const MAX_SHOWN: usize = 2 << 10;

impl Replayed {
    pub(super) fn compare(&mut self, at: &str, recorded: &str, now: &str) {
        if recorded != now && normalized(recorded) != normalized(now) {
            self.differences.push(Difference {
                at: at.into(),
                recorded: bounded(recorded, MAX_SHOWN),
                now: bounded(now, MAX_SHOWN),
            });
        }
    }
}

/// A text without what differs from run to run: durations, addresses, and the names of temporary folders.
fn normalized(text: &str) -> String {
    static CHANGING: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"\b\d+(\.\d+)? ?(ns|µs|us|ms|s|m|seconds?|secs?)\b|0x[0-9a-fA-F]+|/tmp/[\w./-]+|\b(ws|tree|fix)-\w+",
        )
        .ok()
    });
    match &*CHANGING {
        Some(changing) => changing.replace_all(text, "#").into_owned(),
        None => text.into(),
    }
}

/// Describes an error as an outcome. The model here is a recording, so its only error is that it ended.
pub(super) fn broken_told(broken: &Broken) -> String {
    match broken {
        Broken::Agent(agent::Error::Model(ModelError::Nonsense { .. })) => {
            "no end: the model is asked more often than was recorded".into()
        }
        broken => format!("broken: {broken}"),
    }
}

pub(super) fn describe_run(run: &TestRun) -> String {
    let mut failing: Vec<&str> = run.failing_names().collect();
    failing.sort_unstable();
    match failing.join(", ").as_str() {
        "" => run.summary(),
        names => format!("{}: {names}", run.summary()),
    }
}

/// Describes the outcome of an attempt by what identifies it.
pub(super) fn step_told(step: &Step) -> String {
    match step {
        Step::Proposed(proposal) => {
            let proof = proposal
                .evidence
                .as_ref()
                .map_or("nothing was executed".into(), |it| it.after.summary());
            format!("proposed {}: {proof}", proposal.patch.digest())
        }
        Step::TestsWritten(tests) => format!("tests {}: {}", tests.patch.digest(), tests.names.join(", ")),
        Step::Ended(End::Explained(explanation)) => serde_json::to_string(explanation).unwrap_or_default(),
        Step::Ended(End::GaveUp { reason }) => format!("gave up: {reason}"),
        Step::Ended(End::NotFound { reason, .. }) => format!("not found: {reason}"),
        Step::Ended(End::LimitReached { reason, .. }) => format!("limit: {reason}"),
        Step::Ended(End::Refused { reason }) => format!("refused: {reason}"),
        Step::Ended(End::NothingToFix { reason }) => format!("nothing to do: {reason}"),
        Step::Ended(End::NotJudged { reason }) => format!("not judged: {reason}"),
        Step::Deferred(deferred) => serde_json::to_string(deferred).unwrap_or_default(),
        Step::NeedsExecution => "acts only by code".into(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_addresses_are_no_difference() {
        let mut replayed = Replayed::default();
        replayed.compare(
            "a",
            "1 failed in 0.12s at /tmp/ws-abc/x.py 0x7f",
            "1 failed in 0.31s at /tmp/ws-def/x.py 0x8a",
        );
        assert!(replayed.differences.is_empty(), "{replayed:?}");
        replayed.compare("b", "1 failed", "2 failed");
        assert_eq!(replayed.differences.len(), 1);
    }
}
