//! Decides whether a patch that passes the tests is sure enough to be proposed.
//!
//! On real code most patches that pass the tests are wrong, so what is not sure is shown as a finding and not proposed. A
//! patch is sure when it is where the fault most likely is, is of a kind that often is the fix, takes nothing away, and no
//! other edit that is about as likely passes the tests as well and behaves differently.

use tokio_util::sync::CancellationToken;

use super::candidates::Candidate;
use super::runner::Runner;
use super::suspect::Ranking;
use super::templates::EditKind;
use super::turned_down::TurnedDown;
use super::verdict::Behaviour;
use super::{Task, explain};
use crate::domain::search::Unverified;
use crate::domain::test_run::{TestRun, is_better};
use crate::suite;

/// Edits of a lower weight are seldom the fix.
const MIN_WEIGHT: f32 = 0.3;
/// What a score may fall behind another to be about as likely: where behaviour can be compared, and where it cannot.
const COMPARED: f32 = 0.7;
const UNCOMPARED: f32 = 0.9;
/// After a rejection, a fix is offered only if its score is at least this share of the rejected one's.
const UNLIKELY: f32 = 1.0 / 3.0;
/// At most this many rivals are compared.
const MAX_RIVALS: usize = 12;
/// At most this many findings are proved by a run of the whole suite, and shown.
const MAX_FINDINGS: usize = 3;

/// What the gate says to the patches that passed so far.
pub(super) enum Decision {
    /// The candidate of this index, with the run of the whole suite on a fresh copy.
    Propose(usize, Box<TestRun>),
    /// None is sure, but a later one may be.
    Wait,
    /// None is sure, and none can be any more: those that are as likely disagree.
    Disagreement,
}

/// What patches are judged by.
pub(super) struct Gate<'a> {
    pub(super) task: &'a Task<'a>,
    pub(super) runner: &'a Runner<'a>,
    pub(super) ranking: &'a Ranking,
    /// What was turned down.
    pub(super) turned_down: &'a TurnedDown<'a>,
    /// The caller's; its time limit is another matter.
    pub(super) cancel: &'a CancellationToken,
}

