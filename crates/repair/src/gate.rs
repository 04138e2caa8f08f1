//! Decides whether a patch that passes the tests is certain enough to be proposed.
//!
//! In real code, most patches that pass the tests are wrong, so an uncertain patch is shown as a finding and not
//! proposed. A patch is certain if it is where the fault most likely is, is of a kind that often is the fix, removes
//! nothing, kills no branch, overflows no stack, and no other edit of similar likelihood also passes the tests but
//! behaves differently.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use greenlight_readers::test_run::{TestRun, is_better};
use greenlight_suite as suite;
use tokio_util::sync::CancellationToken;

use super::candidates::Candidate;
use super::risks::{SELDOM, risks_of_edit};
use super::runner::Runner;
use super::suspect::Ranking;
use super::turned_down::TurnedDown;
use super::verdict::{Behaviour, BehaviourComparison, CandidateVerdict};
use super::{dead_branch, explain};
use crate::found::Finding;
use crate::task::Task;
use crate::template::{EditKind, Template};

/// The share of a score that makes another edit about as likely: if behaviour can be compared, and if it cannot.
const COMPARED: f32 = 0.55;
const UNCOMPARED: f32 = 0.9;
/// After a rejection, a fix is offered only if its score is at least this share of the rejected one's.
const UNLIKELY: f32 = 1.0 / 3.0;
/// Maximum number of rivals that are compared.
const MAX_RIVALS: usize = 12;
/// Maximum number of findings that are shown, each confirmed by a run of the whole suite.
const MAX_FINDINGS: usize = 3;

/// More edits than this must have been tried before the only one that passes is certain, if its kind is seldom the fix.
const MIN_TRIED: u32 = 50;

/// The risks that only a run of the code shows.
const KILLS: &str = "with it, no test enters the branch behind the condition, which passing tests entered before";
const OVERFLOWS: &str = "with it, a call that returned before recurses until the stack is full";

/// The gate's decision about the patches that passed so far.
pub(super) enum Decision {
    /// Propose the candidate with this index; the run is that of the whole suite on a fresh copy.
    Propose(usize, Box<TestRun>),
    /// No patch is certain yet, but a later one may be.
    Wait,
    /// No patch can become certain any more: equally likely ones disagree.
    Disagreement,
}

/// The context in which patches are judged.
pub(super) struct Gate<'a, 't> {
    pub(super) task: &'a Task<'a>,
    pub(super) runner: &'a Runner<'t>,
    pub(super) ranking: &'a Ranking,
    /// Patches that were turned down.
    pub(super) turned_down: &'a TurnedDown<'a>,
    /// Risks that only a run of the code shows, by the digest of the candidate.
    pub(super) seen: Mutex<HashMap<String, &'static str>>,
    /// Risks that its text shows, by the same.
    pub(super) known: Mutex<HashMap<String, Vec<&'static str>>>,
    /// The caller's token; the time limit has a separate one.
    pub(super) cancel: &'a CancellationToken,
}

impl Gate<'_, '_> {
    /// The lowest score that makes a candidate a rival of one with this score.
    pub(super) fn least_rival(&self, score: f32) -> f32 {
        match self.can_compare() {
            true => score * COMPARED,
            false => score * UNCOMPARED,
        }
    }

    fn can_compare(&self) -> bool {
        !self.task.left_out.comparison && self.runner.can_compare()
    }

    /// Judges candidates that pass the tests. They must include every candidate about as likely as the first certain
    /// one. `turned_down` is the score of the likeliest edit that passes and was turned down.
    ///
    /// # Errors
    /// When the sandbox fails.
    pub(super) async fn decide(
        &self,
        (passing, turned_down): (&[Candidate], f32),
        stop: &CancellationToken,
    ) -> Result<Decision, suite::Error> {
        let mut sure: Vec<usize> = (0..passing.len())
            .filter(|index| self.risks(&passing[*index], turned_down).is_empty())
            .collect();
        sure.sort_by(|a, b| passing[*b].score.total_cmp(&passing[*a].score));
        self.decide_among(passing, &sure, |score| self.least_rival(score), stop)
            .await
    }

    /// Judges candidates after every edit was tried: one of a kind that is seldom the fix is certain if nothing else that
    /// passes the tests behaves differently.
    ///
    /// # Errors
    /// When the sandbox fails.
    pub(super) async fn decide_last(
        &self,
        (passing, turned_down, tried): (&[Candidate], f32, u32),
        stop: &CancellationToken,
    ) -> Result<Decision, suite::Error> {
        let is_seldom = |candidate: &Candidate| {
            // Two edits at once pass by chance more often than one.
            candidate.template != Template::Repeated && self.risks(candidate, turned_down) == [SELDOM]
        };
        let is_known = passing.len() <= MAX_RIVALS && (passing.len() == 1 || self.can_compare());
        if !is_known || tried <= MIN_TRIED || !passing.iter().all(is_seldom) {
            return Ok(Decision::Wait);
        }
        let mut all: Vec<usize> = (0..passing.len()).collect();
        all.sort_by(|a, b| passing[*b].score.total_cmp(&passing[*a].score));
        self.decide_among(passing, &all, |_| 0.0, stop).await
    }

