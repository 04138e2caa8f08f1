//! Why a diff cannot be read or applied.

/// Why a diff cannot be read or applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It has more bytes, lines or files than are read.
    #[error("{what} is larger than the limit of {limit}")]
    TooLarge {
        /// What has too many.
        what: String,
        /// How many it may have.
        limit: u64,
    },
    /// It is not a diff, or does not fit the files it is for.
    #[error("the diff does not apply: {path}, line {line} of the diff: {reason}")]
    DoesNotApply {
        /// The file it is about, as far as that is known.
        path: String,
        /// The line of the diff, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}
