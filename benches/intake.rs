//! What a service costs beside its tests and its model, on SQLite and on PostgreSQL, side by side: deliveries that are
//! safely stored per second of processor time, the time until a person sees an effect, claims of lanes, what an idle
//! process costs, and whether any of it grows with the number of runs.
//!
//! `cargo bench --bench intake -- [intake|effect|claims|idle|history]… [PAST OPEN]` prints one table. Without names it
//! does all; `PAST` and `OPEN` are the numbers of runs for `history`, 1,000,000 and 100,000 if not given. Needs
//! PostgreSQL; see `tests/it/harness/postgres.rs`. With `peers` alone, it compares the intake with that of other
//! receivers of webhooks.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "it reports, and fails like a test"
)]

#[path = "intake/claims.rs"]
mod claims;
#[path = "intake/filled.rs"]
mod filled;
#[path = "intake/measured.rs"]
mod measured;
#[path = "intake/peers.rs"]
mod peers;
#[expect(dead_code, reason = "the tests use the rest")]
#[path = "../tests/it/harness/postgres.rs"]
mod postgres;
#[path = "intake/sending.rs"]
mod sending;
#[path = "intake/service.rs"]
mod service;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use github_double::{AUTHOR, Double, MAINTAINER, NewPullRequest, World};
use measured::{of_hundred, pause, print, processes_of_postgres};
use secrecy::ExposeSecret as _;
use sending::Sender;
use service::{Settings, Started};
use tempfile::TempDir;

/// How often the intake is measured. The queue of one process has room for 2,000 pieces of work.
const ROUNDS: usize = 6;
const DELIVERIES: usize = 1_900;
/// How many deliveries are on their way at the same time.
const AT_ONCE: usize = 32;
/// How many questions are asked for the time until an effect.
const QUESTIONS: usize = 30;
/// How long an idle process is watched.
const IDLE: Duration = Duration::from_secs(60);

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Runtime::new()?;
    if let [flag, database, github] = arguments.as_slice()
        && flag == "--serve"
    {
        return runtime.block_on(service::serve(database, github));
    }
    let numbers: Vec<usize> = arguments.iter().filter_map(|word| word.parse().ok()).collect();
    let (past, open) = match numbers.as_slice() {
        [past, open, ..] => (*past, *open),
        _ => (1_000_000, 100_000),
    };
    let parts = ["intake", "effect", "claims", "idle", "history"];
    let named = |part: &str| arguments.iter().any(|word| word == part);
    let all = !parts.iter().any(|part| named(part));
    if named("peers") {
        return runtime.block_on(peers::compare());
    }
    runtime.block_on(async {
        println!("| what | SQLite | PostgreSQL |\n|---|---:|---:|");
        if all || named("intake") {
            intake().await?;
        }
        if all || named("effect") {
            effect().await?;
        }
        if all || named("claims") {
            for workers in [1, 8, 32] {
                let claims = claims::in_a_second(workers).await?;
                print(
                    &format!("lanes claimed and given back in a second, {workers} workers"),
                    "",
                    &format!("{claims:.0}"),
                );
            }
        }
        if all || named("idle") {
            idle().await?;
        }
        if all || named("history") {
            history(past, open).await?;
        }
        Ok(())
    })
}

/// A new database of each kind; the folder holds the SQLite file.
async fn databases() -> anyhow::Result<(TempDir, [String; 2])> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("greenlight.db");
    let url = postgres::new_database().await.unwrap().expose_secret().to_string();
    Ok((folder, [file.display().to_string(), url]))
}

/// Deliveries that are verified, read and stored before they are acknowledged. Nothing works them off: GitHub does not
/// answer.
async fn intake() -> anyhow::Result<()> {
    let (_folder, databases) = databases().await?;
    let mut rows: [Vec<String>; 2] = Default::default();
    for (database, row) in databases.iter().zip(&mut rows) {
        let (mut own, mut servers, mut wall) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        let mut times = Vec::new();
        for round in 0..ROUNDS {
            let service = Started::intake(database)?;
            let sender = Sender::new(&service.url);
            sender.send(10_000_000 + round * 10, 10, 1).await?;
            let before = (service.cpu()?, processes_of_postgres(database)?);
            let began = Instant::now();
            times.extend(sender.send(round * DELIVERIES, DELIVERIES, AT_ONCE).await?);
            wall += began.elapsed();
            own += service.cpu()? - before.0;
            servers += processes_of_postgres(database)?.cpu - before.1.cpu;
        }
        let total = (ROUNDS * DELIVERIES) as f64;
        *row = vec![
            format!("{:.0}", total / own.as_secs_f64()),
            format!("{:.0}", total / (own + servers).as_secs_f64()),
            format!("{:.0}", total / wall.as_secs_f64()),
            of_hundred(&mut times, 50),
            of_hundred(&mut times, 99),
        ];
    }
    for (what, (sqlite, postgres)) in [
        "deliveries stored per CPU second of greenlight",
        "the same, with PostgreSQL's own CPU seconds",
        "deliveries stored in a second",
        "median until acknowledged",
        "99th percentile until acknowledged",
    ]
    .into_iter()
    .zip(rows[0].iter().zip(&rows[1]))
    {
        print(what, sqlite, postgres);
    }
    Ok(())
}

