//! Webhook events: a payload is built when something happens, and passed to [`super::hooks`].

use serde_json::{Value, json};

use super::hooks::{Delivery, HOOK};
use super::state::State;
use super::{Double, objects};

impl State {
    /// Sends an event about a repository; `payload` has the fields that are specific to it.
    pub(super) fn notify(&mut self, event: &str, repository: u64, sender: &str, payload: Value) {
        let Some(about) = self.repository(repository) else {
            return;
        };
        let mut payload = payload;
        payload["repository"] = objects::repository(self, about);
        payload["sender"] = objects::account(self, sender);
        if self
            .account(&about.owner)
            .is_some_and(|owner| owner.kind == "Organization")
        {
            payload["organization"] = objects::organization(self, &about.owner);
        }
        // An App gets no events about repositories that it is not installed on.
        let Some(installation) = self.installation_of(&about.owner) else {
            return;
        };
        payload["installation"] = json!({ "id": installation, "node_id": objects::node("Installation", installation) });
        self.notify_plainly(event, payload);
    }

    /// Sends an event that is not about one repository.
    pub(super) fn notify_plainly(&mut self, event: &str, payload: Value) {
        self.hooks.made += 1;
        let id = format!("72d3162e-cc78-11f0-81ab-{:012x}", self.hooks.made);
        self.hooks.hand_out(Delivery {
            id,
            event: event.into(),
            payload,
            status: None,
            error: None,
        });
    }
}

impl Double {
    /// From now on, delivers webhooks to this URL, signed with this secret.
    pub fn set_webhook(&self, url: &str, secret: &str) {
        self.shared.lock().hooks.set_target(url, secret);
    }

    /// From now on, shows this value in the webhook's configuration. Deliveries are sent as before.
    pub fn pretend_webhook(&self, name: &str, value: &str) {
        let value = value.into();
        self.shared.lock().hooks.pretended.insert(name.into(), value);
    }

    /// Sends a delivery again, under the same id, and waits for the answer.
    pub async fn deliver_again(&self, delivery: &Delivery) {
        self.shared.lock().hooks.again(delivery.clone());
        self.delivered().await;
    }

    /// Delivers `ping`, as GitHub does for a new webhook.
    pub async fn ping(&self) {
        {
            let mut state = self.shared.lock();
            let at = format!("{}/app/hook", state.api());
            let hook = json!({
                "type": "App", "id": HOOK, "name": "web", "active": true, "events": state.app().events,
                "config": { "content_type": "json", "insecure_ssl": "0", "url": "http://127.0.0.1" },
                "created_at": objects::LONG_AGO, "updated_at": objects::LONG_AGO,
                "url": at, "ping_url": format!("{at}/pings"), "deliveries_url": format!("{at}/deliveries"),
            });
            state.notify_plainly(
                "ping",
                json!({ "zen": "Keep it logically awesome.", "hook_id": HOOK, "hook": hook }),
            );
        }
        self.delivered().await;
    }

    /// Waits until all deliveries so far were answered, including those caused by the bot's own changes.
    pub async fn delivered(&self) {
        let issued = self.shared.lock().hooks.issued();
        let mut finished = self.finished.clone();
        let _ = finished.wait_for(|count| *count >= issued).await;
    }
}
