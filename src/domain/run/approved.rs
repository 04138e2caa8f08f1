//! The only place where an approval is made: from a gate and its answers, checked against the current proposal.

use super::super::gate::{Gate, GateKind, Terms};
use super::super::id::{Account, CommitSha, RunId};
use super::super::permission::Permission;
use super::super::proposal::Proposal;
use super::{Asked, Run};

/// Proof that people approved landing the proposal of a run, as it is now. Only [`Run::approved`] makes one:
///
/// ```compile_fail,E0451
/// use greenlight::domain::run::{Approved, Run};
///
/// fn forged(run: &Run) -> Approved<'_> {
///     Approved { run, proposal: run.proposal.as_ref().unwrap(), by: Vec::new() }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Approved<'a> {
    run: &'a Run,
    proposal: &'a Proposal,
    by: Vec<Account>,
}

/// Why a proposal must not land, as a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotApproved {
    #[error("Nobody approved landing this.")]
    NoApproval,
    #[error("{needed} people have to approve, and {approved} did.")]
    TooFew { needed: u32, approved: usize },
    #[error("{by} approved, but no longer has write access.")]
    NoWriteAccess { by: Account },
    #[error("{by} approved after the request had expired.")]
    TooLate { by: Account },
    #[error("What was approved is not what would land now.")]
    OtherContent,
    #[error("The approval is for {approved}, but this run works on \
             {head}.", approved = approved.short(), head = head.short())]
    OtherHead { approved: CommitSha, head: CommitSha },
    #[error("It was approved, but not tested.")]
    NotTested,
}

impl<'a> Approved<'a> {
    pub fn proposal(&self) -> &'a Proposal {
        self.proposal
    }

    /// The head that was tested and that the request named.
    pub fn head(&self) -> &'a CommitSha {
        &self.run.started.head
    }

    pub fn run(&self) -> &'a RunId {
        self.run.id()
    }

    /// Everybody who approved, in order.
    pub fn by(&self) -> &[Account] {
        &self.by
    }

    /// The same approval with the current logins of these accounts; nobody is added or removed.
    #[must_use]
    pub fn called(mut self, accounts: &[Account]) -> Self {
        for by in &mut self.by {
            if let Some(now) = accounts.iter().find(|now| now.id.is_some() && now.id == by.id) {
                by.clone_from(now);
            }
        }
        self
    }
}

impl Run {
    /// The people whose approvals decide whether the proposal lands. Their permissions must be fetched for
    /// [`Self::approved`].
    pub fn landing_approvers(&self) -> Vec<Account> {
        let asked = self.landing_gate();
        asked.into_iter().flat_map(Asked::approved_by).cloned().collect()
    }

    /// Checks that the proposal may land. The newest request to land it must be for this kind of proposal and this
    /// head, its digest must cover the current proposal, enough people who have write access now must have approved
    /// it in time, and the proposal must be tested. `permissions` are those people's, fetched just now; a person
    /// without an entry has none.
    ///
    /// This does not check where the branch is now: landing moves it only from the approved head.
    ///
    /// # Errors
    /// The first condition that is not met.
    pub fn approved(&self, permissions: &[(Account, Permission)]) -> Result<Approved<'_>, NotApproved> {
        let (Some(asked), Some(proposal)) = (self.landing_gate(), &self.proposal) else {
            return Err(NotApproved::NoApproval);
        };
        if asked.rejected.is_some() || asked.expired || asked.approvals.is_empty() {
            return Err(NotApproved::NoApproval);
        }
        if asked.gate.head != self.started.head {
            return Err(NotApproved::OtherHead {
                approved: asked.gate.head.clone(),
                head: self.started.head.clone(),
            });
        }
        if self.digest_now(&asked.gate).as_ref() != Some(&asked.gate.digest) {
            return Err(NotApproved::OtherContent);
        }
        for approval in &asked.approvals {
            let by = &approval.by;
            if approval.at.is_some_and(|at| at >= asked.gate.expires) {
                return Err(NotApproved::TooLate { by: by.clone() });
            }
            let is_theirs = |(account, permission): &(Account, Permission)| account == by && permission.may_approve();
            if !permissions.iter().any(is_theirs) {
                return Err(NotApproved::NoWriteAccess { by: by.clone() });
            }
        }
        let needed = asked.gate.approvers.max(1);
        if (asked.approvals.len() as u64) < u64::from(needed) {
            return Err(NotApproved::TooFew {
                needed,
                approved: asked.approvals.len(),
            });
        }
        if self.evidence.is_none() {
            return Err(NotApproved::NotTested);
        }
        Ok(Approved {
            run: self,
            proposal,
            by: asked.approved_by().cloned().collect(),
        })
    }

    /// The newest request whose approval lands a commit.
    pub fn landing_gate(&self) -> Option<&Asked> {
        self.gates.iter().rfind(|asked| asked.gate.kind.lands())
    }

    /// The digest of what a gate would permit now. `None` if its kind does not fit the current proposal.
    pub fn digest_now(&self, gate: &Gate) -> Option<String> {
        let proposed = || {
            let patch = &self.proposal.as_ref()?.patch;
            Some((patch.digest(), patch.paths().count()))
        };
        let weakenings = self.proposal.as_ref().map_or(0, |proposal| proposal.weakens.len());
        let content = match &gate.kind {
            GateKind::Search { command, .. } => command.clone(),
            GateKind::VerifyAndLand { command, files, .. } => {
                let (patch, count) = proposed()?;
                (count == *files && weakenings == 0).then(|| format!("{patch}\n{command}"))?
            }
            GateKind::Land { files } => {
                let (patch, count) = proposed()?;
                (count == *files && weakenings == 0).then_some(patch)?
            }
            GateKind::ChangeTests {
                files,
                weakenings: shown,
            } => {
                let (patch, count) = proposed()?;
                (count == *files && weakenings == *shown && weakenings > 0).then_some(patch)?
            }
            GateKind::Tests { files, tests } => {
                let first = self.tests_first.as_ref()?;
                let is_it = first.patch.paths().count() == *files && first.names.len() == *tests;
                is_it.then(|| first.patch.digest())?
            }
            GateKind::Execute(execution) => {
                let wanted = &self.deferred.as_ref()?.execution;
                (**execution == *wanted).then(|| serde_json::json!(gate.circumstances).to_string())?
            }
        };
        let terms = Terms {
            head: self.started.head.clone(),
            approvers: gate.approvers,
            opened: gate.opened,
            expires: gate.expires,
        };
        Some(Gate::open(self.id(), 0, gate.kind.clone(), &content, terms).digest)
    }
}
