//! A scripted model on the wire: a server on loopback that implements chat completions and responses, streamed on
//! request. [`wire`] contains the formats.
//!
//! It checks every request against rules that must always hold: each tool call has exactly one result, history is
//! only appended to, the key is present, and no secret is included. A story with unused turns, or with a request
//! without a turn, fails in [`ScriptedModel::finish`].

pub(in crate::harness) mod wire;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// The key that the server expects.
pub(crate) const KEY: &str = "sk-scripted-0123456789abcdef";

/// What the model does in answer to one request.
#[derive(Debug, Clone)]
pub(crate) enum Turn {
    /// Says something, calls tools (name and arguments), or both.
    Answer {
        text: Option<String>,
        calls: Vec<(String, String)>,
    },
    /// A custom body, with a status and headers.
    Raw {
        status: u16,
        headers: Vec<(&'static str, &'static str)>,
        body: String,
    },
    /// A custom stream, sent in these parts.
    Stream { parts: Vec<Vec<u8>>, ending: Ending },
    /// Half an answer, then the connection breaks.
    Cut,
    /// No answer until the client disconnects.
    Silence,
}

/// What follows the parts of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Closed,
    Broken,
    /// Nothing, while the connection stays open.
    Open,
    /// The last part, repeated for ever.
    Endless,
}

/// Features that the server rejects in requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refuses {
    Tools,
    Streams,
    StreamUsage,
}

/// A turn that calls one tool.
pub(crate) fn calls(tool: &str, arguments: Value) -> Turn {
    Turn::Answer {
        text: None,
        calls: vec![(tool.into(), arguments.to_string())],
    }
}

/// A turn without a tool call.
pub(crate) fn says(text: &str) -> Turn {
    Turn::Answer {
        text: Some(text.into()),
        calls: Vec::new(),
    }
}

/// A turn that fails with a status.
pub(crate) fn fails(status: u16, message: &str) -> Turn {
    let headers = if status == 429 {
        vec![("retry-after", "0")]
    } else {
        Vec::new()
    };
    Turn::Raw {
        status,
        headers,
        body: json!({ "error": { "message": message } }).to_string(),
    }
}

impl Turn {
    /// Adds a tool call to the same answer.
    pub(crate) fn and(mut self, tool: &str, arguments: Value) -> Self {
        match &mut self {
            Self::Answer { calls, .. } => calls.push((tool.into(), arguments.to_string())),
            other => panic!("{other:?} calls no tools"),
        }
        self
    }
}

/// The server. Dropping it stops it.
pub(crate) struct ScriptedModel {
    base_url: String,
    script: Arc<Script>,
    server: JoinHandle<()>,
}

#[derive(Default)]
struct Script {
    turns: Mutex<VecDeque<Turn>>,
    requests: Mutex<Vec<Value>>,
    secrets: Mutex<Vec<String>>,
    broken: Mutex<Vec<String>>,
    refuses: Mutex<Vec<Refuses>>,
    refused: Mutex<Vec<Refuses>>,
    silent: Notify,
}

