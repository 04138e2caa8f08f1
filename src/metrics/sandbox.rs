//! What ran in the sandbox, and how it ended.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use super::families::{Durations, counters, durations, gauges, of_work};
use crate::sandbox::{EndOfUse, Outcome, Use, UseWatch};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfUse {
    kind: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ending {
    kind: &'static str,
    outcome: &'static str,
}

const ENDED: &str = "ended";

/// The sandboxes; a handle that is cheap to clone.
#[derive(Clone)]
pub struct SandboxUse(Arc<UseCounters>);

struct UseCounters {
    running: Family<OfUse, Gauge>,
    ended: Family<Ending, Counter>,
    took: Durations<OfUse>,
    cpu: Counter<f64, AtomicU64>,
}

impl SandboxUse {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let running = "Sandboxes in use: for a command, or for a session of an interpreter";
        let ended = "Sandboxes that ended, by what they were used for, and how that ended";
        let took = "Time that sandboxes were in use";
        let cpu = Counter::default();
        let help = "Processor time of all processes in sandboxes that ended";
        registry.register_with_unit("sandbox_cpu", help, Unit::Seconds, cpu.clone());
        Self(Arc::new(UseCounters {
            running: gauges(registry, "sandboxes_running", running),
            ended: counters(registry, "sandboxes", ended),
            took: durations(registry, ("sandbox_duration", took), of_work),
            cpu,
        }))
    }

    /// For a sandbox, which calls it for each use.
    pub fn watch(&self) -> UseWatch {
        let handle = self.clone();
        UseWatch::new(move |kind| {
            let mut in_use = handle.begin(kind);
            Box::new(move |end| in_use.end(end))
        })
    }

    /// A use begins. Dropping the result ends it.
    pub(super) fn begin(&self, kind: Use) -> InUse {
        // A session that is dropped has ended.
        let (kind, outcome) = match kind {
            Use::Command => ("command", "cancelled"),
            Use::Session => ("session", ENDED),
        };
        self.0.running.get_or_create(&OfUse { kind }).inc();
        InUse {
            of: Arc::clone(&self.0),
            kind,
            begun: Instant::now(),
            outcome,
        }
    }
}

/// A sandbox in use, until it is dropped.
pub(super) struct InUse {
    of: Arc<UseCounters>,
    kind: &'static str,
    begun: Instant,
    outcome: &'static str,
}

impl InUse {
    fn end(&mut self, end: EndOfUse<'_>) {
        let cpu = match end {
            EndOfUse::Command(output) => {
                self.outcome = word(&output.outcome);
                output.cpu
            }
            EndOfUse::Session(cpu) => cpu,
            EndOfUse::Failed => {
                self.outcome = "failed";
                return;
            }
        };
        self.of.cpu.inc_by(cpu.as_secs_f64());
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        let (kind, outcome) = (self.kind, self.outcome);
        self.of.running.get_or_create(&OfUse { kind }).dec();
        self.of.ended.get_or_create(&Ending { kind, outcome }).inc();
        let took = self.begun.elapsed().as_secs_f64();
        self.of.took.get_or_create(&OfUse { kind }).observe(took);
    }
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Exited(0) => "exited_zero",
        Outcome::Exited(_) => "exited_nonzero",
        Outcome::Signalled(_) => "signalled",
        Outcome::TimedOut => "timed_out",
        Outcome::OutOfMemory => "out_of_memory",
        Outcome::DiskLimit => "disk_limit",
        Outcome::Cancelled => "cancelled",
        Outcome::DidNotStart(_) => "did_not_start",
    }
}
