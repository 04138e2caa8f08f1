//! `greenlight serve`: the webhook service. `greenlight worker`: its work on other machines.

use std::pin::pin;
use std::sync::Arc;

use secrecy::ExposeSecret as _;
use tokio::net::TcpListener;

use super::worker_flags::{WorkerFlags, set};
use super::{Exit, app, database, folder, hidden, setup, terminal, worker_flags};
use crate::config;
use crate::config::addresses::JournalAddress;
use crate::config::environment::Environment;
use crate::config::flags::Flags;
use crate::config::settings::{Settings, SignInSettings};
use crate::domain::worker_labels::WorkerLabels;
use crate::engine::App;
use crate::github::SignInApp;
use crate::github::webhook::WebhookSecret;
use crate::journal::Journal;
use crate::server::{self, Queue};
use crate::traces::{Destination, Traces};

const DEFAULT_ADDRESS: &str = "127.0.0.1:8080";
/// What names that address.
const LISTEN: &str = "--listen (GREENLIGHT_LISTEN)";

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
    workers: WorkerFlags,
    #[command(flatten)]
    flags: Flags,
}

#[derive(Debug, clap::Args)]
pub(super) struct WorkerArguments {
    /// Host and port for /metrics and /healthz; no port is opened if not set [env: GREENLIGHT_METRICS_LISTEN]
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    metrics_listen: Option<String>,
    #[command(flatten)]
    workers: WorkerFlags,
    #[command(flatten)]
    flags: Flags,
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
    let (workers, labels) = arguments.workers.read(&environment)?;
    terminal::start_logging(&settings, None);
    let is_shared = matches!(settings.database()?, JournalAddress::Postgres(_));
    if workers.number == 0 && !is_shared {
        return Err(Exit::Usage(
            "--workers 0 leaves the work to other processes, which need a PostgreSQL database: set \
             GREENLIGHT_DATABASE_URL"
                .into(),
        ));
    }
    // Caught from here on, so that a signal between two phases is not lost.
    let mut stopped = pin!(terminal::stopped());
    // Before somebody creates an App in vain.
    let collector = config::otlp::destination(&environment)?;
    let (settings, listener) = with_app(settings, &listen, stopped.as_mut()).await?;
    let secret = settings.webhook_secret()?;
    let secret =
        WebhookSecret::new(secret.expose_secret().to_string()).map_err(|error| Exit::Usage(error.to_string()))?;
    let start = async {
        let prepared = prepare(&settings, (&environment, labels), collector).await?;
        let listener = match listener {
            Some(listener) => listener,
            None => bind(&listen, LISTEN).await?,
        };
        tell_start(&settings, &prepared.app, workers.number).await?;
        Ok::<_, Exit>((prepared, listener))
    };
    let (Prepared { app, _taken }, listener) = tokio::select! {
        started = start => started?,
        () = stopped.as_mut() => return Ok(()),
    };
    let address = tell_address(&listener)?;
    let page = match arguments.page {
        true => Some(page(address)?),
        false => None,
    };
    let queue = Queue::new(app, workers);
    let access = server::Access {
        webhook: secret,
        metrics: settings.metrics_token(),
        page,
        sign_in: sign_in(&settings),
    };
    let traces = queue.app().traces.clone();
    server::serve(listener, queue, access, stopped).await;
    end(traces).await;
    Ok(())
}

/// The App that people sign in to the page with.
fn sign_in(settings: &Settings) -> Option<SignInApp> {
    let SignInSettings {
        client_id,
        client_secret,
        public_url,
    } = settings.sign_in.clone()?;
    let app = SignInApp {
        client_id,
        client_secret,
        public_url,
    };
    tracing::info!(callback_url = %app.callback(), "people can sign in to the page");
    Some(app)
}

/// The settings with an App, which a person creates first if there is none. Then the listener is open already.
async fn with_app(
    settings: Settings,
    listen: &str,
    stopped: impl Future<Output = ()> + Send,
) -> Result<(Settings, Option<TcpListener>), Exit> {
    let settings = settings.with_stored_app()?;
    if !settings.has_no_app() {
        return Ok((settings, None));
    }
    let listener = bind(listen, LISTEN).await?;
    setup::create_app(&settings, &listener, stopped).await?;
    Ok((settings.with_stored_app()?, Some(listener)))
}

