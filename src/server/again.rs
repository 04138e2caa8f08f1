//! What becomes of work that broke: whether it is tried again, and what the log says.

use jiff::Timestamp;
use tokio::task::JoinError;

use crate::engine::Broken;

/// Whether what broke is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    Never,
    /// When GitHub answers again, which nobody knows.
    Sometime,
    NotBefore(Timestamp),
}

/// Says what went wrong, and whether it is tried again.
pub(super) fn log<T: Default>(outcome: Result<Result<T, Broken>, JoinError>) -> (Again, T) {
    let again = match outcome {
        Ok(Ok(result)) => return (Again::Never, result),
        Ok(Err(broken)) if broken.is_not_installed() => {
            tracing::info!(reason = %broken, "nothing is done");
            Again::Never
        }
        Ok(Err(broken)) => match broken.not_before() {
            Some(until) => {
                tracing::warn!(reason = %broken, "work waits");
                Again::NotBefore(until)
            }
            None => {
                tracing::error!(error = %broken, "work broke");
                let may_pass = matches!(&broken, Broken::GitHub(error) if error.may_pass());
                if may_pass { Again::Sometime } else { Again::Never }
            }
        },
        Err(panicked) => {
            tracing::error!(error = %panicked, "work ended in a panic");
            Again::Never
        }
    };
    (again, T::default())
}
