//! How much of a user's repository is read, and what is said when there is more or git cannot read it.

use git2::ErrorCode;

use super::Error;

/// How large a diff may be, and all files that it changes together.
pub(super) const MAX_BYTES: usize = 64 << 20;

/// How many files a diff between two commits may have.
pub(super) const MAX_FILES: usize = 20_000;

pub(super) fn too_large(what: &str, limit: usize) -> Error {
    Error::TooLarge {
        what: what.into(),
        limit: limit as u64,
    }
}

/// What libgit2 says about a repository of the user's.
pub(super) fn limit_error(error: &git2::Error) -> Error {
    let advice = if error.code() == ErrorCode::Owner {
        "; if you trust it: git config --global --add safe.directory <path>"
    } else {
        ""
    };
    Error::Local(format!(
        "git cannot read this: {}{advice}",
        super::printable(error.message().as_bytes())
    ))
}
