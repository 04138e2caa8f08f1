//! The limits on reading a user's repository, and the errors for exceeding them or for what git cannot read.

use super::Error;

/// The maximum size of a diff, and of all files that it changes together, in bytes.
pub(super) const MAX_BYTES: usize = 64 << 20;

/// The maximum number of files in a diff between two commits.
pub(super) const MAX_FILES: usize = 20_000;

pub(super) fn too_large(what: &str, limit: usize) -> Error {
    Error::TooLarge {
        what: what.into(),
        limit: limit as u64,
    }
}

/// Describes libgit2's error about a user's repository.
pub(super) fn limit_error(error: &git2::Error) -> Error {
    let message = super::printable(error.message().as_bytes());
    Error::Local(format!("git cannot read this: {message}"))
}
