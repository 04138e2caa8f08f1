//! Interrupts an active run from outside its lane, within a moment.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use super::early::EarlyCancellations;
use crate::domain::id::{CommitSha, PullRequestId};
use crate::domain::permission::{Authorized, Cancel};
use crate::lease;

/// Why a run has to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interrupt {
    Superseded(CommitSha),
    /// A person with the permission cancelled it.
    Cancelled(Authorized<Cancel>),
    /// The pull request was closed.
    Closed,
    /// The pull request's base branch was changed.
    Retargeted,
    /// greenlight itself is shutting down. The run continues after the restart.
    ShuttingDown,
}

/// The runs that are active now, by ticket.
#[derive(Debug, Clone, Default)]
pub struct Interrupts {
    working: Arc<Mutex<HashMap<u64, Entry>>>,
    /// The pull requests that are watched, by ticket, and whether anything happened to them.
    watched: Arc<Mutex<HashMap<u64, (PullRequestId, bool)>>>,
    /// When a pull request was last cancelled. Requests from before that moment do not begin.
    cancelled: Arc<Mutex<HashMap<PullRequestId, Timestamp>>>,
    /// What was cancelled before it began.
    early: Arc<Mutex<EarlyCancellations>>,
    /// Whether deliveries arrive at other processes, too, so that nothing can be concluded from silence.
    are_shared: bool,
}

/// A ticket of a watch, or of an active run.
fn ticket() -> u64 {
    static TICKETS: AtomicU64 = AtomicU64::new(0);
    TICKETS.fetch_add(1, Ordering::Relaxed)
}

/// How long a cancellation is remembered, for requests that wait for a worker.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(24);

#[derive(Debug)]
struct Entry {
    pull_request: PullRequestId,
    head: CommitSha,
    token: CancellationToken,
    why: Option<Interrupt>,
    /// The piece of work that it belongs to, where several processes share the work.
    piece: Option<i64>,
}

impl Entry {
    /// A cancellation or a shutdown is never replaced by another reason. The state of the pull request is looked up
    /// anyway.
    fn interrupt(&mut self, why: Interrupt) {
        if self.why.as_ref().is_none_or(Interrupt::is_hearsay) {
            self.why = Some(why);
        }
        self.token.cancel();
    }
}

impl Interrupt {
    /// Whether the reason comes from a delivery, which may be late or a replay, and must be looked up before it ends
    /// a run.
    pub fn is_hearsay(&self) -> bool {
        matches!(self, Self::Superseded(_) | Self::Closed | Self::Retargeted)
    }
}

/// An active run. Dropping it marks the run as inactive.
#[derive(Debug)]
pub struct Working {
    ticket: u64,
    all: Interrupts,
    token: CancellationToken,
}

/// Watches a pull request, so that it need not be fetched again as long as nothing happens to it. Begin to watch
/// before it is fetched.
#[derive(Debug)]
pub struct Watch {
    ticket: u64,
    all: Interrupts,
}

impl Interrupts {
    /// For one of several processes.
    pub fn shared() -> Self {
        Self {
            are_shared: true,
            ..Self::default()
        }
    }

    /// Watches a pull request from now on.
    pub fn watch(&self, pull_request: &PullRequestId) -> Watch {
        let ticket = ticket();
        self.lock_watched().insert(ticket, (pull_request.clone(), false));
        let all = self.clone();
        Watch { ticket, all }
    }

    /// Registers an active run on this head.
    pub fn enter(&self, pull_request: &PullRequestId, head: &CommitSha) -> Working {
        self.enter_for(pull_request, head, lease::current().map(|lease| lease.piece()))
    }

    fn enter_for(&self, pull_request: &PullRequestId, head: &CommitSha, piece: Option<i64>) -> Working {
        let ticket = ticket();
        let token = CancellationToken::new();
        let mut entry = Entry {
            pull_request: pull_request.clone(),
            head: head.clone(),
            token: token.clone(),
            why: None,
            piece,
        };
        // Under this lock, a cancellation either finds the entry or has been remembered.
        let mut working = self.lock();
        let cancelled = piece.and_then(|piece| self.lock_early().of(pull_request, piece));
        if let Some(request) = cancelled {
            entry.interrupt(Interrupt::Cancelled(request));
        }
        working.insert(ticket, entry);
        drop(working);
        Working {
            ticket,
            all: self.clone(),
            token,
        }
    }

