//! What greenlight learned about a repository: a fold over its runs.
//!
//! Memory is only a hint. A remembered fix is tried first and verified like any other. A remembered command is only
//! preferred among those that the tree offers anyway. A remembered reason is only a remark.

mod recall;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use regex::Regex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use self::recall::{Recall, recall};
use super::id::{CommitSha, RunId};
use super::patch::Patch;
use super::proposal::Author;
use super::redact;
use super::run::{End, Run};
use super::search::Rung;
use super::test_run::TestRun;

/// How many fixes are kept.
pub const MAX_FIXES: usize = 100;
/// How many rejections are kept.
pub const MAX_REJECTIONS: usize = 50;

/// Identifies a failure in any place and at any time: the names of the failing tests, and their messages without
/// numbers, addresses and paths.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// `None` for a run without a failure that could be recognised again.
    pub fn of(run: &TestRun) -> Option<Self> {
        if run.failures.is_empty() {
            return None;
        }
        let mut lines: Vec<String> = run
            .failures
            .iter()
            .map(|failure| format!("{}\n{}", failure.name, stable(&failure.message)))
            .collect();
        lines.sort_unstable();
        Some(Self(hex::encode(Sha256::digest(lines.join("\n\n")))))
    }
}

/// The first lines of a message, without the parts that differ from run to run.
fn stable(message: &str) -> String {
    static CHANGING: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"0x[0-9a-fA-F]+|[0-9]+|(/[\w.+-]+)+/").ok());
    let start: String = message.trim().lines().take(5).collect::<Vec<_>>().join("\n");
    match &*CHANGING {
        Some(changing) => changing.replace_all(&start, "#").into_owned(),
        None => start,
    }
}

/// A fix that somebody with write access accepted: it landed through a gate, or they committed its suggestions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fix {
    pub fingerprint: Fingerprint,
    pub patch: Patch,
    /// Untrusted, like everything that a model writes.
    pub summary: String,
    pub run: RunId,
    /// `None` if it was written to a local checkout.
    pub commit: Option<CommitSha>,
    pub at: Timestamp,
}

/// A proposal that a person rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejection {
    /// `None` if nothing had been executed.
    pub fingerprint: Option<Fingerprint>,
    /// [`Patch::digest`] of the rejected patch.
    pub patch: String,
    /// The rejected patch, to recognise it in a different form; `None` in what earlier versions stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<Patch>,
    /// The summary of the rejected patch. Untrusted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    pub reason: String,
    pub at: Timestamp,
}

impl Fix {
    /// The short id that people type.
    pub fn id(&self) -> String {
        id("fix", Some(&self.fingerprint), &self.patch.digest())
    }
}

impl Rejection {
    /// The short id that people type.
    pub fn id(&self) -> String {
        id("rejection", self.fingerprint.as_ref(), &self.patch)
    }
}

/// The same id for the same patch of the same failure, in hex.
fn id(kind: &str, fingerprint: Option<&Fingerprint>, patch: &str) -> String {
    let failure = fingerprint.map_or("", |fingerprint| fingerprint.0.as_str());
    let hash = Sha256::digest(format!("{kind}\n{failure}\n{patch}"));
    hex::encode(&hash[..4])
}

/// What greenlight learned about a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// The test command of the last run with evidence.
    pub test_command: Option<String>,
    /// How its dependencies were installed.
    pub setup: Option<String>,
    /// Newest first.
    pub fixes: Vec<Fix>,
    /// Newest first.
    pub rejections: Vec<Rejection>,
    /// How many proposals each rung of the ladder made.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rungs: BTreeMap<Rung, u32>,
    /// How many proposals a model made.
    #[serde(skip_serializing_if = "super::is_default")]
    pub by_a_model: u32,
}

/// What people told greenlight to forget, and when. What it learns from later runs counts again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Everything from runs that started until then.
    pub all: Option<Timestamp>,
    /// Fixes and rejections by their ids.
    pub entries: BTreeMap<String, Timestamp>,
}

impl Forgotten {
    /// Whether a run that started at a moment still teaches something.
    pub fn keeps_run(&self, started: Timestamp) -> bool {
        self.all.is_none_or(|until| started > until)
    }

    /// Whether a fix or a rejection still counts that was learned at a moment.
    pub fn keeps(&self, id: &str, at: Timestamp) -> bool {
        self.entries.get(id).is_none_or(|until| at > *until)
    }
}

