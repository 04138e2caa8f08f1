//! Resumes pending work: everything that an earlier process left, and then, every minute, everything that is due.

use std::collections::HashMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::queue::Queue;
use super::work::Work;
use super::{pauses, shared, sweep, words};
use crate::domain::run::Run;
use crate::engine;
use crate::journal::Journal;

/// How often the clock of a service ticks.
pub const TICK: Duration = Duration::from_secs(60);
/// How often old data is deleted.
const PRUNE: Duration = Duration::from_hours(24);
/// A younger delivery is still on its way into the queue.
const MIN_AGE: SignedDuration = SignedDuration::from_secs(60);
/// Work that fails repeatedly is retried at least every this many ticks.
const MAX_PAUSE: u64 = 64;
/// How many open runs are read at a time.
const PAGE: usize = 100;

/// Resumes what an earlier process left: first the runs, then the unfinished deliveries. Runs that wait for people are
/// looked at only if nobody may have heard of pushes, and without delaying the start: there may be very many.
pub async fn take_up(queue: &Queue) {
    engine::sweep(queue.app()).await;
    identify(queue, |_| true).await;
    if let Some(fleet) = queue.fleet() {
        fleet.stand_for_leader(sweep::may_miss_something(queue.app())).await;
        tokio::spawn(shared::claim_on(queue.clone()));
        tokio::spawn(shared::beat_on(queue.clone()));
        tokio::spawn(words::carry_on(queue.clone()));
        tokio::spawn(pauses::share_on(queue.clone()));
        return;
    }
    if let Journal::Database(database) = &queue.app().journal
        && let Err(error) = database.end_reservations().await
    {
        tracing::error!(%error, "reservations of an earlier process could not be ended");
    }
    tracing::info!("resuming the runs that an earlier process left");
    look_at_gates(queue).await;
    let may_miss_something = sweep::may_miss_something(queue.app()).await;
    let now = queue.app().journal.now();
    pick_up(queue, (Timestamp::MAX, Some(now)), |run| is_due(run, now), |_| true).await;
    if may_miss_something {
        let all = queue.clone();
        queue.spawn(async move { pick_up(&all, (Timestamp::MIN, None), |_| true, |_| true).await });
    }
}

fn is_due(run: &Run, now: Timestamp) -> bool {
    let gates = run.open_gates();
    run.end.is_some() || gates.is_empty() || gates.iter().any(|gate| now >= gate.expires)
}

/// Resumes the runs whose gate expired, those whose end was not announced, those that nothing else resumes, and the
/// deliveries that met an outage or a full queue.
pub async fn watch(queue: Queue, every: Duration) {
    let mut tick = tokio::time::interval(every);
    tick.tick().await;
    let mut pauses = Pauses::default();
    loop {
        tick.tick().await;
        pauses.tick();
        identify(&queue, |name| pauses.is_over(name)).await;
        look_at_gates(&queue).await;
        if queue.fleet().is_some() {
            // The database knows what is due.
            continue;
        }
        let now = queue.app().journal.now();
        // Work that met a rate limit is retried as soon as the limit is reset, and not before.
        let may_be_tried = |id: &str| queue.is_reset(id, now).unwrap_or_else(|| pauses.is_over(id));
        pick_up(&queue, (now - MIN_AGE, Some(now)), |run| is_due(run, now), may_be_tried).await;
    }
}

/// Deletes old data, at the start and every day.
pub(super) async fn prune_on(queue: Queue) {
    let mut tick = tokio::time::interval(PRUNE);
    loop {
        tick.tick().await;
        if !queue.leads() {
            continue;
        }
        if let Err(error) = engine::prune(queue.app(), queue.app().journal.now()).await {
            tracing::warn!(%error, "old data could not be deleted");
        }
    }
}

/// Looks up the repositories of runs of earlier versions.
async fn identify(queue: &Queue, may_be_tried: impl FnMut(&str) -> bool) {
    if let Err(error) = engine::identify(queue.app(), may_be_tried).await {
        tracing::error!(%error, "repositories could not be looked up");
    }
}

/// Reads which requests wait for people, for the metrics.
async fn look_at_gates(queue: &Queue) {
    let app = queue.app();
    match app.journal.open_gates().await {
        Ok(gates) => app
            .metrics
            .gates
            .look(gates.into_iter().map(|open| (open.kind, open.number, open.since))),
        Err(error) => tracing::error!(%error, "open gates could not be read"),
    }
}

/// Puts due work that is not in hand into the queue: deliveries that were received before a moment, and the runs that
/// are due at a moment, or all without one. If the queue is full, it is picked up later.
async fn pick_up(
    queue: &Queue,
    (received_before, due): (Timestamp, Option<Timestamp>),
    is_due: impl Fn(&Run) -> bool,
    mut may_be_tried: impl FnMut(&str) -> bool,
) {
    // Taken before the journal is read, so that work that finishes in between is not picked up again.
    let in_hand = queue.in_hand();
    let journal = &queue.app().journal;
    let mut end = None;
    loop {
        let runs = match journal.open_page(due, end.as_ref(), PAGE).await {
            Ok((_, None)) => break,
            Ok((runs, next)) => {
                end = next;
                runs
            }
            Err(error) => {
                tracing::error!(%error, "open runs could not be read");
                break;
            }
        };
        for run in runs {
            if !is_due(&run) {
                // It is not read again before.
                if let Err(error) = journal.note_wait(&run).await {
                    tracing::warn!(%error, "what a run waits for was not noted");
                }
                continue;
            }
            let has_lane = run.started.pull_request().is_none_or(|id| in_hand.has_lane_of(id));
            if !has_lane && may_be_tried(&run.id().0) && queue.push(Work::Resume(Box::new(run))).await.is_err() {
                return;
            }
        }
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

/// Retries pending work after a pause that doubles each time, so that GitHub gets fewer and fewer requests during an
/// outage, and for work that can never succeed.
#[derive(Default)]
struct Pauses {
    ticks: u64,
    /// The last pause of each, and the tick at which it ends.
    of: HashMap<String, (u64, u64)>,
}

impl Pauses {
    fn tick(&mut self) {
        self.ticks += 1;
        let now = self.ticks;
        self.of.retain(|_, (_, over)| now <= *over + MAX_PAUSE);
    }

    /// Whether this may be retried at this tick. If so, the next pause begins.
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
    fn failing_work_is_retried_less_and_less() {
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
