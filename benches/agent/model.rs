//! The scripted model of the benchmark: chat completions, answered immediately and in order, and timed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use serde_json::{Value, json};

/// The number of turns of the repair.
pub(super) const TURNS: usize = 5;

/// The server. It ends with the process.
pub(super) struct Model {
    address: std::net::SocketAddr,
    script: Arc<Mutex<Script>>,
    _runtime: tokio::runtime::Runtime,
}

#[derive(Default)]
struct Script {
    turn: usize,
    refuses: bool,
    served: Duration,
    first: Option<Instant>,
    prompt_bytes: usize,
}

fn tool(turn: usize) -> Option<(&'static str, Value)> {
    Some(match turn {
        0 => ("read_file", json!({ "path": "calc.py" })),
        1 => ("search", json!({ "pattern": "add" })),
        2 => (
            "edit_file",
            json!({ "path": "calc.py", "old": "return a - b", "new": "return a + b" }),
        ),
        3 => ("run_tests", json!({})),
        4 => ("submit", json!({ "summary": "Add instead of subtracting" })),
        _ => return None,
    })
}

impl Model {
    pub(super) fn start() -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let script = Arc::<Mutex<Script>>::default();
        let router = Router::new()
            .route("/v1/chat/completions", post(answer))
            .with_state(Arc::clone(&script));
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
        let address = listener.local_addr()?;
        runtime.spawn(async move { axum::serve(listener, router).await });
        Ok(Self {
            address,
            script,
            _runtime: runtime,
        })
    }

    pub(super) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Restarts the script.
    pub(super) fn play(&self) {
        *lock(&self.script) = Script::default();
    }

    /// Rejects all requests from now on.
    pub(super) fn refuse(&self) {
        *lock(&self.script) = Script {
            refuses: true,
            ..Script::default()
        };
    }

    /// Total time spent on requests since the restart.
    pub(super) fn served(&self) -> Duration {
        lock(&self.script).served
    }

    pub(super) fn first_call(&self) -> Option<Instant> {
        lock(&self.script).first
    }

    /// Size of the prompt in the first turn.
    pub(super) fn prompt_bytes(&self) -> usize {
        lock(&self.script).prompt_bytes
    }
}

fn lock(script: &Mutex<Script>) -> MutexGuard<'_, Script> {
    script.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn answer(State(script): State<Arc<Mutex<Script>>>, body: Bytes) -> Response {
    let began = Instant::now();
    let mut script = lock(&script);
    script.first.get_or_insert(began);
    if script.refuses {
        return (
            StatusCode::UNAUTHORIZED,
            json!({ "error": { "message": "no" } }).to_string(),
        )
            .into_response();
    }
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    // The client first probes for tool support by offering a tool that does nothing.
    let is_trial = request["tools"][0]["function"]["name"] == "nothing";
    let call = if is_trial { None } else { tool(script.turn) };
    if !is_trial {
        if script.turn == 0 {
            script.prompt_bytes = body.len();
        }
        script.turn += 1;
    }
    let response = events(script.turn, call, body.len());
    script.served += began.elapsed();
    response
}

/// A streamed answer in one piece.
fn events(turn: usize, call: Option<(&str, Value)>, size: usize) -> Response {
    let (delta, reason) = match call {
        Some((name, arguments)) => {
            let function = json!({ "name": name, "arguments": arguments.to_string() });
            let call = json!({ "index": 0, "id": format!("call-{turn}"), "type": "function", "function": function });
            (json!({ "role": "assistant", "tool_calls": [call] }), "tool_calls")
        }
        None => (json!({ "role": "assistant", "content": "ok" }), "stop"),
    };
    let chunk = |choices: Value, usage: Value| {
        json!({
            "id": format!("chatcmpl-{turn}"), "object": "chat.completion.chunk", "created": 1_700_000_000,
            "model": "scripted", "choices": choices, "usage": usage,
        })
    };
    let usage = json!({ "prompt_tokens": size / 4, "completion_tokens": 20, "total_tokens": size / 4 + 20 });
    let chunks = [
        chunk(
            json!([{ "index": 0, "delta": delta, "finish_reason": null }]),
            Value::Null,
        ),
        chunk(
            json!([{ "index": 0, "delta": {}, "finish_reason": reason }]),
            Value::Null,
        ),
        chunk(json!([]), usage),
    ];
    let mut body: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    body.push_str("data: [DONE]\n\n");
    ([("content-type", "text/event-stream")], body).into_response()
}
