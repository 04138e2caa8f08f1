//! Sends deliveries as GitHub does: signed, each with its own id.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::Sha256;

pub(crate) const SECRET: &str = "intake-webhook-secret";

/// A real payload of a closed pull request, of 25 kB.
const PAYLOADS: &str = include_str!("../../tests/fixtures/webhooks/pull_request.json");

pub(crate) struct Sender {
    client: reqwest::Client,
    url: String,
    payload: Value,
}

impl Sender {
    pub(crate) fn new(url: &str) -> Self {
        let all: Vec<Value> = serde_json::from_str(PAYLOADS).unwrap();
        let is_closed = |payload: &Value| payload["action"] == "closed" && payload["installation"].is_object();
        greenlight_crypto::install();
        Self {
            client: reqwest::Client::new(),
            url: format!("{url}/webhook"),
            payload: all.into_iter().find(is_closed).unwrap(),
        }
    }

    /// Sends this many deliveries, each for another pull request, and returns how long each took.
    pub(crate) async fn send(&self, first: usize, number: usize, at_once: usize) -> anyhow::Result<Vec<Duration>> {
        // Made before the clock of the caller's figures matters most: the sender shares the processors.
        let signed: Arc<Vec<(String, String, String)>> =
            Arc::new((first..first + number).map(|nth| self.signed(nth)).collect());
        let next = Arc::new(AtomicUsize::new(0));
        let sending = (0..at_once).map(|_| {
            let (client, url) = (self.client.clone(), self.url.clone());
            let (signed, next) = (Arc::clone(&signed), Arc::clone(&next));
            tokio::spawn(async move {
                let mut times = Vec::new();
                while let Some((id, signature, body)) = signed.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let request = client
                        .post(&url)
                        .header("content-type", "application/json")
                        .header("x-github-event", "pull_request")
                        .header("x-github-delivery", id)
                        .header("x-hub-signature-256", signature)
                        .timeout(Duration::from_secs(30))
                        .body(body.clone());
                    let began = Instant::now();
                    let answer = request.send().await?;
                    times.push(began.elapsed());
                    ensure!(answer.status().is_success(), "{id}: {}", answer.status());
                }
                anyhow::Ok(times)
            })
        });
        let mut all = Vec::new();
        for sent in futures::future::join_all(sending).await {
            all.extend(sent.context("a sender panicked")??);
        }
        Ok(all)
    }

    fn signed(&self, nth: usize) -> (String, String, String) {
        let mut payload = self.payload.clone();
        payload["number"] = nth.into();
        payload["pull_request"]["number"] = nth.into();
        let body = payload.to_string();
        let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
        mac.update(body.as_bytes());
        let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
        (format!("delivery-{nth}"), signature, body)
    }
}
