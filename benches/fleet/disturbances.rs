//! What goes wrong during the soak.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, ensure};
use github_double::Fault;
use secrecy::{ExposeSecret as _, SecretString};

use super::{DOORS, Soak, WORKERS, postgres};

/// How far clocks jump, in seconds. GitHub refuses a token of an App whose clock is a minute ahead.
const JUMPS: [i64; 4] = [-3_000, -40, 20, 40];
/// Requests that fail once in a while, and how.
const FAULTY: [(&str, &str); 7] = [
    ("GET", "/pulls/"),
    ("POST", "/reviews"),
    ("POST", "/comments"),
    ("POST", "/check-runs"),
    ("PATCH", "/check-runs/"),
    ("POST", "/git/commits"),
    ("POST", "/graphql"),
];
const FAULTS: [Fault; 6] = [
    Fault::BadGatewayBefore,
    Fault::BadGatewayAfter,
    Fault::ResetBefore,
    Fault::ResetAfter,
    Fault::BadCredentials,
    Fault::SecondaryLimit { retry_after: 5 },
];

/// Xorshift, so that a run can be repeated. <https://www.jstatsoft.org/article/view/v008i14>
pub(super) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap_or_default()
    }
}

/// Stops the server without a checkpoint, as a crash does, and starts it again.
#[expect(clippy::disallowed_methods, reason = "the server runs beside the bench")]
fn restart(url: &SecretString) -> anyhow::Result<()> {
    let (_, folder) = url.expose_secret().split_once("?host=").context("no socket")?;
    let programs = postgres::programs().context("PostgreSQL is not installed")?;
    let mut control = Command::new(programs.join("pg_ctl"));
    control.args([
        "-w",
        "-t",
        postgres::START_SECONDS,
        "-m",
        "immediate",
        "-D",
        &format!("{folder}/data"),
        "-l",
        &format!("{folder}/log"),
        "restart",
    ]);
    control.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    ensure!(
        postgres::as_nobody(&mut control).status()?.success(),
        "PostgreSQL does not start again; its log ends with:\n{}",
        last_lines(&std::fs::read_to_string(format!("{folder}/log")).unwrap_or_default())
    );
    Ok(())
}

fn last_lines(log: &str) -> &str {
    log.rmatch_indices('\n').nth(20).map_or(log, |(at, _)| &log[at + 1..])
}

impl Soak {
    /// Does one thing at random.
    pub(super) async fn disturb(&mut self) -> anyhow::Result<()> {
        let now = Instant::now();
        for member in self
            .workers
            .iter_mut()
            .chain(self.doors.iter_mut().map(|(door, _)| door))
        {
            member.go_on_if_due(now)?;
            member.restart_if_it_ended()?;
        }
        let (door, worker) = (self.chance.below(DOORS), self.chance.below(WORKERS));
        let what = match self.chance.below(11) {
            0 | 1 => {
                self.workers[worker].replace()?;
                "workers killed"
            }
            2 => {
                self.doors[door].0.replace()?;
                "doors killed"
            }
            3 | 4 => {
                self.workers[worker].stop()?;
                "workers stopped beyond their leases"
            }
            5 => {
                restart(&self.url)?;
                "crashes of PostgreSQL"
            }
            6 | 7 => {
                let seconds = JUMPS[self.chance.below(JUMPS.len())];
                match self.workers[worker].jump(seconds)? && self.doors[door].0.jump(seconds)? {
                    true => "jumps of clocks",
                    false => "jumps of clocks that need libfaketime",
                }
            }
            8 | 9 => {
                let (method, path) = FAULTY[self.chance.below(FAULTY.len())];
                self.double
                    .plan_fault(method, path, FAULTS[self.chance.below(FAULTS.len())]);
                "faults of GitHub"
            }
            _ => {
                let all = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND \
                           datname = current_database()";
                postgres::execute(&self.url, all).await;
                "times all connections cut"
            }
        };
        *self.disturbances.entry(what).or_default() += 1;
        Ok(())
    }
}
