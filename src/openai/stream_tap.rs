//! Passes on the pieces of an answer while it arrives, to anyone who listens.

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::agent::Delta;

/// A piece of an answer. All pieces together are as large as the answer, which is bounded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Heard {
    Text(String),
    Reasoning(String),
    Call(String),
}

impl Heard {
    pub(super) fn as_delta(&self) -> Delta<'_> {
        match self {
            Self::Text(text) => Delta::Text(text),
            Self::Reasoning(text) => Delta::Reasoning(text),
            Self::Call(name) => Delta::Call(name),
        }
    }
}

/// Sends pieces to a listener.
#[derive(Debug, Clone)]
pub(super) struct StreamTap(UnboundedSender<Heard>);

impl StreamTap {
    /// A tap, and the receiver for a listener.
    pub(super) fn new() -> (Self, UnboundedReceiver<Heard>) {
        let (sender, receiver) = unbounded_channel();
        (Self(sender), receiver)
    }

    /// Passes on a piece; nobody has to listen.
    pub(super) fn hear(&self, heard: Heard) {
        let (Heard::Text(text) | Heard::Reasoning(text) | Heard::Call(text)) = &heard;
        if !text.is_empty() {
            let _ = self.0.send(heard);
        }
    }
}
