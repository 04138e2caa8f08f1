//! `greenlight serve`: the webhook service. `greenlight worker`: its work on other machines.

use std::sync::Arc;

use secrecy::ExposeSecret as _;
use tokio::net::TcpListener;

use super::{Exit, app, database, folder, hidden, terminal};
use crate::config::addresses::JournalAddress;
use crate::config::environment::Environment;
use crate::config::flags::Flags;
use crate::config::settings::Settings;
use crate::engine::App;
use crate::github::webhook::WebhookSecret;
use crate::journal::Journal;
use crate::server::{self, Queue};

const DEFAULT_ADDRESS: &str = "127.0.0.1:8080";
const DEFAULT_WORKERS: usize = 2;
const MAX_WORKERS: usize = 64;

#[derive(Debug, clap::Args)]
pub(super) struct ServeArguments {
    /// Host and port to listen on; put a TLS proxy in front. 127.0.0.1:8080 if not set [env: GREENLIGHT_LISTEN]
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    listen: Option<String>,
    /// Show the runs in a browser on this machine, at a link that is printed and works once. Only with a loopback
    /// address
    #[arg(long)]
    page: bool,
    #[command(flatten)]
    workers: WorkersFlag,
    #[command(flatten)]
    flags: Flags,
}

#[derive(Debug, clap::Args)]
pub(super) struct WorkerArguments {
    #[command(flatten)]
    workers: WorkersFlag,
    #[command(flatten)]
    flags: Flags,
}

#[derive(Debug, clap::Args)]
struct WorkersFlag {
    /// How many pull requests are worked on at the same time, at most 64; 2 if not set. 0 leaves the work to
    /// `greenlight worker`, with a PostgreSQL database [env: GREENLIGHT_WORKERS]
    #[arg(long, value_name = "NUMBER", value_parser = workers)]
    workers: Option<usize>,
}

/// `greenlight serve`.
pub(super) async fn serve(arguments: ServeArguments) -> Exit {
    try_serve(arguments).await.map_or_else(|exit| exit, |()| Exit::Done)
}

/// `greenlight worker`.
pub(super) async fn worker(arguments: WorkerArguments) -> Exit {
    try_work(arguments).await.map_or_else(|exit| exit, |()| Exit::Done)
}

async fn try_serve(arguments: ServeArguments) -> Result<(), Exit> {
    let environment = Environment::of_this_process();
    let settings = Settings::new(arguments.flags, &environment)?;
    let listen = set(arguments.listen, (&environment, "GREENLIGHT_LISTEN"), address)?;
    let listen = listen.unwrap_or_else(|| DEFAULT_ADDRESS.into());
    let workers = arguments.workers.read(&environment)?;
    terminal::start_logging(&settings, None);
    let secret = settings.webhook_secret()?;
    let secret =
        WebhookSecret::new(secret.expose_secret().to_string()).map_err(|error| Exit::Usage(error.to_string()))?;
    let is_shared = matches!(settings.database()?, JournalAddress::Postgres(_));
    if workers == 0 && !is_shared {
        return Err(Exit::Usage(
            "--workers 0 leaves the work to other processes, which need a PostgreSQL database: set \
             GREENLIGHT_DATABASE_URL"
                .into(),
        ));
    }
    let Prepared { app, _taken } = prepare(&settings).await?;
    let listener = TcpListener::bind(&listen).await.map_err(|error| {
        Exit::Usage(format!(
            "cannot listen on {listen}: {error}; choose another with --listen (GREENLIGHT_LISTEN)"
        ))
    })?;
    tell_start(&settings, &app, workers).await?;
    let address = listener.local_addr().map_err(|error| Exit::Fault(error.to_string()))?;
    tracing::info!(%address, "listening");
    let page = match arguments.page {
        true => Some(page(address)?),
        false => None,
    };
    let queue = Queue::new(app, workers);
    let access = server::Access {
        webhook: secret,
        metrics: settings.metrics_token(),
        page,
    };
    server::serve(listener, queue, access, terminal::stopped()).await;
    Ok(())
}

