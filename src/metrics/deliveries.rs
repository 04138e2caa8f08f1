//! What became of the deliveries that arrived.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use super::families::counters;

/// What became of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// It is in the journal, or, if it is large, its id is.
    Accepted,
    /// GitHub could not deliver it; a sweep found it.
    AcceptedLate,
    /// It was accepted before.
    Duplicate,
    /// There is nothing to do, or the repository is not allowed.
    Ignored,
    /// Its signature is missing or wrong.
    Unsigned,
    /// It did not arrive in full, or it is not what GitHub sends.
    Malformed,
    /// The queue is full, or the service is ending.
    NoRoom,
    /// It could not be recorded or read.
    Failed,
}

impl DeliveryOutcome {
    const ALL: [Self; 8] = [
        Self::Accepted,
        Self::AcceptedLate,
        Self::Duplicate,
        Self::Ignored,
        Self::Unsigned,
        Self::Malformed,
        Self::NoRoom,
        Self::Failed,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::AcceptedLate => "accepted_late",
            Self::Duplicate => "duplicate",
            Self::Ignored => "ignored",
            Self::Unsigned => "unsigned",
            Self::Malformed => "malformed",
            Self::NoRoom => "no_room",
            Self::Failed => "failed",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfOutcome {
    outcome: &'static str,
}

/// The deliveries.
pub struct Deliveries(Family<OfOutcome, Counter>);

impl Deliveries {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let help = "Webhook deliveries, by what became of them";
        let deliveries = Self(counters(registry, "deliveries", help));
        for outcome in DeliveryOutcome::ALL {
            deliveries.of(outcome, 0);
        }
        deliveries
    }

    /// Counts a delivery.
    pub fn count(&self, outcome: DeliveryOutcome) {
        self.of(outcome, 1);
    }

    fn of(&self, outcome: DeliveryOutcome, more: u64) {
        let outcome = outcome.word();
        self.0.get_or_create(&OfOutcome { outcome }).inc_by(more);
    }
}
