//! Requests to GitHub, and how many more it allows.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::families::{Durations, counters, durations, gauges, of_work};

/// What GitHub counts and limits separately, and, of REST, whether it changes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestClass {
    Read,
    Write,
    GraphQl,
}

impl RequestClass {
    fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::GraphQl => "graphql",
        }
    }

    /// What its limit is for.
    fn resource(self) -> &'static str {
        match self {
            Self::Read | Self::Write => RESOURCES[0],
            Self::GraphQl => RESOURCES[1],
        }
    }
}

/// The separate limits.
const RESOURCES: [&str; 2] = ["rest", "graphql"];

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// With this status.
    Status(u16),
    /// GitHub refused it because of a rate limit.
    Limited,
    /// There was no answer.
    Not,
}

impl Answered {
    fn word(self) -> &'static str {
        match self {
            Self::Status(304) => "304",
            Self::Status(200..=299) => "2xx",
            Self::Status(300..=399) => "3xx",
            Self::Limited | Self::Status(429) => "limited",
            Self::Status(400..=499) => "4xx",
            Self::Status(500..=599) => "5xx",
            Self::Status(_) => "other",
            Self::Not => "none",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    class: &'static str,
    status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfClass {
    class: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfResource {
    resource: &'static str,
}

/// What GitHub says about the limit of one installation or token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    pub remaining: u64,
    pub limit: u64,
    /// In seconds since 1970.
    pub reset: u64,
}

/// The requests of all installations.
pub struct GitHubTraffic {
    requests: Family<Request, Counter>,
    took: Durations<OfClass>,
    remaining: Family<OfResource, Gauge>,
    ratio: Family<OfResource, Gauge<f64, AtomicU64>>,
    /// By installation.
    budgets: Mutex<HashMap<(u64, &'static str), Budget>>,
}

impl GitHubTraffic {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let requests = "Requests to GitHub, by class and by status";
        let took = "Time until GitHub answered a request";
        let remaining =
            "Requests that the installation or token with the fewest left may still send before its limit is reset";
        let ratio = "Part of the limit that the installation or token with the smallest part has left";
        let family = Family::default();
        registry.register("github_rate_limit_remaining_ratio", ratio, family.clone());
        Self {
            requests: counters(registry, "github_requests", requests),
            took: durations(registry, ("github_request_duration", took), of_work),
            remaining: gauges(registry, "github_rate_limit_remaining", remaining),
            ratio: family,
            budgets: Mutex::default(),
        }
    }

    /// Counts a request that was answered, or failed, after this time.
    pub fn count(&self, class: RequestClass, answered: Answered, took: Duration) {
        let (class, status) = (class.word(), answered.word());
        self.requests.get_or_create(&Request { class, status }).inc();
        self.took.get_or_create(&OfClass { class }).observe(took.as_secs_f64());
    }

    /// Records what an answer says about the limit of an installation. Answers arrive in any order.
    pub fn budget(&self, installation: u64, class: RequestClass, budget: Budget) {
        let mut budgets = self.budgets();
        let known = budgets.entry((installation, class.resource())).or_insert(budget);
        let is_newer = budget.reset > known.reset;
        if is_newer || (budget.reset == known.reset && budget.remaining < known.remaining) {
            *known = budget;
        }
    }

    pub(super) fn refresh(&self) {
        let now = Timestamp::now().as_second().unsigned_abs();
        let mut budgets = self.budgets();
        // After its reset, an installation that sends nothing has all of its limit, and nobody knows more.
        budgets.retain(|_, budget| budget.reset > now);
        for resource in RESOURCES {
            let is_of_it = |((_, other), _): &(&(u64, &str), &Budget)| *other == resource;
            let of_it = || budgets.iter().filter(is_of_it).map(|(_, budget)| budget);
            let labels = OfResource { resource };
            let Some(fewest) = of_it().map(|budget| budget.remaining).min() else {
                self.remaining.remove(&labels);
                self.ratio.remove(&labels);
                continue;
            };
            let fewest = i64::try_from(fewest).unwrap_or(i64::MAX);
            self.remaining.get_or_create(&labels).set(fewest);
            let smallest = of_it().map(part).fold(1.0, f64::min);
            self.ratio.get_or_create(&labels).set(smallest);
        }
    }

    fn budgets(&self) -> MutexGuard<'_, HashMap<(u64, &'static str), Budget>> {
        self.budgets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The part of a limit that is left.
#[expect(clippy::cast_precision_loss, reason = "limits are far below 2^52")]
fn part(budget: &Budget) -> f64 {
    match budget.limit {
        0 => 1.0,
        limit => budget.remaining as f64 / limit as f64,
    }
}
