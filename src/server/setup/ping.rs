//! The `ping` that GitHub sends when the App was created: before greenlight can know the secret that it is signed with.
//!
//! It waits for the secret, so that GitHub records a success exactly for what GitHub signed. Everything else is fetched
//! later.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::{Semaphore, watch};

use super::super::one_time::text;
use crate::github::webhook::{Verification, WebhookSecret};

/// How long it waits: GitHub gives up after 10 s.
/// <https://docs.github.com/en/webhooks/using-webhooks/best-practices-for-using-webhooks>
const MAX_WAIT: Duration = Duration::from_secs(8);
/// How many may wait. Their senders have not been authenticated.
const MAX_WAITING: usize = 4;
/// The maximum size of a `ping`, in bytes. GitHub's are much smaller.
pub(super) const MAX_PING: usize = 64 << 10;

/// The secret, once the App is stored, and those who wait for it.
pub(super) struct FirstPing {
    secret: watch::Sender<Option<WebhookSecret>>,
    room: Semaphore,
    patience: Duration,
}

impl Default for FirstPing {
    fn default() -> Self {
        Self {
            secret: watch::Sender::new(None),
            room: Semaphore::new(MAX_WAITING),
            patience: MAX_WAIT,
        }
    }
}

impl FirstPing {
    /// The App is stored: who waits is answered.
    pub(super) fn know(&self, secret: Option<&SecretString>) {
        let secret = secret.and_then(|secret| WebhookSecret::new(secret.expose_secret().into()).ok());
        self.secret.send_replace(secret);
    }

    /// The answer to a delivery: 202 for a `ping` with the right signature, 401 for one with a wrong signature, and
    /// 503 for everything that cannot be judged yet.
    pub(super) async fn answer(&self, headers: &HeaderMap, body: &Bytes) -> StatusCode {
        const LATER: StatusCode = StatusCode::SERVICE_UNAVAILABLE;
        if text(headers, &axum::http::HeaderName::from_static("x-github-event")) != Some("ping") {
            return LATER;
        }
        let Ok(_place) = self.room.try_acquire() else {
            return LATER;
        };
        let mut secrets = self.secret.subscribe();
        let known = tokio::time::timeout(self.patience, secrets.wait_for(Option::is_some)).await;
        let Ok(Ok(Some(secret))) = known.map(|known| known.map(|secret| secret.clone())) else {
            return LATER;
        };
        let signature = headers
            .get("x-hub-signature-256")
            .map(axum::http::HeaderValue::as_bytes);
        let verified = Verification::begin(&secret, signature).and_then(|mut verification| {
            verification.take(body);
            verification.end()
        });
        match verified {
            Ok(()) => StatusCode::ACCEPTED,
            Err(error) => {
                tracing::warn!(%error, "a ping was refused");
                StatusCode::UNAUTHORIZED
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use super::*;

    // The example from GitHub's documentation.
    const SECRET: &str = "It's a Secret to Everybody";
    const SIGNED: &str = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

    fn headers(event: &str, signature: &str) -> HeaderMap {
        let pairs = [("x-github-event", event), ("x-hub-signature-256", signature)];
        let pairs = pairs.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        pairs.into_iter().collect()
    }

    #[tokio::test]
    async fn a_ping_waits_for_the_secret_and_counts_only_with_its_signature() {
        let ping = FirstPing::default();
        let body = Bytes::from_static(b"Hello, World!");
        let (right, forged, unsigned) = (
            headers("ping", SIGNED),
            headers("ping", &format!("sha256={}", "0".repeat(64))),
            headers("ping", ""),
        );
        let known = async { ping.know(Some(&SECRET.into())) };
        let answers = futures::join!(
            ping.answer(&right, &body),
            ping.answer(&forged, &body),
            ping.answer(&unsigned, &body),
            known
        );
        let (right, forged, unsigned, ()) = answers;
        assert_eq!((right.as_u16(), forged.as_u16(), unsigned.as_u16()), (202, 401, 401));
        // Everything else is fetched later, with or without a signature.
        assert_eq!(ping.answer(&headers("push", SIGNED), &body).await, 503);
    }

    #[tokio::test]
    async fn nobody_waits_long_or_in_a_crowd() {
        let ping = FirstPing {
            patience: Duration::from_millis(20),
            ..FirstPing::default()
        };
        let (headers, body) = (headers("ping", SIGNED), Bytes::from_static(b"Hello, World!"));
        let crowd: Vec<_> = (0..MAX_WAITING).map(|_| ping.answer(&headers, &body)).collect();
        let mut crowd = std::pin::pin!(futures::future::join_all(crowd));
        assert!(futures::poll!(&mut crowd).is_pending());
        // The next one is answered at once.
        let mut next = std::pin::pin!(ping.answer(&headers, &body));
        assert_eq!(
            futures::poll!(&mut next).map(|status| status.as_u16()),
            Poll::Ready(503)
        );
        let all = crowd.await;
        assert!(all.iter().all(|status| *status == 503), "{all:?}");
        // An App without a secret cannot be verified.
        ping.know(None);
        assert_eq!(ping.answer(&headers, &body).await, 503);
    }
}
