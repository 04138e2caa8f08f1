//! How much processor time the page takes with a large journal, and with many people who watch one run.
//!
//! `cargo bench --bench page` fills a database with 100,000 runs in 40 repositories and one run with 2,000 steps, opens
//! the pages as a browser on this machine does, and prints the processor time of the whole process for each. `first` is
//! the first time after a start, once the start has prepared what it prepares. Figures are per request, and the last row
//! is for all that watch together. Arguments: the number of runs, and of people who watch.

#![expect(clippy::print_stdout, reason = "a table is what this is for")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use github_double::{Double, World};
use greenlight::config::allow_list::AllowList;
use greenlight::config::retention::Retention;
use greenlight::domain::model::Who;
use greenlight::engine::{Activities, App, Interrupts, ModelStream};
use greenlight::github::webhook::WebhookSecret;
use greenlight::github::{Credentials, GitHub};
use greenlight::journal::{Database, Journal};
use greenlight::sandbox::Unusable;
use greenlight::server::{self, Access, LocalPage, Queue};
use reqwest::header::{COOKIE, SET_COOKIE};
use reqwest::{Client, redirect};
use serde_json::{Value, json};
use sqlx::SqlitePool;
use sqlx::sqlite::SqliteConnectOptions;
use tokio::net::TcpListener;

const RUNS: usize = 100_000;
const WATCHERS: usize = 500;
const REPOSITORIES: usize = 40;
const STEPS: usize = 2_000;
/// How often each page is opened.
const TIMES: usize = 20;
const LONG: &str = "r000000000long";
/// How long the process is idle when a start has prepared everything.
const IDLE: Duration = Duration::from_millis(300);
/// A whole run that a story recorded: what the others consist of. Up to the request, it waits.
const RECORDED: &str = include_str!("../tests/fixtures/journals/3/suggestions.jsonl");

fn main() -> anyhow::Result<()> {
    let mut numbers = std::env::args().filter_map(|word| word.parse().ok());
    let (runs, watchers) = (numbers.next().unwrap_or(RUNS), numbers.next().unwrap_or(WATCHERS));
    tokio::runtime::Runtime::new()?.block_on(measure(runs, watchers))
}

async fn measure(runs: usize, watchers: usize) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("greenlight.db");
    drop(Database::open(&file).await?);
    let pool = SqlitePool::connect_with(SqliteConnectOptions::new().filename(&file)).await?;
    fill(&pool, runs).await?;
    let double = Double::start(World::with_repository("acme/rail", &[("README", b"x")])).await?;
    let before = processor_ms()?;
    let page = Page::open(&double, folder.path(), &file).await?;
    let start = settled().await? - before;
    println!("{runs} runs, {STEPS} steps in the long one, {watchers} people\n");
    println!("| page | first, ms | later, ms | size, kB |\n|---|--:|--:|--:|");
    println!("| the start, in the background | {start:.1} | | |");
    for (name, path) in [
        ("overview", "/".to_string()),
        ("overview, searched", "/?search=rail-7".to_string()),
        ("a run", format!("/runs/{LONG}")),
        ("a repository", "/repositories/acme/rail-7".to_string()),
    ] {
        let (cold, size) = page.cost(&path, 1).await?;
        let (warm, _) = page.cost(&path, TIMES).await?;
        println!("| {name} | {cold:.1} | {:.1} | {} |", warm / TIMES as f64, size / 1_000);
    }
    append(&pool, STEPS).await?;
    let (one, _) = page.cost(&format!("/runs/{LONG}"), 1).await?;
    append(&pool, STEPS + 1).await?;
    let (all, _) = page.cost(&format!("/runs/{LONG}"), watchers).await?;
    println!("| a run with a new step, for one | {one:.1} | | |");
    println!("| a run with a new step, for {watchers} | {all:.1} | | |");
    Ok(())
}

