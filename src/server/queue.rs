//! The work queue: one lane per pull request, a bounded number of workers, and an orderly shutdown.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use super::again::{Again, MAX_AGE, log};
use super::fleet::Fleet;
use super::lane::{self, Needs, Route};
use super::work::Work;
use super::workers::{Worker, WorkerSettings, Workers};
use crate::domain::event::{Event, Fact};
use crate::domain::id::{DeliveryId, PullRequestId};
use crate::engine::{self, App, Interrupt};

/// How many pieces of work may wait. Beyond that, a delivery is answered with 503.
const CAPACITY: usize = 2_000;

/// How much work without a worker may run at once. GitHub allows 100 concurrent requests.
/// <https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits>
const MAX_ANSWERING: usize = 16;
const MAX_STOPPING: usize = 32;
const MAX_NOTING: usize = 16;

/// How long to wait before asking the database again whether work is due.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The queue is full, or greenlight is shutting down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the queue is full or shutting down")]
pub struct QueueFull;

#[derive(Clone)]
pub struct Queue(Arc<Inner>);

struct Inner {
    app: Arc<App>,
    held: Mutex<Held>,
    workers: Workers,
    answering: Semaphore,
    stopping: Semaphore,
    noting: Semaphore,
    tasks: TaskTracker,
    is_draining: AtomicBool,
    /// Set where several processes share the work. It then waits in the database instead of in `held`.
    fleet: Option<Fleet>,
}

#[derive(Default)]
struct Held {
    lanes: HashMap<String, VecDeque<(Needs, Work)>>,
    /// How many pieces of work are in `lanes`.
    waiting: usize,
    /// The deliveries that wait or are in progress. None is handled twice at once.
    deliveries: HashMap<DeliveryId, Pieces>,
    /// The deliveries that were acknowledged and are being read.
    reading: HashSet<DeliveryId>,
    /// The deliveries and runs that met a rate limit of GitHub, and when it is reset.
    limited: HashMap<String, Timestamp>,
}

/// A delivery about several pull requests is one piece of work in the lane of each.
#[derive(Default)]
struct Pieces {
    open: usize,
    is_to_be_tried_again: bool,
}

/// The work that the queue had in hand at one moment.
pub(super) struct InHand {
    lanes: HashSet<String>,
    deliveries: HashSet<DeliveryId>,
}

impl InHand {
    pub(super) fn has_lane_of(&self, pull_request: &PullRequestId) -> bool {
        let mut lanes = lane::lanes_of(pull_request).into_iter();
        lanes.any(|lane| self.lanes.contains(&lane))
    }

    pub(super) fn has_delivery(&self, id: &DeliveryId) -> bool {
        self.deliveries.contains(id)
    }
}

impl Queue {
    /// A queue of this many workers.
    pub fn new(app: Arc<App>, workers: impl Into<WorkerSettings>) -> Self {
        let workers = workers.into();
        let labels = app.labels.clone().unwrap_or_default();
        let fleet = app
            .journal
            .shared()
            .map(|database| Fleet::new(database.clone(), &workers, labels));
        Self(Arc::new(Inner {
            app,
            fleet,
            held: Mutex::default(),
            workers: Workers::new(workers),
            answering: Semaphore::new(MAX_ANSWERING),
            stopping: Semaphore::new(MAX_STOPPING),
            noting: Semaphore::new(MAX_NOTING),
            tasks: TaskTracker::new(),
            is_draining: AtomicBool::new(false),
        }))
    }

    pub fn app(&self) -> &App {
        &self.0.app
    }

    pub(super) fn shared_app(&self) -> Arc<App> {
        Arc::clone(&self.0.app)
    }

    pub(super) fn fleet(&self) -> Option<&Fleet> {
        self.0.fleet.as_ref()
    }

    /// Whether this process does what only one has to do.
    pub(super) fn leads(&self) -> bool {
        self.fleet().is_none_or(Fleet::leads)
    }

    pub(super) fn is_draining(&self) -> bool {
        self.0.is_draining.load(Ordering::Acquire)
    }

