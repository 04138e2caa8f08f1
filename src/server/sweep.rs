//! Recovers deliveries that GitHub could not deliver, at the start and every few minutes. GitHub never redelivers
//! them automatically.
//!
//! Deliveries that were acknowledged but not read before a shutdown are requested again, too. An App can list its
//! deliveries. A token cannot, so comments on pull requests with open runs are read instead.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

use super::lane::Route;
use super::queue::Queue;
use super::work::Work;
use crate::domain::event::Event;
use crate::domain::id::{DeliveryId, PullRequestId};
use crate::domain::run::{Origin, Run};
use crate::engine::{App, Broken};
use crate::journal::Admission;
use crate::metrics::DeliveryOutcome;

/// The interval between sweeps.
pub(super) const SWEEP: Duration = Duration::from_secs(180);
/// How soon a process sweeps that began to lead.
const LOOK: Duration = Duration::from_secs(5);
/// How far back the first sweep goes, because github.com keeps deliveries for so long.
/// <https://docs.github.com/en/webhooks/testing-and-troubleshooting-webhooks/viewing-webhook-deliveries>
const KEPT: SignedDuration = SignedDuration::from_hours(72);
/// How far a sweep reaches back before the last one: a delivery may be listed late, and clocks differ.
const OVERLAP: SignedDuration = SignedDuration::from_mins(10);
/// How many runs are read at a time.
const PAGE: usize = 100;
/// The name of the mark in the journal.
const MARK: &str = "deliveries swept";

/// Sweeps until the shutdown: at once when this process begins to lead, and then again and again.
pub(super) async fn sweep_on(queue: Queue) {
    let mut tick = tokio::time::interval(LOOK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut swept: Option<Instant> = None;
    loop {
        tick.tick().await;
        swept = swept.filter(|_| queue.leads());
        if !queue.leads() || swept.is_some_and(|at| at.elapsed() < SWEEP) {
            continue;
        }
        swept = Some(Instant::now());
        sweep(&queue).await;
        // Data that was deleted meanwhile is also removed from the log.
        if let Err(error) = queue.app().journal.empty_the_log().await {
            tracing::warn!(%error, "the journal's log could not be emptied");
        }
    }
}

/// Sweeps once. What fails is retried by the next sweep.
pub async fn sweep(queue: &Queue) {
    if let Err(error) = try_sweep(queue).await {
        tracing::warn!(%error, "looking for missed deliveries failed");
    }
}

/// Whether people may have pushed or commented without any sweep finding out: a token cannot list deliveries, and an
/// App's are kept for a limited time.
pub(super) async fn may_miss_something(app: &App) -> bool {
    let is_recent = |mark: Timestamp| mark >= app.journal.now() - KEPT;
    !app.github.is_app() || !matches!(app.journal.mark(MARK).await, Ok(Some(mark)) if is_recent(mark))
}

async fn try_sweep(queue: &Queue) -> Result<(), Broken> {
    let app = queue.app();
    let now = app.journal.now();
    let mark = app.journal.mark(MARK).await?;
    let earliest = now - KEPT;
    let mut since = mark.map_or(earliest, |mark| (mark - OVERLAP).max(earliest));
    let unread = app.journal.unread().await?;
    let left: Vec<_> = unread.into_iter().filter(|(id, _)| !queue.is_reading(id)).collect();
    if let Some((_, oldest)) = left.first() {
        since = since.min(*oldest - OVERLAP).max(earliest);
    }
    let left: HashSet<DeliveryId> = left.into_iter().map(|(id, _)| id).collect();
    if app.github.is_app() {
        for missed in app.github.missed(since, &left).await? {
            // A known delivery was admitted; only its acknowledgement failed.
            if app.journal.knows(&missed.id).await? {
                continue;
            }
            if let Some(event) = app.github.read_missed(&missed).await?
                && !take(queue, missed.id, event).await?
            {
                return Ok(());
            }
        }
    } else {
        let mut seen = HashSet::new();
        let mut end = None;
        loop {
            let (runs, next) = app.journal.open_page(None, end.as_ref(), PAGE).await?;
            for run in runs {
                let is_first = |id: &PullRequestId| seen.insert(id.clone());
                if run.started.pull_request().is_some_and(is_first) && !read_comments(queue, &run).await? {
                    return Ok(());
                }
            }
            if next.is_none() {
                break;
            }
            end = next;
        }
    }
    for id in left {
        if !app.github.is_app() {
            tracing::warn!(
                delivery.id = id.0,
                "greenlight stopped before it read this: redeliver it"
            );
        }
        app.journal.has_read(&id).await?;
    }
    app.journal.set_mark(MARK, now).await?;
    Ok(())
}

/// Takes the comments that were written on the pull request of a run since it began. Returns false if the queue is full.
async fn read_comments(queue: &Queue, run: &Run) -> Result<bool, Broken> {
    let app = queue.app();
    let Some(id) = run.started.pull_request() else {
        return Ok(true);
    };
    let client = app.github.client(run.started.installation, &id.repository).await?;
    let began_with = match run.started.origin {
        Origin::Comment { id, .. } => Some(id),
        Origin::CommandLine | Origin::Ci { .. } | Origin::Rerun { .. } | Origin::Label { .. } => None,
    };
    let me = app.github.me().await?;
    for event in client.comments_since(id, me, began_with).await? {
        // A comment is identified by its own id.
        if !take(queue, DeliveryId(String::new()), event).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Records a missed delivery and queues it. Returns false if the queue is full.
async fn take(queue: &Queue, id: DeliveryId, mut event: Event) -> Result<bool, Broken> {
    let app = queue.app();
    event.received = app.journal.now();
    let (route, event) = match tokio::task::spawn_blocking(move || (Route::of_concern(&event), event)).await {
        Ok(looked_at) => looked_at,
        Err(error) => return Err(Broken::Bug(error.to_string())),
    };
    let is_allowed = event
        .repository()
        .is_none_or(|repository| app.allow_list.allows(repository));
    let Some(route) = route.filter(|_| is_allowed) else {
        return Ok(true);
    };
    if !queue.has_room() {
        return Ok(false);
    }
    let id = event.identity(id);
    if app.journal.admit(&id, &event, &route.waiting(&event)).await? == Admission::New {
        let (kind, action) = event.named();
        let repository = event.repository().map(tracing::field::display);
        tracing::info!(delivery.id = id.0, event = kind, action, repository, "accepted late");
        app.metrics.deliveries.count(DeliveryOutcome::AcceptedLate);
        // It is safe in the journal: if the queue has filled up meanwhile, the clock picks it up.
        let _picked_up_later = queue.push_as(route, Work::Delivery(id, Box::new(event)));
    }
    Ok(true)
}
