//! `greenlight serve`: the webhook service.

use std::net::SocketAddr;
use std::sync::Arc;

use secrecy::ExposeSecret as _;
use tokio::net::TcpListener;

use super::{Exit, app, folder, hidden, terminal};
use crate::config::environment::Environment;
use crate::config::flags::Flags;
use crate::config::settings::Settings;
use crate::github::webhook::WebhookSecret;
use crate::journal::{Journal, Sqlite};
use crate::server::{self, Queue};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Where to listen; put a TLS proxy in front
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "ADDRESS")]
    listen: SocketAddr,
    /// How many pull requests are worked on at a time
    #[arg(long, default_value_t = 2, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=64))]
    workers: u16,
    #[command(flatten)]
    flags: Flags,
}

pub(super) async fn serve(arguments: Arguments) -> Exit {
    match try_serve(arguments).await {
        Ok(()) => Exit::Done,
        Err(exit) => exit,
    }
}

async fn try_serve(arguments: Arguments) -> Result<(), Exit> {
    let settings = Settings::new(arguments.flags, &Environment::of_this_process())?;
    terminal::start_logging(&settings, None);
    let secret = settings.webhook_secret()?;
    let secret =
        WebhookSecret::new(secret.expose_secret().to_string()).map_err(|error| Exit::Usage(error.to_string()))?;
    settings.credentials()?;
    let file = settings.database()?;
    let sandbox = app::sandbox(&settings).await?;
    match &sandbox {
        Ok(sandbox) => {
            tracing::info!(backend = %sandbox.backend(), guarantees = %sandbox.guarantees(), "the sandbox is ready");
        }
        Err(unusable) => tracing::error!(%unusable, "nothing will be executed"),
    }
    if let Ok(sandbox) = &sandbox {
        hidden::check(&settings, sandbox, None)?;
    }
    let _taken = folder::take(&settings.data_dir()?)?;
    hidden::tighten(&settings)?;
    let journal = Sqlite::open(&file).await.map_err(|error| {
        Exit::Usage(format!(
            "{error}; check GREENLIGHT_DATABASE_URL and GREENLIGHT_DATA_DIR ({})",
            file.display()
        ))
    })?;
    let github = app::github(&settings).await?;
    let app = Arc::new(app::app(&settings, github, Journal::Sqlite(journal), sandbox)?);
    let listener = TcpListener::bind(arguments.listen).await.map_err(|error| {
        Exit::Usage(format!(
            "cannot listen on {}: {error}; choose another with --listen",
            arguments.listen
        ))
    })?;
    let account = app.github.me().await.map_err(|error| Exit::Usage(error.to_string()))?;
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        %account,
        github = %settings.github_api_url,
        model = app.model.as_ref().map_or("none, the built-in engine alone", |(_, name)| name.as_str()),
        data_folder = %app.folder.display(),
        workers = arguments.workers,
        "greenlight starts"
    );
    let address = listener.local_addr().map_err(|error| Exit::Fault(error.to_string()))?;
    tracing::info!(%address, "listening");
    let queue = Queue::new(app, usize::from(arguments.workers));
    server::serve(listener, queue, secret, terminal::stopped()).await;
    Ok(())
}
