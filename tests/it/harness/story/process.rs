//! greenlight as if in a separate process: a separate runtime whose shutdown ends every task.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use greenlight::config::allow_list::AllowList;
use greenlight::config::retention::Retention;
use greenlight::domain::id::PullRequestId;
use greenlight::domain::model::{Prices, Who};
use greenlight::domain::run::Run;
use greenlight::domain::worker_labels::WorkerLabels;
use greenlight::engine::{Activities, App, Interrupts, ModelStream};
use greenlight::github::webhook::WebhookSecret;
use greenlight::github::{Credentials, GitHub};
use greenlight::journal::{Database, Journal};
use greenlight::metrics::Metrics;
use greenlight::openai::{self, OpenAi};
use greenlight::sandbox::{Sandbox, Unusable};
use greenlight::server::{self, Access, Queue, Work};
use greenlight::traces::{Destination, Traces};
use secrecy::SecretString;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::harness::model::KEY;

/// The webhook secret of every story.
pub(crate) const SECRET: &str = "story-webhook-secret-53c1";
/// The token for the metrics of every story.
pub(crate) const METRICS_TOKEN: &str = "story-metrics-token-9a04";
/// How long tasks that cannot be cancelled may delay the end of a process.
const LAST_BREATH: Duration = Duration::from_secs(30);

/// The settings of a process.
#[derive(Clone)]
pub(crate) struct Settings {
    /// Base URL of GitHub's API.
    pub(crate) api: String,
    pub(crate) credentials: Credentials,
    pub(crate) model: Option<String>,
    pub(crate) who: Who,
    pub(crate) prices: Prices,
    pub(crate) sandbox: Result<Sandbox, Unusable>,
    pub(crate) allow_list: AllowList,
    pub(crate) workers: usize,
    /// What its workers say that their machine has.
    pub(crate) labels: Option<WorkerLabels>,
    /// The URL of a collector of traces.
    pub(crate) collector: Option<String>,
    /// The URL of a PostgreSQL database. `None`: SQLite in the data folder.
    pub(crate) postgres: Option<SecretString>,
}

/// The log of a story.
pub(crate) type Log = Arc<Mutex<Vec<u8>>>;

pub(crate) struct Process {
    runtime: Option<Runtime>,
    pub(crate) queue: Queue,
    /// Base URL of greenlight's HTTP server.
    pub(crate) url: String,
}

impl Process {
    /// Starts `greenlight serve` on a data folder, and resumes what an earlier process left there.
    pub(crate) async fn start(settings: &Settings, folder: &Path, log: &Log) -> Self {
        let log = Arc::clone(log);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .thread_stack_size(greenlight::cli::STACK)
            .worker_threads(1)
            .enable_all()
            // Every thread of this process logs to this story only.
            .on_thread_start(move || std::mem::forget(tracing::subscriber::set_default(subscriber(&log))))
            .build()
            .unwrap();
        let (settings, folder) = (settings.clone(), folder.to_path_buf());
        let started = runtime.spawn(async move { serve(settings, &folder).await });
        let (queue, url) = started.await.unwrap();
        Self {
            runtime: Some(runtime),
            queue,
            url,
        }
    }

    /// Ends at once, at any point; what was not written to disk is lost.
    pub(crate) async fn kill(mut self) {
        let runtime = self.runtime.take().unwrap();
        tokio::task::spawn_blocking(move || runtime.shutdown_timeout(LAST_BREATH))
            .await
            .unwrap();
    }

    /// Resumes a run, as the clock does.
    pub(crate) async fn resume(&self, run: Run) {
        let (queue, work) = (self.queue.clone(), Work::Resume(Box::new(run)));
        let pushed = self
            .runtime
            .as_ref()
            .unwrap()
            .spawn(async move { queue.push(work).await });
        pushed.await.unwrap().unwrap();
    }

    /// Looks once for events that GitHub could not deliver.
    pub(crate) async fn sweep(&self) {
        let queue = self.queue.clone();
        let swept = self
            .runtime
            .as_ref()
            .unwrap()
            .spawn(async move { server::sweep(&queue).await });
        swept.await.unwrap();
    }

    /// Starts the clock with a minute of this length.
    pub(crate) fn starts_the_clock(&self, minute: Duration) {
        let clock = server::watch(self.queue.clone(), minute);
        self.runtime.as_ref().unwrap().spawn(clock);
    }

    /// The runs of a pull request according to the journal.
    pub(crate) async fn runs(&self, of: &PullRequestId) -> Vec<Run> {
        self.queue.app().journal.runs_of(of).await.unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn serve(settings: Settings, folder: &Path) -> (Queue, String) {
    let (prices, metrics) = (settings.prices, Arc::<Metrics>::default());
    let model = settings.model.map(|url| {
        let mut settings = openai::Settings::new(url.parse().unwrap(), "scripted", KEY.into());
        settings.first_wait = Duration::from_millis(1);
        settings.prices = prices;
        let mut model = OpenAi::new(settings).unwrap();
        model.count(&metrics.model);
        (model, "scripted".to_string())
    });
    let journal = match &settings.postgres {
        Some(url) => Database::connect(url).await.unwrap(),
        None => Database::open(&folder.join("greenlight.db")).await.unwrap(),
    };
    let app = App {
        bundles: Some(folder.join("bundles")),
        retention: Retention::default(),
        github: GitHub::new(&settings.api.parse().unwrap(), settings.credentials)
            .unwrap()
            .counted(&metrics),
        journal: Journal::Database(journal),
        sandbox: settings
            .sandbox
            .map(|sandbox| sandbox.watched(metrics.sandbox.watch().and(greenlight::traces::sandbox_uses()))),
        model,
        who: settings.who,
        folder: folder.to_path_buf(),
        allow_list: settings.allow_list,
        interrupts: match settings.postgres {
            Some(_) => Interrupts::shared(),
            None => Interrupts::default(),
        },
        activities: Activities::default(),
        voices: ModelStream::default(),
        labels: settings.labels.clone(),
        traces: settings.collector.as_deref().map(traces),
        metrics,
    };
    let queue = Queue::new(Arc::new(app), settings.workers);
    server::take_up(&queue).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let access = Access {
        webhook: WebhookSecret::new(SECRET.into()).unwrap(),
        metrics: Some(METRICS_TOKEN.to_string().into()),
        page: None,
        sign_in: None,
    };
    let router = server::router(queue.clone(), access);
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, service).await });
    (queue, url)
}

fn traces(collector: &str) -> Traces {
    let destination = Destination {
        url: format!("{collector}/v1/traces").parse().unwrap(),
        headers: [("x-key".parse().unwrap(), "k".parse().unwrap())].into_iter().collect(),
        resource: vec![("service.name".into(), "story".into())],
    };
    Traces::start(destination).unwrap()
}

fn subscriber(log: &Log) -> impl tracing::Subscriber + Send + Sync + use<> {
    let log = Arc::clone(log);
    tracing_subscriber::fmt()
        .with_ansi(false)
        .with_max_level(tracing::Level::DEBUG)
        .with_writer(move || Writer(Arc::clone(&log)))
        .finish()
}

struct Writer(Log);

impl std::io::Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
