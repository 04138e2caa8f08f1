//! How long `true` takes from start to exit, in every sandbox of this machine, compared with a bare spawn and
//! `bwrap`.
//!
//! They alternate within one run, so that a busy machine affects all of them equally. `cargo bench` prints the table;
//! `cargo bench -- 200` runs two hundred rounds.

#![expect(clippy::print_stdout, reason = "a table is what this is for")]

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use greenlight::sandbox::{self, Limits, Network, Outcome, Places, Policy, Sandbox};
use tokio_util::sync::CancellationToken;

const TURNS: usize = 50;

/// A method, and the duration of each of its rounds.
struct Row {
    name: String,
    times: Vec<Duration>,
}

fn main() -> anyhow::Result<()> {
    let turns = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(TURNS);
    tokio::runtime::Runtime::new()?.block_on(compare(turns))
}

async fn compare(turns: usize) -> anyhow::Result<()> {
    // An engine that was started for the tests can be used here, too.
    let socket = concat!(env!("CARGO_MANIFEST_DIR"), "/target/ci/docker.sock");
    let places = Places {
        container_socket: std::fs::read_to_string(socket)
            .ok()
            .map(|path| PathBuf::from(path.trim())),
        ..env!("CARGO_BIN_EXE_greenlight").into()
    };
    let mut sandboxes = Vec::new();
    for (backend, sandbox) in Sandbox::survey(places).await {
        match sandbox {
            Ok(sandbox) => sandboxes.push(sandbox),
            Err(unusable) => println!("not measured: {backend}, because {}", unusable.reason),
        }
    }
    let bare = || spawn(&["/bin/true"]);
    let bwrap = || spawn(&BWRAP);
    let mut rows = vec![row("bare spawn")];
    let has_bwrap = bwrap().is_some();
    if has_bwrap {
        rows.push(row("bwrap alone"));
    } else {
        println!("not measured: bwrap alone, because it is not installed or may not make namespaces");
    }
    rows.extend(sandboxes.iter().map(|sandbox| row(sandbox.backend().name())));
    let workspace = tempfile::tempdir()?;
    for _ in 0..turns {
        let mut rows = rows.iter_mut();
        let mut note = |time: Option<Duration>| {
            if let (Some(row), Some(time)) = (rows.next(), time) {
                row.times.push(time);
            }
        };
        note(bare());
        if has_bwrap {
            note(bwrap());
        }
        for sandbox in &sandboxes {
            note(run(sandbox, workspace.path()).await);
        }
    }
    show(rows, turns);
    Ok(())
}

/// The strictest form that READMEs recommend.
const BWRAP: [&str; 26] = [
    "bwrap",
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--ro-bind",
    "/usr",
    "/usr",
    "--symlink",
    "usr/bin",
    "/bin",
    "--symlink",
    "usr/lib",
    "/lib",
    "--symlink",
    "usr/lib64",
    "/lib64",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--tmpfs",
    "/tmp",
    "--cap-drop",
    "ALL",
    "--",
    "/bin/true",
];

#[expect(
    clippy::disallowed_methods,
    reason = "the sandbox is measured beside what it is made of"
)]
fn spawn(argv: &[&str]) -> Option<Duration> {
    let begun = Instant::now();
    let status = Command::new(argv[0])
        .args(&argv[1..])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success()).then(|| begun.elapsed())
}

async fn run(sandbox: &Sandbox, workspace: &std::path::Path) -> Option<Duration> {
    let policy = Policy {
        limits: Limits::default(),
        network: Network::Loopback,
    };
    let command = sandbox::Command::new(["/bin/true"], workspace);
    let begun = Instant::now();
    let output = sandbox.exec(&command, &policy, &CancellationToken::new()).await;
    output
        .is_ok_and(|output| output.outcome == Outcome::Exited(0))
        .then(|| begun.elapsed())
}

fn row(name: &str) -> Row {
    Row {
        name: name.into(),
        times: Vec::new(),
    }
}

fn show(mut rows: Vec<Row>, turns: usize) {
    for row in &mut rows {
        row.times.sort_unstable();
    }
    let median = |row: &Row| row.times.get(row.times.len() / 2).copied().unwrap_or_default();
    let of = |name: &str| rows.iter().find(|row| row.name == name).map(median);
    let (bare, bwrap) = (of("bare spawn"), of("bwrap alone"));
    let ratio = |time: Duration, base: Option<Duration>| match base {
        Some(base) if !base.is_zero() => format!("{:.1}", time.as_secs_f64() / base.as_secs_f64()),
        _ => "-".into(),
    };
    println!(
        "\n{:14} {:>12} {:>12} {:>12} {:>12} {:>7}",
        "true, to exit", "median ms", "min ms", "x bare", "x bwrap", "turns"
    );
    for row in &rows {
        let (median, least) = (median(row), row.times.first().copied().unwrap_or_default());
        println!(
            "{:14} {:>12.2} {:>12.2} {:>12} {:>12} {:>7}",
            row.name,
            median.as_secs_f64() * 1000.0,
            least.as_secs_f64() * 1000.0,
            ratio(median, bare),
            ratio(median, bwrap),
            format!("{}/{turns}", row.times.len()),
        );
    }
}
