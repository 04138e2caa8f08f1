//! Decides which work gets a worker next, so that nobody can occupy them all.
//!
//! - Work that somebody asked for comes before other work, such as red CI. The latter gets workers that are left
//!   over, at most half of them.
//! - From four workers on, a repository gets at most three quarters of them.
//! - Of what waits for the same, small work comes first, but not for ever.
//! - One more worker is in reserve. When all are busy, it goes to a repository for which no requested work is
//!   running. So even a service with one worker starts a maintainer's work while it handles a stranger's red CI.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::domain::id::Repository;
use crate::journal::SMALL_FIRST;

/// How many workers a process has, and how many of them, or of all that share its work, one party may use.
#[derive(Debug, Clone, Default)]
pub struct WorkerSettings {
    /// With none, which only a journal that is shared allows, others do the work.
    pub number: usize,
    /// The most workers for one repository at once. `None` leaves it to greenlight.
    pub per_repository: Option<usize>,
    /// The most workers for all repositories of one owner at once. `None` if there is no limit.
    pub per_owner: Option<usize>,
}

impl From<usize> for WorkerSettings {
    fn from(number: usize) -> Self {
        Self {
            number,
            ..Self::default()
        }
    }
}

/// On whose behalf a worker is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) repository: Repository,
    /// Whether a person asked for it, as opposed to red CI.
    pub(super) is_asked_for: bool,
    /// Whether it takes seconds or minutes, such as landing what was approved.
    pub(super) is_small: bool,
}

/// The workers of a service.
#[derive(Clone)]
pub(super) struct Workers {
    settings: Arc<WorkerSettings>,
    held: Arc<Mutex<Assignment>>,
}

#[derive(Default)]
struct Assignment {
    at_work: Vec<Share>,
    /// In order of arrival.
    waiting: Vec<WaitingShare>,
}

struct WaitingShare {
    share: Share,
    /// When it has its turn: when it arrived, or later if it is large.
    turn: Instant,
    sender: oneshot::Sender<Worker>,
}

/// An occupied worker. Dropping it frees it.
pub(super) struct Worker {
    share: Option<Share>,
    of: Workers,
}

impl Workers {
    pub(super) fn new(settings: impl Into<WorkerSettings>) -> Self {
        let settings = settings.into();
        Self {
            settings: Arc::new(WorkerSettings {
                number: settings.number.max(1),
                ..settings
            }),
            held: Arc::default(),
        }
    }

    /// Waits for a worker. It is never `None` while the service runs.
    pub(super) async fn take(&self, share: Share) -> Option<Worker> {
        let (sender, worker) = oneshot::channel();
        let delay = if share.is_small { Duration::ZERO } else { SMALL_FIRST };
        let turn = Instant::now() + delay;
        self.held().waiting.push(WaitingShare { share, turn, sender });
        self.assign();
        worker.await.ok()
    }

    /// Assigns workers to those who wait, as long as one may start.
    fn assign(&self) {
        loop {
            let (worker, sender) = {
                let mut held = self.held();
                let Some(next) = held.next(&self.settings) else { return };
                let WaitingShare { share, sender, .. } = held.waiting.remove(next);
                held.at_work.push(share.clone());
                let worker = Worker {
                    share: Some(share),
                    of: self.clone(),
                };
                (worker, sender)
            };
            // If the receiver is gone, the worker is freed by dropping it, outside of the lock.
            drop(sender.send(worker));
        }
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Assignment> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(share) = self.share.take() {
            let mut held = self.of.held();
            if let Some(place) = held.at_work.iter().position(|other| *other == share) {
                held.at_work.swap_remove(place);
            }
            drop(held);
            self.of.assign();
        }
    }
}

impl Assignment {
    /// Which work may start now: requested work first, then the repository with the least running work, then small
    /// work, then the longest wait.
    fn next(&self, workers: &WorkerSettings) -> Option<usize> {
        let may_start = |(_, waiting): &(usize, &WaitingShare)| self.may_start(&waiting.share, workers);
        let order = |(place, waiting): &(usize, &WaitingShare)| {
            let share = &waiting.share;
            let at_work = self.count(|other| other.repository == share.repository);
            (!share.is_asked_for, at_work, waiting.turn, *place)
        };
        let waiting = self.waiting.iter().enumerate();
        waiting.filter(may_start).min_by_key(order).map(|(place, _)| place)
    }

    fn may_start(&self, share: &Share, settings: &WorkerSettings) -> bool {
        let busy = self.at_work.len();
        let workers = settings.number;
        let of_repository = self.count(|other| other.repository == share.repository);
        let owner = share.repository.name.owner();
        let of_owner = || self.count(|other| other.repository.name.owner().eq_ignore_ascii_case(owner));
        let is_allowed = settings.per_repository.is_none_or(|most| of_repository < most)
            && settings.per_owner.is_none_or(|most| of_owner() < most);
        if !is_allowed {
            return false;
        }
        let most = if workers < 4 { workers } else { workers * 3 / 4 };
        if share.is_asked_for {
            let asked = self.count(|other| other.repository == share.repository && other.is_asked_for);
            return (busy < workers && of_repository < most) || (busy == workers && asked == 0);
        }
        let unasked = self.count(|other| !other.is_asked_for);
        busy < workers && of_repository < most && unasked < (workers / 2).max(1)
    }

