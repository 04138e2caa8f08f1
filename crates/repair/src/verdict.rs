//! The verdict on a candidate, and how many candidates are tried in parallel.

use std::collections::HashSet;

/// Maximum number of candidates tried in parallel, regardless of the machine.
const MAX_WORKERS: usize = 8;

/// The result of trying a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CandidateVerdict {
    /// The failing tests pass, and no other test was seen to fail.
    Passes,
    Fails,
    /// The first of several failing tests passes.
    Closer,
    /// The failing tests fail, but later than before, or with a value that is closer to the expected one.
    Later,
    /// It does not compile or cannot be loaded.
    Invalid,
    TimedOut,
    /// Cancelled before there was a result.
    Stopped,
}

/// What the edited function of a candidate did with each input. All candidates of one call get the same inputs: equal
/// answers mean that two candidates behave alike, as far as was observed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Behaviour {
    /// One for each input: a value, an error or a timeout, as a digest or as text.
    pub(super) answers: Vec<String>,
}

impl Behaviour {
    /// Whether it returned the same value for all inputs for which it returned one, while another returned several.
    pub(super) fn is_constant_beside(&self, other: &Behaviour) -> bool {
        self.values().count() > 1 && self.differing_values() == 1 && other.differing_values() > 1
    }

    fn differing_values(&self) -> usize {
        self.values().collect::<HashSet<_>>().len()
    }

    fn values(&self) -> impl Iterator<Item = &str> {
        let answers = self.answers.iter().map(String::as_str);
        answers.filter(|answer| !NO_VALUE.iter().any(|word| answer.starts_with(word)))
    }
}

/// The same inputs for the code as it is and for each candidate.
#[derive(Debug, Clone)]
pub(super) struct BehaviourComparison {
    pub(super) original: Behaviour,
    /// One for each candidate, in order.
    pub(super) candidates: Vec<Behaviour>,
}

/// How the answers of the harnesses begin that are no value: of Python, JavaScript and Java.
const NO_VALUE: [&str; 5] = [
    "raises ",
    "throws ",
    "timeout",
    "overflows the stack",
    "the process ended",
];
/// The same for recursion that does not end.
const OVERFLOWS: [&str; 3] = [
    "raises RecursionError",
    "overflows the stack",
    "throws java.lang.StackOverflowError",
];

impl BehaviourComparison {
    /// Whether the first candidate recurses until the stack is full with an input for which the code returned a value
    /// before. A call that only takes too long says nothing: some inputs are larger than those of the tests.
    pub(super) fn overflows(&self) -> bool {
        let starts = |answer: &str, with: &[&str]| with.iter().any(|word| answer.starts_with(word));
        let Some(first) = self.candidates.first() else {
            return false;
        };
        let mut pairs = self.original.answers.iter().zip(&first.answers);
        pairs.any(|(before, after)| starts(after, &OVERFLOWS) && !starts(before, &NO_VALUE))
    }
}

/// How many candidates are tried in parallel: the number of cores, within reason.
pub(super) fn workers() -> usize {
    let cores = std::thread::available_parallelism();
    cores.map_or(1, usize::from).min(MAX_WORKERS)
}
