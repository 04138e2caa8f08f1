//! A run as a fold over its steps, and the one function that decides what comes next.
//!
//! [`Run::next`] is pure: after a crash, the same steps lead to the same next action. A finished step is never
//! repeated, and an unfinished one is repeated with the same markers. `engine` does what the steps require on GitHub.

mod approved;
mod asked;
mod next;
mod rights;
mod salvage;
mod step;
mod suites;

use std::collections::{BTreeMap, BTreeSet};

pub use approved::{Approved, NotApproved};
pub use asked::{Approval, Asked};
use jiff::Timestamp;
pub use next::{GateNeeded, Next};
pub use rights::GateRules;
pub use step::{
    Consent, End, JobReading, Log, Origin, Settled, Started, Step, Subject, SuggestedLines, Tested, Unvouched,
};
pub use suites::Suites;

use super::anchor::SuggestionState;
use super::execution::Deferred;
use super::gate::{Answer, Gate, GateId, GateKind};
use super::id::{CommitSha, RunId};
use super::proposal::{Evidence, Proposal, TestsFirst};
use super::search::Search;
use super::spend::Spend;
use super::test_run::TestRun;
use super::triage::{Merged, Triage, Verdict};

/// How many requests of its model a run forwards to people.
pub const MAX_REQUESTS: usize = 8;
/// How many proposals a run makes at most.
pub const MAX_PROPOSALS: usize = 3;

/// The indices of some steps in the journal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    pub reading: Option<usize>,
    pub reproduced: Option<usize>,
    pub evidence: Option<usize>,
    pub review: Option<usize>,
}

