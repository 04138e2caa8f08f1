//! Handles the event of a delivery, whether it waited in memory or in a database that several processes share.

use std::sync::Arc;

use tokio::task::JoinError;
use tracing::Instrument as _;

use super::again::{Again, log};
use super::lane::{self, Needs, Route};
use super::queue::Queue;
use super::work::Work;
use crate::domain::event::Event;
use crate::engine::{self, Broken};
use crate::lease::{self, Lease};

impl Queue {
    /// Handles an event, or splits it into parts, under a lease if there is one.
    pub(super) async fn deliver(&self, event: Event, lease: Option<Arc<Lease>>) -> (Again, Vec<Event>) {
        let app = self.shared_app();
        if lane::is_of_several(&event) {
            let splitting = lease::under(lease, async move { engine::split(&app, event).await });
            return log(tokio::spawn(splitting.in_current_span()).await);
        }
        let outcome = if matches!(Route::of_event(&event).needs, Needs::Worker(_)) {
            let handling = lease::under(lease, async move { engine::handle(&app, event).await });
            tokio::spawn(handling.in_current_span()).await
        } else {
            self.note(event, lease).await
        };
        let (again, ()) = log(outcome);
        (again, Vec::new())
    }

    /// Does work that needs no worker, and queues its consequences for one in the lane of the pull request.
    async fn note(&self, event: Event, lease: Option<Arc<Lease>>) -> Result<Result<(), Broken>, JoinError> {
        let app = self.shared_app();
        let noting = lease::under(lease, async move { engine::note(&app, event).await });
        let outcome = tokio::spawn(noting.in_current_span()).await;
        outcome.map(|result| {
            result.map(|left| {
                // Shared work finds them in the database.
                for run in left.into_iter().filter(|_| self.fleet().is_none()) {
                    let work = Work::Resume(Box::new(run));
                    self.enqueue(Route::of(&work), work);
                }
            })
        })
    }
}
