//! What a checkout needs before its tests run: a way to run them, and what they import.

use tokio_util::sync::CancellationToken;

use super::super::{Exit, terminal};
use super::Common;
use crate::config::repository::REGISTRIES;
use crate::engine::desk::{CONFIG_FILE, Desk};
use crate::suite::{Suite, TestCommand};

/// The test command, or what to do about there being none.
pub(super) fn found(desk: &Desk) -> Result<TestCommand, Exit> {
    desk.test_command().map_err(|nothing| {
        Exit::Usage(format!(
            "no tests found in {}; looked for {}; set `command` under `[test]` in {CONFIG_FILE}",
            desk.checkout.root().display(),
            nothing.looked_for.join(", ")
        ))
    })
}

/// Installs what the tests need, if the person at the terminal says so: the checkout may be a stranger's.
pub(super) async fn install(
    arguments: &Common,
    desk: &Desk,
    suite: &mut Suite,
    cancel: &CancellationToken,
) -> Result<(), Exit> {
    let mut granted = desk.install_settings(Vec::new());
    if !arguments.install {
        if granted.asks_for_something() {
            terminal::tell(&format!(
                "note: {CONFIG_FILE} wants something to be installed; `--install` allows it"
            ));
        }
        return Ok(());
    }
    granted.registries = true;
    let hosts = [REGISTRIES].into_iter().chain(granted.hosts.iter().map(String::as_str));
    terminal::tell(&format!(
        "installing the dependencies (network: {})",
        hosts.collect::<Vec<_>>().join(", ")
    ));
    desk.install(suite, &granted, cancel).await?.map_err(Exit::Refused)?;
    if cancel.is_cancelled() {
        return Err(Exit::Stopped);
    }
    for note in &suite.installed.notes {
        terminal::tell(&format!("note: {note}"));
    }
    Ok(())
}
