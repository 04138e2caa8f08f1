//! The lease of the lane that this task works in, where several processes share a journal.
//!
//! A process trusts its lease for a shorter time than the database grants it. After that it changes nothing any more,
//! neither in the journal nor on GitHub, because another process may already have taken over. The idea is Chubby's
//! sequencer and River's leadership term: <https://research.google/pubs/the-chubby-lock-service-for-loosely-coupled-distributed-systems/>.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

tokio::task_local! {
    static HELD: Option<Arc<Lease>>;
}

/// A lane that this process holds.
#[derive(Debug)]
pub struct Lease {
    /// The name of the lane.
    pub lane: String,
    /// The fencing token. Later holders of the lane have larger ones.
    pub token: i64,
    trusted_until: Mutex<Instant>,
    /// The number of the piece of work that is in progress. Later pieces have larger numbers.
    piece: AtomicI64,
}

impl Lease {
    pub fn new(lane: String, token: i64, trusted_until: Instant) -> Self {
        Self {
            lane,
            token,
            trusted_until: Mutex::new(trusted_until),
            piece: AtomicI64::new(0),
        }
    }

    /// A piece of work begins.
    pub fn begin(&self, piece: i64) {
        self.piece.store(piece, Ordering::Release);
    }

    pub fn piece(&self) -> i64 {
        self.piece.load(Ordering::Acquire)
    }

    /// The lease is confirmed, and trusted until this moment.
    pub fn extend(&self, until: Instant) {
        *self.lock() = until;
    }

    /// Another process has the lane, or may have it.
    pub fn lose(&self) {
        *self.lock() = Instant::now();
    }

    /// Whether anything may still be changed under this lease.
    pub fn is_trusted(&self) -> bool {
        Instant::now() < *self.lock()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Instant> {
        self.trusted_until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does work under a lease.
pub async fn under<F: Future>(lease: Option<Arc<Lease>>, work: F) -> F::Output {
    HELD.scope(lease, work).await
}

/// The lease of the current task. `None` where only one process works, and for work outside of lanes.
pub fn current() -> Option<Arc<Lease>> {
    HELD.try_with(Clone::clone).ok().flatten()
}

/// Whether the current task may change something.
pub fn may_act() -> bool {
    current().is_none_or(|lease| lease.is_trusted())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_task_acts_only_as_long_as_its_lease_is_trusted() {
        assert!(may_act());
        let lease = Arc::new(Lease::new("a/b#1".into(), 7, Instant::now() + Duration::from_hours(1)));
        under(Some(Arc::clone(&lease)), async {
            assert!(may_act());
            assert_eq!(current().unwrap().token, 7);
            lease.lose();
            assert!(!may_act());
            lease.extend(Instant::now() + Duration::from_hours(1));
            assert!(may_act());
        })
        .await;
        assert!(current().is_none());
    }
}
