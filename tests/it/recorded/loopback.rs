//! A server on loopback that replays recorded answers.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use greenlight::github::{Client, Credentials, GitHub};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The double's key, which protects nothing.
const KEY: &str = include_str!("../../../crates/github-double/src/app_key.pem");

/// The answer to requests with this method whose path ends like this, or contains this if it ends with a slash.
struct Canned {
    method: String,
    path: String,
    status: u16,
    body: String,
}

impl Canned {
    fn fits(&self, method: &Method, path: &str) -> bool {
        let is_there = path.ends_with(&self.path) || (self.path.ends_with('/') && path.contains(&self.path));
        self.method == method.as_str() && is_there
    }
}

type Table = Arc<Mutex<Vec<Canned>>>;

/// The server. Dropping it stops it.
pub(super) struct Loopback {
    url: String,
    table: Table,
    server: JoinHandle<()>,
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Loopback {
    pub(super) async fn start() -> Self {
        let table = Table::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(Arc::clone(&table));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, table, server }
    }

    /// Adds an answer; later ones take precedence.
    #[expect(clippy::needless_pass_by_value, reason = "it reads better where it is called")]
    pub(super) fn answers(&self, method: &str, path: &str, status: u16, body: Value) {
        self.answers_text(method, path, status, &body.to_string());
    }

    pub(super) fn answers_text(&self, method: &str, path: &str, status: u16, body: &str) {
        let canned = Canned {
            method: method.into(),
            path: path.into(),
            status,
            body: body.into(),
        };
        self.table.lock().unwrap().push(canned);
    }

    /// Forgets all answers.
    pub(super) fn clear(&self) {
        self.table.lock().unwrap().clear();
    }

    pub(super) fn with_token(&self) -> GitHub {
        let url = self.url.parse().unwrap();
        GitHub::new(&url, Credentials::Token("ghp_recorded".to_string().into())).unwrap()
    }

    pub(super) fn as_app(&self) -> GitHub {
        let credentials = Credentials::App {
            id: 1,
            key_pem: KEY.to_string().into(),
        };
        GitHub::new(&self.url.parse().unwrap(), credentials).unwrap()
    }

    pub(super) async fn client(&self) -> Client {
        self.with_token().client(None, &"o/r".parse().unwrap()).await.unwrap()
    }
}

async fn answer(State(table): State<Table>, method: Method, uri: Uri) -> Response {
    let table = table.lock().unwrap();
    let fits = |canned: &&Canned| canned.fits(&method, uri.path());
    let (status, body) = table.iter().rev().find(fits).map_or_else(
        || (404, json!({ "message": "Not Found" }).to_string()),
        |canned| (canned.status, canned.body.clone()),
    );
    let status = StatusCode::from_u16(status).unwrap();
    (
        status,
        [(header::CONTENT_TYPE, "application/json; charset=utf-8")],
        body,
    )
        .into_response()
}
