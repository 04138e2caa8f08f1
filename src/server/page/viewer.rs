//! Who looks at a page, and what they may see.
//!
//! The person at this machine may see everything in the journal. For somebody who signed in, GitHub is asked about each
//! repository with greenlight's own credentials, as for a comment. For reading, its answer is kept for a minute; for
//! answering, it is asked every time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::super::reach::{Reached, reach};
use super::super::remembered::Remembered;
use super::{Missing, Shelf};
use crate::domain::id::{Account, AccountId, InstallationId, Repository, RunId};
use crate::domain::permission::Permission;
use crate::journal::{RunRow, SessionKey};

/// How long GitHub's answers are kept for reading, and how many.
const KEPT_FOR: Duration = Duration::from_secs(60);
const MAX_REACHED: usize = 1_000;
const MAX_PERMISSIONS: usize = 20_000;
/// How many questions GitHub is asked at once, and for one page.
const MAX_ASKED: usize = 16;
const MAX_OF_PAGE: usize = 8;
/// The longest id.
const MAX_ID: usize = 64;

/// Who looks.
#[derive(Debug, Clone)]
pub(super) enum Viewer {
    /// The person who started this server.
    Local,
    Person(Arc<Person>),
}

/// Somebody who signed in.
#[derive(Debug)]
pub(super) struct Person {
    pub(super) id: AccountId,
    pub(super) key: SessionKey,
    /// With the login at the time of the sign-in.
    pub(super) account: Account,
    /// What the forms of this session carry.
    pub(super) csrf: String,
}

/// What every page says about its viewer.
#[derive(Default)]
pub(super) struct Frame {
    /// Empty without a sign-in.
    pub(super) login: String,
    pub(super) csrf: String,
}

impl Viewer {
    pub(super) fn person(&self) -> Option<&Person> {
        match self {
            Self::Local => None,
            Self::Person(person) => Some(person),
        }
    }

    pub(super) fn frame(&self) -> Frame {
        self.person().map_or_else(Frame::default, |person| Frame {
            login: person.account.to_string(),
            csrf: person.csrf.clone(),
        })
    }
}

/// A run that its viewer may see.
pub(super) struct VisibleRun {
    pub(super) row: RunRow,
    /// `None` for the person at this machine, who answers elsewhere.
    pub(super) permission: Option<Permission>,
}

/// GitHub's answers.
#[derive(Clone)]
pub(super) struct Sight(Arc<SightCache>);

struct SightCache {
    reached: Mutex<Remembered<String, Option<Reached>, MAX_REACHED>>,
    permissions: Mutex<Remembered<(AccountId, String), Permission, MAX_PERMISSIONS>>,
    asked: Semaphore,
}

impl Default for Sight {
    fn default() -> Self {
        Self(Arc::new(SightCache {
            reached: Mutex::default(),
            permissions: Mutex::default(),
            asked: Semaphore::new(MAX_ASKED),
        }))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shelf {
    /// What a person may do in a repository, as of at most a minute ago.
    async fn permission(&self, person: &Person, repository: &Repository) -> Result<Permission, Missing> {
        let sight = &self.sight.0;
        let key = (person.id, repository.key());
        if let Some(known) = lock(&sight.permissions).get(&key, Instant::now()) {
            return Ok(*known);
        }
        let _place = sight.asked.acquire().await;
        let known = lock(&sight.reached).get(&key.1, Instant::now()).cloned();
        let reached = match known {
            Some(reached) => reached,
            None => {
                let reached = reach(self.queue.app(), None, repository).await?;
                lock(&sight.reached).keep(key.1.clone(), reached.clone(), Instant::now(), KEPT_FOR);
                reached
            }
        };
        let permission = match reached {
            Some(reached) => reached.permission(&person.account).await?,
            None => Permission::None,
        };
        lock(&sight.permissions).keep(key, permission, Instant::now(), KEPT_FOR);
        Ok(permission)
    }

    /// What a person may do in a repository now, and how it is reached.
    pub(super) async fn permission_now(
        &self,
        person: &Person,
        (installation, repository): (Option<InstallationId>, &Repository),
    ) -> Result<(Reached, Permission), Missing> {
        let reached = reach(self.queue.app(), installation, repository).await?;
        let permission = match &reached {
            Some(reached) => reached.permission(&person.account).await?,
            None => Permission::None,
        };
        // The page that follows must not say otherwise.
        let key = (person.id, repository.key());
        lock(&self.sight.0.permissions).keep(key, permission, Instant::now(), KEPT_FOR);
        match reached {
            Some(reached) if permission != Permission::None => Ok((reached, permission)),
            _ => Err(Missing::Nothing),
        }
    }

    pub(super) async fn may_see(&self, viewer: &Viewer, repository: &Repository) -> Result<bool, Missing> {
        match viewer.person() {
            None => Ok(true),
            Some(person) => Ok(self.permission(person, repository).await? != Permission::None),
        }
    }

    /// Whether somebody may approve there, as of at most a minute ago. Not the person at this machine, who answers elsewhere.
    pub(super) async fn may_approve(&self, viewer: &Viewer, repository: &Repository) -> Result<bool, Missing> {
        match viewer.person() {
            None => Ok(false),
            Some(person) => Ok(self.permission(person, repository).await?.may_approve()),
        }
    }

    /// Those of some repositories that may be seen, in the same order.
    pub(super) async fn visible(&self, viewer: &Viewer, of: Vec<Repository>) -> Result<Vec<Repository>, Missing> {
        if viewer.person().is_none() {
            return Ok(of);
        }
        let asked = of.into_iter().map(|repository| async move {
            let may_see = self.may_see(viewer, &repository).await?;
            Ok::<_, Missing>(may_see.then_some(repository))
        });
        let asked = futures::stream::iter(asked).buffered(MAX_OF_PAGE);
        asked
            .try_filter_map(|repository| std::future::ready(Ok(repository)))
            .try_collect()
            .await
    }

    /// The run with this id, no matter who asks.
    pub(super) async fn find(&self, id: String) -> Result<RunRow, Missing> {
        if id.is_empty() || id.len() > MAX_ID {
            return Err(Missing::Nothing);
        }
        self.queue.app().journal.row(&RunId(id)).await?.ok_or(Missing::Nothing)
    }

    /// The run with this id, if it exists and may be seen. Nothing is folded for those who may not.
    pub(super) async fn run(&self, viewer: &Viewer, id: String) -> Result<VisibleRun, Missing> {
        let row = self.find(id).await?;
        let permission = match viewer.person() {
            None => None,
            Some(person) => Some(self.permission(person, &row.repository).await?),
        };
        if permission == Some(Permission::None) {
            return Err(Missing::Nothing);
        }
        Ok(VisibleRun { row, permission })
    }
}
