//! Broadcasts the models' output while it is generated: that of this process, and that of others which
//! `server::words` passes on. Nothing relies on it: a listener that comes late or is slow misses some of it, and can
//! read the journal.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use crate::agent::Delta;
use crate::domain::id::RunId;
use crate::domain::redact;

/// How many chunks a slow listener may fall behind.
const KEPT: usize = 1_024;
/// A longer chunk is cut, in characters.
const MAX_PIECE: usize = 4_096;

/// A chunk of a reply; untrusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

/// One chunk on its way to the listeners.
#[derive(Debug, Clone)]
struct Broadcast {
    run: RunId,
    chunk: Chunk,
    /// Whether a model of this process said it.
    is_own: bool,
}

/// The broadcast channel that all models share.
#[derive(Debug, Clone)]
pub struct ModelStream {
    sender: broadcast::Sender<Broadcast>,
    /// How many listen to each run.
    listeners: Arc<Mutex<HashMap<RunId, usize>>>,
}

impl Default for ModelStream {
    fn default() -> Self {
        Self {
            sender: broadcast::channel(KEPT).0,
            listeners: Arc::default(),
        }
    }
}

impl ModelStream {
    /// Returns a function that broadcasts the output of one run, line by line, because a secret is only recognised in
    /// a whole line. Calls are also logged, and text is logged at the trace level.
    pub fn of(&self, run: &RunId) -> impl Fn(Delta<'_>) + Send + Sync + 'static {
        let (sender, run) = (self.sender.clone(), run.clone());
        let unfinished = Mutex::new((String::new(), String::new()));
        let tell = move |piece: Chunk| {
            match &piece {
                Chunk::Call(name) => tracing::debug!(run.id = %run, tool = name, "the model calls a tool"),
                Chunk::Text(text) | Chunk::Reasoning(text) => tracing::trace!(run.id = %run, text, "the model says"),
            }
            let _nobody_listens = sender.send(Broadcast {
                run: run.clone(),
                chunk: piece,
                is_own: true,
            });
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

    /// Passes on what a model said in another process.
    pub fn pass_on(&self, run: RunId, chunk: Chunk) {
        let _nobody_listens = self.sender.send(Broadcast {
            run,
            chunk,
            is_own: false,
        });
    }

    /// Receives the output of one run from now on.
    pub fn listen(&self, run: &RunId) -> Listening {
        *self.listeners().entry(run.clone()).or_default() += 1;
        Listening {
            receiver: self.sender.subscribe(),
            run: run.clone(),
            of: self.clone(),
        }
    }

    /// Receives what the models of this process say from now on, in all runs.
    pub fn overhear(&self) -> Overheard {
        Overheard(self.sender.subscribe())
    }

    /// The runs that somebody listens to.
    pub fn watched(&self) -> Vec<RunId> {
        self.listeners().keys().cloned().collect()
    }

    fn listeners(&self) -> std::sync::MutexGuard<'_, HashMap<RunId, usize>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A listener to one run.
#[derive(Debug)]
pub struct Listening {
    receiver: broadcast::Receiver<Broadcast>,
    run: RunId,
    of: ModelStream,
}

impl Listening {
    /// The next chunk. What came too fast is left out.
    pub async fn next(&mut self) -> Option<Chunk> {
        loop {
            match self.receiver.recv().await {
                Ok(Broadcast { run, chunk, .. }) if run == self.run => return Some(chunk),
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut listeners = self.of.listeners();
        if let Some(number) = listeners.get_mut(&self.run) {
            *number -= 1;
            if *number == 0 {
                listeners.remove(&self.run);
            }
        }
    }
}

/// What the models of this process say.
#[derive(Debug)]
pub struct Overheard(broadcast::Receiver<Broadcast>);

impl Overheard {
    /// What was said since the last call and was not left out, without waiting.
    pub fn so_far(&mut self) -> Vec<(RunId, Chunk)> {
        let mut all = Vec::new();
        loop {
            match self.0.try_recv() {
                Ok(Broadcast { run, chunk, is_own }) => all.extend(is_own.then_some((run, chunk))),
                Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => return all,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_shown_as_lines_without_secrets() {
        let stream = ModelStream::default();
        let mut overheard = stream.overhear();
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
        // What comes from another process is not passed on once more.
        stream.pass_on(RunId("r1".into()), Chunk::Call("elsewhere".into()));
        let pieces: Vec<Chunk> = overheard.so_far().into_iter().map(|(_, chunk)| chunk).collect();
        assert_eq!(
            pieces,
            [
                Chunk::Text("The token is [redacted]\n".into()),
                Chunk::Text("Next line\n".into()),
                Chunk::Call("read_file".into()),
            ]
        );
    }

    #[tokio::test]
    async fn a_run_is_watched_as_long_as_somebody_listens_to_it() {
        let (stream, run) = (ModelStream::default(), RunId("r1".into()));
        let mut both = [stream.listen(&run), stream.listen(&run)];
        stream.pass_on(RunId("r2".into()), Chunk::Text("another".into()));
        stream.pass_on(run.clone(), Chunk::Text("this".into()));
        for listening in &mut both {
            assert_eq!(listening.next().await, Some(Chunk::Text("this".into())));
        }
        let [first, second] = both;
        drop(first);
        assert_eq!(stream.watched(), [run]);
        drop(second);
        assert_eq!(stream.watched(), []);
    }
}