    /// Judges the candidates with these indices, the likeliest first.
    async fn decide_among(
        &self,
        passing: &[Candidate],
        sure: &[usize],
        least_rival: impl Fn(f32) -> f32,
        stop: &CancellationToken,
    ) -> Result<Decision, suite::Error> {
        for (at, chosen) in sure.iter().enumerate() {
            let candidate = &passing[*chosen];
            let Some(after) = confirmed(self.task, candidate, stop).await? else {
                continue;
            };
            // Boxed, because a worker's stack is small.
            if Box::pin(self.kills(candidate, stop)).await? {
                self.seen().insert(candidate.digest(), KILLS);
                continue;
            }
            // The right fix may be to remove code, although that alone is seldom proposed.
            let removals = (0..passing.len()).filter(|index| !sure.contains(index));
            let removals = removals
                .map(|index| &passing[index])
                .filter(|other| other.template.kind() == EditKind::Removal);
            let rivals = sure[at + 1..].iter().map(|index| &passing[*index]).chain(removals);
            let rivals: Vec<Candidate> = rivals
                .filter(|rival| rival.score >= least_rival(candidate.score))
                .take(MAX_RIVALS)
                .cloned()
                .collect();
            let compared = self.compare(candidate, &rivals, stop).await?;
            if compared.as_ref().is_some_and(BehaviourComparison::overflows) {
                self.seen().insert(candidate.digest(), OVERFLOWS);
                continue;
            }
            let mut agree = self.agree(candidate, &rivals, compared.as_ref());
            if let (false, Some(compared)) = (agree, &compared) {
                agree = Box::pin(self.agree_alive(&rivals, compared, stop)).await?;
            }
            let nearest = rivals.first().map(|rival| rival.score / candidate.score);
            tracing::debug!(
                candidate.score,
                rivals = rivals.len(),
                nearest,
                agree,
                "a patch is certain on its own"
            );
            return Ok(match agree {
                true => Decision::Propose(*chosen, Box::new(after)),
                false => Decision::Disagreement,
            });
        }
        Ok(Decision::Wait)
    }