    /// Runs something that a shutdown waits for.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.0.tasks.spawn(work);
    }

    /// Whether the queue would accept a delivery now.
    pub fn has_room(&self) -> bool {
        !self.0.is_draining.load(Ordering::Acquire) && self.waiting() < CAPACITY
    }

    /// How many pieces of work wait for a worker.
    pub fn waiting(&self) -> usize {
        self.held().waiting
    }

    /// Whether the rate limit that a delivery or run met has been reset. `None` if it met none. Once reported as
    /// reset, the limit is forgotten.
    pub(super) fn is_reset(&self, id: &str, now: Timestamp) -> Option<bool> {
        let mut held = self.held();
        let is_reset = now >= *held.limited.get(id)?;
        if is_reset {
            held.limited.remove(id);
        }
        Some(is_reset)
    }

    fn rest(&self, id: &str, again: &Again) {
        if let Again::NotBefore(until) = *again {
            let mut held = self.held();
            // Entries that were finished otherwise are never asked about again, so old ones are dropped.
            let long_ago = Timestamp::now() - MAX_AGE;
            held.limited.retain(|_, until| *until > long_ago);
            held.limited.insert(id.to_string(), until);
        }
    }

    pub(super) fn in_hand(&self) -> InHand {
        let held = self.held();
        InHand {
            lanes: held.lanes.keys().cloned().collect(),
            deliveries: held.deliveries.keys().cloned().collect(),
        }
    }

    /// Puts work into its lane. A delivery that is already in hand is ignored.
    ///
    /// # Errors
    /// When the queue is full or draining.
    pub async fn push(&self, work: Work) -> Result<(), QueueFull> {
        // This parses comments, so it must not run on the threads that answer webhooks.
        let Ok((route, work)) = tokio::task::spawn_blocking(move || (Route::of(&work), work)).await else {
            return Err(QueueFull);
        };
        self.push_as(route, work)
    }

    /// Puts work with a known route into its lane.
    pub(super) fn push_as(&self, route: Route, work: Work) -> Result<(), QueueFull> {
        if !self.has_room() {
            return Err(QueueFull);
        }
        if let Some(fleet) = self.fleet() {
            // It waits in the database already, and so does what it interrupts.
            fleet.wake();
            return Ok(());
        }
        if let Work::Delivery(id, event) = &work {
            {
                let mut held = self.held();
                if held.deliveries.contains_key(id) {
                    return Ok(());
                }
                held.deliveries.insert(
                    id.clone(),
                    Pieces {
                        open: 1,
                        ..Pieces::default()
                    },
                );
            }
            self.interrupt(event, None);
        }
        if route.stops_first
            && let Work::Delivery(_, event) = &work
        {
            let stop = Work::Stop(event.clone());
            self.enqueue(Route::of(&stop), stop);
        }
        self.enqueue(route, work);
        Ok(())
    }

    /// Reads an acknowledged delivery in the background. The future resolves to whether it was read.
    pub(super) fn read_later(&self, id: DeliveryId, reading: impl Future<Output = bool> + Send + 'static) {
        self.held().reading.insert(id.clone());
        let queue = self.clone();
        self.0.tasks.spawn(async move {
            if reading.await
                && let Err(error) = queue.app().journal.has_read(&id).await
            {
                tracing::error!(delivery.id = id.0, %error, "a delivery could not be marked as read");
            }
            queue.held().reading.remove(&id);
        });
    }

    /// Whether an acknowledged delivery is being read.
    pub(super) fn is_reading(&self, id: &DeliveryId) -> bool {
        self.held().reading.contains(id)
    }

    pub(super) fn enqueue(&self, route: Route, work: Work) {
        let mut held = self.held();
        held.waiting += 1;
        if let Some(lane) = held.lanes.get_mut(&route.lane) {
            lane.push_back((route.needs, work));
            return;
        }
        held.lanes
            .insert(route.lane.clone(), VecDeque::from([(route.needs, work)]));
        drop(held);
        let queue = self.clone();
        self.0.tasks.spawn(async move { queue.process_lane(&route.lane).await });
    }

    /// A push or the end of the pull request interrupts the run on the old head at once; with a number, only work that
    /// arrived before that piece. The run itself checks the
    /// reason, and writes its end in its own lane.
    pub(super) fn interrupt(&self, event: &Event, before: Option<i64>) {
        let (pull_request, why) = match &event.fact {
            Fact::PullRequestPushed { pull_request, head } => (pull_request, Interrupt::Superseded(head.clone())),
            Fact::PullRequestClosed { pull_request } => (pull_request, Interrupt::Closed),
            Fact::PullRequestRetargeted { pull_request } => (pull_request, Interrupt::Retargeted),
            _ => return,
        };
        self.0.app.interrupts.interrupt_earlier(pull_request, &why, before);
    }

    async fn process_lane(&self, name: &str) {
        loop {
            let work = {
                let mut held = self.held();
                let next = held.lanes.get_mut(name).and_then(VecDeque::pop_front);
                match next {
                    Some(_) => held.waiting -= 1,
                    None => drop(held.lanes.remove(name)),
                }
                next
            };
            let Some((needs, work)) = work else { return };
            let waiting = self.0.app.metrics.lanes.wait(needs.kind());
            let Some(_place) = self.place(needs).await else { return };
            let _running = waiting.begin();
            if self.0.is_draining.load(Ordering::Acquire) {
                // It is in the journal, and the next process resumes it.
                continue;
            }
            let span = work.span();
            self.process(work).instrument(span).await;
        }
    }

    /// Waits for what a piece of work needs.
    async fn place(&self, needs: Needs) -> Option<WorkSlot<'_>> {
        let room = match needs {
            Needs::Worker(share) => return self.0.workers.take(share).await.map(WorkSlot::Worker),
            Needs::Answering => &self.0.answering,
            Needs::Stopping => &self.0.stopping,
            Needs::Noting => &self.0.noting,
        };
        room.acquire().await.ok().map(WorkSlot::Beside)
    }

    async fn process(&self, work: Work) {
        let app = self.0.app.clone();
        match work {
            Work::Resume(run) => {
                let id = run.id().0.clone();
                let (again, ()) =
                    log(tokio::spawn(async move { engine::resume(&app, *run).await }.in_current_span()).await);
                self.rest(&id, &again);
            }
            Work::Stop(event) => {
                let _said: (Again, ()) = log(tokio::spawn(
                    async move { engine::stop_at_once(&app, *event, None).await }.in_current_span(),
                )
                .await);
            }
            Work::Delivery(id, event) => {
                let received = event.received;
                let (again, pieces) = self.deliver(*event, None).await;
                for event in pieces {
                    self.held().deliveries.entry(id.clone()).or_default().open += 1;
                    let route = Route::of_event(&event);
                    self.enqueue(route, Work::Delivery(id.clone(), Box::new(event)));
                }
                let is_young = self.0.app.journal.now().duration_since(received) < MAX_AGE;
                self.rest(&id.0, &again);
                self.finish(&id, again != Again::Never && is_young).await;
            }
        }
    }

    /// Marks a piece of a delivery as done. The delivery is done with its last piece, unless one of them met an
    /// outage.
    async fn finish(&self, id: &DeliveryId, is_to_be_tried_again: bool) {
        let is_done = {
            let mut held = self.held();
            let Some(pieces) = held.deliveries.get_mut(id) else {
                return;
            };
            pieces.open -= 1;
            pieces.is_to_be_tried_again |= is_to_be_tried_again;
            if pieces.open > 0 {
                return;
            }
            !pieces.is_to_be_tried_again
        };
        // A delivery that was interrupted by the shutdown stays unfinished, and the next process continues it.
        let is_cut_off = self.0.is_draining.load(Ordering::Acquire);
        if is_done
            && !is_cut_off
            && let Err(error) = self.0.app.journal.finish(id).await
        {
            tracing::error!(delivery.id = id.0, %error, "a delivery could not be marked as done");
        }
        self.held().deliveries.remove(id);
    }

    /// Waits until no work is waiting or in progress.
    pub async fn idle(&self) {
        loop {
            self.0.tasks.close();
            self.0.tasks.wait().await;
            self.0.tasks.reopen();
            match self.fleet().filter(|_| !self.is_draining()) {
                Some(fleet) if !fleet.is_idle().await => tokio::time::sleep(LOOK_AGAIN).await,
                _ => return,
            }
        }
    }

    /// Accepts no more work, interrupts active work, and waits a limited time for it to stop.
    pub async fn drain(&self, at_most: Duration) {
        self.0.is_draining.store(true, Ordering::Release);
        self.0.app.interrupts.shut_down();
        if tokio::time::timeout(at_most, self.idle()).await.is_err() {
            tracing::warn!("work was interrupted; it resumes after the restart");
        }
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Held> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a piece of work holds while it runs.
enum WorkSlot<'a> {
    Worker(#[expect(dead_code, reason = "held, not used")] Worker),
    Beside(#[expect(dead_code, reason = "held, not used")] SemaphorePermit<'a>),
}
