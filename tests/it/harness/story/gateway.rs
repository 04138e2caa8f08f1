//! A gateway between greenlight and GitHub, at which a story can kill greenlight or hold a request.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{Method, Request};
use axum::response::Response;
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;

/// The gateway. Dropping it closes it.
pub(crate) struct Gateway {
    pub(crate) url: String,
    inner: Arc<Inner>,
    server: JoinHandle<()>,
}

struct Inner {
    upstream: String,
    http: reqwest::Client,
    /// How many deaths each change has caused so far, by method and path. `None` if nothing is to be killed.
    deaths: Mutex<Option<HashMap<String, u8>>>,
    /// Whether reading requests are deadly, too.
    reads_kill: AtomicBool,
    death: Notify,
    hold: Mutex<Option<(Method, &'static str)>>,
    held: Notify,
    released: Semaphore,
}

impl Gateway {
    /// A gateway in front of the double that lets everything pass.
    pub(crate) async fn before(upstream: String) -> Self {
        let http = crate::harness::http()
            .no_proxy()
            .tls_certs_only([])
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        let inner = Arc::new(Inner {
            upstream,
            http,
            deaths: Mutex::default(),
            reads_kill: AtomicBool::new(false),
            death: Notify::new(),
            hold: Mutex::default(),
            held: Notify::new(),
            released: Semaphore::new(0),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(pass).with_state(Arc::clone(&inner));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, inner, server }
    }

    /// From now on every change kills greenlight twice before it gets through: once before it takes effect, and once
    /// after that, before the answer arrives.
    pub(crate) fn kill_at_every_change(&self) {
        *self.inner.deaths.lock().unwrap() = Some(HashMap::new());
    }

    /// The same, and every reading request kills it once as well.
    pub(crate) fn kill_everywhere(&self) {
        self.inner.reads_kill.store(true, Ordering::Relaxed);
        self.kill_at_every_change();
    }

    /// Waits until greenlight is to be killed.
    pub(crate) async fn deadly(&self) {
        self.inner.death.notified().await;
    }

    /// How many requests caused a death.
    pub(crate) fn deaths(&self) -> usize {
        self.inner.deaths.lock().unwrap().iter().map(HashMap::len).sum()
    }

    /// Holds the next request with this method whose path contains this text, until it is released.
    pub(crate) fn hold(&self, method: Method, path: &'static str) {
        *self.inner.hold.lock().unwrap() = Some((method, path));
    }

    /// Waits until a request is held.
    pub(crate) async fn holds(&self) {
        self.inner.held.notified().await;
    }

    pub(crate) fn release(&self) {
        self.inner.released.add_permits(1);
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn pass(State(inner): State<Arc<Inner>>, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let path = parts.uri.path().to_string();
    let is_held = inner
        .hold
        .lock()
        .unwrap()
        .take_if(|(method, part)| *method == parts.method && path.contains(*part))
        .is_some();
    if is_held {
        inner.held.notify_one();
        inner.released.acquire().await.unwrap().forget();
    }
    let is_change =
        parts.method != Method::GET && !path.ends_with("/git-upload-pack") && !path.ends_with("/access_tokens");
    let is_deadly = is_change || inner.reads_kill.load(Ordering::Relaxed);
    let earlier = inner
        .deaths
        .lock()
        .unwrap()
        .as_mut()
        .filter(|_| is_deadly)
        .map(|deaths| {
            let count = deaths.entry(format!("{} {path}", parts.method)).or_default();
            *count = count.saturating_add(1);
            *count
        });
    if earlier == Some(1) {
        inner.death.notify_one();
        return std::future::pending().await;
    }
    let response = forward(&inner, parts, body).await;
    if earlier == Some(2) && is_change {
        inner.death.notify_one();
        return std::future::pending().await;
    }
    response
}

async fn forward(inner: &Inner, parts: Parts, body: Bytes) -> Response {
    let at = parts.uri.path_and_query().map_or("/", |at| at.as_str());
    let mut headers = parts.headers;
    for name in ["host", "content-length", "connection", "transfer-encoding"] {
        headers.remove(name);
    }
    let sent = inner
        .http
        .request(parts.method, format!("{}{at}", inner.upstream))
        .headers(headers)
        .body(body)
        .send();
    let answer = sent.await.unwrap();
    let mut response = Response::builder().status(answer.status());
    for (name, value) in answer.headers() {
        if !matches!(name.as_str(), "content-length" | "connection" | "transfer-encoding") {
            response = response.header(name, value);
        }
    }
    response.body(Body::from(answer.bytes().await.unwrap())).unwrap()
}
