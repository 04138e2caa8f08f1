//! A run as a fold over its steps, and the one function that says what comes next.
//!
//! [`Run::next`] is pure: after a crash the same steps give the same next thing to do, so a finished step is never
//! done again and an unfinished one is done with the same markers. What a step does to GitHub is in `engine`.

mod approved;
mod asked;
mod next;
mod rights;
mod salvage;
mod step;

use std::collections::{BTreeMap, BTreeSet};

pub use approved::{Approved, NotApproved};
pub use asked::{Approval, Asked};
use jiff::Timestamp;
pub use next::{GateNeeded, Next};
pub use rights::GateRules;
pub use step::{Consent, End, JobReading, Log, Origin, Settled, Started, Step, Subject, Tested, Unvouched};

use super::anchor::SuggestionState;
use super::execution::Deferred;
use super::gate::{Answer, Gate, GateId, GateKind};
use super::id::{CommitSha, RunId};
use super::proposal::{Evidence, Proposal, TestsFirst};
use super::search::Search;
use super::spend::Spend;
use super::test_run::TestRun;
use super::triage::{Merged, Triage, Verdict};

/// How many calls of its model a run puts before a person at most.
pub const MAX_REQUESTS: usize = 8;
/// How often a rejected proposal may be followed by another one.
pub const MAX_PROPOSALS: usize = 3;

/// Where in the journal things are written down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    pub reading: Option<usize>,
    pub reproduced: Option<usize>,
    pub evidence: Option<usize>,
    pub review: Option<usize>,
}

/// A proposal that was turned down, and why: context for the next attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnedDown {
    pub proposal: Proposal,
    pub reason: String,
}

/// The state of a run: a fold over its steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub started: Started,
    pub reading: Option<JobReading>,
    pub reproduced: Option<(TestRun, Triage)>,
    /// Transcript of the current attempt.
    pub said: Vec<serde_json::Value>,
    /// What the search without a model came to so far.
    pub search: Search,
    /// Whether its model can do nothing before code may run.
    pub needs_execution: bool,
    /// What the model waits for.
    pub deferred: Option<Deferred>,
    /// The tests of a specification, once they are written.
    pub tests_first: Option<TestsFirst>,
    /// Why tests that were written were turned down.
    pub turned_down_tests: Vec<String>,
    /// What all work so far used up.
    pub spent: Spend,
    pub proposal: Option<Proposal>,
    pub turned_down: Vec<TurnedDown>,
    /// The review of the current proposal.
    pub review: Option<u64>,
    /// In how many parts that was posted, and which comments of earlier reviews carry some of them.
    pub parts: usize,
    pub carried: Vec<u64>,
    /// What became of its suggestions, by comment.
    pub settled: BTreeMap<u64, SuggestionState>,
    /// Those of them that people with write access accepted.
    accepted_by_writers: BTreeSet<u64>,
    pub gates: Vec<Asked>,
    /// How many of the gates were there when the last of the model's requests was answered.
    resolved_gates: usize,
    pub evidence: Option<Evidence>,
    /// The places in the journal of what this rests on: who wrote them decides what they are worth.
    pub places: Places,
    /// Where the base branch was when this landed, if it had moved since the tests ran.
    pub base_moved: Option<CommitSha>,
    pub end: Option<End>,
    pub announced: bool,
    /// The commit that took back what landed.
    pub undone: Option<CommitSha>,
    /// Comments whose answers were taken.
    pub answered_in: Vec<u64>,
    /// How many steps there are: the place of the next one in the journal.
    pub length: usize,
    /// The place of the first step that cannot be read.
    pub unreadable: Option<usize>,
}

/// A journal that cannot be folded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the journal of this run does not begin with its start")]
pub struct Unreadable;

impl Run {
    /// Folds a journal.
    ///
    /// # Errors
    /// When the first step is not the start.
    pub fn fold(steps: impl IntoIterator<Item = Step>) -> Result<Self, Unreadable> {
        let mut steps = steps.into_iter();
        let Some(Step::Started(started)) = steps.next() else {
            return Err(Unreadable);
        };
        let mut run = Self::start(*started);
        for step in steps {
            run.take(step);
        }
        Ok(run)
    }

