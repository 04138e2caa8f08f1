//! Cancellations that arrive between the moment when a process takes a piece of work and the moment when its run begins.

use std::collections::HashMap;

use crate::domain::id::PullRequestId;
use crate::domain::permission::{Authorized, Cancel};

/// How many pull requests are remembered. Only people who may cancel get in here.
const MAX_REMEMBERED: usize = 1_000;

/// The newest piece of work that cancelled a pull request where nothing was active.
#[derive(Debug, Default)]
pub(super) struct EarlyCancellations(HashMap<PullRequestId, (i64, Authorized<Cancel>)>);

impl EarlyCancellations {
    /// Remembers that this piece cancelled the pull request.
    pub(super) fn remember(&mut self, pull_request: &PullRequestId, piece: i64, request: &Authorized<Cancel>) {
        if self.0.get(pull_request).is_some_and(|(newest, _)| *newest >= piece) {
            return;
        }
        self.0.insert(pull_request.clone(), (piece, request.clone()));
        if self.0.len() > MAX_REMEMBERED {
            let oldest = self.0.iter().min_by_key(|(_, (piece, _))| *piece);
            if let Some(oldest) = oldest.map(|(pull_request, _)| pull_request.clone()) {
                self.0.remove(&oldest);
            }
        }
    }

    /// Who cancelled this piece, if a later one did.
    pub(super) fn of(&self, pull_request: &PullRequestId, piece: i64) -> Option<Authorized<Cancel>> {
        let (newest, request) = self.0.get(pull_request)?;
        (piece < *newest).then(|| request.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::Account;
    use crate::domain::permission::{Permission, authorize};

    #[test]
    fn the_newest_are_remembered() {
        let request = authorize(Cancel, &Account::new("mia"), false, Permission::Write).unwrap();
        let on = |number| PullRequestId {
            repository: "a/b".parse().unwrap(),
            number,
        };
        let mut early = EarlyCancellations::default();
        for piece in 1..=1_009 {
            early.remember(&on(piece), i64::try_from(piece).unwrap(), &request);
        }
        early.remember(&on(1_009), 3, &request);
        assert_eq!(early.0.len(), MAX_REMEMBERED);
        assert!(early.of(&on(9), 0).is_none() && early.of(&on(10), 0).is_some());
        assert!(early.of(&on(1_009), 1_008).is_some() && early.of(&on(1_009), 1_009).is_none());
    }
}
