//! This process as one of several that share their work through PostgreSQL: what it holds, and what it has room for.
//!
//! Nothing here is remembered that would be missed after a crash. If this process disappears, its leases end, and
//! others claim its lanes and resume the runs.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::credentials::CredentialStatus;
use super::workers::WorkerSettings;
use crate::domain::worker_labels::WorkerLabels;
use crate::journal::{self, Claimant, Class, Database};
use crate::lease::Lease;

/// How many lanes without need for a worker are worked on at once. GitHub allows 100 concurrent requests.
const MAX_LIGHT: usize = 32;
/// How long a leader leads without confirming it, in seconds.
const LEAD: i64 = 30;
/// How many lanes of a repository all processes together hold for work that needs workers, unless configured.
const PER_REPOSITORY: usize = 4;

/// This process as one of several.
pub(super) struct Fleet {
    pub(super) database: Database,
    pub(super) claimant: Claimant,
    held: Mutex<HashMap<String, Arc<Lease>>>,
    light: Arc<Semaphore>,
    has_workers: bool,
    heavy: Arc<Semaphore>,
    /// At most half of the workers do what nobody asked for.
    unasked: Arc<Semaphore>,
    pub(super) wake: Notify,
    leads: AtomicBool,
    pub(super) credentials: CredentialStatus,
    pub(super) seen: Mutex<HashSet<i64>>,
    /// What due work needed when the leader last looked, and no process had.
    unmet: Mutex<Vec<WorkerLabels>>,
}

impl Fleet {
    pub(super) fn new(database: Database, workers: &WorkerSettings, labels: WorkerLabels) -> Self {
        let claimant = Claimant {
            holder: format!("{}-{}", std::process::id(), ulid::Ulid::new()),
            labels,
            per_repository: workers.per_repository.unwrap_or(PER_REPOSITORY),
            per_owner: workers.per_owner,
        };
        let workers = workers.number;
        Self {
            database,
            claimant,
            held: Mutex::default(),
            light: Arc::new(Semaphore::new(MAX_LIGHT)),
            has_workers: workers > 0,
            heavy: Arc::new(Semaphore::new(workers)),
            unasked: Arc::new(Semaphore::new(workers.div_ceil(2))),
            wake: Notify::new(),
            leads: AtomicBool::new(false),
            credentials: CredentialStatus::default(),
            seen: Mutex::default(),
            unmet: Mutex::default(),
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

    /// Whether this process may claim another lane.
    pub(super) fn may_claim(&self) -> bool {
        let is_idle = self.held().is_empty();
        self.credentials.may_begin(Instant::now(), is_idle)
    }

    /// Becomes the leader, stays it, or follows another process. A new leader looks at all open runs once if
    /// people may have pushed without anybody noticing.
    pub(super) async fn stand_for_leader(&self, may_miss_something: impl Future<Output = bool>) {
        if self.credentials.is_at_rest(Instant::now()) {
            // It could not look for missed deliveries. Another process leads as soon as its lease has ended.
            self.leads.store(false, Ordering::Release);
            return;
        }
        let leads = self.database.leads(&self.claimant.holder, LEAD).await;
        let led = self.leads.swap(matches!(leads, Ok(true)), Ordering::AcqRel);
        let tidied = match leads {
            Ok(true) if led => self.lead().await,
            Ok(true) if may_miss_something.await => self.database.visit_all().await,
            Ok(true) => self.lead().await,
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = tidied {
            tracing::warn!(%error, "the leader's work was not done");
        }
    }

    /// What a leader does every time that it confirms that it leads.
    async fn lead(&self) -> Result<(), journal::Error> {
        self.database.tidy_lanes().await?;
        let unmet = self.database.without_worker().await?;
        let told = {
            let mut told = self.unmet.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *told, unmet.clone())
        };
        for needs in unmet.iter().filter(|needs| !told.contains(needs)) {
            tracing::warn!(%needs, "work waits for a worker with these labels, and none is running");
        }
        Ok(())
    }

    /// Tells the other processes which labels this one has, if it has workers.
    pub(super) async fn register(&self) {
        if self.has_workers
            && let Err(error) = self.database.register(&self.claimant).await
        {
            tracing::warn!(%error, "this worker could not be registered");
        }
    }

    /// Whether no work is in progress here, and none is due.
    pub(super) async fn is_idle(&self) -> bool {
        self.held().is_empty() && matches!(self.database.lanes_due().await, Ok(0))
    }

    pub(super) fn held(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Lease>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room for a lane of this class.
    pub(super) fn room(&self, class: Class) -> Option<Slot> {
        let take = |semaphore: &Arc<Semaphore>| Arc::clone(semaphore).try_acquire_owned().ok();
        let permits = match class {
            Class::Light => vec![take(&self.light)?],
            Class::Asked => vec![take(&self.heavy)?],
            Class::Unasked => vec![take(&self.heavy)?, take(&self.unasked)?],
        };
        Some(Slot { permits, class })
    }
}

/// Room for a lane, until it is dropped.
pub(super) struct Slot {
    #[expect(dead_code, reason = "held, not used")]
    permits: Vec<OwnedSemaphorePermit>,
    pub(super) class: Class,
}
