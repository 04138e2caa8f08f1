//! Stores runs as their steps: in a database (SQLite or PostgreSQL), or in a git ref of the repository if there is
//! neither.
//!
//! Every step is appended at a place in its run, and each place can be taken only once: if two processes work on the
//! same run, one of them gets [`Error::Taken`]. The state of a run is never stored; it is folded from the steps
//! (`domain::run`).

mod activity_log;
mod arrivals;
mod clock;
mod columns;
mod database;
mod deliveries;
mod dialect;
mod ended;
mod expired;
mod file;
mod forgotten;
mod format;
mod group;
mod index;
mod lanes;
mod look;
mod migrations;
mod once;
mod open;
mod outage;
mod pauses;
mod pieces;
mod pushes;
mod refs;
mod registry;
mod repositories;
mod reservations;
mod retention;
mod rows;
mod runs;
mod sessions;
mod stored_step;
mod unreadable;
mod words;

pub use database::Database;
pub use expired::Expired;
pub use file::{Opened, RunFile, folder_of};
pub use format::{FIRST, FORMAT, Newer, Unread, fold};
pub use index::RunRow;
use jiff::Timestamp;
pub use lanes::{Class, SMALL_FIRST, TRUST, Waiting};
pub use open::{OpenGate, PageEnd};
pub use pieces::{Piece, PieceKind};
pub use refs::Refs;
pub use registry::Claimant;
pub use reservations::Reservation;
pub use sessions::{Session, SessionKey};
pub use stored_step::StoredStep;
pub use unreadable::Unreadable;
pub use words::Word;

use crate::domain::event::Event;
use crate::domain::id::{DeliveryId, InstallationId, PullRequestId, Repository, RepositoryName, RunId};
use crate::domain::run::{Run, Started, Step};
use crate::github;

/// Why the journal could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another worker advanced this run; load it again.
    #[error("another worker continued this run")]
    Taken,
    #[error("the journal cannot be used: {0}")]
    Broken(String),
    /// The database is down, busy or full at the moment. Whether it still wrote something is unknown.
    #[error("the journal cannot be used: {0}")]
    Unavailable(String),
    /// A newer version of greenlight migrated the tables, and this one cannot use them any more.
    #[error(
        "a newer version of greenlight changed the tables, and this one cannot use them: upgrade greenlight, or start \
         with another database"
    )]
    TooOld,
    /// A newer version of greenlight wrote this. It is left alone.
    #[error("{0} cannot be read: {1}")]
    Newer(String, Newer),
    /// GitHub stores the journal, and rejected the request.
    #[error("the journal cannot be used: {0}")]
    GitHub(#[from] github::Error),
}

/// The pull request of a run in this journal.
///
/// # Errors
/// When it is a run on a checkout, which has a separate journal: [`RunFile`].
fn pull_request(started: &Started) -> Result<&PullRequestId, Error> {
    let none = || Error::Broken(format!("{} is not a run on a pull request", started.run));
    started.pull_request().ok_or_else(none)
}

/// Whether a delivery has to be handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    New,
    /// It was admitted before: the work is done or in progress.
    Known,
}

/// A repository that runs were recorded for by its name alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unidentified {
    pub name: RepositoryName,
    /// The installation of the newest of these runs.
    pub installation: Option<InstallationId>,
}

/// The journal's backend.
pub enum Journal {
    Database(Database),
    Refs(Refs),
}

