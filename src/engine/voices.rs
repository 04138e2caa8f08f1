//! What the models of this process say, while they say it, for whoever listens. Nothing relies on it: whoever comes late
//! or listens slowly misses some, and reads the journal.

use tokio::sync::broadcast;

use crate::agent::Delta;
use crate::domain::id::RunId;
use crate::domain::redact;

/// How many pieces a slow listener may be behind.
const KEPT: usize = 1_024;
/// A longer piece is cut, in characters.
const MAX_PIECE: usize = 4_096;

/// A piece of a reply; untrusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    Reasoning(String),
    /// The name of the tool that is being called.
    Call(String),
}

/// Everybody who speaks and listens in this process.
#[derive(Debug, Clone)]
pub struct Voices(broadcast::Sender<(RunId, Piece)>);

impl Default for Voices {
    fn default() -> Self {
        Self(broadcast::channel(KEPT).0)
    }
}

impl Voices {
    /// The voice of one run.
    pub fn of(&self, run: &RunId) -> impl Fn(Delta<'_>) + Send + Sync + 'static {
        let (sender, run) = (self.0.clone(), run.clone());
        move |delta| {
            if sender.receiver_count() == 0 {
                return;
            }
            let kept = |text: &str| redact::visible(text).chars().take(MAX_PIECE).collect();
            let piece = match delta {
                Delta::Text(text) => Piece::Text(kept(text)),
                Delta::Reasoning(text) => Piece::Reasoning(kept(text)),
                Delta::Call(name) => Piece::Call(kept(name)),
            };
            let _nobody_listens_any_more = sender.send((run.clone(), piece));
        }
    }

    /// Listens to all of them from now on.
    pub fn listen(&self) -> broadcast::Receiver<(RunId, Piece)> {
        self.0.subscribe()
    }
}
