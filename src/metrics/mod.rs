//! Counts what a service does, for Prometheus.
//!
//! The value of a label is a `&'static str`, so it is a word of greenlight's own code. Nothing that anybody sends, writes
//! or configures (the name of a repository, a workflow, a model) can become one, so nobody can create time series.
//!
//! Names and units: <https://prometheus.io/docs/practices/naming/>. Not here: who may read them (`server/metrics.rs`).

mod deliveries;
mod families;
mod gates;
mod github;
mod lanes;
mod model;
mod runs;
mod sandbox;

use std::fmt;
use std::time::Duration;

pub use deliveries::{Deliveries, DeliveryOutcome};
pub use gates::Gates;
pub use github::{Answered, Budget, GitHubTraffic, RequestClass};
pub use lanes::{LaneKind, Lanes, WaitingLane};
pub use model::{ModelTraffic, PendingReply, ReplyCost};
use prometheus_client::encoding::{prometheus_text, text};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
pub use runs::{Appended, Runs, StepTimer};
pub use sandbox::SandboxUse;

use crate::domain::run::Run;

/// What the name of every metric begins with.
const PREFIX: &str = "greenlight";

/// A format of the exposition, and what its HTTP response is labelled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// <https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format>
    Prometheus,
    /// <https://prometheus.io/docs/specs/om/open_metrics_spec/>
    OpenMetrics,
}

impl Format {
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// All metrics of one service. There is no global state: what counts is given a handle.
pub struct Metrics {
    registry: Registry,
    pub deliveries: Deliveries,
    pub lanes: Lanes,
    pub runs: Runs,
    pub gates: Gates,
    pub github: GitHubTraffic,
    pub model: ModelTraffic,
    pub sandbox: SandboxUse,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix(PREFIX);
        let version = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The version of greenlight", version);
        let registry_of = &mut registry;
        let (deliveries, lanes) = (Deliveries::new(registry_of), Lanes::new(registry_of));
        let (runs, gates) = (Runs::new(registry_of), Gates::new(registry_of));
        let (github, model) = (GitHubTraffic::new(registry_of), ModelTraffic::new(registry_of));
        let sandbox = SandboxUse::new(registry_of);
        Self {
            registry,
            deliveries,
            lanes,
            runs,
            gates,
            github,
            model,
            sandbox,
        }
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

impl Metrics {
    /// A step was appended to a run, which has taken it. `took` is how long it was worked on, if that is known.
    pub fn append(&self, run: &Run, appended: Appended, took: Option<Duration>) {
        self.runs.append(run, appended, took);
        match (appended.gate, appended.answer) {
            (Some(kind), None) => self.gates.open(kind),
            (Some(kind), Some(answer)) => self.gates.answer(kind, answer),
            (None, _) => {}
        }
    }

    /// The current values as text.
    ///
    /// # Errors
    /// When a metric cannot be written, which is a bug.
    pub fn render(&self, format: Format) -> Result<String, fmt::Error> {
        self.lanes.refresh();
        self.gates.refresh();
        self.github.refresh();
        let mut written = String::new();
        match format {
            Format::Prometheus => prometheus_text::encode(&mut written, &self.registry)?,
            Format::OpenMetrics => text::encode(&mut written, &self.registry)?,
        }
        Ok(written)
    }
}

#[cfg(test)]
mod tests;