impl ScriptedModel {
    /// Starts a server that plays the turns in order.
    pub(crate) async fn start(turns: impl IntoIterator<Item = Turn>) -> Self {
        let script = Arc::new(Script::default());
        script.turns.lock().unwrap().extend(turns);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let router = Router::new()
            .route("/v1/chat/completions", post(completion))
            .route("/v1/responses", post(completion))
            .with_state(Arc::clone(&script));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            base_url,
            script,
            server,
        }
    }

    pub(crate) fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Adds a turn to the end of the script.
    pub(crate) fn then(&self, turn: Turn) -> &Self {
        self.script.turns.lock().unwrap().push_back(turn);
        self
    }

    pub(crate) fn reads(&self, path: &str) -> &Self {
        self.then(calls("read_file", json!({ "path": path })))
    }

    pub(crate) fn edits(&self, path: &str, old: &str, new: &str) -> &Self {
        self.then(calls("edit_file", json!({ "path": path, "old": old, "new": new })))
    }

    pub(crate) fn runs_tests(&self) -> &Self {
        self.then(calls("run_tests", json!({})))
    }

    pub(crate) fn submits(&self, summary: &str) -> &Self {
        self.then(calls("submit", json!({ "summary": summary })))
    }

    /// Declares a text that must never occur in a request.
    pub(crate) fn must_not_see(&self, secret: &str) -> &Self {
        self.script.secrets.lock().unwrap().push(secret.into());
        self
    }

    /// From now on the server rejects requests with this feature.
    pub(crate) fn refuses(&self, what: Refuses) -> &Self {
        self.script.refuses.lock().unwrap().push(what);
        self
    }

    /// The features for which requests were rejected so far, oldest first.
    pub(crate) fn refused(&self) -> Vec<Refuses> {
        self.script.refused.lock().unwrap().clone()
    }

    /// Every request so far, oldest first, including retries.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.script.requests.lock().unwrap().clone()
    }

    /// The tool results in the last request, in order.
    pub(crate) fn results(&self) -> Vec<String> {
        let requests = self.requests();
        let history = requests.last().map(wire::history).unwrap_or_default();
        history
            .iter()
            .filter_map(wire::result)
            .map(|(_, text)| text.to_string())
            .collect()
    }

    /// What greenlight told the model in the last request, apart from tool results.
    pub(crate) fn told(&self) -> String {
        let requests = self.requests();
        let messages = requests.last().map(|request| request["messages"].clone());
        let messages = messages.unwrap_or_default();
        let said = messages.as_array().into_iter().flatten();
        let said = said.filter(|message| message["role"] == "user" || message["role"] == "system");
        let texts: Vec<&str> = said.filter_map(|message| message["content"].as_str()).collect();
        texts.join("\n")
    }

    /// Waits until a request has reached [`Turn::Silence`].
    pub(crate) async fn is_silent(&self) {
        self.script.silent.notified().await;
    }

    /// Fails if turns are left, or if a request broke a rule.
    #[track_caller]
    pub(crate) fn finish(self) {
        let broken = self.script.broken.lock().unwrap().clone();
        assert!(
            broken.is_empty(),
            "the model was asked in a way that must not be:\n{}",
            broken.join("\n")
        );
        let left = self.script.turns.lock().unwrap().clone();
        assert!(left.is_empty(), "the model was not asked for {left:?}");
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn completion(State(script): State<Arc<Script>>, headers: HeaderMap, body: Bytes) -> Response {
    if let Err(rule) = check(&script, &headers, &body) {
        let answer = json!({ "error": { "message": rule } }).to_string();
        script.broken.lock().unwrap().push(rule);
        return response(400, &[], answer);
    }
    let request: Value = serde_json::from_slice(&body).unwrap();
    let refuses = script.refuses.lock().unwrap().clone();
    if let Some((what, message)) = refuses
        .into_iter()
        .find_map(|what| Some((what, wire::refusal(&request, what)?)))
    {
        script.refused.lock().unwrap().push(what);
        return response(400, &[], json!({ "error": { "message": message } }).to_string());
    }
    script.requests.lock().unwrap().push(request.clone());
    let turn = script.turns.lock().unwrap().pop_front();
    let number = script.requests.lock().unwrap().len();
    match turn {
        None => {
            script
                .broken
                .lock()
                .unwrap()
                .push(format!("request {number} has no turn in the script"));
            response(400, &[], json!({ "error": "the script is at its end" }).to_string())
        }
        Some(Turn::Answer { text, calls }) => wire::answer(&request, number, text, &calls),
        Some(Turn::Raw { status, headers, body }) => response(status, &headers, body),
        Some(Turn::Stream { parts, ending }) => wire::stream(parts, ending),
        Some(Turn::Cut) => wire::stream(vec![b"data: {\"choices\":[{\"del".to_vec()], Ending::Broken),
        Some(Turn::Silence) => {
            script.silent.notify_one();
            std::future::pending().await
        }
    }
}

pub(in crate::harness) fn response(status: u16, headers: &[(&str, &str)], body: String) -> Response {
    let mut response = Response::builder().status(StatusCode::from_u16(status).unwrap());
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response
        .header("content-type", "application/json")
        .body(body.into())
        .unwrap()
}

/// The rules for every request.
fn check(script: &Script, headers: &HeaderMap, body: &Bytes) -> Result<(), String> {
    let authorization = headers.get("authorization").and_then(|value| value.to_str().ok());
    if authorization != Some(&format!("Bearer {KEY}")) {
        return Err("the key is missing or wrong".into());
    }
    let text = std::str::from_utf8(body).map_err(|_| "the request is no text")?;
    if let Some(secret) = script
        .secrets
        .lock()
        .unwrap()
        .iter()
        .find(|secret| text.contains(secret.as_str()))
    {
        return Err(format!("{secret:?} must not reach the model:\n{text}"));
    }
    let request: Value = serde_json::from_str(text).map_err(|error| format!("the request is not JSON: {error}"))?;
    let messages = wire::history(&request);
    if messages.len() < 2 {
        return Err("there is no task".into());
    }
    wire::every_call_has_one_result(&messages)?;
    let same_story =
        |earlier: &&Value| wire::history(earlier)[1] == messages[1] && earlier["model"] == request["model"];
    if let Some(earlier) = script.requests.lock().unwrap().iter().rev().find(same_story) {
        let before = wire::history(earlier);
        let goes_on = messages.len() >= before.len()
            && before
                .iter()
                .zip(&messages)
                .all(|(a, b)| a == b || wire::is_left_out(a, b));
        if !goes_on || earlier["tools"] != request["tools"] {
            return Err(format!("history was rewritten:\n{before:#?}\n→\n{messages:#?}"));
        }
    }
    Ok(())
}