    fn count(&self, what: impl Fn(&Share) -> bool) -> usize {
        self.at_work.iter().filter(|share| what(share)).count()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn asked(repository: &str) -> Share {
        Share {
            repository: repository.parse().unwrap(),
            is_asked_for: true,
            is_small: false,
        }
    }

    fn unasked(repository: &str) -> Share {
        Share {
            is_asked_for: false,
            ..asked(repository)
        }
    }

    /// A worker, if one is free for this.
    fn now(workers: &Workers, share: Share) -> Option<Worker> {
        workers.take(share).now_or_never().flatten()
    }

    #[test]
    fn a_repository_without_work_gets_a_worker_when_another_holds_all() {
        for number in 1..=9 {
            let workers = Workers::new(number);
            let held: Vec<Worker> = (0..20).map_while(|_| now(&workers, asked("a/busy"))).collect();
            assert!(held.len() <= number, "{number}");
            assert!(now(&workers, asked("b/other")).is_some(), "{number}");
        }
    }

    #[test]
    fn a_repository_and_an_owner_get_no_more_workers_than_configured() {
        let workers = Workers::new(WorkerSettings {
            number: 8,
            per_repository: Some(2),
            per_owner: Some(3),
        });
        let of_one: Vec<Worker> = (0..8).map_while(|_| now(&workers, asked("acme/a"))).collect();
        let of_owner: Vec<Worker> = (0..8).map_while(|_| now(&workers, asked("ACME/b"))).collect();
        let others: Vec<Worker> = (0..8).map_while(|_| now(&workers, asked("b/b"))).collect();
        assert_eq!((of_one.len(), of_owner.len(), others.len()), (2, 1, 2));
        drop(of_one);
        assert!(now(&workers, asked("acme/b")).is_some());
    }

    #[test]
    fn unrequested_work_gets_half_of_the_workers_and_never_the_reserve() {
        for (number, most) in [(1, 1), (2, 1), (3, 1), (4, 2), (8, 4)] {
            let workers = Workers::new(number);
            let held: Vec<Worker> = (0..20)
                .map_while(|at| now(&workers, unasked(&format!("a/r{at}"))))
                .collect();
            assert_eq!(held.len(), most, "{number}");
            assert!(now(&workers, asked("a/r0")).is_some(), "{number}");
        }
        let workers = Workers::new(1);
        let _one = now(&workers, asked("a/b")).unwrap();
        assert!(now(&workers, unasked("c/d")).is_none());
    }

    #[test]
    fn requested_work_and_repositories_with_less_work_come_first() {
        let workers = Workers::new(2);
        let first = now(&workers, asked("a/a")).unwrap();
        let _second = now(&workers, asked("a/a")).unwrap();
        let reserve = now(&workers, asked("b/b")).unwrap();
        let mut red = Box::pin(workers.take(unasked("c/c")));
        let mut again = Box::pin(workers.take(asked("a/a")));
        let mut other = Box::pin(workers.take(asked("d/d")));
        assert!((&mut red).now_or_never().is_none());
        assert!((&mut again).now_or_never().is_none());
        assert!((&mut other).now_or_never().is_none());
        drop(reserve);
        let other = (&mut other).now_or_never().flatten().unwrap();
        assert!((&mut again).now_or_never().is_none());
        drop(first);
        assert!((&mut again).now_or_never().is_none());
        drop(other);
        let _again = (&mut again).now_or_never().flatten().unwrap();
        assert!((&mut red).now_or_never().is_none());
    }

    #[test]
    fn small_work_overtakes_large_work_that_waits_for_the_same() {
        let workers = Workers::new(1);
        let held = now(&workers, asked("a/a")).unwrap();
        let _reserve = now(&workers, asked("b/b")).unwrap();
        let mut large = Box::pin(workers.take(asked("c/c")));
        let is_small = true;
        let mut small = Box::pin(workers.take(Share {
            is_small,
            ..asked("d/d")
        }));
        assert!((&mut large).now_or_never().is_none());
        assert!((&mut small).now_or_never().is_none());
        drop(held);
        let small = (&mut small).now_or_never().flatten().unwrap();
        assert!((&mut large).now_or_never().is_none());
        drop(small);
        let _large = (&mut large).now_or_never().flatten().unwrap();
    }

    #[test]
    fn cancelled_requests_take_no_worker() {
        let workers = Workers::new(1);
        let held = now(&workers, asked("a/a")).unwrap();
        drop(workers.take(asked("a/a")));
        let mut waiting = Box::pin(workers.take(asked("a/a")));
        assert!((&mut waiting).now_or_never().is_none());
        drop(waiting);
        drop(held);
        assert!(now(&workers, asked("a/a")).is_some());
    }
}
