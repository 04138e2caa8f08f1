//! The setup page of a `greenlight serve` without an App: a person creates one, and its key is stored.

use std::path::PathBuf;

use tokio::net::TcpListener;

use super::{Exit, folder, terminal};
use crate::config::settings::Settings;
use crate::config::stored_app::{StoredApp, StoredSettings};
use crate::config::{SettingsError, sign_in};
use crate::github::manifest::{CreatedApp, Registrar, WantedApp};
use crate::server::{CheckUrl, Setup, SetupEnd};

/// Shows the page until the App is stored.
pub(super) async fn create_app(
    settings: &Settings,
    listener: &TcpListener,
    stopped: impl Future<Output = ()> + Send,
) -> Result<(), Exit> {
    let data = settings.data_dir()?;
    // Nobody else may set up the same folder meanwhile.
    let _taken = folder::take(&data)?;
    let address = listener.local_addr().map_err(|error| Exit::Fault(error.to_string()))?;
    let api = settings.github_api_url.clone();
    let registrar = Registrar::new(&api).map_err(|error| Exit::Usage(error.to_string()))?;
    let github = api.clone();
    let check_url: CheckUrl = Box::new(move |text| {
        let wrong = |error: SettingsError| format!("The public URL {}; {}.", error.problem, error.remedy);
        sign_in::public_url_for(text, &github).map_err(wrong)
    });
    let keep = move |app: &CreatedApp, wanted: &WantedApp| keep(&data, &api, app, wanted);
    let page = Setup::new(address, registrar, (check_url, Box::new(keep)));
    let (page, link) = page.map_err(|error| Exit::Fault(error.to_string()))?;
    terminal::show_exactly(&format!(
        "greenlight has no GitHub App yet. Create one here; the link works once, within an hour: {link}"
    ));
    if !address.ip().is_loopback() {
        terminal::show_exactly(
            "On another machine, put this one's name in place of the host, and https:// if a TLS proxy is in front. \
             Without one, others on the network can read along: `ssh -L` is safer.",
        );
    }
    tracing::info!(%address, "waiting for the GitHub App to be created");
    match page.serve(listener, stopped).await {
        SetupEnd::Created => Ok(()),
        SetupEnd::Late => Err(Exit::Usage(
            "no GitHub App was created within an hour; start `greenlight serve` again, or set GREENLIGHT_APP_ID, \
             GREENLIGHT_PRIVATE_KEY_FILE and GREENLIGHT_WEBHOOK_SECRET_FILE"
                .into(),
        )),
        SetupEnd::Stopped => Err(Exit::Done),
    }
}

/// Stores the App, and says where.
fn keep(data: &std::path::Path, api: &url::Url, app: &CreatedApp, wanted: &WantedApp) -> Result<(), String> {
    let file: PathBuf = StoredApp::file(data);
    let stored = StoredApp {
        settings: StoredSettings {
            app_id: app.id,
            slug: app.slug.clone(),
            client_id: app.client_id.clone(),
            github_api_url: api.clone(),
            public_url: wanted.public.clone(),
        },
        client_secret: app.client_secret.clone(),
        webhook_secret: app.webhook_secret.clone(),
        private_key: app.private_key.clone(),
    };
    stored
        .keep(data)
        .map_err(|error| format!("{}: {error}", file.display()))?;
    tracing::info!(app = app.id, slug = %app.slug, file = %file.display(), "the App was created, and its key stored");
    terminal::show_exactly(&format!("Install the App: {}", app.install));
    Ok(())
}