/// A rejected proposal and the reason, as context for the next attempt.
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
    /// The suites, if there are several. `None` until they are selected.
    pub suites: Option<Suites>,
    /// The transcript of the current attempt.
    pub said: Vec<serde_json::Value>,
    /// The result so far of the search without a model.
    pub search: Search,
    /// Whether the model can do nothing until code may run.
    pub needs_execution: bool,
    /// The request that the model waits for.
    pub deferred: Option<Deferred>,
    /// The tests of a specification, once they are written.
    pub tests_first: Option<TestsFirst>,
    /// Why earlier tests were rejected.
    pub turned_down_tests: Vec<String>,
    /// What all the work so far has spent.
    pub spent: Spend,
    pub proposal: Option<Proposal>,
    pub turned_down: Vec<TurnedDown>,
    /// The review of the current proposal.
    pub review: Option<u64>,
    /// How many parts it was posted in; see [`Step::ReviewPosted`].
    pub parts: usize,
    /// Comments of earlier reviews that carry suggestions of it, too.
    pub carried: Vec<u64>,
    /// The lines that its suggestions replace.
    pub suggested: Vec<SuggestedLines>,
    /// The state of each settled suggestion, by comment.
    pub settled: BTreeMap<u64, SuggestionState>,
    /// The comments whose suggestions people with write access applied.
    accepted_by_writers: BTreeSet<u64>,
    pub gates: Vec<Asked>,
    /// How many gates there were when the model's last request was answered.
    resolved_gates: usize,
    pub evidence: Option<Evidence>,
    /// The indices of the steps that this state rests on. Whether a step is trusted depends on who wrote it.
    pub places: Places,
    /// Where the base branch was when this landed, if it had moved since the tests ran.
    pub base_moved: Option<CommitSha>,
    pub end: Option<End>,
    pub announced: bool,
    /// The commit that reverted what landed.
    pub undone: Option<CommitSha>,
    /// Comments whose answers were recorded.
    pub answered_in: Vec<u64>,
    /// The number of steps, which is also the index of the next one.
    pub length: usize,
    /// The index of the first step that cannot be read.
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

    /// A run with only its start.
    pub fn start(started: Started) -> Self {
        Self {
            started,
            reading: None,
            reproduced: None,
            suites: None,
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
            suggested: Vec::new(),
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
            Step::Suites { wanted, unaffected } => self.suites = Some(Suites::new(wanted, unaffected)),
            Step::SetAside { before, triage } => self.suites.get_or_insert_default().set_aside((before, triage)),
            Step::Reproduced { before, triage } => {
                self.reproduced = Some(Suites::telling(self.suites.as_mut(), (before, triage)));
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
                    // If it is rejected, the search continues after it. A search that found nothing is not repeated.
                    self.search = self.search.anew();
                }
                self.proposal = Some(*proposal);
                self.review = None;
                self.suggested.clear();
                self.said.clear();
            }
            Step::ReviewPosted {
                review,
                parts,
                carried,
                suggested,
            } => {
                (self.review, self.places.review) = (Some(review), Some(place));
                self.parts = parts;
                self.carried = carried;
                self.suggested = suggested;
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
            } => self.settle(suggestions, by_writers),
            Step::Undone { commit } => self.undone = Some(commit),
        }
    }

    fn settle(&mut self, suggestions: Vec<Settled>, by_writers: bool) {
        let accepted = suggestions
            .iter()
            .filter(|settled| settled.fate == SuggestionState::Applied);
        let accepted = accepted.filter(|_| by_writers).map(|settled| settled.comment);
        self.accepted_by_writers.extend(accepted);
        let fates = suggestions.into_iter().map(|settled| (settled.comment, settled.fate));
        self.settled.extend(fates);
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

    /// Revokes approvals that could not be vouched for on GitHub. The gate waits for others.
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

    /// The gate for the model's current request. A gate for an earlier, identical request does not count.
    pub fn request(&self) -> Option<&Asked> {
        let deferred = self.deferred.as_ref()?;
        let is_for_it = |asked: &&Asked| match &asked.gate.kind {
            GateKind::Execute(execution) => **execution == deferred.execution,
            _ => false,
        };
        self.gates.iter().skip(self.resolved_gates).rfind(is_for_it)
    }

    /// How many more requests of the model may be forwarded to people.
    pub fn may_ask(&self) -> u32 {
        if self.started.asks_nobody {
            return 0;
        }
        let asked = self.gates.iter().filter(|asked| asked.gate.kind.is_for_the_model());
        u32::try_from(MAX_REQUESTS.saturating_sub(asked.count())).unwrap_or(0)
    }

    /// The gates without an answer.
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

    /// How many of its suggestions are in this state.
    pub fn count(&self, fate: SuggestionState) -> usize {
        self.settled.values().filter(|settled| **settled == fate).count()
    }

    /// Whether people committed every suggestion of the proposal, and there is no remainder.
    pub fn is_all_accepted(&self) -> bool {
        self.proposal.is_some() && self.parts > 0 && self.count(SuggestionState::Applied) >= self.parts
    }

    /// Whether people with write access committed every suggestion of the proposal. Commits that others make to their
    /// forks do not show that the repository accepts it.
    pub fn is_accepted_by_writers(&self) -> bool {
        let is_accepted = |comment: &&u64| self.settled.get(comment) == Some(&SuggestionState::Applied);
        let accepted = self.accepted_by_writers.iter().filter(is_accepted);
        self.is_all_accepted() && accepted.count() >= self.parts
    }

    /// Whether CI is known to have failed on its head.
    pub fn is_ci_red(&self) -> bool {
        matches!(self.started.origin, Origin::Ci { .. })
            || self.reading.as_ref().is_some_and(|reading| reading.tested.is_some())
    }

    /// Whether CI tested, or may have tested, the merge of the head with its base branch.
    pub fn may_be_of_merge(&self) -> bool {
        let tested = self.reading.as_ref().and_then(|reading| reading.tested);
        self.is_ci_red() && tested != Some(Tested::Head)
    }

    /// Whether CI failed, but everything that could run here passed.
    pub fn is_not_reproduced(&self) -> bool {
        let is_green = |(_, triage): &(TestRun, Triage)| triage.verdict == Verdict::Green;
        self.is_ci_red() && self.reproduced.as_ref().is_some_and(is_green)
    }

    /// The merge that fails although the head alone passes, once that is known.
    pub fn red_merge(&self) -> Option<&Merged> {
        self.reproduced.as_ref().and_then(|(_, triage)| triage.red_merge())
    }

    /// Whether it has ended and announced its end.
    pub fn is_over(&self) -> bool {
        self.end.is_some() && self.announced
    }
}

#[cfg(test)]
mod tests;
