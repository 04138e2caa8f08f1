//! Remembers runs as their steps: in SQLite where there is a disk, in a git ref of the repository where there is none.
//!
//! A step is appended at its place, and a place is taken once: of two that work on the same run, one is told so.
//! The state of a run is never stored; it is folded from the steps (`domain::run`).

mod activity_log;
mod arrivals;
mod columns;
mod file;
mod format;
mod once;
mod pushes;
mod refs;
mod retention;
mod rows;
mod sqlite;
mod unreadable;

pub use file::{Opened, RunFile};
pub use format::{FIRST, FORMAT, Newer, Unread, fold};
use jiff::Timestamp;
pub use refs::Refs;
pub use sqlite::Sqlite;
pub use unreadable::Unreadable;

use crate::domain::event::Event;
use crate::domain::id::{DeliveryId, InstallationId, PullRequestId, Repository, RepositoryName, RunId};
use crate::domain::run::{Run, Started, Step};
use crate::github;

/// Why the journal could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another worker took this run further; load it again.
    #[error("another worker continued this run")]
    Taken,
    #[error("the journal cannot be used: {0}")]
    Broken(String),
    /// It is left alone.
    #[error("{0} cannot be read: {1}")]
    Newer(String, Newer),
    /// GitHub keeps it, and did not do what was asked.
    #[error("the journal cannot be used: {0}")]
    GitHub(#[from] github::Error),
}

/// The pull request of a run in this journal.
///
/// # Errors
/// When the run is one on a checkout, which has its own journal: [`RunFile`].
fn pull_request(started: &Started) -> Result<&PullRequestId, Error> {
    let none = || Error::Broken(format!("{} is not a run on a pull request", started.run));
    started.pull_request().ok_or_else(none)
}

/// Whether a delivery is to be worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    New,
    /// Seen before: the work is done or under way.
    Known,
}

/// A repository that runs were written down for by its name alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unidentified {
    pub name: RepositoryName,
    /// Of the newest of these runs.
    pub installation: Option<InstallationId>,
}

/// Where runs are remembered.
pub enum Journal {
    Sqlite(Sqlite),
    Refs(Refs),
}

