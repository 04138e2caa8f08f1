//! A gate and the answers to it.

use jiff::Timestamp;

use super::super::gate::Gate;
use super::super::id::Account;
use super::step::Unvouched;

/// One person's approval, and where it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    pub by: Account,
    /// `None` for a button, and for an approval given outside of GitHub.
    pub comment: Option<u64>,
    /// When greenlight received it; `None` in journals of versions that did not record it.
    pub at: Option<Timestamp>,
}

/// A gate and the answers to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub gate: Gate,
    pub approvals: Vec<Approval>,
    /// Approvals that turned out not to count when they were needed.
    pub unvouched: Vec<Unvouched>,
    pub rejected: Option<(Account, Option<String>)>,
    pub expired: bool,
}

impl Asked {
    /// A gate without an answer.
    pub(super) fn new(gate: Gate) -> Self {
        Self {
            gate,
            approvals: Vec::new(),
            unvouched: Vec::new(),
            rejected: None,
            expired: false,
        }
    }

    pub fn is_open(&self) -> bool {
        !self.is_approved() && self.rejected.is_none() && !self.expired
    }

    /// Whether this person approved it, under any login.
    pub fn has_approved(&self, by: &Account) -> bool {
        self.approvals.iter().any(|approval| approval.by.is(by))
    }

    pub fn approved_by(&self) -> impl Iterator<Item = &Account> {
        self.approvals.iter().map(|approval| &approval.by)
    }

    pub fn is_approved(&self) -> bool {
        self.rejected.is_none() && !self.expired && self.approvals.len() as u64 >= u64::from(self.gate.approvers)
    }
}
