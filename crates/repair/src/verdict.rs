//! What came of trying a candidate, and how many are tried at the same time.

/// Candidates that are tried at the same time at most, regardless of the machine.
const MAX_WORKERS: usize = 8;

/// What came of trying a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CandidateVerdict {
    /// The tests that failed pass, and of those that passed none was seen to fail.
    Passes,
    Fails,
    /// It does not compile, or cannot be loaded.
    Invalid,
    TimedOut,
    /// Cancelled before there was a result.
    Stopped,
}

/// What the edited function of a candidate did with each of the inputs it was given, all candidates of one call with the
/// same inputs: two that have the same answers behave alike, as far as was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Behaviour {
    /// One for each input; a value, an error or a timeout, as a digest or as text.
    pub(super) answers: Vec<String>,
}

/// How many candidates are tried at the same time: as many as there are cores, within reason.
pub(super) fn workers() -> usize {
    let cores = std::thread::available_parallelism();
    cores.map_or(1, usize::from).min(MAX_WORKERS)
}
