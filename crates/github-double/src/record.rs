//! Records every exchange for tests.

use std::collections::VecDeque;

use serde_json::Value;

/// How many exchanges are kept; the oldest are dropped first.
const KEPT: usize = 4096;

/// One request and its response.
#[derive(Debug, Clone)]
pub struct RecordedExchange {
    /// The request's method, such as `GET`.
    pub method: String,
    /// The path without the configured prefix.
    pub path: String,
    /// The route's pattern in the format of GitHub's OpenAPI description, such as
    /// `/repos/{owner}/{repo}/pulls/{pull_number}`. `None` for git, the log store, and unknown routes.
    pub route: Option<&'static str>,
    /// The query as sent, without `?`.
    pub query: String,
    /// The request's headers except `authorization`, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The login behind the credentials; empty if there are none.
    pub login: String,
    /// The request's JSON body; `null` if there is none.
    pub request: Value,
    /// The response's status.
    pub status: u16,
    /// The response's JSON body; `null` if it has none or another type.
    pub response: Value,
    /// Whether the response was a planned fault, which is not compared with GitHub's OpenAPI description.
    pub faulty: bool,
}

/// Everything recorded so far.
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

    /// Records a request that GitHub would accept silently, although it must be a mistake.
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