impl Memory {
    fn learn(&mut self, run: &Run) {
        let turned_down = run.turned_down.iter().map(|down| &down.proposal);
        for proposal in turned_down.chain(&run.proposal) {
            match (&proposal.found_by, &proposal.author) {
                (Some(found_by), _) => *self.rungs.entry(found_by.rung).or_default() += 1,
                (None, Author::Model(_)) => self.by_a_model += 1,
                // An earlier version wrote this, and did not record it.
                (None, _) => {}
            }
        }
        let before = run.reproduced.as_ref().map(|(before, _)| before);
        let fingerprint = before.and_then(Fingerprint::of);
        if let Some(evidence) = &run.evidence {
            if self.test_command.is_none() {
                self.test_command = Some(evidence.after.command.clone());
                self.setup.clone_from(&evidence.install);
            }
            let landed = match &run.end {
                _ if run.undone.is_some() => None,
                Some(End::Landed { commit }) => Some(Some(commit.clone())),
                _ if run.is_accepted_by_writers() => Some(None),
                _ => None,
            };
            let seen = fingerprint.clone().or_else(|| Fingerprint::of(&evidence.before));
            if let (Some(commit), Some(proposal), Some(fingerprint)) = (landed, &run.proposal, seen)
                && proposal.weakens.is_empty()
            {
                self.fixes.push(Fix {
                    fingerprint,
                    patch: proposal.patch.clone(),
                    summary: proposal.summary.clone(),
                    run: run.id().clone(),
                    commit,
                    at: run.started.at,
                });
            }
        }
        let taken_back = run.proposal.as_ref().filter(|_| run.undone.is_some());
        let taken_back = taken_back.map(|proposal| (proposal, "it landed and was reverted"));
        let turned_down = run.turned_down.iter().rev();
        let turned_down = turned_down.map(|down| (&down.proposal, down.reason.as_str()));
        for (proposal, reason) in taken_back.into_iter().chain(turned_down) {
            self.rejections.push(Rejection {
                fingerprint: fingerprint.clone(),
                patch: proposal.patch.digest(),
                edit: Some(proposal.patch.clone()),
                summary: redact::bounded(&proposal.summary, 500),
                reason: redact::bounded(reason, 500),
                at: run.started.at,
            });
        }
    }

    /// Fixes of this failure, newest first, without those that somebody rejected later.
    pub fn fixes_of(&self, red: &TestRun) -> Vec<&Fix> {
        let Some(fingerprint) = Fingerprint::of(red) else {
            return Vec::new();
        };
        let is_turned_down = |fix: &Fix| {
            let digest = fix.patch.digest();
            self.rejections
                .iter()
                .any(|down| down.patch == digest && down.at >= fix.at)
        };
        self.fixes
            .iter()
            .filter(|fix| fix.fingerprint == fingerprint && !is_turned_down(fix))
            .collect()
    }

    /// The part of it that is about this failure.
    pub fn about(&self, red: &TestRun) -> Self {
        Self {
            fixes: self.fixes_of(red).into_iter().cloned().collect(),
            rejections: self.turned_down(red).cloned().collect(),
            ..Self::default()
        }
    }

    /// Rejected patches for this failure, newest first.
    pub fn turned_down(&self, red: &TestRun) -> impl Iterator<Item = &Rejection> {
        let fingerprint = Fingerprint::of(red);
        self.rejections
            .iter()
            .filter(move |down| fingerprint.is_some() && down.fingerprint == fingerprint)
    }

    /// Forgets the fix or the rejection whose id begins with `name`, if there is exactly one. Returns its id, or all
    /// matching ids if there are several.
    pub fn forget(&mut self, name: &str) -> Vec<String> {
        let is_meant = |id: &String| !name.is_empty() && id.starts_with(name);
        let ids = self.fixes.iter().map(Fix::id);
        let mut meant: Vec<String> = ids
            .chain(self.rejections.iter().map(Rejection::id))
            .filter(is_meant)
            .collect();
        meant.sort_unstable();
        meant.dedup();
        if let [one] = meant.as_slice() {
            self.fixes.retain(|fix| fix.id() != *one);
            self.rejections.retain(|down| down.id() != *one);
        }
        meant
    }

