//! Decides whether failed work is tried again, and logs the error.

use jiff::{SignedDuration, Timestamp};
use tokio::task::JoinError;

use crate::domain::worker_labels::WorkerLabels;
use crate::engine::Broken;

/// How long after its arrival a delivery that met an outage of GitHub or of the database is retried. By default, a gate
/// is open for as long.
pub(super) const MAX_AGE: SignedDuration = SignedDuration::from_hours(24);

/// Whether failed work is tried again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Again {
    Never,
    /// When GitHub or the database responds again, which cannot be predicted.
    Sometime,
    NotBefore(Timestamp),
    /// By a process with these labels.
    Elsewhere(WorkerLabels),
    /// By a process whose credentials GitHub accepts.
    Unauthorized,
}

/// Logs an error, and returns whether the work is tried again.
pub(super) fn log<T: Default>(outcome: Result<Result<T, Broken>, JoinError>) -> (Again, T) {
    let again = match outcome {
        Ok(Ok(result)) => return (Again::Never, result),
        Ok(Err(broken)) if broken.is_not_installed() => {
            tracing::info!(reason = %broken, "nothing is done");
            Again::Never
        }
        Ok(Err(Broken::Elsewhere(needs))) => {
            tracing::info!(%needs, "work is left to a worker with these labels");
            Again::Elsewhere(needs)
        }
        Ok(Err(broken)) => match broken.not_before() {
            Some(until) => {
                tracing::warn!(reason = %broken, "work waits");
                Again::NotBefore(until)
            }
            None if broken.is_unauthorized() => {
                tracing::warn!(error = %broken, "work failed, and is tried again with other credentials");
                Again::Unauthorized
            }
            None if broken.may_pass() => {
                tracing::warn!(error = %broken, "work failed, and is tried again later");
                Again::Sometime
            }
            None => {
                tracing::error!(error = %broken, "work failed");
                Again::Never
            }
        },
        Err(panicked) => {
            tracing::error!(error = %panicked, "work panicked");
            Again::Never
        }
    };
    (again, T::default())
}