/// The page, after its link was printed. The log does not have it, because others may read logs.
fn page(address: std::net::SocketAddr) -> Result<server::LocalPage, Exit> {
    let (page, link) = server::LocalPage::new(address).map_err(|error| Exit::Usage(format!("--page: {error}")))?;
    terminal::show_exactly(&format!("The page, for one browser on this machine: {link}"));
    Ok(page)
}

async fn try_work(arguments: WorkerArguments) -> Result<(), Exit> {
    let environment = Environment::of_this_process();
    let settings = Settings::new(arguments.flags, &environment)?;
    let workers = arguments.workers.read(&environment)?;
    terminal::start_logging(&settings, None);
    if workers == 0 {
        return Err(Exit::Usage(
            "a worker with --workers 0 does nothing: choose 1 to 64".into(),
        ));
    }
    if !matches!(settings.database()?, JournalAddress::Postgres(_)) {
        return Err(Exit::Usage(
            "a worker shares its work with `greenlight serve` through PostgreSQL: set GREENLIGHT_DATABASE_URL to \
             postgres://user@host/database"
                .into(),
        ));
    }
    let Prepared { app, _taken } = prepare(&settings).await?;
    tell_start(&settings, &app, workers).await?;
    server::work(Queue::new(app, workers), terminal::stopped()).await;
    Ok(())
}

/// What a service needs, and the lock on its data folder.
struct Prepared {
    app: Arc<App>,
    _taken: std::fs::File,
}

async fn prepare(settings: &Settings) -> Result<Prepared, Exit> {
    settings.credentials()?;
    let sandbox = app::sandbox(settings).await?;
    match &sandbox {
        Ok(sandbox) => {
            tracing::info!(backend = %sandbox.backend(), guarantees = %sandbox.guarantees(), "the sandbox is ready");
        }
        Err(unusable) => tracing::error!(%unusable, "nothing will be executed"),
    }
    if let Ok(sandbox) = &sandbox {
        hidden::check(settings, sandbox, None)?;
    }
    let taken = folder::take(&settings.data_dir()?)?;
    hidden::tighten(settings)?;
    let journal = database::open(settings).await?;
    let github = app::github(settings).await?;
    let app = Arc::new(app::app(settings, github, Journal::Database(journal), sandbox)?);
    Ok(Prepared { app, _taken: taken })
}

async fn tell_start(settings: &Settings, app: &App, workers: usize) -> Result<(), Exit> {
    let account = app.github.me().await.map_err(|error| Exit::Usage(error.to_string()))?;
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        %account,
        github = %settings.github_api_url,
        model = app.model.as_ref().map_or("none, only the built-in engine", |(_, name)| name.as_str()),
        data_folder = %app.folder.display(),
        workers,
        "greenlight starts"
    );
    Ok(())
}

impl WorkersFlag {
    fn read(self, environment: &Environment) -> Result<usize, Exit> {
        Ok(set(self.workers, (environment, "GREENLIGHT_WORKERS"), workers)?.unwrap_or(DEFAULT_WORKERS))
    }
}

/// A host and port. A host name is resolved when the server starts to listen.
fn address(text: &str) -> Result<String, String> {
    let text = text.trim();
    let is_address = text
        .rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    match is_address {
        true => Ok(text.to_string()),
        false => Err("it is not an address such as 127.0.0.1:8080 or localhost:8080".into()),
    }
}

fn workers(text: &str) -> Result<usize, String> {
    let number = text
        .trim()
        .parse()
        .ok()
        .filter(|number| (0..=MAX_WORKERS).contains(number));
    number.ok_or_else(|| format!("it is not a number from 0 to {MAX_WORKERS}"))
}

/// The value of the flag, or else of the variable.
fn set<T>(
    flag: Option<T>,
    (environment, variable): (&Environment, &str),
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, Exit> {
    match (flag, environment.get(variable)) {
        (Some(value), _) => Ok(Some(value)),
        (None, Some(text)) => read(text)
            .map(Some)
            .map_err(|problem| Exit::Usage(format!("{variable}: {problem}"))),
        (None, None) => Ok(None),
    }
}