/// The page, after its link was printed. The log does not have it, because others may read logs.
fn page(address: std::net::SocketAddr) -> Result<server::LocalPage, Exit> {
    let (page, link) = server::LocalPage::new(address).map_err(|error| Exit::Usage(format!("--page: {error}")))?;
    terminal::show_exactly(&format!("The page, for one browser on this machine: {link}"));
    Ok(page)
}

async fn try_work(arguments: WorkerArguments) -> Result<(), Exit> {
    let environment = Environment::of_this_process();
    let settings = Settings::new(arguments.flags, &environment)?.with_stored_app()?;
    let (workers, labels) = arguments.workers.read(&environment)?;
    terminal::start_logging(&settings, None);
    if workers.number == 0 {
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
    let metrics = set(
        arguments.metrics_listen,
        (&environment, "GREENLIGHT_METRICS_LISTEN"),
        address,
    )?;
    let collector = config::otlp::destination(&environment)?;
    let mut stopped = pin!(terminal::stopped());
    let start = async {
        let prepared = prepare(&settings, (&environment, labels), collector).await?;
        let metrics = match metrics {
            Some(address) => {
                let listener = bind(&address, "--metrics-listen (GREENLIGHT_METRICS_LISTEN)").await?;
                Some((listener, settings.metrics_token()))
            }
            None => None,
        };
        tell_start(&settings, &prepared.app, workers.number).await?;
        Ok::<_, Exit>((prepared, metrics))
    };
    let (Prepared { app, _taken }, metrics) = tokio::select! {
        started = start => started?,
        () = stopped.as_mut() => return Ok(()),
    };
    if let Some((listener, _)) = &metrics {
        tell_address(listener)?;
    }
    let traces = app.traces.clone();
    server::work(Queue::new(app, workers), stopped, metrics).await;
    end(traces).await;
    Ok(())
}

fn tell_address(listener: &TcpListener) -> Result<std::net::SocketAddr, Exit> {
    let address = listener.local_addr().map_err(|error| Exit::Fault(error.to_string()))?;
    tracing::info!(%address, "listening");
    Ok(address)
}

async fn bind(address: &str, setting: &str) -> Result<TcpListener, Exit> {
    TcpListener::bind(address).await.map_err(|error| {
        Exit::Usage(format!(
            "cannot listen on {address}: {error}; choose another with {setting}"
        ))
    })
}

/// Sends the last spans.
async fn end(traces: Option<Traces>) {
    if let Some(traces) = traces {
        traces.end().await;
    }
}

/// What a service needs, and the lock on its data folder.
struct Prepared {
    app: Arc<App>,
    _taken: std::fs::File,
}

async fn prepare(
    settings: &Settings,
    (environment, given): (&Environment, WorkerLabels),
    collector: Option<Destination>,
) -> Result<Prepared, Exit> {
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
    let labels = worker_flags::of_this_machine(&sandbox, environment).with(&given);
    tracing::info!(%labels, "labels of this machine");
    let mut app = app::app(settings, github, Journal::Database(journal), sandbox)?;
    app.labels = Some(labels);
    app.traces = collector
        .map(Traces::start)
        .transpose()
        .map_err(|error| Exit::Fault(error.to_string()))?;
    Ok(Prepared {
        app: Arc::new(app),
        _taken: taken,
    })
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

/// The settings of `serve` and `worker` alone, for `greenlight config show`.
pub(super) fn shown(environment: &Environment) -> Result<Vec<(&'static str, String)>, Exit> {
    let listen = set(None, (environment, "GREENLIGHT_LISTEN"), address)?;
    let metrics = set(None, (environment, "GREENLIGHT_METRICS_LISTEN"), address)?;
    let mut shown = vec![
        ("GREENLIGHT_LISTEN", listen.unwrap_or_else(|| DEFAULT_ADDRESS.into())),
        ("GREENLIGHT_METRICS_LISTEN", metrics.unwrap_or_else(|| "not set".into())),
    ];
    shown.extend(worker_flags::shown(environment)?);
    Ok(shown)
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
