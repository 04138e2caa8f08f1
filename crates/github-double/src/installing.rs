//! Changes of the App's installation, and the events that GitHub sends about them.
//! <https://docs.github.com/en/webhooks/webhook-events-and-payloads#installation>

use serde_json::{Value, json};

use super::faults::Uninstalled;
use super::state::State;
use super::{Double, apps, objects};

impl Double {
    /// Delivers `installation.created`, as if the App had just been installed on the repository.
    pub async fn install(&self) {
        self.tell_of_installation("created").await;
    }

    /// Ends the App's installation, or restores it, without an event.
    pub fn uninstall(&self, how: Option<Uninstalled>) {
        self.shared.lock().faults.uninstalled = how;
    }

    /// Ends the App's installation; delivers `installation.suspend` or `installation.deleted`.
    pub async fn end_installation(&self, how: Uninstalled) {
        self.uninstall(Some(how));
        let action = match how {
            Uninstalled::Suspended => "suspend",
            Uninstalled::Removed => "deleted",
        };
        self.tell_of_installation(action).await;
    }

    /// Removes all repositories from the installation; delivers `installation_repositories.removed`.
    pub async fn take_repositories_away(&self) {
        {
            let mut state = self.shared.lock();
            let payload = json!({
                "action": "removed",
                "installation": apps::installation(&state, state.app().installations[0].0),
                "repository_selection": "selected",
                "repositories_added": [],
                "repositories_removed": repositories(&state),
                "requester": null,
                "sender": objects::account(&state, super::MAINTAINER),
            });
            state.notify_plainly("installation_repositories", payload);
        }
        self.delivered().await;
    }

    async fn tell_of_installation(&self, action: &str) {
        {
            let mut state = self.shared.lock();
            let payload = json!({
                "action": action,
                "installation": apps::installation(&state, state.app().installations[0].0),
                "repositories": repositories(&state),
                "sender": objects::account(&state, super::MAINTAINER),
            });
            state.notify_plainly("installation", payload);
        }
        self.delivered().await;
    }
}

pub(super) fn repositories(state: &State) -> Value {
    let shown = state
        .repositories
        .iter()
        .filter(|repository| repository.fork_of.is_none());
    shown
        .map(|repository| {
            json!({
                "id": repository.id,
                "node_id": objects::node("Repository", repository.id),
                "name": repository.name,
                "full_name": repository.full_name(),
                "private": repository.private,
            })
        })
        .collect()
}
