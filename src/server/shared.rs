//! The loops of a process that shares its work with others: it claims lanes, does their work one piece after the other,
//! and gives them back.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use tracing::Instrument as _;

use super::again::{Again, MAX_AGE, log};
use super::fleet::{Fleet, Slot};
use super::lane::Route;
use super::queue::Queue;
use super::sweep;
use super::work::Work;
use crate::domain::event::Event;
use crate::domain::id::PullRequestId;
use crate::engine::{self, Interrupt};
use crate::journal::{self, Class, Piece, PieceKind, TRUST, Waiting};
use crate::lease::{self, Lease};
use crate::metrics::LaneKind;

/// How often leases are extended and interruptions are read.
const HEARTBEAT: Duration = Duration::from_millis(500);
/// How often to look for work. Work that arrives at this process is looked at right away.
const LOOK: Duration = Duration::from_millis(500);
/// How long to wait before asking a database again that does not respond.
const OUTAGE: Duration = Duration::from_secs(2);
/// After how many heartbeats it is confirmed.
const CONFIRM: u32 = 10;

/// Claims lanes until the shutdown.
pub(super) async fn claim_on(queue: Queue) {
    while let Some(fleet) = queue.fleet().filter(|_| !queue.is_draining()) {
        let mut found = false;
        for class in [Class::Light, Class::Asked, Class::Unasked] {
            let Some(slot) = fleet.room(class).filter(|_| fleet.may_claim()) else {
                continue;
            };
            match fleet.database.claim(&fleet.claimant, class).await {
                Ok(Some(lease)) => {
                    found = true;
                    fleet.held().insert(lease.lane.clone(), Arc::clone(&lease));
                    let working = queue.clone();
                    queue.spawn(async move { work_off(&working, lease, slot).await });
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(%error, "work could not be claimed");
                    tokio::time::sleep(OUTAGE).await;
                }
            }
        }
        if !found {
            let _woken = tokio::time::timeout(LOOK, fleet.wake.notified()).await;
        }
    }
}

/// Extends the leases, and passes interruptions on, until the process ends.
pub(super) async fn beat_on(queue: Queue) {
    let mut tick = tokio::time::interval(HEARTBEAT);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut beats: u32 = 0;
    while let Some(fleet) = queue.fleet() {
        tick.tick().await;
        beats = beats.wrapping_add(1);
        if beats % CONFIRM == 1 {
            stop_if_too_old(&queue, fleet).await;
            fleet.register().await;
            if let Err(error) = fleet.database.read_clock().await {
                tracing::warn!(%error, "the clock of the database could not be read");
            }
            fleet.stand_for_leader(sweep::may_miss_something(queue.app())).await;
        }
        // Lanes that are claimed from here on are not among those that the database extends.
        let before: Vec<Arc<Lease>> = fleet.held().values().cloned().collect();
        if before.is_empty() {
            continue;
        }
        let asked = Instant::now();
        match tokio::time::timeout(TRUST, fleet.database.extend(&fleet.claimant.holder)).await {
            Ok(Ok(tokens)) => {
                for lease in before {
                    match tokens.contains(&lease.token) {
                        true => lease.extend(asked + TRUST),
                        false => lease.lose(),
                    }
                }
            }
            Ok(Err(error)) => tracing::warn!(%error, "leases could not be extended"),
            Err(_) => tracing::warn!("the database did not respond in time"),
        }
        let lost: Vec<Arc<Lease>> = {
            let mut held = fleet.held();
            let lost = held.extract_if(|_, lease| !lease.is_trusted());
            lost.map(|(_, lease)| lease).collect()
        };
        for lease in lost {
            queue.app().metrics.lanes.lose();
            tracing::warn!(
                lane = lease.lane,
                "a lease was lost: its work stops here, and resumes elsewhere"
            );
            let is_its = |id: &PullRequestId| lease.lane.split(' ').next() == Some(&id.key());
            queue.app().interrupts.interrupt_where(is_its, &Interrupt::ShuttingDown);
        }
        match fleet.database.interruptions(&fleet.claimant.holder).await {
            Ok(events) => interrupt(&queue, fleet, events),
            Err(error) => tracing::warn!(%error, "interruptions could not be read"),
        }
    }
}

/// Stops working when a newer version changed the tables so that this one cannot use them.
async fn stop_if_too_old(queue: &Queue, fleet: &Fleet) {
    if queue.is_draining() {
        return;
    }
    if let Err(error @ journal::Error::TooOld) = fleet.database.check_version().await {
        tracing::error!(%error, "this process stops working");
        // Not here, because leases are extended until the work has stopped.
        let stopping = queue.clone();
        tokio::spawn(async move { stopping.drain(super::DRAIN).await });
    }
}

/// Does at once what an event stops. What was seen before is forgotten as soon as it is no longer reported.
fn interrupt(queue: &Queue, fleet: &Fleet, events: Vec<(i64, Event)>) {
    let fresh: Vec<(i64, Event)> = {
        let mut seen = fleet.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let reported: HashSet<i64> = events.iter().map(|(nth, _)| *nth).collect();
        let fresh = events.into_iter().filter(|(nth, _)| !seen.contains(nth)).collect();
        *seen = reported;
        fresh
    };
    for (nth, event) in fresh {
        queue.interrupt(&event, Some(nth));
        let stopping = queue.clone();
        queue.spawn(async move {
            if let Err(error) = engine::stop_at_once(stopping.app(), event, Some(nth)).await {
                tracing::warn!(%error, "a run could not be stopped at once");
            }
        });
    }
}

