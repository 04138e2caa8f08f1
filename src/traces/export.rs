//! Sends ended spans to a collector, in batches. If it is slow or unreachable, spans are lost, and nothing waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::header::HeaderMap;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;
use url::Url;

use super::otlp::{EndedSpan, request};

/// How many ended spans may wait.
const MAX_WAITING: usize = 4_096;
/// How many spans are sent in one request.
const MAX_BATCH: usize = 512;
/// How long a span waits for others.
const COLLECT: Duration = Duration::from_secs(1);
/// The time limit of a request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long the end of the process waits for the last spans.
const LAST: Duration = Duration::from_secs(5);

/// Where spans are sent, and what describes this process.
#[derive(Debug, Clone)]
pub struct Destination {
    /// The whole URL of the collector's endpoint for traces.
    pub url: Url,
    /// The headers of every request. They may contain secrets.
    pub headers: HeaderMap,
    /// The attributes of this process, such as `service.name`.
    pub resource: Vec<(String, String)>,
}

/// Sends spans; a handle that is cheap to clone.
#[derive(Debug, Clone)]
pub struct Traces {
    sender: mpsc::Sender<EndedSpan>,
    state: Arc<ExportState>,
}

#[derive(Debug)]
struct ExportState {
    task: Mutex<Option<JoinHandle<()>>>,
    stop: tokio_util::sync::CancellationToken,
    has_lost: AtomicBool,
}

impl Traces {
    /// Starts to send spans.
    ///
    /// # Errors
    /// When TLS cannot be set up.
    pub fn start(to: Destination) -> Result<Self, reqwest::Error> {
        greenlight_crypto::install();
        let http = reqwest::Client::builder()
            .timeout(TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        let (sender, ended) = mpsc::channel(MAX_WAITING);
        let stop = tokio_util::sync::CancellationToken::new();
        let task = tokio::spawn(send_on(http, to, ended, stop.clone()));
        Ok(Self {
            sender,
            state: Arc::new(ExportState {
                task: Mutex::new(Some(task)),
                stop,
                has_lost: AtomicBool::new(false),
            }),
        })
    }

    pub(super) fn send(&self, span: EndedSpan) {
        let sent = self.sender.try_send(span);
        let is_full = matches!(sent, Err(mpsc::error::TrySendError::Full(_)));
        if is_full && !self.state.has_lost.swap(true, Ordering::Relaxed) {
            tracing::warn!("the collector of traces is too slow, so some spans are lost");
        }
    }

    /// Sends what is left, and sends nothing afterwards.
    pub async fn end(&self) {
        self.state.stop.cancel();
        if let Some(task) = self.state.task.lock().await.take()
            && tokio::time::timeout(LAST, task).await.is_err()
        {
            tracing::warn!("the last spans could not be sent in time");
        }
    }
}

async fn send_on(
    http: reqwest::Client,
    to: Destination,
    mut ended: mpsc::Receiver<EndedSpan>,
    stop: tokio_util::sync::CancellationToken,
) {
    let mut batch = Vec::new();
    let mut is_failing = false;
    loop {
        let received = tokio::select! {
            received = ended.recv_many(&mut batch, MAX_BATCH) => received,
            () = stop.cancelled() => {
                ended.close();
                ended.recv_many(&mut batch, MAX_BATCH).await
            }
        };
        if received == 0 {
            return;
        }
        let collecting = async { while batch.len() < MAX_BATCH && ended.recv_many(&mut batch, MAX_BATCH).await > 0 {} };
        tokio::select! {
            _ = tokio::time::timeout(COLLECT, collecting) => {}
            () = stop.cancelled() => {}
        }
        let body = request(&to.resource, &batch);
        let spans = batch.len();
        batch.clear();
        let sent = http
            .post(to.url.clone())
            .headers(to.headers.clone())
            .json(&body)
            .send()
            .await
            .and_then(reqwest::Response::error_for_status);
        // Once per outage. The URL may contain a secret.
        match sent.map_err(reqwest::Error::without_url) {
            Ok(_) => is_failing = false,
            Err(error) if !is_failing => {
                is_failing = true;
                tracing::warn!(
                    spans,
                    error = format!("{:#}", anyhow::Error::from(error)),
                    "spans could not be sent to the collector"
                );
            }
            Err(_) => {}
        }
    }
}
