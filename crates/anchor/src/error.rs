//! Why a diff cannot be read or applied.

/// Why a diff cannot be read or applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It has too many bytes, lines or files.
    #[error("{what} is larger than the limit of {limit}")]
    TooLarge {
        /// The part that is too large.
        what: String,
        /// The limit.
        limit: u64,
    },
    /// It is not a diff, or does not fit the files that it changes.
    #[error("the diff does not apply: {path}, line {line} of the diff: {reason}")]
    DoesNotApply {
        /// The file concerned, as far as that is known.
        path: String,
        /// The line of the diff, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}
