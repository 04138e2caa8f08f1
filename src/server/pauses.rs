//! Shares the pauses that GitHub asks for with the other processes, about once a second.

use std::time::Duration;

use super::fleet::Fleet;
use super::queue::Queue;
use crate::github::Pauses;
use crate::journal::Error;

const LOOK: Duration = Duration::from_secs(1);

/// Shares pauses until the process ends.
pub(super) async fn share_on(queue: Queue) {
    let Some(fleet) = queue.fleet() else { return };
    let mut tick = tokio::time::interval(LOOK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        if let Err(error) = share(fleet, queue.app().github.pauses()).await {
            tracing::debug!(%error, "pauses were not shared");
        }
    }
}

async fn share(fleet: &Fleet, pauses: &Pauses) -> Result<(), Error> {
    for (installation, length) in pauses.take_fresh() {
        tracing::info!(
            installation,
            seconds = length.as_secs(),
            "GitHub asks for a pause, and all processes are told"
        );
        if let Err(error) = fleet.database.share_pause(installation, length).await {
            pauses.retell(installation);
            return Err(error);
        }
    }
    for (installation, left) in fleet.database.pauses().await? {
        pauses.learn(installation, left);
    }
    Ok(())
}
