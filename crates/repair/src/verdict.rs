//! The verdict on a candidate, and how many candidates are tried in parallel.

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

/// How many candidates are tried in parallel: the number of cores, within reason.
pub(super) fn workers() -> usize {
    let cores = std::thread::available_parallelism();
    cores.map_or(1, usize::from).min(MAX_WORKERS)
}
