//! Work behind the door: one lane per pull request, a bounded number of workers, and an orderly end.
//!
//! What only reads, and what stops something, has a lane of its own beside the one that may be busy for minutes.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::Semaphore;
use tokio::task::JoinError;
use tokio_util::task::TaskTracker;

use crate::domain::command::{self, Command};
use crate::domain::event::{Event, Fact};
use crate::domain::id::{DeliveryId, PullRequestId};
use crate::domain::run::Run;
use crate::engine::{self, App, Broken, Interrupt};

/// How many pieces of work may wait; beyond that a delivery is answered with 503.
const CAPACITY: usize = 2_000;

/// How long after it was heard of a delivery that met an outage of GitHub is tried again. A gate is open as long, unless
/// configured otherwise.
const MAX_AGE: SignedDuration = SignedDuration::from_hours(24);

/// One piece of work.
pub enum Work {
    Delivery(DeliveryId, Box<Event>),
    Resume(Box<Run>),
}

/// The queue is full, or greenlight is about to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the queue takes no more work now")]
pub struct QueueFull;

#[derive(Clone)]
pub struct Queue(Arc<Inner>);

struct Inner {
    app: Arc<App>,
    held: Mutex<Held>,
    workers: Semaphore,
    tasks: TaskTracker,
    is_draining: AtomicBool,
}

#[derive(Default)]
struct Held {
    lanes: HashMap<String, VecDeque<Work>>,
    /// What waits or is at work of a delivery: none is worked off twice at once.
    deliveries: HashMap<DeliveryId, Pieces>,
}

/// A delivery about several pull requests is a piece of work in the lane of each.
#[derive(Default)]
struct Pieces {
    open: usize,
    is_to_be_tried_again: bool,
}

/// What the queue had in hand at a moment.
pub(super) struct InHand {
    lanes: HashSet<String>,
    deliveries: HashSet<DeliveryId>,
}

impl InHand {
    pub(super) fn has_lane_of(&self, pull_request: &PullRequestId) -> bool {
        self.lanes.contains(&pull_request.to_string()) || self.lanes.contains(&aside(pull_request))
    }

    pub(super) fn has_delivery(&self, id: &DeliveryId) -> bool {
        self.deliveries.contains(id)
    }
}

impl Queue {
    pub fn new(app: Arc<App>, workers: usize) -> Self {
        Self(Arc::new(Inner {
            app,
            held: Mutex::default(),
            workers: Semaphore::new(workers.max(1)),
            tasks: TaskTracker::new(),
            is_draining: AtomicBool::new(false),
        }))
    }

    pub fn app(&self) -> &App {
        &self.0.app
    }

    /// Whether a delivery would be taken now.
    pub fn has_room(&self) -> bool {
        !self.0.is_draining.load(Ordering::Acquire) && self.waiting() < CAPACITY
    }

    /// How many pieces of work wait for a worker.
    pub fn waiting(&self) -> usize {
        self.held().lanes.values().map(VecDeque::len).sum()
    }

    pub(super) fn in_hand(&self) -> InHand {
        let held = self.held();
        InHand {
            lanes: held.lanes.keys().cloned().collect(),
            deliveries: held.deliveries.keys().cloned().collect(),
        }
    }

    /// Puts work into its lane; a delivery that is in hand already is not taken twice.
    ///
    /// # Errors
    /// When the queue is full or draining.
    pub fn push(&self, work: Work) -> Result<(), QueueFull> {
        if !self.has_room() {
            return Err(QueueFull);
        }
        if let Work::Delivery(id, event) = &work {
            if self.held().deliveries.contains_key(id) {
                return Ok(());
            }
            self.interrupt(event);
        }
        self.line_up(work);
        Ok(())
    }

    fn line_up(&self, work: Work) {
        let name = lane(&work);
        let mut held = self.held();
        if let Work::Delivery(id, _) = &work {
            held.deliveries.entry(id.clone()).or_default().open += 1;
        }
        if let Some(lane) = held.lanes.get_mut(&name) {
            lane.push_back(work);
            return;
        }
        held.lanes.insert(name.clone(), VecDeque::from([work]));
        drop(held);
        let queue = self.clone();
        self.0.tasks.spawn(async move { queue.work_off(&name).await });
    }

    /// A push stops the run at work on the old head at once, and so does the end of the pull request; the run itself
    /// looks whether that is so, and writes its end in its own lane.
    fn interrupt(&self, event: &Event) {
        let (pull_request, why) = match &event.fact {
            Fact::PullRequestPushed { pull_request, head } => (pull_request, Interrupt::Superseded(head.clone())),
            Fact::PullRequestClosed { pull_request } => (pull_request, Interrupt::Closed),
            _ => return,
        };
        self.0.app.interrupts.interrupt(pull_request, &why);
    }

    async fn work_off(&self, name: &str) {
        loop {
            let work = {
                let mut held = self.held();
                let next = held.lanes.get_mut(name).and_then(VecDeque::pop_front);
                if next.is_none() {
                    held.lanes.remove(name);
                }
                next
            };
            let Some(work) = work else { return };
            if self.0.is_draining.load(Ordering::Acquire) {
                // It is in the journal; the next process takes it up.
                continue;
            }
            let Ok(_worker) = self.0.workers.acquire().await else {
                return;
            };
            self.do_one(work).await;
        }
    }

