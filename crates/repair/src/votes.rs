//! Weighs edits that pass the tests and behave differently against each other. Several edits of one line that lead to the
//! same behaviour make it likelier: there are many ways to write the right fix, and a wrong one often passes by a
//! coincidence that is written in one way only. Edits of different lines say less: one line is often wrong, and others make
//! up for it.

use std::ops::Range;

use greenlight_anchor::RepoPath;

use super::candidates::Candidate;
use super::verdict::{Behaviour, BehaviourComparison};
use crate::template::Template;

/// What a candidate adds to the weight of its behaviour.
#[derive(Debug, Clone)]
pub(super) struct Vote<'c> {
    score: f32,
    place: (&'c RepoPath, u32),
    /// The range that was edited, if the template offers several ways to write the same thing: they count once.
    synonyms: Option<Range<usize>>,
}

impl<'c> Vote<'c> {
    pub(super) fn of(candidate: &'c Candidate) -> Self {
        let has_synonyms = matches!(candidate.template, Template::Presence | Template::Exception);
        Self {
            score: candidate.score,
            place: (&candidate.path, candidate.line),
            synonyms: has_synonyms.then(|| candidate.range.clone()),
        }
    }
}

/// The candidates that speak against the first one: their behaviour differs from its, and weighs at least this share of
/// it. Those that have become a constant are left out if the code as it is and the first one have different answers: that
/// an edit passes by answering everything alike says more about the tests.
///
/// There is one vote for each candidate, in order.
pub(super) fn against(votes: &[Vote<'_>], share: f32, compared: &BehaviourComparison) -> Vec<usize> {
    let Some(first) = compared.candidates.first() else {
        return Vec::new();
    };
    let is_degenerate =
        |rival: &Behaviour| rival.is_constant_beside(first) && rival.is_constant_beside(&compared.original);
    let all = || compared.candidates.iter().zip(votes);
    // The sum of all candidates of the line that behave in this way.
    let weight = |behaviour: &Behaviour, place: (&RepoPath, u32)| -> f32 {
        let alike = all().filter(|(other, vote)| *other == behaviour && vote.place == place);
        let alike: Vec<&Vote<'_>> = alike.map(|(_, vote)| vote).collect();
        let is_again = |at: usize| {
            let same = |vote: &&Vote<'_>| vote.synonyms == alike[at].synonyms;
            alike[at].synonyms.is_some() && alike[..at].iter().any(same)
        };
        let counted = (0..alike.len()).filter(|at| !is_again(*at));
        counted.map(|at| alike[at].score).sum()
    };
    let least = votes.first().map_or(0.0, |vote| weight(first, vote.place)) * share;
    let mut against = Vec::new();
    for (index, (rival, vote)) in all().enumerate().skip(1) {
        if rival != first && !is_degenerate(rival) && weight(rival, vote.place) >= least {
            against.push(index);
        }
    }
    against
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(answers: &[&str]) -> Behaviour {
        Behaviour {
            answers: answers.iter().map(ToString::to_string).collect(),
        }
    }

    fn votes<'c>(path: &'c RepoPath, all: &[(f32, u32)]) -> Vec<Vote<'c>> {
        let vote = |(score, line): &(f32, u32)| Vote {
            score: *score,
            place: (path, *line),
            synonyms: None,
        };
        all.iter().map(vote).collect()
    }

    fn compared(original: &[&str], candidates: &[&[&str]]) -> BehaviourComparison {
        BehaviourComparison {
            original: of(original),
            candidates: candidates.iter().map(|answers| of(answers)).collect(),
        }
    }

    #[test]
    fn one_different_answer_is_a_different_behaviour() {
        let path: RepoPath = "a.py".parse().unwrap();
        let none: &[usize] = &[];
        for (candidates, expected) in [
            (vec![], none),
            (vec![["1", "2"], ["1", "2"]], none),
            (vec![["1", "2"], ["1", "2"], ["1", "3"], ["2", "3"]], none),
            (vec![["1", "2"], ["1", "3"], ["2", "3"]], &[1, 2]),
            // One that answers everything alike.
            (vec![["1", "2"], ["2", "2"]], none),
            (vec![["1", "2"], ["2", "raises TypeError"]], &[1]),
            // The likeliest one does, and then it is one opinion among others.
            (vec![["2", "2"], ["1", "2"]], &[1]),
        ] {
            let candidates: Vec<&[&str]> = candidates.iter().map(|answers| &answers[..]).collect();
            let votes = votes(&path, &vec![(1.0, 1); candidates.len()]);
            let found = against(&votes, 0.55, &compared(&["2", "1"], &candidates));
            assert_eq!(found, expected, "{candidates:?}");
        }
        let was_constant = compared(&["1", "1"], &[&["1", "2"], &["2", "2"]]);
        assert_eq!(against(&votes(&path, &[(1.0, 1), (1.0, 1)]), 0.55, &was_constant), [1]);
    }

    #[test]
    fn what_several_edits_of_a_line_lead_to_is_likelier() {
        let path: RepoPath = "a.py".parse().unwrap();
        let votes = |all: &[(f32, u32)]| votes(&path, all);
        let three = compared(&["0", "0"], &[&["1", "2"], &["1", "3"], &["1", "2"]]);
        assert!(against(&votes(&[(0.8, 1), (0.8, 1), (0.8, 1)]), 0.55, &three).is_empty());
        assert_eq!(against(&votes(&[(0.8, 1), (0.8, 1), (0.1, 1)]), 0.55, &three), [1]);
        assert_eq!(against(&votes(&[(0.8, 1), (0.8, 1), (0.8, 2)]), 0.55, &three), [1]);
        // Every other behaviour speaks against a kind that is seldom right.
        assert_eq!(against(&votes(&[(0.8, 1), (0.1, 1), (0.8, 1)]), 0.0, &three), [1]);
        // So are rivals.
        let rivals = compared(&["0", "0"], &[&["1", "2"], &["1", "3"], &["1", "3"]]);
        assert_eq!(against(&votes(&[(0.8, 1), (0.4, 2), (0.4, 2)]), 0.55, &rivals), [1, 2]);
        assert!(against(&votes(&[(0.8, 1), (0.4, 2), (0.4, 3)]), 0.55, &rivals).is_empty());
        // Ways of one template to write the same thing are one.
        let mut written_twice = votes(&[(0.8, 1), (0.8, 1), (0.8, 1)]);
        for vote in [0, 2] {
            written_twice[vote].synonyms = Some(0..4);
        }
        assert_eq!(against(&written_twice, 0.55, &three), [1]);
    }
}
