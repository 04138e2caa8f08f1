//! Other receivers of webhooks, which verify and read deliveries, and store nothing. They come from npm, and get the
//! same deliveries in turn with greenlight on SQLite.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};

use super::measured::cpu_of;
use super::sending::{SECRET, Sender};
use super::service::Started;

/// What is compared: the name of each receiver, and its package.
const PEERS: [(&str, &str); 2] = [("probot", "probot@14.3.2"), ("octokit", "@octokit/webhooks@14.2.0")];
const ROUNDS: usize = 5;
const DELIVERIES: usize = 1_900;
const AT_ONCE: usize = 32;
/// Deliveries before those that are measured: greenlight's queue has room for few more, and JavaScript is compiled while
/// it runs.
const BEFORE_OURS: usize = 100;
const BEFORE_THEIRS: usize = 4_000;

/// A receiver, until it is dropped.
struct Peer(Child, String);

impl Drop for Peer {
    fn drop(&mut self) {
        let _gone = (self.0.kill(), self.0.wait());
    }
}

/// Installs what is missing below `target/ci/peers`.
#[expect(clippy::disallowed_methods, reason = "the bench starts npm")]
fn install() -> anyhow::Result<&'static Path> {
    let folder = Path::new("target/ci/peers/receivers");
    std::fs::create_dir_all(folder)?;
    std::fs::copy("benches/peers/receivers.mjs", folder.join("receivers.mjs"))?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]);
    let installed = npm.arg(folder).args(PEERS.map(|(_, package)| package)).status()?;
    ensure!(installed.success(), "npm cannot install them");
    Ok(folder)
}

#[expect(clippy::disallowed_methods, reason = "the bench starts the receivers")]
fn start(folder: &Path, name: &str) -> anyhow::Result<Peer> {
    let mut command = Command::new("node");
    command.args(["receivers.mjs", name, SECRET]).current_dir(folder);
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().context("no output")?).read_line(&mut line)?;
    Ok(Peer(child, line.trim().to_string()))
}

/// Deliveries per CPU second of a receiver that `cpu` measures, after `before` others.
async fn rate(url: &str, before: usize, cpu: impl Fn() -> anyhow::Result<Duration>) -> anyhow::Result<f64> {
    let sender = Sender::new(url);
    sender.send(DELIVERIES, before, AT_ONCE).await?;
    let spent = cpu()?;
    sender.send(0, DELIVERIES, AT_ONCE).await?;
    Ok(DELIVERIES as f64 / (cpu()? - spent).as_secs_f64())
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// Measures all in turn, and prints a table.
pub(crate) async fn compare() -> anyhow::Result<()> {
    let folder = install()?;
    let mut rates = vec![Vec::new(); 1 + PEERS.len()];
    for _ in 0..ROUNDS {
        let data = tempfile::tempdir()?;
        let ours = Started::intake(&data.path().join("greenlight.db").display().to_string())?;
        rates[0].push(rate(&ours.url, BEFORE_OURS, || ours.cpu()).await?);
        drop(ours);
        for ((name, _), rates) in PEERS.iter().zip(&mut rates[1..]) {
            let peer = start(folder, name)?;
            rates.push(rate(&peer.1, BEFORE_THEIRS, || cpu_of(peer.0.id())).await?);
        }
    }
    println!("| receiver | stores deliveries | deliveries per CPU second | greenlight, in ratio |\n|---|---|--:|--:|");
    let medians: Vec<f64> = rates.into_iter().map(median).collect();
    let ours = ("greenlight", "in SQLite, `synchronous=FULL`");
    let others = PEERS.iter().map(|(_, package)| (*package, "no"));
    for ((name, stores), rate) in std::iter::once(ours).chain(others).zip(&medians) {
        println!("| {name} | {stores} | {rate:.0} | {:.2} |", medians[0] / rate);
    }
    Ok(())
}
