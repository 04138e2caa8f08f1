//! Processes of the service, and what can happen to each.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// How long a stopped process stays stopped: longer than its leases last.
const STOPPED: Duration = Duration::from_secs(28);

/// What gives a process another clock, where Debian installs it. <https://github.com/wolfcw/libfaketime>
fn fake_time() -> String {
    let machine = std::env::consts::ARCH;
    format!("/usr/lib/{machine}-linux-gnu/faketime/libfaketime.so.1")
}

/// A process of the service, which is started again when it was killed.
pub(super) struct Member {
    arguments: Vec<String>,
    variables: BTreeMap<&'static str, String>,
    data: TempDir,
    child: Child,
    /// When it continues, if it is stopped.
    continues: Option<Instant>,
}

impl Member {
    pub(super) fn start(arguments: &[&str], variables: &BTreeMap<&'static str, String>) -> anyhow::Result<Self> {
        let data = tempfile::tempdir()?;
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let mut variables = variables.clone();
        variables.insert("GREENLIGHT_DATA_DIR", data.path().display().to_string());
        let fake_time = fake_time();
        if std::path::Path::new(&fake_time).exists() {
            let clock = data.path().join("clock");
            std::fs::write(&clock, "+0")?;
            variables.insert("LD_PRELOAD", fake_time);
            variables.insert("FAKETIME_TIMESTAMP_FILE", clock.display().to_string());
            variables.insert("FAKETIME_CACHE_DURATION", "1".into());
            variables.insert("FAKETIME_DONT_FAKE_MONOTONIC", "1".into());
        }
        let child = spawn(&arguments, &variables)?;
        Ok(Self {
            arguments,
            variables,
            data,
            child,
            continues: None,
        })
    }

    fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let pid = Pid::from_raw(i32::try_from(self.child.id())?).context("a process has an id")?;
        Ok(kill_process(pid, signal)?)
    }

    pub(super) fn replace(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        self.continues = None;
        self.child = spawn(&self.arguments, &self.variables)?;
        Ok(())
    }

    pub(super) fn stop(&mut self) -> anyhow::Result<()> {
        self.continues = Some(Instant::now() + STOPPED);
        self.signal(Signal::STOP)
    }

    /// Lets the clock jump by this much, seen from the right time. Returns whether it can.
    pub(super) fn jump(&self, seconds: i64) -> anyhow::Result<bool> {
        let Some(clock) = self.variables.get("FAKETIME_TIMESTAMP_FILE") else {
            return Ok(false);
        };
        std::fs::write(clock, format!("{seconds:+}"))?;
        Ok(true)
    }

    /// Starts it again if it ended, as a supervisor does: with a wrong clock, GitHub refuses it at its start.
    pub(super) fn restart_if_it_ended(&mut self) -> anyhow::Result<()> {
        if self.child.try_wait()?.is_some() {
            self.child = spawn(&self.arguments, &self.variables)?;
        }
        Ok(())
    }

    pub(super) fn go_on_if_due(&mut self, now: Instant) -> anyhow::Result<()> {
        if self.continues.is_some_and(|at| at <= now) {
            self.continues = None;
            self.signal(Signal::CONT)?;
        }
        Ok(())
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let _gone = (self.child.kill(), self.child.wait());
        let _kept_until_here = &self.data;
    }
}

#[expect(clippy::disallowed_methods, reason = "the bench starts the program itself")]
fn spawn(arguments: &[String], variables: &BTreeMap<&'static str, String>) -> anyhow::Result<Child> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_greenlight"));
    command.args(arguments).envs(variables);
    let log = match std::env::var_os("GREENLIGHT_SOAK_LOG") {
        Some(path) => Stdio::from(std::fs::File::options().create(true).append(true).open(path)?),
        None => Stdio::null(),
    };
    Ok(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()?)
}