/// From the comment of a person to what greenlight does on GitHub.
async fn effect() -> anyhow::Result<()> {
    let (_folder, databases) = databases().await?;
    let mut rows: [Vec<String>; 2] = Default::default();
    for (database, row) in databases.iter().zip(&mut rows) {
        let files: [(&str, &[u8]); 1] = [("README.md", b"Fares.\n")];
        let double = Double::start(World::with_repository("acme/rail", &files)).await?;
        let service = Started::whole(database, &double, &Settings::default())?;
        double.set_webhook(&format!("{}/webhook", service.url), sending::SECRET);
        let mut times = Vec::new();
        for nth in 0..QUESTIONS {
            let new = NewPullRequest::new(AUTHOR, &format!("change-{nth}"), "Change").write("a.txt", "a\n");
            let number = double.open_pull_request(new).await?;
            let began = Instant::now();
            double.comment(number, MAINTAINER, "/greenlight help").await?;
            let answered = || {
                double
                    .comments(number)
                    .iter()
                    .any(|comment| comment.author.ends_with("[bot]"))
            };
            let mut look = tokio::time::interval(Duration::from_millis(1));
            while !answered() {
                look.tick().await;
            }
            times.push(began.elapsed());
        }
        *row = vec![of_hundred(&mut times, 50), of_hundred(&mut times, 95)];
    }
    print("median from a comment to its answer", &rows[0][0], &rows[1][0]);
    print("95th percentile from a comment to its answer", &rows[0][1], &rows[1][1]);
    Ok(())
}

/// A process with nothing to do.
async fn idle() -> anyhow::Result<()> {
    let (_folder, databases) = databases().await?;
    let double = Double::start(World::with_repository("acme/rail", &[])).await?;
    let mut rows: [Vec<String>; 2] = Default::default();
    for (database, row) in databases.iter().zip(&mut rows) {
        let service = Started::whole(database, &double, &Settings::default())?;
        pause(Duration::from_secs(5)).await;
        let before = (service.cpu()?, processes_of_postgres(database)?);
        pause(IDLE).await;
        let milliseconds = |spent: Duration| format!("{:.0} ms", spent.as_secs_f64() * 1e3 * 60.0 / IDLE.as_secs_f64());
        *row = vec![
            milliseconds(service.cpu()? - before.0),
            milliseconds(processes_of_postgres(database)?.cpu - before.1.cpu),
            service.memory()?,
        ];
    }
    print("CPU of an idle process in a minute", &rows[0][0], &rows[1][0]);
    print("PostgreSQL's CPU for it", "", &rows[1][1]);
    print("memory of an idle process", &rows[0][2], &rows[1][2]);
    Ok(())
}

/// The same service before and after its database was filled.
async fn history(past: usize, open: usize) -> anyhow::Result<()> {
    let (folder, databases) = databases().await?;
    let double = Double::start(World::with_repository("acme/rail", &[])).await?;
    let mut rows: BTreeMap<&str, [String; 2]> = BTreeMap::new();
    for (at, database) in databases.iter().enumerate() {
        for is_filled in [false, true] {
            if is_filled {
                filled::fill(database, (past, open)).await?;
            }
            let service = Started::whole(database, &double, &Settings::default())?;
            // Longer than a tick of the clock, at which work that is due is looked for.
            let sender = Sender::new(&service.url);
            let mut times = Vec::new();
            let began = Instant::now();
            let mut next = if is_filled { 2_000_000 } else { 1_000_000 };
            while began.elapsed() < Duration::from_secs(75) {
                times.extend(sender.send(next, 1, 1).await?);
                next += 1;
                pause(Duration::from_millis(20)).await;
            }
            let names = match is_filled {
                false => [
                    "memory, empty",
                    "CPU in 75 s, empty",
                    "99th percentile until acknowledged, empty",
                ],
                true => [
                    "memory, full",
                    "CPU in 75 s, full",
                    "99th percentile until acknowledged, full",
                ],
            };
            let values = [
                service.memory()?,
                format!("{:.1} s", service.cpu()?.as_secs_f64()),
                of_hundred(&mut times, 99),
            ];
            for (name, value) in names.into_iter().zip(values) {
                rows.entry(name).or_default()[at] = value;
            }
        }
    }
    println!("| {past} past runs, {open} open ones | | |");
    for (what, [sqlite, postgres]) in rows {
        print(what, &sqlite, &postgres);
    }
    drop(folder);
    Ok(())
}