    async fn do_one(&self, work: Work) {
        let app = self.0.app.clone();
        match work {
            Work::Resume(run) => {
                log(tokio::spawn(async move { engine::resume(&app, *run).await }).await);
            }
            Work::Delivery(id, event) => {
                let received = event.received;
                let (may_pass, pieces) = if is_of_several(&event) {
                    let outcome = tokio::spawn(async move { engine::split(&app, *event).await }).await;
                    log(outcome)
                } else {
                    let outcome = tokio::spawn(async move { engine::handle(&app, *event).await }).await;
                    let (may_pass, ()) = log(outcome);
                    (may_pass, Vec::new())
                };
                for event in pieces {
                    self.line_up(Work::Delivery(id.clone(), Box::new(event)));
                }
                let is_young = Timestamp::now().duration_since(received) < MAX_AGE;
                self.finish(&id, may_pass && is_young).await;
            }
        }
    }

    /// Notes that a piece of a delivery is done; with the last of them the delivery is, unless one met an outage.
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
        // Shut down in the middle: the delivery stays unfinished, and the next process goes on with it.
        let is_cut_off = self.0.is_draining.load(Ordering::Acquire);
        if is_done
            && !is_cut_off
            && let Err(error) = self.0.app.journal.finish(id).await
        {
            tracing::error!(delivery.id = id.0, %error, "a delivery could not be marked as done");
        }
        self.held().deliveries.remove(id);
    }

    /// Waits until nothing is waiting and nothing is at work.
    pub async fn idle(&self) {
        self.0.tasks.close();
        self.0.tasks.wait().await;
        self.0.tasks.reopen();
    }

    /// Takes no more work, stops what is at work, and waits for it to stop, at most so long.
    pub async fn drain(&self, at_most: Duration) {
        self.0.is_draining.store(true, Ordering::Release);
        self.0.app.interrupts.shut_down();
        if tokio::time::timeout(at_most, self.idle()).await.is_err() {
            tracing::warn!("work was cut off; it goes on after the restart");
        }
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Held> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says what went wrong, and whether it may pass.
fn log<T: Default>(outcome: Result<Result<T, Broken>, JoinError>) -> (bool, T) {
    match outcome {
        Ok(Ok(result)) => return (false, result),
        Ok(Err(broken)) => {
            tracing::error!(error = %broken, "work broke");
            let may_pass = matches!(&broken, Broken::GitHub(error) if error.may_pass());
            return (may_pass, T::default());
        }
        Err(panicked) => tracing::error!(error = %panicked, "work ended in a panic"),
    }
    (false, T::default())
}

/// The lane of a piece of work.
fn lane(work: &Work) -> String {
    let event = match work {
        Work::Resume(run) => return run.started.pull_request.to_string(),
        Work::Delivery(_, event) => event,
    };
    let of = |id: &PullRequestId| id.to_string();
    match &event.fact {
        Fact::CommentCreated(comment) if is_aside(&comment.body) => aside(&comment.pull_request),
        Fact::CommentCreated(comment) => of(&comment.pull_request),
        Fact::PullRequestPushed { pull_request, .. }
        | Fact::PullRequestClosed { pull_request }
        | Fact::PullRequestLabelled { pull_request, .. } => of(pull_request),
        Fact::CommandGiven {
            pull_request, command, ..
        } if only_stops(command) => aside(pull_request),
        Fact::CommandGiven { pull_request, .. } => of(pull_request),
        Fact::ChecksFailed(checks) => match checks.pull_requests.as_slice() {
            [number] => of(&PullRequestId {
                repository: checks.repository.clone(),
                number: *number,
            }),
            _ => format!("{} {}", checks.repository, checks.head),
        },
        Fact::ButtonPressed {
            repository,
            pull_requests,
            ..
        } => match pull_requests.as_slice() {
            [number] => of(&PullRequestId {
                repository: repository.clone(),
                number: *number,
            }),
            _ => repository.to_string(),
        },
        Fact::InstallationChanged { .. } | Fact::Pinged => "pings".into(),
    }
}

/// The lane beside the one of a pull request.
fn aside(pull_request: &PullRequestId) -> String {
    format!("{pull_request} aside")
}

/// Whether an event may be about several pull requests, and GitHub does not name exactly one.
fn is_of_several(event: &Event) -> bool {
    match &event.fact {
        Fact::ChecksFailed(checks) => checks.pull_requests.len() != 1,
        Fact::ButtonPressed { pull_requests, .. } => pull_requests.len() != 1,
        _ => false,
    }
}

/// Whether every command of a comment only reads or stops something.
fn is_aside(body: &str) -> bool {
    let commands = command::parse(body);
    commands.iter().all(|command| command.as_ref().map_or(true, only_stops))
}

/// Whether a command only reads or stops something.
fn only_stops(command: &Command) -> bool {
    matches!(
        command,
        Command::Help | Command::Status | Command::Config | Command::Cancel | Command::Explain
    )
}
