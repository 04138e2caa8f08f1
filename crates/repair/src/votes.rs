//! Weighs edits that pass the tests and behave differently against each other. Several edits of one line that lead to the
//! same behaviour make it likelier: there are many ways to write the right fix, and a wrong one often passes by a
//! coincidence that is written in one way only. Edits of different lines say less: one line is often wrong, and others make
//! up for it.

use super::gate::COMPARED;
use super::verdict::{Behaviour, BehaviourComparison};

/// The candidates that speak against the first one: their behaviour differs from its, and is about as likely, with all
/// edits of the line counted that lead to it. Those that have become a constant are left out if the code as it is and the first one
/// have different answers: that an edit passes by answering everything alike says more about the tests.
///
/// There is one score and one place for each candidate, in order.
pub(super) fn against<P: PartialEq>(votes: &[(f32, P)], compared: &BehaviourComparison) -> Vec<usize> {
    let Some(first) = compared.candidates.first() else {
        return Vec::new();
    };
    let is_degenerate =
        |rival: &Behaviour| rival.is_constant_beside(first) && rival.is_constant_beside(&compared.original);
    let all = || compared.candidates.iter().zip(votes);
    let weight = |behaviour: &Behaviour, place: &P| -> f32 {
        let alike = all().filter(|(other, (_, at))| *other == behaviour && at == place);
        alike.map(|(_, (score, _))| score).sum()
    };
    let least = votes.first().map_or(0.0, |(_, place)| weight(first, place)) * COMPARED;
    let mut against = Vec::new();
    for (index, (rival, (_, place))) in all().enumerate().skip(1) {
        if rival != first && !is_degenerate(rival) && weight(rival, place) >= least {
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

    fn compared(original: &[&str], candidates: &[&[&str]]) -> BehaviourComparison {
        BehaviourComparison {
            original: of(original),
            candidates: candidates.iter().map(|answers| of(answers)).collect(),
        }
    }

    #[test]
    fn one_different_answer_is_a_different_behaviour() {
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
            let votes = vec![(1.0, 1); candidates.len()];
            let found = against(&votes, &compared(&["2", "1"], &candidates));
            assert_eq!(found, expected, "{candidates:?}");
        }
        let was_constant = compared(&["1", "1"], &[&["1", "2"], &["2", "2"]]);
        assert_eq!(against(&[(1.0, 1), (1.0, 1)], &was_constant), [1]);
    }

    #[test]
    fn what_several_edits_of_a_line_lead_to_is_likelier() {
        let three = compared(&["0", "0"], &[&["1", "2"], &["1", "3"], &["1", "2"]]);
        assert!(against(&[(0.8, 1), (0.8, 1), (0.8, 1)], &three).is_empty());
        assert_eq!(against(&[(0.8, 1), (0.8, 1), (0.1, 1)], &three), [1]);
        assert_eq!(against(&[(0.8, 1), (0.8, 1), (0.8, 2)], &three), [1]);
        // So are rivals.
        let rivals = compared(&["0", "0"], &[&["1", "2"], &["1", "3"], &["1", "3"]]);
        assert_eq!(against(&[(0.8, 1), (0.4, 2), (0.4, 2)], &rivals), [1, 2]);
        assert!(against(&[(0.8, 1), (0.4, 2), (0.4, 3)], &rivals).is_empty());
    }
}
