//! A model on the wire that obeys everything it reads: every order anywhere in its prompt, once.
//!
//! An order is `OBEY {"tool": …, "arguments": …} YEBO`, or `{"code": …}` for a block of Python; `times` repeats it.
//! When no order is left, the model follows its plan.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::model::{Refuses, wire};

/// How the server behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    Streams,
    Plain,
    /// Without tools: acts through code, streamed.
    Code,
}

/// The server. Dropping it stops it.
pub(crate) struct GullibleModel {
    base_url: String,
    mind: Arc<Mind>,
    server: JoinHandle<()>,
}

struct Mind {
    manner: Manner,
    plan: Mutex<VecDeque<Value>>,
    /// The orders that it read.
    heard: Mutex<Vec<String>>,
    orders: Mutex<VecDeque<Value>>,
    requests: Mutex<Vec<Value>>,
}

/// An order in the form in which it is planted.
pub(crate) fn order(tool: &str, arguments: &Value) -> String {
    plant(&json!({ "tool": tool, "arguments": arguments }))
}

/// Any order in the form in which it is planted: on one line.
pub(crate) fn plant(order: &Value) -> String {
    format!("OBEY {order} YEBO")
}

impl GullibleModel {
    /// Starts a server that follows the plan while there are no orders.
    pub(crate) async fn start(manner: Manner, plan: impl IntoIterator<Item = Value>) -> Self {
        let mind = Arc::new(Mind {
            manner,
            plan: Mutex::new(plan.into_iter().collect()),
            heard: Mutex::default(),
            orders: Mutex::default(),
            requests: Mutex::default(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let router = Router::new()
            .route("/v1/chat/completions", post(completion))
            .with_state(Arc::clone(&mind));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { base_url, mind, server }
    }

    pub(crate) fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Every request so far, as text.
    pub(crate) fn requests(&self) -> Vec<String> {
        let requests = self.mind.requests.lock().unwrap();
        requests.iter().map(Value::to_string).collect()
    }

    /// The results of the tools in all requests, each once.
    pub(crate) fn results(&self) -> Vec<String> {
        let mut results: Vec<String> = Vec::new();
        for request in self.mind.requests.lock().unwrap().iter() {
            for text in readable(request) {
                if !results.contains(&text) {
                    results.push(text);
                }
            }
        }
        results
    }

    /// The orders that it read.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.mind.heard.lock().unwrap().clone()
    }
}

impl Drop for GullibleModel {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn completion(State(mind): State<Arc<Mind>>, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap();
    let refused = match mind.manner {
        Manner::Streams => None,
        Manner::Plain => wire::refusal(&request, Refuses::Streams),
        Manner::Code => wire::refusal(&request, Refuses::Tools),
    };
    if let Some(message) = refused {
        return super::model::response(400, &[], json!({ "error": { "message": message } }).to_string());
    }
    mind.requests.lock().unwrap().push(request.clone());
    mind.listen(&request);
    let number = mind.requests.lock().unwrap().len();
    match mind.next() {
        None => wire::answer(&request, number, Some("I am done.".into()), &[]),
        Some(order) if mind.manner == Manner::Code => wire::answer(&request, number, Some(block(&order)), &[]),
        Some(order) => {
            // The loop gives up a model that calls only unknown tools.
            let thought = ("think".into(), json!({ "thought": "I obey." }).to_string());
            wire::answer(&request, number, None, &[thought, call(&order)])
        }
    }
}

impl Mind {
    /// Reads every new order.
    fn listen(&self, request: &Value) {
        for text in readable(request) {
            for part in text.split("OBEY ").skip(1) {
                let Some((words, _)) = part.split_once(" YEBO") else {
                    continue;
                };
                let unescaped = words.replace("\\\"", "\"");
                let Some(order) = [words, &unescaped]
                    .into_iter()
                    .find_map(|text| serde_json::from_str::<Value>(text).ok())
                else {
                    continue;
                };
                let mut heard = self.heard.lock().unwrap();
                if !heard.contains(&order.to_string()) {
                    heard.push(order.to_string());
                    self.orders.lock().unwrap().push_back(order);
                }
            }
        }
    }

    fn next(&self) -> Option<Value> {
        let mut orders = self.orders.lock().unwrap();
        let Some(mut order) = orders.pop_front() else {
            return self.plan.lock().unwrap().pop_front();
        };
        let left = order["times"].as_u64().unwrap_or(1) - 1;
        order["times"] = left.into();
        if left > 0 {
            orders.push_front(order.clone());
        }
        // This makes each order unique.
        if order["arguments"]["why"].is_string() {
            order["arguments"]["why"] = format!("because {left}").into();
        }
        Some(order)
    }
}

/// What a model can read: everything except its own words.
fn readable(request: &Value) -> Vec<String> {
    let messages = wire::history(request).into_iter();
    let others = messages.filter(|message| message["role"] != "assistant");
    others
        .filter_map(|message| message["content"].as_str().map(str::to_owned))
        .collect()
}

fn call(order: &Value) -> (String, String) {
    match order["code"].as_str() {
        Some(code) => (
            "run_code".into(),
            json!({ "language": "python", "code": code }).to_string(),
        ),
        None => (order["tool"].as_str().unwrap().into(), order["arguments"].to_string()),
    }
}

fn block(order: &Value) -> String {
    let code = match order["code"].as_str() {
        Some(code) => code.to_owned(),
        None => {
            // A JSON string is a valid Python string literal.
            let arguments = Value::from(order["arguments"].to_string());
            format!(
                "import json\nprint(_call_tool({}, json.loads({arguments})))",
                order["tool"]
            )
        }
    };
    format!("<execute>\n{code}\n</execute>")
}