impl Journal {
    /// Writes a delivery down before it is answered.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn admit(&self, id: &DeliveryId, event: &Event) -> Result<Admission, Error> {
        match self {
            Self::Sqlite(sqlite) => sqlite.admit(id, event).await,
            Self::Refs(_) => Ok(Admission::New),
        }
    }

    /// Whether a delivery was admitted.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn knows(&self, id: &DeliveryId) -> Result<bool, Error> {
        match self {
            Self::Sqlite(sqlite) => sqlite.knows(id).await,
            Self::Refs(_) => Ok(false),
        }
    }

    /// Marks a delivery as worked off, and forgets what it said.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn finish(&self, id: &DeliveryId) -> Result<(), Error> {
        match self {
            Self::Sqlite(sqlite) => sqlite.finish(id).await,
            Self::Refs(_) => Ok(()),
        }
    }

    /// Deliveries that were accepted and not worked off, oldest first: what a restart begins with.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn unfinished(&self) -> Result<Vec<(DeliveryId, Event)>, Error> {
        match self {
            Self::Sqlite(sqlite) => sqlite.unfinished().await,
            Self::Refs(_) => Ok(Vec::new()),
        }
    }

    /// Notes how a repository is addressed now: runs that are loaded from here on have that name and installation. A git
    /// ref is part of its repository, and gets the name from its reader.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn know(&self, repository: &Repository, installation: Option<InstallationId>) -> Result<(), Error> {
        match self {
            Self::Sqlite(sqlite) => sqlite.know(repository, installation).await,
            Self::Refs(_) => Ok(()),
        }
    }

    /// The repositories that earlier versions wrote runs down for, by name alone.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn unidentified(&self) -> Result<Vec<Unidentified>, Error> {
        match self {
            Self::Sqlite(sqlite) => sqlite.unidentified().await,
            Self::Refs(_) => Ok(Vec::new()),
        }
    }

    /// Files what was written down under a name alone under the repository that has this name, if that is not younger.
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
            Self::Sqlite(sqlite) => sqlite.identify(name, is, created).await,
            Self::Refs(_) => Ok(()),
        }
    }

    /// Whether a push to a pull request was delivered after this moment. Git refs know no deliveries.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn was_pushed_since(&self, id: &PullRequestId, moment: Timestamp) -> Result<bool, Error> {
        match self {
            Self::Sqlite(sqlite) => sqlite.was_pushed_since(id, moment).await,
            Self::Refs(_) => Ok(false),
        }
    }

    /// Whether nobody but greenlight writes to it. To a git ref everybody does who may write to the repository.
    pub fn is_own(&self) -> bool {
        match self {
            Self::Sqlite(_) => true,
            Self::Refs(_) => false,
        }
    }

    /// Whether the step at this place of a run is known to be greenlight's own: of a git ref only what this process wrote
    /// there itself. All else in it is a claim.
    pub fn vouches_for(&self, run: &RunId, place: usize) -> bool {
        match self {
            Self::Sqlite(_) => true,
            Self::Refs(refs) => refs.has_written(run, place),
        }
    }

    /// Begins a run, or finds it as it is when it was begun before.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn begin(&self, started: Started) -> Result<Run, Error> {
        match self {
            Self::Sqlite(sqlite) => sqlite.begin(&started).await?,
            Self::Refs(refs) => refs.begin(&started).await?,
        }
        match self.load(pull_request(&started)?, &started.run).await? {
            Some(run) => Ok(run),
            None => Err(Error::Broken(
                "a run that was begun before cannot be read any more".into(),
            )),
        }
    }

    /// Appends a step at the end of a run, and folds it in.
    ///
    /// # Errors
    /// [`Error::Taken`] when the place is taken.
    pub async fn append(&self, run: &mut Run, step: Step) -> Result<(), Error> {
        match self {
            Self::Sqlite(sqlite) => sqlite.append(run, &step).await?,
            Self::Refs(refs) => refs.append(run, &step).await?,
        }
        activity_log::tell(run, &step);
        run.take(step);
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
            Self::Sqlite(sqlite) => sqlite.runs_of(pull_request).await,
            Self::Refs(refs) => refs.runs_of(pull_request).await,
        }
    }

    /// The runs of a repository, newest first, at most this many. Their transcripts hold no more than what each reply
    /// took. From other pull requests, a git ref only has those that are over.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn runs_in(&self, repository: &Repository, limit: usize) -> Result<Vec<Run>, Error> {
        match self {
            Self::Sqlite(sqlite) => sqlite.runs_in(repository, limit).await,
            Self::Refs(refs) => refs.runs_in(repository, limit).await,
        }
    }

    /// One run by its id alone; in git refs, of those that were loaded so far.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn find(&self, id: &RunId) -> Result<Option<Run>, Error> {
        match self {
            Self::Sqlite(sqlite) => sqlite.find(id).await,
            Self::Refs(refs) => Ok(refs.loaded_runs().await?.into_iter().find(|run| run.id() == id)),
        }
    }

    /// This many steps of a run from a place on, as they are written, each with its place; in git refs, of runs that
    /// were loaded so far.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn steps(&self, id: &RunId, from: usize, limit: usize) -> Result<Vec<(usize, String)>, Error> {
        match self {
            Self::Sqlite(sqlite) => sqlite.steps(id, from, limit).await,
            Self::Refs(refs) => Ok(refs.steps(id, from, limit).await),
        }
    }

    /// The runs that were loaded so far, where a single event is worked off; oldest first.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn loaded_runs(&self) -> Result<Vec<Run>, Error> {
        match self {
            Self::Sqlite(sqlite) => sqlite.open_runs().await,
            Self::Refs(refs) => refs.loaded_runs().await,
        }
    }

    /// The runs that are not over, for a restart and for gates whose time is up.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn open_runs(&self) -> Result<Vec<Run>, Error> {
        match self {
            Self::Sqlite(sqlite) => sqlite.open_runs().await,
            Self::Refs(_) => Ok(Vec::new()),
        }
    }
}
