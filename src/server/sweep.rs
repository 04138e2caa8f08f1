//! Fetches what GitHub could not deliver, at the start and every few minutes. It would never come again automatically.
//!
//! What was acknowledged and not read before greenlight ended is asked for, too. An App reads the list of its deliveries. With a token there is none: then the comments are read that were written on
//! pull requests with open runs.

use std::collections::HashSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::lane::Route;
use super::queue::Queue;
use super::work::Work;
use crate::domain::event::Event;
use crate::domain::id::DeliveryId;
use crate::domain::run::Origin;
use crate::engine::Broken;
use crate::journal::Admission;

/// How often it is looked for.
pub(super) const SWEEP: Duration = Duration::from_secs(180);
/// How far back the first look goes: so long github.com keeps deliveries.
/// <https://docs.github.com/en/webhooks/testing-and-troubleshooting-webhooks/viewing-webhook-deliveries>
const KEPT: SignedDuration = SignedDuration::from_hours(72);
/// How far a look reaches back behind the last one: a delivery may be listed late, and clocks differ.
const OVERLAP: SignedDuration = SignedDuration::from_mins(10);
/// The mark in the journal.
const MARK: &str = "deliveries swept";

/// Looks until greenlight ends.
pub(super) async fn sweep_on(queue: Queue) {
    let mut tick = tokio::time::interval(SWEEP);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        sweep(&queue).await;
        // What was worked off since is forgotten, also there.
        if let Err(error) = queue.app().journal.empty_the_log().await {
            tracing::warn!(%error, "the journal's log could not be emptied");
        }
    }
}

/// Looks once; what fails is looked for again the next time.
pub async fn sweep(queue: &Queue) {
    if let Err(error) = try_sweep(queue).await {
        tracing::warn!(%error, "missed deliveries could not be looked for");
    }
}

async fn try_sweep(queue: &Queue) -> Result<(), Broken> {
    let app = queue.app();
    let now = Timestamp::now();
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
            // What is known was admitted and only answered badly.
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
        for run in app.journal.open_runs().await? {
            let Some(id) = run.started.pull_request() else { continue };
            if !seen.insert(id.clone()) {
                continue;
            }
            let client = app.github.client(run.started.installation, &id.repository).await?;
            let began_with = match run.started.origin {
                Origin::Comment { id, .. } => Some(id),
                Origin::CommandLine | Origin::Ci { .. } | Origin::Rerun { .. } | Origin::Label { .. } => None,
            };
            let me = app.github.me().await?;
            for event in client.comments_since(id, me, began_with).await? {
                // It goes by the comment's own id.
                if !take(queue, DeliveryId(String::new()), event).await? {
                    return Ok(());
                }
            }
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

/// Writes down what was missed and hands it to the queue; false if the queue is full.
async fn take(queue: &Queue, id: DeliveryId, event: Event) -> Result<bool, Broken> {
    let app = queue.app();
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
    if app.journal.admit(&id, &event).await? == Admission::New {
        let (kind, action) = event.named();
        let repository = event.repository().map(tracing::field::display);
        tracing::info!(delivery.id = id.0, event = kind, action, repository, "accepted late");
        // In the journal it is safe: if the queue has filled up meanwhile, the clock picks it up.
        let _picked_up_later = queue.push_as(route, Work::Delivery(id, Box::new(event)));
    }
    Ok(true)
}
