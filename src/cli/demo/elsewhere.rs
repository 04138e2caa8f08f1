//! Plays only GitHub, for a `greenlight serve` in another process.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use github_double::{Double, MAINTAINER};

use super::super::{Exit, terminal};
use super::narrator::Narrator;
use super::scenery::REPOSITORY;
use super::{SECRET, fault};
use crate::config::addresses::is_loopback;
use crate::private;

/// If nothing has changed for this long, the other process is done.
const QUIET: Duration = Duration::from_secs(2);
/// How long the other process may work without a visible change.
const PATIENCE: Duration = Duration::from_secs(300);
/// How often the connection to the other process is tried.
const MAX_LOOKS: usize = 20;

/// Says how to start the other process, and waits until it responds.
pub(super) async fn meet(double: &Double, folder: &Path, url: &url::Url) -> Result<(), Exit> {
    let credentials = double.app_credentials();
    let key = folder.join("app.pem");
    let mut file = private::file().open(&key).map_err(fault)?;
    file.write_all(credentials.private_key.as_bytes()).map_err(fault)?;
    let address = format!(
        "{}:{}",
        url.host_str().unwrap_or("127.0.0.1"),
        url.port_or_known_default().unwrap_or(8080)
    );
    let page = page(double, url);
    // The token is for the played GitHub, and good for nothing else.
    terminal::show_exactly(&format!(
        "GitHub is played at {api}. In another terminal:\n\n\
         export GREENLIGHT_GITHUB_API_URL={api}\nexport GREENLIGHT_APP_ID={id}\n\
         export GREENLIGHT_PRIVATE_KEY_FILE={key}\nexport GREENLIGHT_WEBHOOK_SECRET={SECRET}\n\
         export GREENLIGHT_DATA_DIR={data}\n{page}greenlight serve --listen {address}\n\n\
         The runs are then in a browser at {url}, and also available over REST, with {MAINTAINER}'s token:\n\n\
         curl -H 'Authorization: Bearer {token}' '{runs}'\n",
        api = double.url(),
        id = credentials.app_id,
        key = key.display(),
        data = folder.join("data").display(),
        token = double.user_token(MAINTAINER),
        runs = url
            .join(&format!("api/v1/runs?repository={REPOSITORY}"))
            .map_err(fault)?,
    ));
    double.set_webhook(url.join("webhook").map_err(fault)?.as_str(), SECRET);
    for _ in 0..MAX_LOOKS {
        if terminal::ask("Press Enter once it listens.").await.is_none() {
            return Err(Exit::Refused("Enter was not pressed, so the demo did not start".into()));
        }
        double.ping().await;
        let answer = double.last_delivery("ping");
        match answer.as_ref().map(|ping| (ping.status, ping.error.as_deref())) {
            Some((Some(200..=299), _)) => return Ok(()),
            Some((Some(401), _)) => terminal::tell(&format!(
                "{url} rejects the signature: is GREENLIGHT_WEBHOOK_SECRET set as above?"
            )),
            Some((Some(status), _)) => terminal::tell(&format!("{url} answers with {status}")),
            other => {
                let why = other.and_then(|(_, error)| error).unwrap_or("no answer");
                terminal::tell(&format!("{url} does not answer: {why}"));
            }
        }
    }
    Err(Exit::Usage(format!("no `greenlight serve` at {url}")))
}

/// The settings of the page that people sign in to. Empty at an address at which GitHub's people cannot sign in: one that
/// is neither on this machine nor encrypted.
fn page(double: &Double, url: &url::Url) -> String {
    if url.scheme() != "https" && !is_loopback(url) {
        return String::new();
    }
    let origin = url.origin().ascii_serialization();
    let credentials = double.app_credentials();
    double.add_callback(&format!("{origin}/sign-in/callback"));
    format!(
        "export GREENLIGHT_CLIENT_ID={}\nexport GREENLIGHT_CLIENT_SECRET={}\nexport GREENLIGHT_PUBLIC_URL={origin}\n",
        credentials.client_id, credentials.client_secret
    )
}

/// Waits until the other process has answered: its check run has a conclusion, something has happened since, and
/// nothing more changes. There is no other way to know.
pub(super) async fn settle(double: &Double, narrator: &Narrator, since: Option<usize>) {
    let mut changes = double.changes();
    let settled = async {
        loop {
            let is_quiet = tokio::time::timeout(QUIET, changes.changed()).await.is_err();
            narrator.catch_up();
            let has_answered = since.is_none_or(|since| narrator.times() > since);
            let is_at_rest = narrator.check().is_some_and(|check| check.conclusion.is_some());
            if is_quiet && has_answered && is_at_rest {
                return;
            }
        }
    };
    if tokio::time::timeout(PATIENCE, settled).await.is_err() {
        terminal::tell("nothing more is happening");
    }
}