    /// Drops the oldest entries of each kind beyond the limits.
    pub fn forget_the_oldest(&mut self) {
        self.fixes.truncate(MAX_FIXES);
        self.rejections.truncate(MAX_REJECTIONS);
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_run::{Failure, Outcome};
    use super::*;

    fn red(failures: &[(&str, &str)]) -> TestRun {
        let failure = |(name, message): &(&str, &str)| Failure {
            name: (*name).into(),
            message: (*message).into(),
            ..Failure::default()
        };
        TestRun {
            failures: failures.iter().map(failure).collect(),
            ..TestRun::without_result("t", Outcome::Failed, "")
        }
    }

    #[test]
    fn the_same_failure_is_recognised_wherever_it_happens() {
        let one = red(&[
            ("a", "assert 3 == 4\n  at /tmp/ws-1/src/a.py:17"),
            ("b", "boom at 0x7f00"),
        ]);
        let same = red(&[("b", "boom at 0x1"), ("a", "assert 30 == 41\n  at /home/x/a.py:3")]);
        assert_eq!(Fingerprint::of(&one), Fingerprint::of(&same));
        for other in [
            red(&[("a", "assert 3 == 4\n  at /tmp/ws-1/src/a.py:17")]),
            red(&[
                ("a", "assert 3 < 4\n  at /tmp/ws-1/src/a.py:17"),
                ("b", "boom at 0x7f00"),
            ]),
            red(&[
                ("c", "assert 3 == 4\n  at /tmp/ws-1/src/a.py:17"),
                ("b", "boom at 0x7f00"),
            ]),
        ] {
            assert_ne!(Fingerprint::of(&one), Fingerprint::of(&other));
        }
        assert_eq!(Fingerprint::of(&red(&[])), None);
    }

    #[test]
    fn one_thing_is_forgotten_by_its_name() {
        let down = |patch: &str| Rejection {
            fingerprint: None,
            patch: patch.into(),
            edit: None,
            summary: String::new(),
            reason: String::new(),
            at: Timestamp::UNIX_EPOCH,
        };
        let mut memory = Memory {
            rejections: vec![down("a"), down("b")],
            ..Memory::default()
        };
        let id = memory.rejections[0].id();
        assert_eq!(memory.forget(""), Vec::<String>::new());
        assert_eq!(memory.forget("zzzz"), Vec::<String>::new());
        assert_eq!(memory.forget(&id), std::slice::from_ref(&id));
        assert_eq!(memory.rejections, [down("b")]);
        assert_eq!(memory.forget(&id), Vec::<String>::new());
    }

    #[test]
    fn what_people_forgot_does_not_count_until_it_is_learned_again() {
        let run = |day: u32| {
            let text = include_str!("../../tests/fixtures/journals/3/merged.jsonl");
            let steps = text.lines().filter_map(|line| serde_json::from_str(line).ok());
            let mut run = Run::fold(steps).unwrap();
            run.started.at = format!("2026-03-0{day}T10:00:00Z").parse().unwrap();
            run
        };
        let runs = [run(3), run(1)];
        let days = |forgotten: &Forgotten| -> Vec<String> {
            let memory = recall(&runs, forgotten);
            memory.fixes.iter().map(|fix| fix.at.to_string()).collect()
        };
        assert_eq!(days(&Forgotten::default()).len(), 2);
        let until: Timestamp = "2026-03-02T00:00:00Z".parse().unwrap();
        let id = recall(&runs, &Forgotten::default()).fixes[0].id();
        let one = Forgotten {
            all: None,
            entries: BTreeMap::from([(id, until)]),
        };
        assert_eq!(days(&one), ["2026-03-03T10:00:00Z"]);
        let all = Forgotten {
            all: Some(until),
            entries: BTreeMap::new(),
        };
        assert_eq!(days(&all), ["2026-03-03T10:00:00Z"]);
        let late = Forgotten {
            all: Some(runs[0].started.at),
            entries: BTreeMap::new(),
        };
        assert!(recall(&runs, &late).is_empty());
    }

    #[test]
    fn what_an_earlier_version_kept_of_a_rejection_is_still_read() {
        let old = r#"{"fingerprint":null,"patch":"d","reason":"uglier","at":"2026-01-02T03:04:05Z"}"#;
        let read: Rejection = serde_json::from_str(old).unwrap();
        assert_eq!((read.edit, read.reason.as_str()), (None, "uglier"));
    }
}
