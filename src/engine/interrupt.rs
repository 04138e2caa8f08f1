//! Stopping a run that is at work, from outside its lane, within a moment.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::domain::id::{CommitSha, Login, PullRequestId};

/// Why a run has to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interrupt {
    Superseded(CommitSha),
    Cancelled(Login),
    /// The pull request was closed.
    Closed,
    /// greenlight itself ends; the run goes on after the restart.
    ShuttingDown,
}

/// The runs at work now, at most one a pull request.
#[derive(Debug, Clone, Default)]
pub struct Interrupts {
    working: Arc<Mutex<HashMap<PullRequestId, Entry>>>,
}

#[derive(Debug)]
struct Entry {
    ticket: u64,
    head: CommitSha,
    token: CancellationToken,
    why: Option<Interrupt>,
}

/// A run at work; dropping it says that the work is over.
#[derive(Debug)]
pub struct Working {
    ticket: u64,
    all: Interrupts,
    pull_request: PullRequestId,
    token: CancellationToken,
}

impl Interrupts {
    /// Notes that a run is at work on this head.
    pub fn enter(&self, pull_request: &PullRequestId, head: &CommitSha) -> Working {
        static TICKETS: AtomicU64 = AtomicU64::new(0);
        let ticket = TICKETS.fetch_add(1, Ordering::Relaxed);
        let token = CancellationToken::new();
        let entry = Entry {
            ticket,
            head: head.clone(),
            token: token.clone(),
            why: None,
        };
        self.lock().insert(pull_request.clone(), entry);
        Working {
            ticket,
            all: self.clone(),
            pull_request: pull_request.clone(),
            token,
        }
    }

    /// Stops the run at work on this pull request; false if there is none.
    pub fn interrupt(&self, pull_request: &PullRequestId, why: Interrupt) -> bool {
        let mut working = self.lock();
        let Some(entry) = working.get_mut(pull_request) else {
            return false;
        };
        if why == Interrupt::Superseded(entry.head.clone()) {
            return false;
        }
        entry.why.get_or_insert(why);
        entry.token.cancel();
        true
    }

    /// Stops everything at work, to be resumed by the next process.
    pub fn shut_down(&self) {
        for entry in self.lock().values_mut() {
            entry.why.get_or_insert(Interrupt::ShuttingDown);
            entry.token.cancel();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<PullRequestId, Entry>> {
        self.working.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Working {
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Says that the work is over, unless it was interrupted meanwhile: nothing falls between the two.
    ///
    /// # Errors
    /// Why it was interrupted; the work is not over then.
    pub fn leave(&self) -> Result<(), Interrupt> {
        let mut working = self.all.lock();
        let mine = working
            .get(&self.pull_request)
            .filter(|entry| entry.ticket == self.ticket);
        match mine.map(|entry| entry.why.clone()) {
            Some(Some(why)) => Err(why),
            Some(None) => {
                working.remove(&self.pull_request);
                Ok(())
            }
            None => Ok(()),
        }
    }

    pub fn interrupt(&self) -> Option<Interrupt> {
        self.all
            .lock()
            .get(&self.pull_request)
            .and_then(|entry| entry.why.clone())
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        let mut working = self.all.lock();
        if working
            .get(&self.pull_request)
            .is_some_and(|entry| entry.ticket == self.ticket)
        {
            working.remove(&self.pull_request);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_push_stops_the_run_on_the_old_head_only() {
        let all = Interrupts::default();
        let id = PullRequestId {
            repository: "a/b".parse().unwrap(),
            number: 1,
        };
        let (old, new): (CommitSha, CommitSha) = ("a".repeat(40).parse().unwrap(), "b".repeat(40).parse().unwrap());
        let working = all.enter(&id, &old);
        assert!(!all.interrupt(&id, Interrupt::Superseded(old)));
        assert!(!working.token().is_cancelled());
        assert!(all.interrupt(&id, Interrupt::Superseded(new.clone())));
        assert_eq!(working.interrupt(), Some(Interrupt::Superseded(new.clone())));
        assert_eq!(working.leave(), Err(Interrupt::Superseded(new)));
        assert!(working.token().is_cancelled());
        drop(working);
        assert!(!all.interrupt(&id, Interrupt::ShuttingDown));
    }
}