/// Does the work of a lane, piece by piece, until there is none or the lease is lost.
async fn work_off(queue: &Queue, lease: Arc<Lease>, slot: Slot) {
    let Some(fleet) = queue.fleet() else { return };
    let _running = queue.app().metrics.lanes.claim(match slot.class {
        Class::Light => LaneKind::Noting,
        Class::Asked | Class::Unasked => LaneKind::Worker,
    });
    let mut done = Ok(true);
    // Work whose credentials were refused is due at once, but another process has to do it.
    while matches!(done, Ok(true)) && !fleet.credentials.is_at_rest(Instant::now()) {
        done = match fleet.database.next_piece(&lease, &fleet.claimant.labels).await {
            Ok(Some(piece)) if slot.class != Class::Light || piece.class == Class::Light => {
                work(queue, fleet, &lease, piece).await
            }
            // Nothing is left, or it needs a worker, for which the lane is claimed again.
            Ok(_) => Ok(false),
            Err(error) => Err(error),
        };
    }
    if let Err(error) = done {
        tracing::warn!(lane = lease.lane, %error, "the work of a lane was left to another process");
    }
    // This process may have claimed the lane again, after it lost it.
    fleet
        .held()
        .extract_if(|_, held| held.token == lease.token)
        .for_each(drop);
    drop(slot);
    if let Err(error) = fleet.database.release(&lease).await {
        tracing::warn!(lane = lease.lane, %error, "a lane could not be released; its lease ends soon");
    }
    fleet.wake();
}

/// Does one piece of work. Returns whether the lane's next piece may follow.
async fn work(queue: &Queue, fleet: &Fleet, lease: &Arc<Lease>, piece: Piece) -> Result<bool, journal::Error> {
    let app = queue.shared_app();
    lease.begin(piece.nth);
    let (again, parts) = match piece.what {
        PieceKind::Unreadable(id) => {
            tracing::error!(delivery.id = id, "a delivery cannot be read");
            (Again::NotBefore(fleet.database.now() + MAX_AGE), Vec::new())
        }
        PieceKind::Resume(id) => {
            let Some(run) = fleet.database.find(&id).await? else {
                fleet.database.put_off(lease, piece.nth, None).await?;
                return Ok(true);
            };
            let span = Work::Resume(Box::new(run.clone())).span();
            let resumed = lease::under(Some(Arc::clone(lease)), async move { engine::resume(&app, run).await });
            let (again, ()) = log(tokio::spawn(resumed.instrument(span)).await);
            let again = or_elsewhere(fleet, again);
            if queue.is_draining() || !lease.is_trusted() {
                return Ok(false);
            }
            let until = match again {
                Again::Elsewhere(needs) => {
                    fleet.database.leave_to(lease, piece.nth, &needs).await?;
                    return Ok(true);
                }
                Again::NotBefore(until) => Some(until),
                _ => None,
            };
            fleet.database.schedule(lease, pull_request(lease), until).await?;
            return Ok(true);
        }
        PieceKind::Delivery(id, event) => {
            let is_young = fleet.database.now().duration_since(event.received) < MAX_AGE;
            let span = Work::Delivery(id, event.clone()).span();
            let delivering = queue.deliver(*event, Some(Arc::clone(lease)));
            let (again, parts) = delivering.instrument(span).await;
            let again = or_elsewhere(fleet, again);
            let again = if is_young { again } else { Again::Never };
            (again, waiting(parts))
        }
    };
    if queue.is_draining() || !lease.is_trusted() {
        return Ok(false);
    }
    let until = match again {
        Again::NotBefore(until) => Some(until),
        _ => None,
    };
    match again {
        Again::Elsewhere(needs) => {
            fleet.database.leave_to(lease, piece.nth, &needs).await?;
            return Ok(true);
        }
        Again::Never => fleet.database.complete(lease, piece.nth, &parts).await?,
        Again::Sometime | Again::NotBefore(_) | Again::Unauthorized => {
            fleet.database.put_off(lease, piece.nth, until).await?;
        }
    }
    fleet.database.schedule(lease, pull_request(lease), until).await?;
    fleet.wake();
    Ok(true)
}

/// Work that failed because GitHub refuses this process's credentials is due at once, and this process rests, so that
/// another one does it.
fn or_elsewhere(fleet: &Fleet, again: Again) -> Again {
    if again != Again::Unauthorized {
        fleet.credentials.accept(Instant::now());
        return again;
    }
    fleet.credentials.refuse(Instant::now());
    Again::NotBefore(fleet.database.now())
}

/// Where the parts of a delivery wait.
fn waiting(parts: Vec<Event>) -> Vec<(Waiting, Event)> {
    let with_place = |event: Event| (Route::of_event(&event).waiting(&event), event);
    parts.into_iter().map(with_place).collect()
}

/// The key of the pull request that a lane is about.
fn pull_request(lease: &Lease) -> &str {
    lease.lane.split(' ').next().unwrap_or_default()
}
