//! Requests to the model, and what they cost.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::families::{counters, of_work};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfOutcome {
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Tokens {
    kind: &'static str,
}

/// The requests; a handle that is cheap to clone.
#[derive(Clone)]
pub struct ModelTraffic(Arc<ModelCounters>);

struct ModelCounters {
    requests: Family<OfOutcome, Counter>,
    took: Histogram,
    tokens: Family<Tokens, Counter>,
    cost: Counter<f64, AtomicU64>,
}

impl fmt::Debug for ModelTraffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ModelTraffic")
    }
}

impl ModelTraffic {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let requests = "Requests to the model, by how they ended";
        let tokens = "Tokens of the model: input, input that the endpoint had in its cache, and output";
        let (took, cost) = (of_work(), Counter::default());
        let help = "Time until the model had answered or failed";
        registry.register_with_unit("model_request_duration", help, Unit::Seconds, took.clone());
        let help = "What the model cost, in US dollars, if its price is known";
        registry.register_with_unit("model_cost", help, Unit::Other("dollars".into()), cost.clone());
        Self(Arc::new(ModelCounters {
            requests: counters(registry, "model_requests", requests),
            took,
            tokens: counters(registry, "model_tokens", tokens),
            cost,
        }))
    }

    /// A request is sent.
    pub fn ask(&self) -> PendingReply {
        PendingReply {
            of: Arc::clone(&self.0),
            begun: Instant::now(),
            outcome: "cancelled",
        }
    }
}

/// What an answer cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyCost {
    /// In tokens, with those that the endpoint had in its cache.
    pub input: u64,
    pub cached_input: u64,
    pub output: u64,
    /// Millionths of a US dollar. `None` if the price is not known.
    pub micros: Option<u64>,
}

/// A request without an answer yet. Dropping it counts it as cancelled.
pub struct PendingReply {
    of: Arc<ModelCounters>,
    begun: Instant,
    outcome: &'static str,
}

impl PendingReply {
    /// There is an answer, which cost this.
    pub fn answer(mut self, cost: &ReplyCost) {
        self.outcome = "answered";
        let cached = cost.cached_input.min(cost.input);
        for (kind, tokens) in [
            ("input", cost.input - cached),
            ("cached_input", cached),
            ("output", cost.output),
        ] {
            self.of.tokens.get_or_create(&Tokens { kind }).inc_by(tokens);
        }
        if let Some(micros) = cost.micros {
            self.of.cost.inc_by(dollars(micros));
        }
    }

    /// It failed in this way.
    pub fn fail(mut self, how: &'static str) {
        self.outcome = how;
    }
}

impl Drop for PendingReply {
    fn drop(&mut self) {
        let outcome = self.outcome;
        self.of.requests.get_or_create(&OfOutcome { outcome }).inc();
        self.of.took.observe(self.begun.elapsed().as_secs_f64());
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "nobody spends more than 2^52 millionths of a dollar on one request"
)]
fn dollars(micros: u64) -> f64 {
    micros as f64 / 1e6
}
