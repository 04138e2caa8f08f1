//! Takes the answer of a person whose permission was just checked, for the REST API and the page.
//!
//! Everything that can be known at once is checked here, so that the person learns it. The answer is then recorded, and
//! carried out in the lane of its pull request, where everything is checked again, as for a comment.

use super::lane::Route;
use super::queue::Queue;
use super::work::Work;
use crate::domain::command::Command;
use crate::domain::event::{Event, Fact};
use crate::domain::id::{Account, CommitSha, DeliveryId, PullRequestId};
use crate::domain::run::{Asked, Run};
use crate::github::{self, Client};
use crate::journal;

/// Why an answer was not taken.
#[derive(Debug)]
pub(super) enum NotTaken {
    /// The request is no longer open.
    Closed,
    /// The pull request is closed, or its head is not the one that the request is for.
    Moved(CommitSha),
    /// The same person approved before, and another one is needed.
    Twice,
    /// The run is over.
    Over,
    Busy,
    GitHub(github::Error),
    Journal(journal::Error),
}

impl From<github::Error> for NotTaken {
    fn from(error: github::Error) -> Self {
        Self::GitHub(error)
    }
}

impl From<journal::Error> for NotTaken {
    fn from(error: journal::Error) -> Self {
        Self::Journal(error)
    }
}

/// A person who answers to a run.
pub(super) struct Answering<'a> {
    pub(super) queue: &'a Queue,
    pub(super) client: &'a Client,
    pub(super) by: &'a Account,
    pub(super) run: &'a Run,
    /// Its pull request, with the current name of the repository.
    pub(super) on: &'a PullRequestId,
    /// Where the answer was given: `api` or `page`.
    pub(super) place: &'static str,
}

impl Answering<'_> {
    /// Approves or rejects a request.
    pub(super) async fn answer(&self, asked: &Asked, command: Command) -> Result<DeliveryId, NotTaken> {
        if !self.run.open_gates().contains(&asked.gate) || self.queue.app().journal.now() >= asked.gate.expires {
            return Err(NotTaken::Closed);
        }
        let now = self.client.pull_request(self.on).await?;
        if !now.is_open || now.head != asked.gate.head {
            return Err(NotTaken::Moved(asked.gate.head.clone()));
        }
        if matches!(command, Command::Approve { .. }) && asked.has_approved(self.by) {
            return Err(NotTaken::Twice);
        }
        self.give(command).await
    }

    pub(super) async fn cancel(&self) -> Result<DeliveryId, NotTaken> {
        if self.run.end.is_some() {
            return Err(NotTaken::Over);
        }
        self.give(Command::Cancel).await
    }

    /// Records a command, and puts it into the lane of its pull request.
    async fn give(&self, command: Command) -> Result<DeliveryId, NotTaken> {
        let Self {
            queue, by, run, place, ..
        } = *self;
        if !queue.has_room() {
            return Err(NotTaken::Busy);
        }
        let event = Event {
            installation: run.started.installation,
            received: queue.app().journal.now(),
            fact: Fact::CommandGiven {
                pull_request: self.on.clone(),
                head: run.started.head.clone(),
                by: by.clone(),
                command,
            },
        };
        let id = DeliveryId(format!("{place} {}", ulid::Ulid::new()));
        let waiting = Route::of_event(&event).waiting(&event);
        queue.app().journal.admit(&id, &event, &waiting).await?;
        tracing::info!(run.id = %run.id(), login = %by, place, "a command was received");
        // It is safe in the journal: if the queue has filled up meanwhile, the clock picks it up.
        let _picked_up_later = queue.push(Work::Delivery(id.clone(), Box::new(event))).await;
        Ok(id)
    }
}