impl Gate<'_> {
    /// How low a score may be for its candidate to be a rival of one with this score.
    pub(super) fn least_rival(&self, score: f32) -> f32 {
        match self.can_compare() {
            true => score * COMPARED,
            false => score * UNCOMPARED,
        }
    }

    fn can_compare(&self) -> bool {
        !self.task.left_out.comparison && self.runner.can_compare()
    }

    /// Judges candidates that pass the tests; all that are about as likely as the first sure one have to be among them.
    /// `turned_down` is the score of the likeliest edit that passes and was turned down.
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
        for (at, chosen) in sure.iter().enumerate() {
            let candidate = &passing[*chosen];
            let Some(after) = confirmed(self.task, candidate, stop).await? else {
                continue;
            };
            let rivals: Vec<Candidate> = sure[at + 1..]
                .iter()
                .map(|index| &passing[*index])
                .filter(|rival| rival.score >= self.least_rival(candidate.score))
                .take(MAX_RIVALS)
                .cloned()
                .collect();
            let agree = self.agree(candidate, &rivals, stop).await?;
            let nearest = rivals.first().map(|rival| rival.score / candidate.score);
            tracing::debug!(
                candidate.score,
                rivals = rivals.len(),
                nearest,
                agree,
                "a patch is sure alone"
            );
            return Ok(match agree {
                true => Decision::Propose(*chosen, Box::new(after)),
                false => Decision::Disagreement,
            });
        }
        Ok(Decision::Wait)
    }

    /// Why a candidate is not sure, no matter what else passes the tests.
    fn risks(&self, candidate: &Candidate, turned_down: f32) -> Vec<&'static str> {
        let mut risks = Vec::new();
        if !self.is_near(candidate) {
            risks.push("it is in code that the change did not touch and that is not among the top suspects");
        }
        match candidate.template.kind() {
            EditKind::Removal => risks.push("it only removes code"),
            EditKind::Insertion => risks.push("it adds a way around the code that fails"),
            _ => {}
        }
        if candidate.weight < MIN_WEIGHT {
            risks.push("edits of its kind are seldom the fix");
        }
        if candidate.score < turned_down * UNLIKELY {
            risks.push("it is much less likely than a fix that was rejected, and the tests cannot tell the two apart");
        }
        risks
    }

    fn is_near(&self, candidate: &Candidate) -> bool {
        let changed = self.task.changed.get(&candidate.path).into_iter().flatten();
        candidate.template.kind() == EditKind::Revert
            || changed.into_iter().any(|lines| lines.contains(&candidate.line))
            || self.ranking.has(&candidate.path, &candidate.range)
    }

    /// Whether all do the same with the same inputs, as far as that can be seen. Where it cannot, any that is as likely
    /// may do something else.
    async fn agree(
        &self,
        candidate: &Candidate,
        rivals: &[Candidate],
        stop: &CancellationToken,
    ) -> Result<bool, suite::Error> {
        // Who turned one down wants to see another, and chooses between those that are as likely.
        if rivals.is_empty() || !self.task.excluded.is_empty() {
            return Ok(true);
        }
        let all: Vec<Candidate> = [candidate].into_iter().chain(rivals).cloned().collect();
        let behaviours = match self.can_compare() {
            true => self.runner.behaviours(&all, stop).await?,
            false => None,
        };
        Ok(match behaviours {
            Some(behaviours) => alike(&behaviours),
            None => rivals.iter().all(|rival| rival.score < candidate.score * UNCOMPARED),
        })
    }

    /// Proves the likeliest of these candidates and says what makes each of them unsure. When the time is up, one is tried.
    ///
    /// # Errors
    /// When the sandbox fails.
    pub(super) async fn findings(
        &self,
        (passing, turned_down): (&[Candidate], f32),
        stop: &CancellationToken,
    ) -> Result<Vec<Unverified>, suite::Error> {
        let mut all: Vec<&Candidate> = passing.iter().collect();
        all.sort_by(|a, b| {
            let risks = self.risks(a, turned_down).len().cmp(&self.risks(b, turned_down).len());
            risks.then_with(|| b.score.total_cmp(&a.score))
        });
        let mut findings = Vec::new();
        for (tried, candidate) in all.into_iter().take(2 * MAX_FINDINGS).enumerate() {
            if (tried > 0 && stop.is_cancelled()) || findings.len() >= MAX_FINDINGS || self.cancel.is_cancelled() {
                break;
            }
            if confirmed(self.task, candidate, self.cancel).await?.is_none() {
                continue;
            }
            let mut risks: Vec<String> = self
                .risks(candidate, turned_down)
                .into_iter()
                .map(String::from)
                .collect();
            if risks.is_empty() {
                risks.push("another, equally likely edit also passes the tests but behaves differently".into());
            }
            findings.push(Unverified {
                patch: candidate.patch(self.task.checkout),
                explanation: explain::sentence(candidate),
                risks,
            });
        }
        Ok(findings)
    }
}

fn alike(behaviours: &[Behaviour]) -> bool {
    behaviours.windows(2).all(|pair| pair[0] == pair[1])
}

/// The run of the whole suite on a fresh copy with the candidate, if it is better.
async fn confirmed(
    task: &Task<'_>,
    candidate: &Candidate,
    stop: &CancellationToken,
) -> Result<Option<TestRun>, suite::Error> {
    let fresh = suite::run_fresh(task.suite, &candidate.tree(task.checkout), &[], stop).await?;
    Ok(is_better(task.before, &fresh).is_ok().then_some(fresh))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_different_answer_is_a_different_behaviour() {
        let of = |answers: &[&str]| Behaviour {
            answers: answers.iter().map(ToString::to_string).collect(),
        };
        assert!(alike(&[of(&["1", "2"]), of(&["1", "2"])]));
        assert!(!alike(&[of(&["1", "2"]), of(&["1", "2"]), of(&["1", "3"])]));
        assert!(alike(&[]));
    }
}