    /// Interrupts every active run of this pull request. Returns false if there is none.
    pub fn interrupt(&self, pull_request: &PullRequestId, why: &Interrupt) -> bool {
        self.interrupt_earlier(pull_request, why, None)
    }

    /// Like [`Self::interrupt`], but only work that arrived before this piece: a `fix` after a `cancel` goes ahead.
    pub fn interrupt_earlier(&self, pull_request: &PullRequestId, why: &Interrupt, than: Option<i64>) -> bool {
        self.touch(|watched| watched.may_be(pull_request));
        let mut reached = false;
        let mut working = self.lock();
        for entry in working.values_mut() {
            let is_meant = match why {
                Interrupt::Superseded(head) => *head != entry.head,
                _ => true,
            } && than.is_none_or(|than| entry.piece.is_none_or(|piece| piece < than));
            if entry.pull_request.may_be(pull_request) && is_meant {
                entry.interrupt(why.clone());
                reached = true;
            }
        }
        if let (Some(piece), Interrupt::Cancelled(request), false) = (than, why, reached) {
            self.lock_early().remember(pull_request, piece, request);
        }
        reached
    }

    /// Records that a command received at this moment cancelled the pull request.
    pub fn cancelled(&self, pull_request: &PullRequestId, at: Timestamp) {
        let mut cancelled = self.cancelled.lock().unwrap_or_else(PoisonError::into_inner);
        cancelled.retain(|_, earlier| at.duration_since(*earlier) < REMEMBERED);
        cancelled.insert(pull_request.clone(), at);
    }

    /// Whether the pull request was cancelled after this moment.
    pub fn was_cancelled_after(&self, pull_request: &PullRequestId, at: Timestamp) -> bool {
        let cancelled = self.cancelled.lock().unwrap_or_else(PoisonError::into_inner);
        cancelled.get(pull_request).is_some_and(|cancelled| *cancelled > at)
    }

    /// Interrupts every active run of these pull requests. Returns false if there is none.
    pub fn interrupt_where(&self, is_meant: impl Fn(&PullRequestId) -> bool, why: &Interrupt) -> bool {
        self.touch(&is_meant);
        let mut reached = false;
        for entry in self.lock().values_mut().filter(|entry| is_meant(&entry.pull_request)) {
            entry.interrupt(why.clone());
            reached = true;
        }
        reached
    }

    /// Interrupts every active run. The next process resumes them.
    pub fn shut_down(&self) {
        for entry in self.lock().values_mut() {
            entry.interrupt(Interrupt::ShuttingDown);
        }
    }

    fn touch(&self, is_meant: impl Fn(&PullRequestId) -> bool) {
        for (pull_request, is_touched) in self.lock_watched().values_mut() {
            *is_touched |= is_meant(pull_request);
        }
    }

    /// Taken after [`Self::lock`], if both are.
    fn lock_early(&self) -> MutexGuard<'_, EarlyCancellations> {
        self.early.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_watched(&self) -> MutexGuard<'_, HashMap<u64, (PullRequestId, bool)>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Entry>> {
        self.working.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch {
    /// Whether anything was heard of the pull request.
    pub fn was_touched(&self) -> bool {
        if self.all.are_shared {
            return true;
        }
        let watched = self.all.lock_watched();
        watched.get(&self.ticket).is_none_or(|(_, is_touched)| *is_touched)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.all.lock_watched().remove(&self.ticket);
    }
}

impl Working {
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }

    pub fn interrupt(&self) -> Option<Interrupt> {
        self.all.lock().get(&self.ticket).and_then(|entry| entry.why.clone())
    }

    /// Forgets a reason that came from a delivery, so that the run can be interrupted again. Call it before looking
    /// up the pull request: anything that arrives later interrupts again.
    pub fn enter_again(&mut self) {
        if let Some(entry) = self.all.lock().get_mut(&self.ticket)
            && entry.why.as_ref().is_some_and(Interrupt::is_hearsay)
        {
            entry.why = None;
            entry.token = CancellationToken::new();
            self.token = entry.token.clone();
        }
    }

