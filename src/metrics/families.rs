//! Makes and registers metrics.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// Upper bounds in seconds, from a tenth of a second to an hour: for what a run does.
const OF_WORK: [f64; 10] = [0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 1_800.0, 3_600.0];
/// From a minute to a week: for what waits for people.
const OF_PEOPLE: [f64; 11] = [
    60.0, 300.0, 900.0, 1_800.0, 3_600.0, 7_200.0, 14_400.0, 28_800.0, 86_400.0, 259_200.0, 604_800.0,
];

/// The labels of a metric.
pub(super) trait Labels: Clone + Debug + Hash + Eq + EncodeLabelSet + Send + Sync + 'static {}
impl<T: Clone + Debug + Hash + Eq + EncodeLabelSet + Send + Sync + 'static> Labels for T {}

pub(super) type Seconds = Gauge<f64, AtomicU64>;
pub(super) type Durations<L> = Family<L, Histogram, fn() -> Histogram>;

pub(super) fn of_work() -> Histogram {
    Histogram::new(OF_WORK)
}

pub(super) fn of_people() -> Histogram {
    Histogram::new(OF_PEOPLE)
}

/// Counters by their labels; `_total` is added to the name.
pub(super) fn counters<L: Labels>(registry: &mut Registry, name: &str, help: &str) -> Family<L, Counter> {
    let family = Family::default();
    registry.register(name, help, family.clone());
    family
}

pub(super) fn gauges<L: Labels>(registry: &mut Registry, name: &str, help: &str) -> Family<L, Gauge> {
    let family = Family::default();
    registry.register(name, help, family.clone());
    family
}

/// Gauges in seconds; the unit is added to the name.
pub(super) fn seconds<L: Labels>(registry: &mut Registry, name: &str, help: &str) -> Family<L, Seconds> {
    let family = Family::default();
    registry.register_with_unit(name, help, Unit::Seconds, family.clone());
    family
}

/// Histograms in seconds, with these buckets; the unit is added to the name.
pub(super) fn durations<L: Labels>(
    registry: &mut Registry,
    (name, help): (&str, &str),
    buckets: fn() -> Histogram,
) -> Durations<L> {
    let family = Family::new_with_constructor(buckets);
    registry.register_with_unit(name, help, Unit::Seconds, family.clone());
    family
}
