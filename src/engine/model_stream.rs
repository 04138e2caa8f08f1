//! Broadcasts the models' output of this process while it is generated. Nothing relies on it: a listener that comes
//! late or is slow misses some of it, and can read the journal.

use std::sync::{Mutex, PoisonError};

use tokio::sync::broadcast;

use crate::agent::Delta;
use crate::domain::id::RunId;
use crate::domain::redact;

/// How many chunks a slow listener may fall behind.
const KEPT: usize = 1_024;
/// A longer chunk is cut, in characters.
const MAX_PIECE: usize = 4_096;

/// A chunk of a reply; untrusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chunk {
    Text(String),
    Reasoning(String),
    /// The name of the tool that is being called.
    Call(String),
}

/// The lines that `more` completes, together with the unfinished text before it. A line that is too long is split.
fn whole_lines(unfinished: &mut String, more: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for part in more.split_inclusive('\n') {
        unfinished.push_str(part);
        if part.ends_with('\n') || unfinished.len() > MAX_PIECE {
            let line = bounded(&std::mem::take(unfinished));
            lines.extend(Some(line).filter(|line| !line.trim().is_empty()));
        }
    }
    lines
}

fn bounded(text: &str) -> String {
    redact::redact(&redact::visible(text)).chars().take(MAX_PIECE).collect()
}

/// The broadcast channel that all models of this process share.
#[derive(Debug, Clone)]
pub struct ModelStream(broadcast::Sender<(RunId, Chunk)>);

impl Default for ModelStream {
    fn default() -> Self {
        Self(broadcast::channel(KEPT).0)
    }
}

impl ModelStream {
    /// Returns a function that broadcasts the output of one run, line by line, because a secret is only recognised in
    /// a whole line. Calls are also logged, and text is logged at the trace level.
    pub fn of(&self, run: &RunId) -> impl Fn(Delta<'_>) + Send + Sync + 'static {
        let (sender, run) = (self.0.clone(), run.clone());
        let unfinished = Mutex::new((String::new(), String::new()));
        let tell = move |piece: Chunk| {
            match &piece {
                Chunk::Call(name) => tracing::debug!(run.id = %run, tool = name, "the model calls a tool"),
                Chunk::Text(text) | Chunk::Reasoning(text) => tracing::trace!(run.id = %run, text, "the model says"),
            }
            let _nobody_listens = sender.send((run.clone(), piece));
        };
        move |delta| {
            let mut unfinished = unfinished.lock().unwrap_or_else(PoisonError::into_inner);
            let (text, reasoning) = &mut *unfinished;
            match delta {
                Delta::Text(more) => whole_lines(text, more).into_iter().map(Chunk::Text).for_each(&tell),
                Delta::Reasoning(more) => {
                    whole_lines(reasoning, more)
                        .into_iter()
                        .map(Chunk::Reasoning)
                        .for_each(&tell);
                }
                Delta::Call(name) => {
                    // A call ends any unfinished line.
                    whole_lines(reasoning, "\n")
                        .into_iter()
                        .map(Chunk::Reasoning)
                        .for_each(&tell);
                    whole_lines(text, "\n").into_iter().map(Chunk::Text).for_each(&tell);
                    tell(Chunk::Call(bounded(name)));
                }
            }
        }
    }

    /// Receives the output of all runs from now on.
    pub fn listen(&self) -> broadcast::Receiver<(RunId, Chunk)> {
        self.0.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_shown_as_lines_without_secrets() {
        let stream = ModelStream::default();
        let mut received = stream.listen();
        let speak = stream.of(&RunId("r1".into()));
        for piece in [
            "The token is ghp_0123456789",
            "abcdefghijklmnopqrstuvwxyzAB",
            ".\nNext",
            " line",
        ] {
            speak(Delta::Text(piece));
        }
        speak(Delta::Call("read_file"));
        let mut pieces = Vec::new();
        while let Ok((_, piece)) = received.try_recv() {
            pieces.push(piece);
        }
        assert_eq!(
            pieces,
            [
                Chunk::Text("The token is [redacted]\n".into()),
                Chunk::Text("Next line\n".into()),
                Chunk::Call("read_file".into()),
            ]
        );
    }
}