impl Journal {
    /// Records a delivery before it is acknowledged, and where its work waits if several processes share the journal.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn admit(&self, id: &DeliveryId, event: &Event, waiting: &Waiting) -> Result<Admission, Error> {
        match self {
            Self::Database(database) => database.admit(id, event, waiting).await,
            Self::Refs(_) => Ok(Admission::New),
        }
    }

    /// Whether a delivery was admitted.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn knows(&self, id: &DeliveryId) -> Result<bool, Error> {
        match self {
            Self::Database(database) => database.knows(id).await,
            Self::Refs(_) => Ok(false),
        }
    }

    /// Marks a delivery as done, and deletes its content.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn finish(&self, id: &DeliveryId) -> Result<(), Error> {
        match self {
            Self::Database(database) => database.finish(id).await,
            Self::Refs(_) => Ok(()),
        }
    }

    /// Whether the work of a delivery is done. `None` if it was never admitted, or its id is no longer kept.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn is_done(&self, id: &DeliveryId) -> Result<Option<bool>, Error> {
        match self {
            Self::Database(database) => database.is_done(id).await,
            Self::Refs(_) => Ok(None),
        }
    }

    /// Admitted deliveries that are not done, oldest first. A restart begins with them.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn unfinished(&self) -> Result<Vec<(DeliveryId, Event)>, Error> {
        match self {
            Self::Database(database) => database.unfinished().await,
            Self::Refs(_) => Ok(Vec::new()),
        }
    }

    /// Records the current name and installation of a repository. Runs that are loaded later get both. A git ref is
    /// part of its repository, so its reader supplies the name.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn know(&self, repository: &Repository, installation: Option<InstallationId>) -> Result<(), Error> {
        match self {
            Self::Database(database) => database.know(repository, installation).await,
            Self::Refs(_) => Ok(()),
        }
    }

    /// The repositories that earlier versions recorded runs for by name alone.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn unidentified(&self) -> Result<Vec<Unidentified>, Error> {
        match self {
            Self::Database(database) => database.unidentified().await,
            Self::Refs(_) => Ok(Vec::new()),
        }
    }

    /// Files runs that were recorded under a name alone under the repository of that name, if it already existed
    /// then.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn identify(
        &self,
        name: &RepositoryName,
        is: &Repository,
        created: Option<Timestamp>,
    ) -> Result<(), Error> {
        match self {
            Self::Database(database) => database.identify(name, is, created).await,
            Self::Refs(_) => Ok(()),
        }
    }

    /// Whether a push to a pull request was delivered after this moment. Git refs record no deliveries.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn was_pushed_since(&self, id: &PullRequestId, moment: Timestamp) -> Result<bool, Error> {
        match self {
            Self::Database(database) => database.was_pushed_since(id, moment).await,
            Self::Refs(_) => Ok(false),
        }
    }

    /// Whether only greenlight can write to the journal. Everyone with write access to a repository can write to its
    /// git refs.
    pub fn is_own(&self) -> bool {
        match self {
            Self::Database(_) => true,
            Self::Refs(_) => false,
        }
    }

    /// Whether the step at this place of a run is known to be greenlight's own. In a git ref, that is true only of
    /// steps that this process wrote itself; all others are claims.
    pub fn vouches_for(&self, run: &RunId, place: usize) -> bool {
        match self {
            Self::Database(_) => true,
            Self::Refs(refs) => refs.has_written(run, place),
        }
    }

    /// Begins a run, or loads it if it was begun before.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn begin(&self, started: Started) -> Result<Run, Error> {
        match self {
            Self::Database(database) => database.begin(&started).await?,
            Self::Refs(refs) => refs.begin(&started).await?,
        }
        match self.load(pull_request(&started)?, &started.run).await? {
            Some(run) => Ok(run),
            None => Err(Error::Broken("the run exists, but can no longer be read".into())),
        }
    }

    /// Appends a step to a run, and applies it.
    ///
    /// # Errors
    /// [`Error::Taken`] when another process appended first.
    pub async fn append(&self, run: &mut Run, step: Step) -> Result<(), Error> {
        match self {
            Self::Database(database) => database.append(run, &step).await?,
            Self::Refs(refs) => refs.append(run, &step).await?,
        }
        activity_log::tell(run, &step);
        let waited = !run.open_gates().is_empty();
        run.take(step);
        // The step counts even if this fails; until it is noted, the run is looked at as if it were due.
        if (waited || !run.open_gates().is_empty())
            && let Err(error) = self.note_wait(run).await
        {
            tracing::warn!(run.id = %run.id(), %error, "what a run waits for was not noted");
        }
        Ok(())
    }

    /// Loads one run.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn load(&self, pull_request: &PullRequestId, id: &RunId) -> Result<Option<Run>, Error> {
        Ok(self.runs_of(pull_request).await?.into_iter().find(|run| run.id() == id))
    }

    /// The runs of a pull request, oldest first.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn runs_of(&self, pull_request: &PullRequestId) -> Result<Vec<Run>, Error> {
        match self {
            Self::Database(database) => database.runs_of(pull_request).await,
            Self::Refs(refs) => refs.runs_of(pull_request).await,
        }
    }

    /// The newest runs of a repository, at most `limit`. Their transcripts contain only the usage of each reply. For
    /// other pull requests, a git ref only has the runs that are over.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn runs_in(&self, repository: &Repository, limit: usize) -> Result<Vec<Run>, Error> {
        let mut runs = Vec::new();
        self.each_run_in(repository, limit, &mut |run| runs.push(run)).await?;
        Ok(runs)
    }

    /// Hands the same runs one after the other to `take`, so that they need not be in memory at the same time.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn each_run_in(
        &self,
        repository: &Repository,
        limit: usize,
        take: &mut (dyn FnMut(Run) + Send),
    ) -> Result<(), Error> {
        match self {
            Self::Database(database) => database.each_run_in(repository, limit, take).await,
            Self::Refs(refs) => {
                refs.runs_in(repository, limit).await?.into_iter().for_each(take);
                Ok(())
            }
        }
    }

    /// One run by its id alone; with git refs, only if it was already loaded.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn find(&self, id: &RunId) -> Result<Option<Run>, Error> {
        match self {
            Self::Database(database) => database.find(id).await,
            Self::Refs(refs) => Ok(refs.loaded_runs().await?.into_iter().find(|run| run.id() == id)),
        }
    }

    /// At most `limit` steps of a run from a place on, in their stored form; with git refs, only if the run was already
    /// loaded.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn steps(&self, id: &RunId, from: usize, limit: usize) -> Result<Vec<StoredStep>, Error> {
        match self {
            Self::Database(database) => database.steps(id, from, limit).await,
            Self::Refs(refs) => Ok(refs.steps(id, from, limit).await),
        }
    }

    /// The runs that were loaded so far, in a process that handles a single event; oldest first.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn loaded_runs(&self) -> Result<Vec<Run>, Error> {
        match self {
            Self::Database(database) => database.open_runs().await,
            Self::Refs(refs) => refs.loaded_runs().await,
        }
    }

    /// The runs that are not over, for a restart and for gates that expire.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn open_runs(&self) -> Result<Vec<Run>, Error> {
        match self {
            Self::Database(database) => database.open_runs().await,
            Self::Refs(_) => Ok(Vec::new()),
        }
    }
}
