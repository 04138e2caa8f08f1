//! One piece of work for the queue.

use tracing::field::{Empty, display};

use crate::domain::event::Event;
use crate::domain::id::DeliveryId;
use crate::domain::run::Run;

/// One piece of work.
pub enum Work {
    Delivery(DeliveryId, Box<Event>),
    Resume(Box<Run>),
    /// The part of a comment that stops the active run, before the comment's turn comes.
    Stop(Box<Event>),
}

impl Work {
    /// What every line of the log about this work has in JSON. The engine adds the run. It is an error's span, so that
    /// no filter for lines leaves it out.
    pub(super) fn span(&self) -> tracing::Span {
        let (delivery, run, repository) = match self {
            Self::Delivery(id, event) => (Some(&id.0), None, event.repository()),
            Self::Stop(event) => (None, None, event.repository()),
            Self::Resume(run) => {
                let on = run.started.pull_request();
                (None, Some(run.id()), on.map(|on| &on.repository))
            }
        };
        let span = tracing::error_span!(
            target: "greenlight::context",
            "work",
            delivery.id = Empty,
            run.id = Empty,
            repository = Empty
        );
        if let Some(delivery) = delivery {
            span.record("delivery.id", delivery.as_str());
        }
        if let Some(run) = run {
            span.record("run.id", display(run));
        }
        if let Some(repository) = repository {
            span.record("repository", display(repository));
        }
        span
    }
}
