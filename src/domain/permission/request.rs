//! The requests of people with write access, one type for each.
//!
//! Everything that approves, rejects, cancels, retries or reverts takes one of these inside an [`Authorized`], so
//! no code can call it for a person whose permission was not fetched.

use super::super::command::Command;
use super::super::gate::GateId;
use super::super::mode::Mode;
use super::Authorized;

/// Approves a gate; `None` means the only one that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approve {
    pub gate: Option<GateId>,
}

/// Rejects a gate; `None` means the only one that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reject {
    pub gate: Option<GateId>,
    pub reason: Option<String>,
}

/// Stops the runs of a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancel;

/// Re-runs failed CI jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry;

/// Reverts the last commit that greenlight landed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Undo;

/// Shows the state of the pull request's run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status;

/// An authorized command, by its kind.
#[derive(Debug, Clone)]
pub enum Request {
    /// Starts a run.
    Begin(Authorized<Mode>),
    Approve(Authorized<Approve>),
    Reject(Authorized<Reject>),
    Cancel(Authorized<Cancel>),
    Retry(Authorized<Retry>),
    Undo(Authorized<Undo>),
    Status(Authorized<Status>),
    /// Needs no permission.
    Help,
    /// Needs no permission.
    Config,
}

impl From<Authorized<Command>> for Request {
    fn from(authorized: Authorized<Command>) -> Self {
        let Authorized { request, by } = authorized;
        match request {
            Command::Fix => Self::Begin(Authorized {
                request: Mode::Debug,
                by,
            }),
            Command::Tdd { specification } => Self::Begin(Authorized {
                request: Mode::Tdd { specification },
                by,
            }),
            Command::Refactor { goal, path } => Self::Begin(Authorized {
                request: Mode::Refactor {
                    goal,
                    // The parser already checked that this is a path.
                    path: path.and_then(|path| path.parse().ok()),
                },
                by,
            }),
            Command::Explain => Self::Begin(Authorized {
                request: Mode::Explain,
                by,
            }),
            Command::Approve { gate } => Self::Approve(Authorized {
                request: Approve { gate },
                by,
            }),
            Command::Reject { gate, reason } => Self::Reject(Authorized {
                request: Reject { gate, reason },
                by,
            }),
            Command::Cancel => Self::Cancel(Authorized { request: Cancel, by }),
            Command::Retry => Self::Retry(Authorized { request: Retry, by }),
            Command::Undo => Self::Undo(Authorized { request: Undo, by }),
            Command::Status => Self::Status(Authorized { request: Status, by }),
            Command::Help => Self::Help,
            Command::Config => Self::Config,
        }
    }
}
