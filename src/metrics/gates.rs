//! The requests that wait for people.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::families::{Seconds, counters, gauges, seconds};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kind {
    kind: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    kind: &'static str,
    answer: &'static str,
}

/// The gates of a kind that are open: how many, and when the oldest one was opened.
#[derive(Debug, Default, Clone, Copy)]
struct OpenGates {
    number: i64,
    since: Option<Timestamp>,
}

/// The gates. Which ones are open is known from the journal, of which several processes may write a part.
pub struct Gates {
    opened: Family<Kind, Counter>,
    answered: Family<Answered, Counter>,
    open: Family<Kind, Gauge>,
    oldest: Family<Kind, Seconds>,
    /// As of the last look into the journal.
    seen: Mutex<BTreeMap<String, OpenGates>>,
}

impl Gates {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let opened = "Requests for an approval that were opened";
        let answered = "Answers to requests for an approval";
        let open = "Requests that wait for an approval, as of the last minute";
        let oldest = "How long the oldest request that waits for an approval has waited";
        Self {
            opened: counters(registry, "gates_opened", opened),
            answered: counters(registry, "gates_answered", answered),
            open: gauges(registry, "gates_open", open),
            oldest: seconds(registry, "gate_oldest_wait", oldest),
            seen: Mutex::default(),
        }
    }

    /// A gate of this kind was opened.
    pub(super) fn open(&self, kind: &'static str) {
        self.opened.get_or_create(&Kind { kind: kind.into() }).inc();
    }

    /// A gate of this kind was answered.
    pub(super) fn answer(&self, kind: &'static str, answer: &'static str) {
        self.answered.get_or_create(&Answered { kind, answer }).inc();
    }

    /// Replaces what is known about open gates: their kinds, how many there are, and when the oldest one was opened.
    pub fn look(&self, kinds: impl IntoIterator<Item = (String, i64, Option<Timestamp>)>) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for open in seen.values_mut() {
            *open = OpenGates::default();
        }
        for (kind, number, since) in kinds {
            seen.insert(kind, OpenGates { number, since });
        }
    }

    pub(super) fn refresh(&self) {
        let now = Timestamp::now();
        for (kind, open) in &*self.seen.lock().unwrap_or_else(PoisonError::into_inner) {
            let age = open
                .since
                .map_or(0.0, |since| now.duration_since(since).as_secs_f64().max(0.0));
            let kind = Kind { kind: kind.clone() };
            self.open.get_or_create(&kind).set(open.number);
            self.oldest.get_or_create(&kind).set(age);
        }
    }
}
