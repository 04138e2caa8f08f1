//! Work behind the door: one lane per pull request, a bounded number of workers, and an orderly end.
//!
//! What only reads, and what stops something, has a lane of its own beside the one that may be busy for minutes.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::domain::command::{self, Command};
use crate::domain::event::{Event, Fact};
use crate::domain::id::{DeliveryId, PullRequestId};
use crate::domain::run::Run;
use crate::engine::{self, App, Interrupt};

/// How many pieces of work may wait; beyond that a delivery is answered with 503.
const CAPACITY: usize = 2_000;

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
    lanes: Mutex<HashMap<String, VecDeque<Work>>>,
    workers: Semaphore,
    tasks: TaskTracker,
    is_draining: AtomicBool,
}

impl Queue {
    pub fn new(app: Arc<App>, workers: usize) -> Self {
        Self(Arc::new(Inner {
            app,
            lanes: Mutex::default(),
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
        self.lanes().values().map(VecDeque::len).sum()
    }

    /// Puts work into its lane.
    ///
    /// # Errors
    /// When the queue is full or draining.
    pub fn push(&self, work: Work) -> Result<(), QueueFull> {
        if !self.has_room() {
            return Err(QueueFull);
        }
        if let Work::Delivery(_, event) = &work {
            self.interrupt(event);
        }
        let name = lane(&work);
        let mut lanes = self.lanes();
        if let Some(lane) = lanes.get_mut(&name) {
            lane.push_back(work);
            return Ok(());
        }
        lanes.insert(name.clone(), VecDeque::from([work]));
        drop(lanes);
        let queue = self.clone();
        self.0.tasks.spawn(async move { queue.work_off(&name).await });
        Ok(())
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
                let mut lanes = self.lanes();
                let next = lanes.get_mut(name).and_then(VecDeque::pop_front);
                if next.is_none() {
                    lanes.remove(name);
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
        let delivery = match &work {
            Work::Delivery(id, _) => Some(id.clone()),
            Work::Resume(_) => None,
        };
        let task = tokio::spawn(async move {
            match work {
                Work::Delivery(_, event) => engine::handle(&app, *event).await,
                Work::Resume(run) => engine::resume(&app, *run).await,
            }
        });
        match task.await {
            Ok(Ok(())) => {}
            Ok(Err(broken)) => tracing::error!(error = %broken, "work broke"),
            Err(panicked) => tracing::error!(error = %panicked, "work ended in a panic"),
        }
        // Shut down in the middle: the delivery stays unfinished, and the next process goes on with it.
        let interrupted = self.0.is_draining.load(Ordering::Acquire);
        if let (Some(id), false) = (delivery, interrupted)
            && let Err(error) = self.0.app.journal.finish(&id).await
        {
            tracing::error!(delivery.id = id.0, %error, "a delivery could not be marked as done");
        }
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

    fn lanes(&self) -> std::sync::MutexGuard<'_, HashMap<String, VecDeque<Work>>> {
        self.0.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The lane of a piece of work.
fn lane(work: &Work) -> String {
    let event = match work {
        Work::Resume(run) => return run.started.pull_request.to_string(),
        Work::Delivery(_, event) => event,
    };
    let of = |id: &PullRequestId| id.to_string();
    match &event.fact {
        Fact::CommentCreated(comment) if is_aside(&comment.body) => format!("{} aside", comment.pull_request),
        Fact::CommentCreated(comment) => of(&comment.pull_request),
        Fact::PullRequestPushed { pull_request, .. }
        | Fact::PullRequestClosed { pull_request }
        | Fact::PullRequestLabelled { pull_request, .. } => of(pull_request),
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

/// Whether every command of a comment only reads or stops something.
fn is_aside(body: &str) -> bool {
    command::parse(body).iter().all(|command| {
        matches!(
            command,
            Err(_) | Ok(Command::Help | Command::Status | Command::Config | Command::Cancel | Command::Explain)
        )
    })
}
