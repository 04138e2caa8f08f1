//! One piece of work for the queue.

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
