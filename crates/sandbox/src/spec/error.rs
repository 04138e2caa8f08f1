//! Why there is no sandbox, or a run has no outcome.

/// This machine cannot confine an untrusted command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot confine untrusted code here: {reason}; {remedy}")]
pub struct Unusable {
    /// What is missing.
    pub reason: String,
    /// What a person can do about it.
    pub remedy: String,
}

/// A run without an outcome.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request is invalid; the text says what to change.
    #[error("{0}")]
    InvalidCommand(String),
    /// The sandbox could not be set up; for a command, this is [`crate::Outcome::DidNotStart`].
    #[error("the sandbox cannot be set up: {0}")]
    NotReady(String),
    /// greenlight's own processes failed.
    #[error("the sandbox failed: {0}")]
    Broken(#[from] std::io::Error),
}
