//! Work that several processes share through PostgreSQL: this process claims lanes, does their work one piece after
//! the other, and gives them back.
//!
//! Nothing here is remembered that would be missed after a crash. If this process disappears, its leases end, and
//! others claim its lanes and resume the runs.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::again::{Again, log};
use super::lane::Route;
use super::queue::Queue;
use crate::domain::event::Event;
use crate::domain::id::PullRequestId;
use crate::engine;
use crate::engine::Interrupt;
use crate::journal::{self, Class, Database, Piece, PieceKind, TRUST, Waiting};
use crate::lease::{self, Lease};

/// How often leases are extended and interruptions are read.
const HEARTBEAT: Duration = Duration::from_millis(500);
/// How often to look for work. Work that arrives at this process is looked at right away.
const LOOK: Duration = Duration::from_millis(500);
/// How many lanes without need for a worker are worked on at once. GitHub allows 100 concurrent requests.
const MAX_LIGHT: usize = 32;
/// How many lanes of a repository may have workers at once, in all processes.
const MAX_OF_REPOSITORY: usize = 4;
/// How long a leader leads without confirming it, in seconds.
const LEAD: i64 = 30;
/// After how many heartbeats it is confirmed.
const CONFIRM: u32 = 10;
/// How long after its arrival a delivery that met an outage of GitHub is retried.
const MAX_AGE: SignedDuration = SignedDuration::from_hours(24);

/// This process as one of several.
pub(super) struct Fleet {
    database: Database,
    /// A name that no other process has or had.
    holder: String,
    held: Mutex<HashMap<String, Arc<Lease>>>,
    light: Arc<Semaphore>,
    heavy: Arc<Semaphore>,
    /// At most half of the workers do what nobody asked for.
    unasked: Arc<Semaphore>,
    wake: Notify,
    leads: AtomicBool,
    seen: Mutex<HashSet<i64>>,
}

impl Fleet {
    pub(super) fn new(database: Database, workers: usize) -> Self {
        Self {
            database,
            holder: format!("{}-{}", std::process::id(), ulid::Ulid::new()),
            held: Mutex::default(),
            light: Arc::new(Semaphore::new(MAX_LIGHT)),
            heavy: Arc::new(Semaphore::new(workers)),
            unasked: Arc::new(Semaphore::new(workers.div_ceil(2))),
            wake: Notify::new(),
            leads: AtomicBool::new(false),
            seen: Mutex::default(),
        }
    }

    /// Looks for work right away.
    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Whether this process does what only one has to do.
    pub(super) fn leads(&self) -> bool {
        self.leads.load(Ordering::Acquire)
    }

    /// Becomes the leader, stays it, or follows another process. A new leader looks at all open runs once: while no
    /// process ran, nobody heard of pushes.
    pub(super) async fn stand_for_leader(&self) {
        let leads = self.database.leads(&self.holder, LEAD).await;
        let led = self.leads.swap(matches!(leads, Ok(true)), Ordering::AcqRel);
        let tidied = match leads {
            Ok(true) if led => self.database.tidy_lanes().await,
            Ok(true) => self.database.visit_all().await,
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = tidied {
            tracing::warn!(%error, "the leader's work was not done");
        }
    }

    /// Whether no work is in progress here, and none is due.
    pub(super) async fn is_idle(&self) -> bool {
        self.held().is_empty() && matches!(self.database.lanes_due().await, Ok(0))
    }

    fn held(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Lease>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room for a lane of this class.
    fn room(&self, class: Class) -> Option<Slot> {
        let take = |semaphore: &Arc<Semaphore>| Arc::clone(semaphore).try_acquire_owned().ok();
        Some(match class {
            Class::Light => Slot(vec![take(&self.light)?], class),
            Class::Asked => Slot(vec![take(&self.heavy)?], class),
            Class::Unasked => Slot(vec![take(&self.heavy)?, take(&self.unasked)?], class),
        })
    }
}

/// Room for a lane, until it is dropped.
struct Slot(
    #[expect(dead_code, reason = "held, not used")] Vec<OwnedSemaphorePermit>,
    Class,
);

/// Claims lanes until the shutdown.
pub(super) async fn claim_on(queue: Queue) {
    while let Some(fleet) = queue.fleet().filter(|_| !queue.is_draining()) {
        let mut found = false;
        for class in [Class::Light, Class::Asked, Class::Unasked] {
            let Some(slot) = fleet.room(class) else { continue };
            match fleet.database.claim(&fleet.holder, class, MAX_OF_REPOSITORY).await {
                Ok(Some(lease)) => {
                    found = true;
                    fleet.held().insert(lease.lane.clone(), Arc::clone(&lease));
                    let working = queue.clone();
                    queue.spawn(async move { work_off(&working, lease, slot).await });
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "work could not be claimed"),
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
        if beats.is_multiple_of(CONFIRM) {
            fleet.stand_for_leader().await;
        }
        if fleet.held().is_empty() {
            continue;
        }
        let asked = Instant::now();
        match tokio::time::timeout(TRUST, fleet.database.extend(&fleet.holder)).await {
            Ok(Ok(tokens)) => {
                for lease in fleet.held().values() {
                    if tokens.contains(&lease.token) {
                        lease.extend(asked + TRUST);
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
            tracing::warn!(
                lane = lease.lane,
                "a lease was lost: its work stops here, and resumes elsewhere"
            );
            let is_its = |id: &PullRequestId| lease.lane.split(' ').next() == Some(&id.key());
            queue.app().interrupts.interrupt_where(is_its, &Interrupt::ShuttingDown);
        }
        match fleet.database.interruptions(&fleet.holder).await {
            Ok(events) => interrupt(&queue, fleet, events),
            Err(error) => tracing::warn!(%error, "interruptions could not be read"),
        }
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
    let mut done = Ok(true);
    while let Ok(true) = done {
        done = match fleet.database.next_piece(&lease).await {
            Ok(Some(piece)) if slot.1 != Class::Light || piece.class == Class::Light => {
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
    fleet.held().remove(&lease.lane);
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
            (Again::NotBefore(Timestamp::now() + MAX_AGE), Vec::new())
        }
        PieceKind::Resume(id) => {
            let Some(run) = fleet.database.find_run(&id).await? else {
                fleet.database.put_off(lease, piece.nth, None).await?;
                return Ok(true);
            };
            let resumed = lease::under(Some(Arc::clone(lease)), async move { engine::resume(&app, run).await });
            let (again, ()) = log(tokio::spawn(resumed).await);
            if queue.is_draining() || !lease.is_trusted() {
                return Ok(false);
            }
            let until = match again {
                Again::NotBefore(until) => Some(until),
                _ => None,
            };
            fleet.database.schedule(lease, pull_request(lease), until).await?;
            return Ok(true);
        }
        PieceKind::Delivery(event) => {
            let is_young = Timestamp::now().duration_since(event.received) < MAX_AGE;
            let (again, parts) = queue.deliver(*event, Some(Arc::clone(lease))).await;
            let again = if is_young { again } else { Again::Never };
            (again, waiting(parts))
        }
    };
    if queue.is_draining() || !lease.is_trusted() {
        return Ok(false);
    }
    let until = match again {
        Again::NotBefore(until) => Some(until),
        Again::Never | Again::Sometime => None,
    };
    match again {
        Again::Never => fleet.database.complete(lease, piece.nth, &parts).await?,
        Again::Sometime | Again::NotBefore(_) => fleet.database.put_off(lease, piece.nth, until).await?,
    }
    fleet.database.schedule(lease, pull_request(lease), until).await?;
    fleet.wake();
    Ok(true)
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
