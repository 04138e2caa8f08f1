//! Picks up what nobody works on: all that an earlier process left, and from then on, every minute, what is due.

use std::collections::HashMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::queue::Queue;
use super::work::Work;
use crate::domain::run::Run;
use crate::engine;

/// How often the clock of a service looks.
pub const TICK: Duration = Duration::from_secs(60);
/// How often what is old is deleted.
const PRUNE: Duration = Duration::from_hours(24);
/// A delivery younger than this is on its way into the queue.
const MIN_AGE: SignedDuration = SignedDuration::from_secs(60);
/// What fails time and again is tried at least every this many ticks.
const MAX_PAUSE: u64 = 64;

/// Continues with what an earlier process left: first the runs, then the deliveries nobody finished.
pub async fn take_up(queue: &Queue) {
    engine::sweep(queue.app()).await;
    identify(queue, |_| true).await;
    match queue.app().journal.open_runs().await {
        Ok(runs) => tracing::info!(open_runs = runs.len(), "resuming the runs that an earlier process left"),
        Err(error) => tracing::error!(%error, "open runs could not be read"),
    }
    pick_up(queue, Timestamp::MAX, |_| true, |_| true).await;
}

/// Wakes the runs whose gate expired, those that did not get to say their end, those that wait for nobody, and the
/// deliveries that met an outage or a full queue.
pub async fn watch(queue: Queue, every: Duration) {
    let mut tick = tokio::time::interval(every);
    tick.tick().await;
    let mut pauses = Pauses::default();
    loop {
        tick.tick().await;
        pauses.tick();
        identify(&queue, |name| pauses.is_over(name)).await;
        let now = Timestamp::now();
        let is_due = |run: &Run| {
            let gates = run.open_gates();
            run.end.is_some() || gates.is_empty() || gates.iter().any(|gate| now >= gate.expires)
        };
        // What met a rate limit is tried when that is reset, no earlier, and at once.
        let may_be_tried = |id: &str| queue.is_reset(id, now).unwrap_or_else(|| pauses.is_over(id));
        pick_up(&queue, now - MIN_AGE, is_due, may_be_tried).await;
    }
}

/// Forgets what is old, at the start and every day.
pub(super) async fn prune_on(queue: Queue) {
    let mut tick = tokio::time::interval(PRUNE);
    loop {
        tick.tick().await;
        if let Err(error) = engine::prune(queue.app(), Timestamp::now()).await {
            tracing::warn!(%error, "what is old could not be deleted");
        }
    }
}

/// Finds out which repositories the runs of earlier versions are in.
async fn identify(queue: &Queue, may_be_tried: impl FnMut(&str) -> bool) {
    if let Err(error) = engine::identify(queue.app(), may_be_tried).await {
        tracing::error!(%error, "repositories could not be looked up");
    }
}

/// Puts what is due, and not in hand, into the queue. What finds no room is picked up later.
async fn pick_up(
    queue: &Queue,
    received_before: Timestamp,
    is_due: impl Fn(&Run) -> bool,
    mut may_be_tried: impl FnMut(&str) -> bool,
) {
    // Before the journal is read: what is finished in between must not be taken for left over.
    let in_hand = queue.in_hand();
    let journal = &queue.app().journal;
    match journal.open_runs().await {
        Ok(runs) => {
            for run in runs {
                let has_lane = run.started.pull_request().is_none_or(|id| in_hand.has_lane_of(id));
                let is_left = is_due(&run) && !has_lane;
                if is_left && may_be_tried(&run.id().0) && queue.push(Work::Resume(Box::new(run))).await.is_err() {
                    return;
                }
            }
        }
        Err(error) => tracing::error!(%error, "open runs could not be read"),
    }
    match journal.unfinished().await {
        Ok(deliveries) => {
            for (id, event) in deliveries {
                let is_left = event.received <= received_before && !in_hand.has_delivery(&id);
                if is_left && may_be_tried(&id.0) && queue.push(Work::Delivery(id, Box::new(event))).await.is_err() {
                    return;
                }
            }
        }
        Err(error) => tracing::error!(%error, "unfinished deliveries could not be read"),
    }
}

/// What was picked up, and is tried again after a pause that doubles: GitHub is asked less and less during an outage,
/// and about what will never work.
#[derive(Default)]
struct Pauses {
    ticks: u64,
    /// The last pause, and the tick at which it is over.
    of: HashMap<String, (u64, u64)>,
}

impl Pauses {
    fn tick(&mut self) {
        self.ticks += 1;
        let now = self.ticks;
        self.of.retain(|_, (_, over)| now <= *over + MAX_PAUSE);
    }

    /// Whether it may be tried at this tick; if so, the next pause begins.
    fn is_over(&mut self, id: &str) -> bool {
        let (pause, over) = self.of.get(id).copied().unwrap_or((0, 0));
        if self.ticks < over {
            return false;
        }
        let pause = (2 * pause).clamp(1, MAX_PAUSE);
        self.of.insert(id.to_string(), (pause, self.ticks + pause));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_tried_less_and_less_and_what_is_gone_is_forgotten() {
        let mut pauses = Pauses::default();
        let mut tried = Vec::new();
        for tick in 1..=260 {
            pauses.tick();
            if pauses.is_over("r1") {
                tried.push(tick);
            }
        }
        assert_eq!(tried, [1, 2, 4, 8, 16, 32, 64, 128, 192, 256]);
        for _ in 0..=2 * MAX_PAUSE {
            pauses.tick();
        }
        assert!(pauses.of.is_empty());
    }
}