    /// Marks the run as inactive, unless it was interrupted meanwhile. Both happen under one lock.
    ///
    /// # Errors
    /// Why it was interrupted; it is still active then.
    pub fn leave(&self) -> Result<(), Interrupt> {
        let mut working = self.all.lock();
        match working.get(&self.ticket).and_then(|entry| entry.why.clone()) {
            Some(why) => Err(why),
            None => {
                working.remove(&self.ticket);
                Ok(())
            }
        }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.all.lock().remove(&self.ticket);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::Account;
    use crate::domain::permission::{Permission, authorize};

    fn sha(letter: &str) -> CommitSha {
        letter.repeat(40).parse().unwrap()
    }

    fn id() -> PullRequestId {
        PullRequestId {
            repository: "a/b".parse().unwrap(),
            number: 1,
        }
    }

    #[test]
    fn a_push_stops_the_run_on_the_old_head_only() {
        let all = Interrupts::default();
        let (old, new) = (sha("a"), sha("b"));
        let working = all.enter(&id(), &old);
        assert!(!all.interrupt(&id(), &Interrupt::Superseded(old)));
        assert!(!working.token().is_cancelled());
        assert!(all.interrupt(&id(), &Interrupt::Superseded(new.clone())));
        assert_eq!(working.interrupt(), Some(Interrupt::Superseded(new.clone())));
        assert_eq!(working.leave(), Err(Interrupt::Superseded(new)));
        assert!(working.token().is_cancelled());
        drop(working);
        assert!(!all.interrupt(&id(), &Interrupt::ShuttingDown));
    }

    #[test]
    fn a_watched_pull_request_is_touched_by_what_happens_to_it() {
        let all = Interrupts::default();
        let watch = all.watch(&id());
        let other = PullRequestId { number: 2, ..id() };
        assert!(!all.interrupt(&other, &Interrupt::Closed));
        assert!(!watch.was_touched());
        // Nothing runs there, so nothing is reached.
        assert!(!all.interrupt(&id(), &Interrupt::Superseded(sha("a"))));
        assert!(watch.was_touched());
        assert!(!all.watch(&id()).was_touched());
        drop(watch);
        assert!(all.lock_watched().is_empty());
    }

    #[test]
    fn every_active_run_of_a_pull_request_is_interrupted() {
        let all = Interrupts::default();
        let (one, two) = (all.enter(&id(), &sha("a")), all.enter(&id(), &sha("a")));
        drop(all.enter(&id(), &sha("a")));
        assert!(all.interrupt(&id(), &Interrupt::Closed));
        assert!(one.token().is_cancelled() && two.token().is_cancelled());
    }

    #[test]
    fn a_cancellation_reaches_earlier_work_that_begins_only_afterwards() {
        let all = Interrupts::default();
        let other = PullRequestId { number: 2, ..id() };
        let by = authorize(Cancel, &Account::new("mia"), false, Permission::Write).unwrap();
        let cancelled = Interrupt::Cancelled(by);
        assert!(!all.interrupt_earlier(&id(), &cancelled, Some(7)));
        assert!(!all.interrupt_earlier(&id(), &cancelled, Some(5)));
        assert!(
            !all.interrupt_earlier(&id(), &Interrupt::Closed, Some(9)),
            "a push is looked up anyway"
        );
        let begun = |on: &PullRequestId, piece| all.enter_for(on, &sha("a"), piece).interrupt();
        assert_eq!(begun(&id(), Some(6)), Some(cancelled));
        assert_eq!(begun(&id(), Some(8)), None, "a later request goes ahead");
        assert_eq!(begun(&other, Some(6)), None);
        assert_eq!(begun(&id(), None), None);
    }

    #[test]
    fn a_reason_from_a_delivery_can_be_forgotten_but_a_cancellation_cannot() {
        let all = Interrupts::default();
        let mut working = all.enter(&id(), &sha("a"));
        all.interrupt(&id(), &Interrupt::Closed);
        working.enter_again();
        assert!(working.interrupt().is_none() && !working.token().is_cancelled());
        all.interrupt(&id(), &Interrupt::Superseded(sha("b")));
        let cancelled =
            Interrupt::Cancelled(authorize(Cancel, &Account::new("mia"), false, Permission::Write).unwrap());
        all.interrupt(&id(), &cancelled);
        all.interrupt(&id(), &Interrupt::Closed);
        working.enter_again();
        assert_eq!(working.interrupt(), Some(cancelled));
        assert!(working.token().is_cancelled());
    }
}
