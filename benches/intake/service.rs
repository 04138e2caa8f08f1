//! Services as separate processes, so that their processor time is theirs alone.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use github_double::Double;
use greenlight::config::allow_list::AllowList;
use greenlight::config::retention::Retention;
use greenlight::domain::model::Who;
use greenlight::engine::{Activities, App, Interrupts, ModelStream};
use greenlight::github::webhook::WebhookSecret;
use greenlight::github::{Credentials, GitHub};
use greenlight::journal::{Database, Journal};
use greenlight::sandbox::Unusable;
use greenlight::server::{self, Queue};
use tempfile::TempDir;

use super::measured::{cpu_of, memory_of};
use super::sending::SECRET;

/// How long a service may take to start.
const PATIENCE: Duration = Duration::from_secs(600);

/// Other settings of a service.
#[derive(Default)]
pub(crate) struct Settings(pub(crate) BTreeMap<&'static str, String>);

/// A service that runs until it is dropped.
pub(crate) struct Started {
    child: Child,
    pub(crate) url: String,
    _data: TempDir,
    /// Accepts connections, and answers none.
    _silent: Option<TcpListener>,
}

impl Started {
    /// A service that only stores deliveries.
    #[expect(clippy::disallowed_methods, reason = "the bench starts itself")]
    pub(crate) fn intake(database: &str) -> anyhow::Result<Self> {
        let silent = TcpListener::bind("127.0.0.1:0")?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--serve", database, &format!("http://{}", silent.local_addr()?)]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("no output")?).read_line(&mut line)?;
        Ok(Self {
            child,
            url: line.trim().to_string(),
            _data: tempfile::tempdir()?,
            _silent: Some(silent),
        })
    }

    /// `greenlight serve` with this double of GitHub.
    #[expect(clippy::disallowed_methods, reason = "the bench starts the program")]
    pub(crate) fn whole(database: &str, double: &Double, settings: &Settings) -> anyhow::Result<Self> {
        let data = tempfile::tempdir()?;
        let key = data.path().join("key.pem");
        let app = double.app_credentials();
        std::fs::write(&key, app.private_key)?;
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let database = match database.contains("://") {
            true => database.to_string(),
            false => format!("sqlite:{database}"),
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_greenlight"));
        command
            .args(["serve", "--listen", &address.to_string()])
            .envs([
                ("GREENLIGHT_GITHUB_API_URL", double.url()),
                ("GREENLIGHT_APP_ID", app.app_id.to_string()),
                ("GREENLIGHT_PRIVATE_KEY_FILE", key.display().to_string()),
                ("GREENLIGHT_WEBHOOK_SECRET", SECRET.into()),
                ("GREENLIGHT_DATABASE_URL", database),
                ("GREENLIGHT_DATA_DIR", data.path().join("data").display().to_string()),
                ("GREENLIGHT_LOG", "warn".into()),
            ])
            .envs(&settings.0);
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let started = Self {
            child,
            url: format!("http://{address}"),
            _data: data,
            _silent: None,
        };
        started.wait(address)?;
        Ok(started)
    }

    fn wait(&self, address: SocketAddr) -> anyhow::Result<()> {
        let began = Instant::now();
        while std::net::TcpStream::connect(address).is_err() {
            ensure!(began.elapsed() < PATIENCE, "the service does not start");
            std::thread::park_timeout(Duration::from_millis(20));
        }
        Ok(())
    }

    pub(crate) fn cpu(&self) -> anyhow::Result<Duration> {
        cpu_of(self.child.id())
    }

    pub(crate) fn memory(&self) -> anyhow::Result<String> {
        memory_of(self.child.id())
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _gone = (self.child.kill(), self.child.wait());
    }
}

/// Stores deliveries until the standard input ends, and works off none: nothing claims lanes, and GitHub is silent.
pub(crate) async fn serve(database: &str, github: &str) -> anyhow::Result<()> {
    let is_shared = database.contains("://");
    let journal = match is_shared {
        true => Database::connect(&database.to_string().into()).await?,
        false => Database::open(database.as_ref()).await?,
    };
    let folder = tempfile::tempdir()?;
    let app = App {
        bundles: None,
        retention: Retention::default(),
        github: GitHub::new(&github.parse()?, Credentials::Token("token".to_string().into()))?,
        journal: Journal::Database(journal),
        sandbox: Err(Unusable {
            reason: "nothing is executed here".into(),
            remedy: String::new(),
        }),
        model: None,
        who: Who::default(),
        folder: folder.path().to_path_buf(),
        allow_list: AllowList::default(),
        interrupts: match is_shared {
            true => Interrupts::shared(),
            false => Interrupts::default(),
        },
        activities: Activities::default(),
        voices: ModelStream::default(),
        labels: None,
        traces: None,
        metrics: Arc::default(),
    };
    let queue = Queue::new(Arc::new(app), 1);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    let router = server::router(queue, WebhookSecret::new(SECRET.into())?);
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, service).await });
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    Ok(())
}
