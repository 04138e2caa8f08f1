//! What GitHub keeps about people who sign in with the App.

use std::collections::HashMap;

use jiff::Timestamp;

/// The App's settings for the web flow, and what is under way.
#[derive(Default)]
pub(super) struct SignIns {
    pub(super) callbacks: Vec<String>,
    /// The person in whose browser the pages are opened, and who agrees at once.
    pub(super) browser: Option<String>,
    pub(super) codes: HashMap<String, Code>,
}

/// A code that was not exchanged yet.
pub(super) struct Code {
    pub(super) login: String,
    pub(super) redirect: String,
    pub(super) challenge: Option<String>,
    pub(super) made: Timestamp,
}