/// The page of this machine, for a browser that has used its link.
struct Page {
    url: String,
    cookie: String,
    client: Client,
}

impl Page {
    async fn open(double: &Double, folder: &Path, file: &Path) -> anyhow::Result<Self> {
        let app = double.app_credentials();
        let credentials = Credentials::App {
            id: app.app_id,
            key_pem: app.private_key.into(),
        };
        let app = App {
            bundles: None,
            retention: Retention::default(),
            github: GitHub::new(&double.url().parse()?, credentials)?,
            journal: Journal::Database(Database::open(file).await?),
            sandbox: Err(Unusable {
                reason: "nothing runs here".into(),
                remedy: String::new(),
            }),
            model: None,
            who: Who::BuiltIn,
            folder: folder.to_path_buf(),
            allow_list: AllowList::All,
            interrupts: Interrupts::default(),
            activities: Activities::default(),
            voices: ModelStream::default(),
            labels: None,
            traces: None,
            metrics: Arc::default(),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let (page, link) = LocalPage::new(listener.local_addr()?)?;
        let url = format!("http://{}", listener.local_addr()?);
        let access = Access {
            webhook: WebhookSecret::new("a-secret-that-nobody-needs".into())?,
            metrics: None,
            page: Some(page),
            sign_in: None,
        };
        // Without `server::serve`, nothing but the page uses the journal.
        let router = server::router(Queue::new(Arc::new(app), 1), access);
        tokio::spawn(async move { axum::serve(listener, router).await });
        greenlight_crypto::install();
        let client = Client::builder().redirect(redirect::Policy::none()).build()?;
        let entered = client.get(link).send().await?;
        let cookie = entered.headers().get(SET_COOKIE).context("a cookie")?.to_str()?;
        let cookie = cookie.split(';').next().unwrap_or_default().to_string();
        Ok(Self { url, cookie, client })
    }

    /// The processor time of opening a page this often at once, in milliseconds, and its size.
    async fn cost(&self, path: &str, times: usize) -> anyhow::Result<(f64, usize)> {
        let begun = processor_ms()?;
        let open = async || {
            let asked = self
                .client
                .get(format!("{}{path}", self.url))
                .header(COOKIE, &self.cookie);
            let answer = asked.send().await?;
            ensure!(answer.status() == 200, "{path}: {}", answer.status());
            Ok(answer.bytes().await?.len())
        };
        let sizes = futures::future::try_join_all((0..times).map(|_| open())).await?;
        let size = sizes.first().copied().unwrap_or_default();
        Ok((processor_ms()? - begun, size))
    }
}

/// Waits until the process is idle. Returns what it has computed so far, in milliseconds.
async fn settled() -> anyhow::Result<f64> {
    let mut looks = tokio::time::interval(IDLE);
    // The first one is at once.
    looks.tick().await;
    let mut before = processor_ms()?;
    loop {
        looks.tick().await;
        let now = processor_ms()?;
        if now - before < 1.0 {
            return Ok(now);
        }
        before = now;
    }
}

/// What all threads of this process have computed so far, in milliseconds.
fn processor_ms() -> anyhow::Result<f64> {
    let mut nanoseconds: u64 = 0;
    for thread in std::fs::read_dir("/proc/self/task")? {
        let text = std::fs::read_to_string(thread?.path().join("schedstat")).unwrap_or_default();
        nanoseconds += text.split(' ').next().and_then(|part| part.parse().ok()).unwrap_or(0);
    }
    Ok(nanoseconds as f64 / 1e6)
}

async fn fill(pool: &SqlitePool, runs: usize) -> anyhow::Result<()> {
    let begun = Instant::now();
    let steps = RECORDED.lines().filter_map(|line| serde_json::from_str(line).ok());
    let steps: Vec<Value> = steps.filter(|step: &Value| step.get("format").is_none()).collect();
    let asked = steps.iter().position(|step| step.get("gate_opened").is_some());
    let asked = asked.context("the recorded run asks")?;
    let mut transaction = pool.begin().await?;
    for (nth, id) in ["template", LONG].into_iter().enumerate() {
        sqlx::query(
            "INSERT INTO run (id, repository, repository_id, number, started) VALUES ($1, 'acme/rail-0', 1, $2, $3)",
        )
        .bind(id)
        .bind(i64::try_from(nth)?)
        .bind(jiff::Timestamp::now().to_string())
        .execute(&mut *transaction)
        .await?;
    }
    for (place, step) in steps.iter().enumerate() {
        write(&mut transaction, ("template", place), step).await?;
    }
    let said = |nth: usize| match nth % 2 {
        0 => json!({ "said": { "reply": { "text": "I look at it.", "calls": [
            { "name": "read_file", "arguments": "{\"path\":\"src/lib.rs\"}" }] } } }),
        _ => {
            json!({ "said": { "result": { "text": "def fare(stops):\n    return 200 + 50 * stops\n".repeat(60) } } })
        }
    };
    let long = steps[..=asked].iter().cloned().chain((asked + 1..STEPS).map(said));
    for (place, step) in long.enumerate() {
        write(&mut transaction, (LONG, place), &step).await?;
    }
    let (runs, repositories) = (i64::try_from(runs)?, i64::try_from(REPOSITORIES)?);
    let start = steps[0]["started"].clone();
    let (id, at) = (start["run"].as_str(), start["at"].as_str());
    let (id, at) = (id.context("an id")?, at.context("a time")?);
    // Every thousandth run waits.
    sqlx::query(
        "WITH RECURSIVE nth (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM nth WHERE n < $1) \
         INSERT INTO run (id, repository, repository_id, number, started, is_over) SELECT printf('r%013d', n), \
         'acme/rail-' || (n % $2), n % $2 + 1, n, strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-' || (30 * n) || ' seconds'), \
         n % 1000 <> 0 FROM nth",
    )
    .bind(runs)
    .bind(repositories)
    .execute(&mut *transaction)
    .await?;
    sqlx::query(
        "INSERT INTO step (run, place, step, format, at) SELECT run.id, step.place, CASE step.place WHEN 0 THEN \
         replace(replace(step.step, $1, run.id), $2, run.started) ELSE step.step END, step.format, step.at \
         FROM run JOIN step ON step.run = 'template' AND (run.is_over = 1 OR step.place <= $3) \
         WHERE run.id LIKE 'r00%' AND run.id <> $4",
    )
    .bind(id)
    .bind(at)
    .bind(i64::try_from(asked)?)
    .bind(LONG)
    .execute(&mut *transaction)
    .await?;
    sqlx::query("DELETE FROM step WHERE run = 'template'")
        .execute(&mut *transaction)
        .await?;
    sqlx::query("DELETE FROM run WHERE id = 'template'")
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await?;
    // As after a restart. A log of this length is not what a server works with.
    sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(pool).await?;
    println!("filled in {:.0} s", begun.elapsed().as_secs_f64());
    Ok(())
}

async fn write(to: &mut sqlx::SqliteConnection, (id, place): (&str, usize), step: &Value) -> anyhow::Result<()> {
    sqlx::query("INSERT INTO step (run, place, step, format, at) VALUES ($1, $2, $3, $4, $5)")
        .bind(id)
        .bind(i64::try_from(place)?)
        .bind(step.to_string())
        .bind(i64::from(greenlight::journal::FORMAT))
        .bind(jiff::Timestamp::now().as_microsecond())
        .execute(to)
        .await?;
    Ok(())
}

/// The long run continues.
async fn append(pool: &SqlitePool, place: usize) -> anyhow::Result<()> {
    let mut connection = pool.acquire().await?;
    let step = json!({ "said": { "result": { "text": "one more" } } });
    write(&mut connection, (LONG, place), &step).await
}
