//! Every exchange, kept for the tests to read.

use std::collections::VecDeque;

use serde_json::Value;

/// How many exchanges are kept; the oldest go first.
const KEPT: usize = 4096;

/// One request and what was answered.
#[derive(Debug, Clone)]
pub struct RecordedExchange {
    /// The request's method, such as `GET`.
    pub method: String,
    /// The path without the configured prefix.
    pub path: String,
    /// The route's pattern in the form of GitHub's own description, such as
    /// `/repos/{owner}/{repo}/pulls/{pull_number}`. `None` for git, the store of logs, and unknown routes.
    pub route: Option<&'static str>,
    /// The query as it came, without `?`.
    pub query: String,
    /// The request's headers except `authorization`, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The login behind the credentials; empty without any.
    pub login: String,
    /// The request's JSON body; `null` without one.
    pub request: Value,
    /// The answer's status.
    pub status: u16,
    /// The answer's JSON body; `null` when it was none or another type.
    pub response: Value,
    /// The answer was a planned fault, so it is not compared with GitHub's description.
    pub faulty: bool,
}

/// What was recorded so far.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    exchanges: VecDeque<RecordedExchange>,
    violations: Vec<String>,
}

impl Recorder {
    pub(super) fn keep(&mut self, exchange: RecordedExchange) {
        if self.exchanges.len() == KEPT {
            self.exchanges.pop_front();
        }
        self.exchanges.push_back(exchange);
    }

    /// Notes a request GitHub would have let pass in silence, although it cannot have been meant.
    pub(super) fn violation(&mut self, what: String) {
        tracing::error!(what, "the double saw a request that breaks GitHub's rules");
        if self.violations.len() < KEPT {
            self.violations.push(what);
        }
    }

    pub(super) fn exchanges(&self) -> Vec<RecordedExchange> {
        self.exchanges.iter().cloned().collect()
    }

    pub(super) fn violations(&self) -> Vec<String> {
        self.violations.clone()
    }
}