    /// A run with nothing but its start.
    pub fn start(started: Started) -> Self {
        Self {
            started,
            reading: None,
            reproduced: None,
            said: Vec::new(),
            search: Search::default(),
            needs_execution: false,
            deferred: None,
            tests_first: None,
            turned_down_tests: Vec::new(),
            spent: Spend::default(),
            proposal: None,
            turned_down: Vec::new(),
            review: None,
            parts: 0,
            carried: Vec::new(),
            settled: BTreeMap::new(),
            accepted_by_writers: BTreeSet::new(),
            gates: Vec::new(),
            resolved_gates: 0,
            evidence: None,
            places: Places::default(),
            base_moved: None,
            end: None,
            announced: false,
            undone: None,
            answered_in: Vec::new(),
            length: 1,
            unreadable: None,
        }
    }

    /// Adds one step to the fold.
    pub fn take(&mut self, step: Step) {
        let place = self.length;
        self.length += 1;
        match step {
            Step::Started(_) => {}
            Step::Read(reading) => {
                self.reading = Some(reading);
                self.places.reading = Some(place);
            }
            Step::Reproduced { before, triage } => {
                self.reproduced = Some((before, triage));
                self.places.reproduced = Some(place);
            }
            Step::Said(item) => {
                self.spent = self.spent + Spend::of_item(&item);
                self.said.push(item);
            }
            Step::Searched(part) => self.search.join(*part),
            Step::NeedsExecution => {
                self.needs_execution = true;
                self.said.clear();
            }
            Step::Deferred(deferred) => self.deferred = Some(*deferred),
            Step::Resolved(item) => {
                self.resolved_gates = self.gates.len();
                self.said.push(item);
                self.deferred = None;
            }
            Step::TestsWritten(tests) => {
                self.tests_first = Some(*tests);
                self.said.clear();
            }
            Step::Spent(spend) => self.spent = self.spent + spend,
            Step::Proposed(proposal) => {
                self.evidence.clone_from(&proposal.evidence);
                self.places.evidence = Some(place);
                if proposal.found_by.is_some() {
                    // If it is turned down, the search continues behind it; one that found nothing stays that way.
                    self.search = self.search.anew();
                }
                self.proposal = Some(*proposal);
                self.review = None;
                self.said.clear();
            }
            Step::ReviewPosted { review, parts, carried } => {
                (self.review, self.places.review) = (Some(review), Some(place));
                self.parts = parts;
                self.carried = carried;
            }
            Step::GateOpened(gate) => self.gates.push(Asked::new(gate)),
            Step::Answered {
                gate,
                answer,
                comment,
                at,
            } => {
                self.answered_in.extend(comment);
                self.answer(&gate, answer, (comment, at));
            }
            Step::Unvouched { gate, approvals } => self.take_back(&gate, approvals),
            Step::Verified(evidence) => {
                self.evidence = Some(*evidence);
                self.places.evidence = Some(place);
            }
            Step::BaseMoved { tip } => self.base_moved = Some(tip),
            Step::Ended(end) => self.end = Some(end),
            Step::Announced => self.announced = true,
            Step::Settled {
                suggestions,
                by_writers,
            } => {
                let accepted = suggestions
                    .iter()
                    .filter(|settled| settled.fate == SuggestionState::Applied);
                let accepted = accepted.filter(|_| by_writers).map(|settled| settled.comment);
                self.accepted_by_writers.extend(accepted);
                let fates = suggestions.into_iter().map(|settled| (settled.comment, settled.fate));
                self.settled.extend(fates);
            }
            Step::Undone { commit } => self.undone = Some(commit),
        }
    }

    fn answer(&mut self, id: &GateId, answer: Answer, (comment, at): (Option<u64>, Option<Timestamp>)) {
        let Some(asked) = self.gates.iter_mut().rev().find(|asked| asked.gate.id == *id) else {
            return;
        };
        match answer {
            Answer::Approved { by } if asked.has_approved(&by) => {}
            Answer::Approved { by } => asked.approvals.push(Approval { by, comment, at }),
            Answer::Expired => asked.expired = true,
            Answer::Rejected { by, reason } => {
                asked.rejected = Some((by.clone(), reason.clone()));
                let about_a_proposal = match asked.gate.kind {
                    GateKind::Search { .. } | GateKind::Execute(_) => false,
                    GateKind::Tests { .. } => {
                        let why = reason
                            .clone()
                            .unwrap_or_else(|| format!("{by} rejected them without a reason"));
                        self.turned_down_tests.push(why);
                        self.tests_first = None;
                        false
                    }
                    _ => true,
                };
                if let Some(proposal) = self.proposal.take_if(|_| about_a_proposal) {
                    let reason = reason.unwrap_or_else(|| format!("{by} rejected it without a reason"));
                    self.turned_down.push(TurnedDown { proposal, reason });
                    self.evidence = None;
                }
            }
        }
    }

