//! One piece of work: what the queue puts into lanes.

use crate::domain::event::Event;
use crate::domain::id::DeliveryId;
use crate::domain::run::Run;

/// One piece of work.
pub enum Work {
    Delivery(DeliveryId, Box<Event>),
    Resume(Box<Run>),
    /// The part of a comment that stops what is at work, before its turn comes.
    Stop(Box<Event>),
}
