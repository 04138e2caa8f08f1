//! The live events of a run: the steps of its journal, each with its place, and the model's output meanwhile.
//!
//! The server-sent events are `step` (its id is the place; `Last-Event-ID` continues after it), `delta` and `end`.
//! Over a WebSocket, each is one text message `{ "event": …, "id": …, "data": … }`, and the query `after=<place>`
//! continues after a step. Steps are never left out. Deltas are, for readers that connect late. A reader that is too
//! slow is disconnected, and can reconnect.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::QueryRejection;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures::StreamExt as _;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::problem::Problem;
use super::who::Caller;
use super::{Api, VisibleRun, find};
use crate::domain::run::Run;
use crate::engine::{Chunk, Listening};

/// How many readers may be connected at once.
const MAX_LISTENERS: usize = 64;
/// How many events are buffered for a reader, and how long it may take for one.
const WAITING: usize = 64;
const PATIENCE: Duration = Duration::from_secs(10);
/// How often the journal is read, and how many steps are read at a time.
const LOOK: Duration = Duration::from_millis(300);
const STEPS: usize = 50;
/// After how many reads the reader's access is checked again: about a minute.
const LOOKS_TRUSTED: u32 = 200;

/// The slots for readers.
#[derive(Clone)]
pub(super) struct Listeners(Arc<Semaphore>);

impl Default for Listeners {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_LISTENERS)))
    }
}

/// One event.
struct Happened {
    event: &'static str,
    /// The place of a step.
    id: Option<usize>,
    data: String,
}

#[derive(Deserialize, schemars::JsonSchema)]
pub(super) struct From {
    /// The place of a step after which to continue; `Last-Event-ID` means the same.
    after: Option<usize>,
}

pub(super) async fn get_events(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
    (headers, from): (HeaderMap, Result<Query<From>, QueryRejection>),
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let Query(From { after }) = from.map_err(|error| Problem::BadRequest(error.body_text()))?;
    let VisibleRun { run, .. } = find(&api, &caller, &id).await?;
    let last = headers
        .get("last-event-id")
        .and_then(|id| id.to_str().ok()?.parse().ok());
    let from = after.or(last).map_or(0, |place: usize| place.saturating_add(1));
    let place = Arc::clone(&api.listeners.0).try_acquire_owned();
    let place = place.map_err(|_| Problem::Busy)?;
    let (sender, receiver) = mpsc::channel(WAITING);
    let teller = Teller {
        voices: api.queue.app().voices.listen(run.id()),
        api,
        caller,
        run,
        sender,
        may_be_over: true,
        _place: place,
    };
    tokio::spawn(teller.tell(from));
    Ok(match upgrade {
        Ok(upgrade) => upgrade.on_upgrade(|socket| relay(socket, receiver)),
        Err(_) => {
            let receive = async |mut receiver: mpsc::Receiver<Happened>| Some((receiver.recv().await?, receiver));
            let events = futures::stream::unfold(receiver, receive).map(|happened| {
                let event = sse::Event::default().event(happened.event).data(happened.data);
                Ok::<_, std::convert::Infallible>(match happened.id {
                    Some(id) => event.id(id.to_string()),
                    None => event,
                })
            });
            Sse::new(events).keep_alive(KeepAlive::default()).into_response()
        }
    })
}

/// Sends events until the reader disconnects or the run ends.
async fn relay(mut socket: WebSocket, mut receiver: mpsc::Receiver<Happened>) {
    loop {
        tokio::select! {
            happened = receiver.recv() => {
                let Some(happened) = happened else { break };
                let data: Value = serde_json::from_str(&happened.data).unwrap_or_default();
                let text = json!({ "event": happened.event, "id": happened.id, "data": data }).to_string();
                match tokio::time::timeout(PATIENCE, socket.send(Message::Text(text.into()))).await {
                    Ok(Ok(())) => {}
                    _ => return,
                }
            }
            // Messages from the reader are ignored, except that it disconnects.
            message = socket.recv() => match message {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            },
            () = tokio::time::sleep(Duration::from_secs(15)) => {
                if socket.send(Message::Ping(Vec::new().into())).await.is_err() {
                    return;
                }
            }
        }
    }
    let _gone_already = tokio::time::timeout(PATIENCE, socket.send(Message::Close(None))).await;
}

/// Sends one run's events to one reader.
struct Teller {
    api: Api,
    caller: Caller,
    run: Run,
    voices: Listening,
    sender: mpsc::Sender<Happened>,
    /// Whether the run may have ended since the last check.
    may_be_over: bool,
    _place: OwnedSemaphorePermit,
}

impl Teller {
    async fn tell(mut self, mut from: usize) {
        let mut looks = 0;
        while let Some(next) = self.steps(from).await {
            from = next;
            looks += 1;
            if looks % LOOKS_TRUSTED == 0 && find(&self.api, &self.caller, &self.run.id().0).await.is_err() {
                return;
            }
            if !self.listen().await {
                return;
            }
        }
    }

    /// Sends the steps from a place on, and returns where to continue. `None` if the run is over.
    async fn steps(&mut self, mut from: usize) -> Option<usize> {
        loop {
            let journal = &self.api.queue.app().journal;
            let steps = match journal.steps(self.run.id(), from, STEPS).await {
                Ok(steps) => steps,
                Err(error) => {
                    tracing::error!(%error, "the steps of a run cannot be read");
                    return None;
                }
            };
            let all = steps.len() < STEPS;
            for stored in steps {
                from = stored.place + 1;
                self.may_be_over = true;
                let happened = Happened {
                    event: "step",
                    id: Some(stored.place),
                    data: stored.json,
                };
                self.send(happened).await?;
            }
            if !all {
                continue;
            }
            // All steps so far were sent. The run can only have ended if there was a new step.
            if !std::mem::take(&mut self.may_be_over) {
                return Some(from);
            }
            let run = journal.find(self.run.id()).await.ok()??;
            if run.is_over() && run.length <= from {
                let happened = Happened {
                    event: "end",
                    id: None,
                    data: json!({ "state": crate::domain::reply::state(&run) }).to_string(),
                };
                self.send(happened).await?;
                return None;
            }
            return Some(from);
        }
    }

    /// Forwards the model's output until the journal has to be read again. Returns false if the reader is gone.
    async fn listen(&mut self) -> bool {
        let until = tokio::time::Instant::now() + LOOK;
        loop {
            let received = tokio::select! {
                received = self.voices.next() => received,
                () = tokio::time::sleep_until(until) => return true,
                () = self.sender.closed() => return false,
            };
            let Some(piece) = received else { return false };
            let data = match piece {
                Chunk::Text(text) => json!({ "text": text }),
                Chunk::Reasoning(text) => json!({ "reasoning": text }),
                Chunk::Call(name) => json!({ "call": name }),
            };
            let happened = Happened {
                event: "delta",
                id: None,
                data: data.to_string(),
            };
            if self.send(happened).await.is_none() {
                return false;
            }
        }
    }

    /// `None` if the reader is gone or too slow.
    async fn send(&self, happened: Happened) -> Option<()> {
        let sent = tokio::time::timeout(PATIENCE, self.sender.send(happened)).await;
        sent.ok()?.ok()
    }
}