    /// Takes back approvals that nothing on GitHub vouches for: the gate waits for others.
    fn take_back(&mut self, id: &GateId, unvouched: Vec<Unvouched>) {
        if let Some(asked) = self.gates.iter_mut().rev().find(|asked| asked.gate.id == *id) {
            asked
                .approvals
                .retain(|approval| !unvouched.iter().any(|one| one.by.is(&approval.by)));
            asked.unvouched.extend(unvouched);
        }
    }

    pub fn id(&self) -> &RunId {
        &self.started.run
    }

    /// The gate of what the model waits for now: one of an earlier request for the very same thing is not it.
    pub fn request(&self) -> Option<&Asked> {
        let deferred = self.deferred.as_ref()?;
        let is_for_it = |asked: &&Asked| match &asked.gate.kind {
            GateKind::Execute(execution) => **execution == deferred.execution,
            _ => false,
        };
        self.gates.iter().skip(self.resolved_gates).rfind(is_for_it)
    }

    /// How many more calls of the model may be put before a person.
    pub fn may_ask(&self) -> u32 {
        if self.started.asks_nobody {
            return 0;
        }
        let asked = self.gates.iter().filter(|asked| asked.gate.kind.is_for_the_model());
        u32::try_from(MAX_REQUESTS.saturating_sub(asked.count())).unwrap_or(0)
    }

    /// The gates that wait for an answer.
    pub fn open_gates(&self) -> Vec<Gate> {
        if self.end.is_some() || self.unreadable.is_some() {
            return Vec::new();
        }
        self.gates
            .iter()
            .filter(|asked| asked.is_open())
            .map(|asked| asked.gate.clone())
            .collect()
    }

    /// How many of its suggestions came to this.
    pub fn count(&self, fate: SuggestionState) -> usize {
        self.settled.values().filter(|settled| **settled == fate).count()
    }

    /// Whether people committed every suggestion of the proposal, and nothing of it is left.
    pub fn is_all_accepted(&self) -> bool {
        self.proposal.is_some() && self.parts > 0 && self.count(SuggestionState::Applied) >= self.parts
    }

    /// Whether people with write access committed every suggestion of the proposal. What others commit to their forks
    /// says nothing of what the repository thinks of it.
    pub fn is_accepted_by_writers(&self) -> bool {
        let is_accepted = |comment: &&u64| self.settled.get(comment) == Some(&SuggestionState::Applied);
        let accepted = self.accepted_by_writers.iter().filter(is_accepted);
        self.is_all_accepted() && accepted.count() >= self.parts
    }

    /// Whether CI is known to be red on its head.
    pub fn is_ci_red(&self) -> bool {
        matches!(self.started.origin, Origin::Ci { .. })
            || self.reading.as_ref().is_some_and(|reading| reading.tested.is_some())
    }

    /// Whether CI tested, or may have tested, the merge of the head with its base branch.
    pub fn may_be_of_merge(&self) -> bool {
        let tested = self.reading.as_ref().and_then(|reading| reading.tested);
        self.is_ci_red() && tested != Some(Tested::Head)
    }

    /// Whether CI is red, and all that could be run here is green.
    pub fn is_not_reproduced(&self) -> bool {
        let is_green = |(_, triage): &(TestRun, Triage)| triage.verdict == Verdict::Green;
        self.is_ci_red() && self.reproduced.as_ref().is_some_and(is_green)
    }

    /// The merge that is red where the head alone is green, once that is known.
    pub fn red_merge(&self) -> Option<&Merged> {
        self.reproduced.as_ref().and_then(|(_, triage)| triage.red_merge())
    }

    /// Whether it is finished and said so.
    pub fn is_over(&self) -> bool {
        self.end.is_some() && self.announced
    }
}

#[cfg(test)]
mod tests;