    /// Whether all rivals that behave differently kill a branch.
    async fn agree_alive(
        &self,
        rivals: &[Candidate],
        compared: &BehaviourComparison,
        stop: &CancellationToken,
    ) -> Result<bool, suite::Error> {
        let Some((first, others)) = compared.candidates.split_first() else {
            return Ok(false);
        };
        for (rival, behaviour) in rivals.iter().zip(others) {
            if behaviour != first && !self.kills(rival, stop).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Why a candidate is uncertain, no matter what else passes the tests.
    fn risks(&self, candidate: &Candidate, turned_down: f32) -> Vec<&'static str> {
        let mut risks = Vec::new();
        if !self.is_near(candidate) {
            risks.push("it is in code that the change did not touch and that is not among the top suspects");
        }
        let digest = candidate.digest();
        risks.extend(self.of_edit(candidate, &digest));
        risks.extend(self.seen().get(&digest));
        if candidate.score < turned_down * UNLIKELY {
            risks.push("it is much less likely than a fix that was rejected, and the tests cannot tell the two apart");
        }
        risks
    }

    /// The risks that the text of a candidate shows, which are looked for once.
    fn of_edit(&self, candidate: &Candidate, digest: &str) -> Vec<&'static str> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(risks) = known().get(digest) {
            return risks.clone();
        }
        let checkout = self.task.checkout;
        let original = checkout.read_text(candidate.path.as_str()).unwrap_or_default();
        let risks = risks_of_edit(candidate, &original, (&self.task.before.failures, checkout));
        known().insert(digest.to_owned(), risks.clone());
        risks
    }

    fn seen(&self) -> MutexGuard<'_, HashMap<String, &'static str>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether no test enters a branch any more that passing tests entered before.
    async fn kills(&self, candidate: &Candidate, stop: &CancellationToken) -> Result<bool, suite::Error> {
        let task = self.task;
        let original = task.checkout.read_text(candidate.path.as_str());
        let is_edit = !matches!(candidate.template.kind(), EditKind::Revert | EditKind::Hint);
        let Some(original) = original.filter(|_| is_edit) else {
            return Ok(false);
        };
        for branch in dead_branch::branches(candidate, &original) {
            let verdicts = self.runner.judge(std::slice::from_ref(&branch.after), stop).await?;
            if verdicts.first() != Some(&CandidateVerdict::Passes) {
                continue;
            }
            let mut probed = task.checkout.clone();
            probed.edit_text(candidate.path.clone(), branch.before);
            let probing = task.suite.for_purpose(suite::Purpose::Search);
            let run = suite::run_fresh(&probing, &probed, &[], stop).await?;
            let passed: HashSet<&str> = run.passed_names.iter().map(String::as_str).collect();
            let mut names = task.before.passed_names.iter();
            if run.knows_all_names()
                && names.any(|name| !passed.contains(name.as_str()) && !task.before.is_unstable(name))
            {
                tracing::debug!(path = %candidate.path, branch.line, "a patch kills a branch");
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_near(&self, candidate: &Candidate) -> bool {
        let changed = self.task.changed.get(&candidate.path).into_iter().flatten();
        matches!(candidate.template.kind(), EditKind::Revert | EditKind::Hint)
            || changed.into_iter().any(|lines| lines.contains(&candidate.line))
            || self.ranking.has(&candidate.path, &candidate.range)
    }

    /// Calls the code as it is, with the candidate and with each of its rivals.
    async fn compare(
        &self,
        candidate: &Candidate,
        rivals: &[Candidate],
        stop: &CancellationToken,
    ) -> Result<Option<BehaviourComparison>, suite::Error> {
        if !self.can_compare() {
            return Ok(None);
        }
        let all: Vec<Candidate> = [candidate].into_iter().chain(rivals).cloned().collect();
        self.runner.behaviours(&all, stop).await
    }

    /// Whether all do the same with the same inputs, as far as can be observed. If behaviour cannot be compared, a
    /// rival of similar score counts as a disagreement.
    fn agree(&self, candidate: &Candidate, rivals: &[Candidate], compared: Option<&BehaviourComparison>) -> bool {
        // A person who turned one patch down wants to see another one, and chooses between equally likely ones.
        if rivals.is_empty() || !self.task.excluded.is_empty() {
            return true;
        }
        match compared {
            Some(compared) => agreed(compared),
            None => rivals.iter().all(|rival| rival.score < candidate.score * UNCOMPARED),
        }
    }

    /// Confirms the likeliest of these candidates and says why each of them is uncertain. If the time is up, only one
    /// is confirmed.
    ///
    /// # Errors
    /// When the sandbox fails.
    pub(super) async fn findings(
        &self,
        (passing, turned_down): (&[Candidate], f32),
        stop: &CancellationToken,
    ) -> Result<Vec<Finding>, suite::Error> {
        let with_risks = |candidate| (candidate, self.risks(candidate, turned_down));
        let mut all: Vec<(&Candidate, Vec<&str>)> = passing.iter().map(with_risks).collect();
        all.sort_by(|(a, of_a), (b, of_b)| of_a.len().cmp(&of_b.len()).then_with(|| b.score.total_cmp(&a.score)));
        let mut findings = Vec::new();
        for (tried, (candidate, risks)) in all.into_iter().take(2 * MAX_FINDINGS).enumerate() {
            if (tried > 0 && stop.is_cancelled()) || findings.len() >= MAX_FINDINGS || self.cancel.is_cancelled() {
                break;
            }
            if confirmed(self.task, candidate, self.cancel).await?.is_none() {
                continue;
            }
            let mut risks: Vec<String> = risks.into_iter().map(String::from).collect();
            if risks.is_empty() {
                risks.push("another, equally likely edit also passes the tests but behaves differently".into());
            }
            findings.push(Finding {
                patch: candidate.patch(self.task.checkout),
                explanation: explain::sentence(candidate),
                still_failing: 0,
                risks,
            });
        }
        Ok(findings)
    }
}

/// Whether all behave as the first one does. Those that have become a constant are left out if the code as it is and the
/// first one have different answers: that an edit passes by answering everything alike says more about the tests.
fn agreed(compared: &BehaviourComparison) -> bool {
    let Some((first, rivals)) = compared.candidates.split_first() else {
        return true;
    };
    let is_degenerate =
        |rival: &Behaviour| rival.is_constant_beside(first) && rival.is_constant_beside(&compared.original);
    rivals.iter().all(|rival| rival == first || is_degenerate(rival))
}

/// The run of the whole suite on a fresh copy with the candidate, if it is an improvement.
async fn confirmed(
    task: &Task<'_>,
    candidate: &Candidate,
    stop: &CancellationToken,
) -> Result<Option<TestRun>, suite::Error> {
    let fresh = suite::run_fresh(&task.suite.for_proof(), &candidate.tree(task.checkout), &[], stop).await?;
    Ok(is_better(task.before, &fresh).is_ok().then_some(fresh))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_different_answer_is_a_different_behaviour() {
        for (candidates, expected) in [
            (&[][..], true),
            (&[&["1", "2"], &["1", "2"]], true),
            (&[&["1", "2"], &["1", "2"], &["1", "3"]], false),
            // One that answers everything alike.
            (&[&["1", "2"], &["2", "2"]], true),
            (&[&["1", "2"], &["2", "raises TypeError"]], false),
            // The likeliest one does, and then it is one opinion among others.
            (&[&["2", "2"], &["1", "2"]], false),
        ] {
            let compared = BehaviourComparison {
                original: of(&["2", "1"]),
                candidates: candidates.iter().map(|answers| of(*answers)).collect(),
            };
            assert_eq!(agreed(&compared), expected, "{candidates:?}");
        }
        let was_constant = BehaviourComparison {
            original: of(&["1", "1"]),
            candidates: vec![of(&["1", "2"]), of(&["2", "2"])],
        };
        assert!(!agreed(&was_constant));
    }

    fn of(answers: &[&str]) -> Behaviour {
        Behaviour {
            answers: answers.iter().map(ToString::to_string).collect(),
        }
    }
}
