//! Stops a process from claiming work while GitHub refuses its credentials, because another process may have a right
//! clock or key, and every piece of work that fails here waits.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a process claims nothing after GitHub refused its credentials.
const REST: Duration = Duration::from_secs(60);

/// Whether GitHub accepts the credentials of this process, as far as it knows.
#[derive(Default)]
pub(super) struct CredentialStatus(Mutex<Option<Instant>>);

impl CredentialStatus {
    /// Records that GitHub refused them.
    pub(super) fn refuse(&self, now: Instant) {
        tracing::error!(
            "GitHub refuses this process's credentials: check its clock and its key; it claims no work for a minute"
        );
        *self.refused() = Some(now);
    }

    /// Records that work was done without a refusal. During a rest, that says nothing: it may have needed no request.
    pub(super) fn accept(&self, now: Instant) {
        if !self.is_at_rest(now) {
            *self.refused() = None;
        }
    }

    /// Whether work may be begun. After a rest, one piece shows whether they are accepted again.
    pub(super) fn may_begin(&self, now: Instant, is_idle: bool) -> bool {
        let refused = *self.refused();
        refused.is_none() || (is_idle && !self.is_at_rest(now))
    }

    /// Whether they were refused a moment ago.
    pub(super) fn is_at_rest(&self, now: Instant) -> bool {
        self.refused()
            .is_some_and(|at| now.saturating_duration_since(at) < REST)
    }

    fn refused(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_refusal_nothing_is_begun_for_a_minute_and_then_one_piece() {
        let (credentials, began) = (CredentialStatus::default(), Instant::now());
        let may = |seconds: u64, is_idle: bool| {
            let now = began + Duration::from_secs(seconds);
            (credentials.is_at_rest(now), credentials.may_begin(now, is_idle))
        };
        assert_eq!(may(0, false), (false, true));
        credentials.refuse(began);
        assert_eq!((may(0, true), may(59, true)), ((true, false), (true, false)));
        assert_eq!((may(60, true), may(60, false)), ((false, true), (false, false)));
        credentials.refuse(began + Duration::from_secs(61));
        assert_eq!((may(120, true), may(121, true)), ((true, false), (false, true)));
        credentials.accept(began + Duration::from_secs(120));
        assert_eq!(may(121, false), (false, false));
        credentials.accept(began + Duration::from_secs(121));
        assert_eq!(may(121, false), (false, true));
    }
}
