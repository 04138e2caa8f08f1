//! The lanes of the queue: how many wait and run, how long they wait, and since when the oldest one has.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::families::{Durations, Seconds, durations, gauges, of_work, seconds};

/// What a lane's next piece of work needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LaneKind {
    /// A worker, possibly for hours.
    Worker,
    Answering,
    Stopping,
    Noting,
}

impl LaneKind {
    const ALL: [Self; 4] = [Self::Worker, Self::Answering, Self::Stopping, Self::Noting];

    fn labels(self) -> Kind {
        let kind = match self {
            Self::Worker => "worker",
            Self::Answering => "answering",
            Self::Stopping => "stopping",
            Self::Noting => "noting",
        };
        Kind { kind }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kind {
    kind: &'static str,
}

/// The lanes; a handle that is cheap to clone.
#[derive(Clone)]
pub struct Lanes(Arc<LaneGauges>);

struct LaneGauges {
    waiting: Family<Kind, Gauge>,
    running: Family<Kind, Gauge>,
    oldest: Family<Kind, Seconds>,
    waits: Durations<Kind>,
    due: Gauge,
    lost: Counter,
    tickets: Mutex<Tickets>,
}

/// The lanes that wait, in the order in which their waits began.
#[derive(Default)]
struct Tickets {
    next: u64,
    waiting: BTreeMap<u64, (LaneKind, Instant)>,
}

impl Lanes {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let waiting = "Lanes (pull requests) whose next piece of work waits for a place";
        let running = "Lanes (pull requests) that are being worked on";
        let oldest = "How long the lane that has waited longest for a place has waited";
        let waits = "How long lanes waited for a place until their next piece of work began";
        let (due, lost) = (Gauge::default(), Counter::default());
        let help = "Lanes in a database that several processes share whose work is due, claimed or not";
        registry.register("lanes_due", help, due.clone());
        let help = "Leases on lanes that this process lost, so that another one continues";
        registry.register("leases_lost", help, lost.clone());
        let lanes = Self(Arc::new(LaneGauges {
            waiting: gauges(registry, "lanes_waiting", waiting),
            running: gauges(registry, "lanes_running", running),
            oldest: seconds(registry, "lane_oldest_wait", oldest),
            waits: durations(registry, ("lane_wait", waits), of_work),
            due,
            lost,
            tickets: Mutex::default(),
        }));
        for kind in LaneKind::ALL {
            lanes.0.running.get_or_create(&kind.labels()).set(0);
        }
        lanes
    }

    /// A lane begins to wait for a place.
    pub fn wait(&self, kind: LaneKind) -> WaitingLane {
        let since = Instant::now();
        let mut tickets = self.0.tickets();
        let ticket = tickets.next;
        tickets.next += 1;
        tickets.waiting.insert(ticket, (kind, since));
        drop(tickets);
        WaitingLane {
            of: Arc::clone(&self.0),
            kind,
            ticket,
            since,
        }
    }

    /// A lane that this process has claimed is worked on until the result is dropped.
    pub fn claim(&self, kind: LaneKind) -> RunningLane {
        self.0.running.get_or_create(&kind.labels()).inc();
        RunningLane {
            of: Arc::clone(&self.0),
            kind,
        }
    }

    /// The lease on a lane was lost.
    pub fn lose(&self) {
        self.0.lost.inc();
    }

    /// How many lanes of a shared database have work that is due.
    pub fn due(&self, number: u64) {
        self.0.due.set(i64::try_from(number).unwrap_or(i64::MAX));
    }

    pub(super) fn refresh(&self) {
        let tickets = self.0.tickets();
        for kind in LaneKind::ALL {
            let mut waits = tickets.waiting.values().filter(|(other, _)| *other == kind);
            let oldest = waits.next().map(|(_, since)| *since);
            let others = i64::try_from(waits.count()).unwrap_or(i64::MAX - 1);
            let labels = kind.labels();
            let number = others + i64::from(oldest.is_some());
            self.0.waiting.get_or_create(&labels).set(number);
            let age = oldest.map_or(0.0, |since| since.elapsed().as_secs_f64());
            self.0.oldest.get_or_create(&labels).set(age);
        }
    }
}

impl LaneGauges {
    fn tickets(&self) -> MutexGuard<'_, Tickets> {
        self.tickets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A lane that waits. Dropping it ends the wait.
pub struct WaitingLane {
    of: Arc<LaneGauges>,
    kind: LaneKind,
    ticket: u64,
    since: Instant,
}

impl WaitingLane {
    /// The lane has its place and is worked on until the result is dropped.
    pub fn begin(self) -> RunningLane {
        let labels = self.kind.labels();
        let waited = self.since.elapsed().as_secs_f64();
        self.of.waits.get_or_create(&labels).observe(waited);
        Lanes(Arc::clone(&self.of)).claim(self.kind)
    }
}

impl Drop for WaitingLane {
    fn drop(&mut self) {
        self.of.tickets().waiting.remove(&self.ticket);
    }
}

/// A lane that is worked on. Dropping it ends that.
pub struct RunningLane {
    of: Arc<LaneGauges>,
    kind: LaneKind,
}

impl Drop for RunningLane {
    fn drop(&mut self) {
        self.of.running.get_or_create(&self.kind.labels()).dec();
    }
}
