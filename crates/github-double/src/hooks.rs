//! Webhook deliveries: signed, sent in order over real HTTP, and recorded.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::sync::{mpsc, watch};

/// How long a receiver may take; GitHub allows ten seconds.
/// <https://docs.github.com/en/webhooks/using-webhooks/best-practices-for-using-webhooks>
const PATIENCE: Duration = Duration::from_secs(10);
/// The id of the App's webhook.
pub(super) const HOOK: u64 = 513_005;
/// How many deliveries are kept; the oldest are dropped first.
const REMEMBERED: usize = 4096;

/// One delivery, sent or not.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The value of `X-GitHub-Delivery`; a redelivery has the same value.
    pub id: String,
    /// The value of `X-GitHub-Event`.
    pub event: String,
    /// The JSON body.
    pub payload: Value,
    /// The status of the receiver's response. `None` if there was no receiver, or it could not be reached.
    pub status: Option<u16>,
    /// Why there is no status.
    pub error: Option<String>,
}

impl Delivery {
    /// The payload's `action`, such as `created`; empty for events without one.
    pub fn action(&self) -> &str {
        self.payload["action"].as_str().unwrap_or_default()
    }
}

#[derive(Debug, Clone)]
struct Target {
    url: String,
    secret: Vec<u8>,
}

struct Outgoing {
    delivery: Delivery,
    target: Option<Target>,
}

/// Where deliveries are sent, and how many there were.
#[derive(Default)]
pub(super) struct Hooks {
    target: Option<Target>,
    /// Members of the webhook's configuration that the API shows in place of the real ones.
    pub(super) pretended: serde_json::Map<String, Value>,
    sender: Option<mpsc::UnboundedSender<Outgoing>>,
    pub(super) made: u64,
    issued: u64,
    pub(super) log: Arc<DeliveryLog>,
}

/// All attempted deliveries.
#[derive(Default)]
pub(super) struct DeliveryLog {
    attempts: Mutex<Vec<Attempt>>,
}

/// One attempt to deliver an event.
#[derive(Debug, Clone)]
pub(super) struct Attempt {
    pub(super) id: u64,
    /// In the time of this machine, because a receiver compares it with its own clock.
    pub(super) at: jiff::Timestamp,
    pub(super) is_redelivery: bool,
    pub(super) delivery: Delivery,
}

impl DeliveryLog {
    pub(super) fn all(&self) -> Vec<Delivery> {
        self.lock().iter().map(|attempt| attempt.delivery.clone()).collect()
    }

    /// At most this many attempts with a lower id, newest first, and whether there are no others.
    pub(super) fn newest(&self, below: u64, size: usize) -> (Vec<Attempt>, bool) {
        let attempts = self.lock();
        let mut older = attempts.iter().rev().skip_while(|attempt| attempt.id >= below);
        let page = older.by_ref().take(size).cloned().collect();
        (page, older.next().is_none())
    }

    pub(super) fn find(&self, id: u64) -> Option<Attempt> {
        self.lock().iter().find(|attempt| attempt.id == id).cloned()
    }

    fn keep(&self, delivery: Delivery) {
        let mut attempts = self.lock();
        let id = attempts.last().map_or(1_000, |last| last.id + 1);
        let is_redelivery = attempts.iter().any(|attempt| attempt.delivery.id == delivery.id);
        if attempts.len() == REMEMBERED {
            attempts.remove(0);
        }
        attempts.push(Attempt {
            id,
            at: jiff::Timestamp::now(),
            is_redelivery,
            delivery,
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Attempt>> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hooks {
    pub(super) fn set_target(&mut self, url: &str, secret: &str) {
        self.target = Some(Target {
            url: url.into(),
            secret: secret.as_bytes().to_vec(),
        });
    }

    /// `webhook-config`. The secret is never shown.
    pub(super) fn config(&self) -> Value {
        let mut config = json!({ "content_type": "json", "insecure_ssl": "0" });
        if let Some(target) = &self.target {
            config["url"] = json!(target.url);
            if !target.secret.is_empty() {
                config["secret"] = json!("********");
            }
        }
        for (name, value) in &self.pretended {
            config[name] = value.clone();
        }
        config
    }

    /// The number of deliveries so far, sent or still waiting.
    pub(super) fn issued(&self) -> u64 {
        self.issued
    }

    /// Sends a delivery again, under the same id.
    pub(super) fn again(&mut self, delivery: Delivery) {
        self.hand_out(Delivery {
            status: None,
            error: None,
            ..delivery
        });
    }

    pub(super) fn hand_out(&mut self, delivery: Delivery) {
        let outgoing = Outgoing {
            delivery,
            target: self.target.clone(),
        };
        if self.sender.as_ref().is_some_and(|sender| sender.send(outgoing).is_ok()) {
            self.issued += 1;
        }
    }
}

/// Starts a double's delivery task, which ends when the double's state is dropped.
pub(super) fn start_courier(hooks: &mut Hooks, app: u64) -> (Arc<DeliveryLog>, watch::Receiver<u64>) {
    let (sender, mut queue) = mpsc::unbounded_channel::<Outgoing>();
    let (done, finished) = watch::channel(0);
    let log = Arc::clone(&hooks.log);
    hooks.sender = Some(sender);
    let kept = Arc::clone(&log);
    tokio::spawn(async move {
        let mut client = None;
        while let Some(Outgoing { mut delivery, target }) = queue.recv().await {
            if let Some(target) = target {
                match send(&mut client, &delivery, &target, app).await {
                    Ok(status) => delivery.status = Some(status),
                    Err(error) => delivery.error = Some(error.to_string()),
                }
            } else {
                delivery.error = Some("no webhook is set".into());
            }
            kept.keep(delivery);
            done.send_modify(|count| *count += 1);
        }
    });
    (log, finished)
}

async fn send(
    client: &mut Option<reqwest::Client>,
    delivery: &Delivery,
    target: &Target,
    app: u64,
) -> Result<u16, reqwest::Error> {
    let client = match client {
        Some(client) => client,
        None => client.insert(plain_client()?),
    };
    let body = delivery.payload.to_string();
    let response = client
        .post(&target.url)
        .header("content-type", "application/json")
        .header("user-agent", "GitHub-Hookshot/double")
        .header("x-github-delivery", &delivery.id)
        .header("x-github-event", &delivery.event)
        .header("x-github-hook-id", HOOK.to_string())
        .header("x-github-hook-installation-target-id", app.to_string())
        .header("x-github-hook-installation-target-type", "integration")
        .header("x-hub-signature-256", sign(&target.secret, body.as_bytes()))
        .body(body)
        .send()
        .await?;
    Ok(response.status().as_u16())
}

/// A client for loopback: without a proxy, and without the cost of loading the machine's certificates.
fn plain_client() -> Result<reqwest::Client, reqwest::Error> {
    reqwest::Client::builder()
        .timeout(PATIENCE)
        .no_proxy()
        .tls_certs_only([])
        .build()
}

/// The value of `X-Hub-Signature-256`.
/// <https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries>
pub(super) fn sign(secret: &[u8], body: &[u8]) -> String {
    match Hmac::<Sha256>::new_from_slice(secret) {
        Ok(mut mac) => {
            mac.update(body);
            format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
        }
        Err(_) => String::new(),
    }
}
