//! greenlight's side of a run: starts the supervisor, drains the output, cancels. What confines is in the helper.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::pin;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

use super::output::Capture;
use super::wire::{self, Report, Spec};
use super::{Choice, Command, Error, Inner, Output, Policy, helper};

/// How much longer than the run itself the supervisor may take before it is given up: its own set-up is bounded by
/// less, and killing a tree takes milliseconds.
const GRACE: Duration = Duration::from_secs(60);

/// How long a cancelled run may take to end.
const CANCELLED: Duration = Duration::from_secs(10);

/// How long output may still arrive after the last process died.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How a run was held, beyond what holds for every run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Held {
    /// By a control group that counts memory and processes.
    pub(super) counted: bool,
    /// By running as a user of its own.
    pub(super) lent: bool,
}

impl Inner {
    /// Runs one command; also says how it was held.
    pub(super) async fn exec(
        &self,
        command: &Command,
        policy: &Policy,
        cancel: &CancellationToken,
    ) -> Result<(Output, Held), Error> {
        command.check()?;
        if cancel.is_cancelled() {
            return Ok((never_ran(), Held::default()));
        }
        let (control, theirs) = StdUnixStream::pair()?;
        control.set_nonblocking(true)?;
        #[expect(clippy::disallowed_methods, reason = "this is the room that spawns")]
        let mut supervisor = tokio::process::Command::new(&self.helper)
            .arg(helper::VERB)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut control = UnixStream::from_std(control)?;
        let frame = wire::encode(&self.spec(command, policy))?;

        let mut stdout = Capture::keeping(policy.limits.output);
        let mut stderr = Capture::keeping(policy.limits.output);
        let report = {
            let pipes = (supervisor.stdout.take(), supervisor.stderr.take());
            let (Some(out), Some(err)) = pipes else {
                return Err(io::Error::other("no pipes to the supervisor").into());
            };
            let mut drained = pin!(async { tokio::join!(stdout.drain(out), stderr.drain(err)) });
            let mut reported = pin!(tokio::time::timeout(
                policy.limits.wall.saturating_add(GRACE),
                converse(&mut control, &frame, cancel)
            ));
            let mut open = true;
            let report = loop {
                tokio::select! {
                    report = &mut reported => break report,
                    _ = &mut drained, if open => open = false,
                }
            };
            if open {
                // Whoever still holds a pipe is dead or a stranger; its output is not waited for.
                let _ = tokio::time::timeout(LAST_WORDS, drained).await;
            }
            report
        };
        let report = match report {
            Ok(Ok(report)) => report,
            failure => {
                // Its death is the death of the whole tree.
                let _ = supervisor.kill().await;
                let reason = failure.map_or_else(
                    |_| "the supervisor hangs".into(),
                    |result| result.map_or_else(|error| format!("the supervisor is gone: {error}"), |_| String::new()),
                );
                return Err(io::Error::other(reason).into());
            }
        };
        let output = Output {
            outcome: report.outcome,
            stdout: stdout.finish(),
            stderr: stderr.finish(),
            cpu: report.cpu,
            peak_memory: report.peak_memory,
            wall: report.wall,
        };
        Ok((
            output,
            Held {
                counted: report.counted,
                lent: report.lent,
            },
        ))
    }

    fn spec(&self, command: &Command, policy: &Policy) -> Spec {
        let mut env = self.toolchains.env.clone();
        env.extend(command.env.clone());
        let mut mounts = self.toolchains.mounts.clone();
        mounts.extend(command.mounts.clone());
        Spec {
            confined: self.choice != Choice::None,
            argv: command.argv.clone(),
            workspace: command.workspace.clone(),
            cwd: command.cwd.clone(),
            env,
            mounts,
            links: self.toolchains.links.clone(),
            home: self.toolchains.home.clone(),
            limits: policy.limits.clone(),
            network: policy.network,
            name: run_name(),
        }
    }
}

/// Sends the spec, hands on a cancellation, and waits for the report.
async fn converse(control: &mut UnixStream, frame: &[u8], cancel: &CancellationToken) -> io::Result<Report> {
    let (mut reader, mut writer) = control.split();
    let receive = async {
        let mut prefix = [0; 4];
        reader.read_exact(&mut prefix).await?;
        let mut body = vec![0; wire::body_length(prefix)?];
        reader.read_exact(&mut body).await?;
        io::Result::Ok(serde_json::from_slice(&body)?)
    };
    let mut receive = pin!(receive);
    let send_then_cancel = async {
        writer.write_all(frame).await?;
        cancel.cancelled().await;
        // The supervisor takes the end of this stream for the end of the run.
        writer.shutdown().await
    };
    tokio::select! {
        report = &mut receive => report,
        // A supervisor that takes no spec may still have said why.
        _ = send_then_cancel => tokio::time::timeout(CANCELLED, receive).await?,
    }
}

/// A name that no other run of this machine has, and that shows whose it is after greenlight died.
fn run_name() -> String {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    super::cgroup::name(std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed))
}

fn never_ran() -> Output {
    Output {
        outcome: super::Outcome::Cancelled,
        stdout: Capture::keeping(0).finish(),
        stderr: Capture::keeping(0).finish(),
        cpu: Duration::ZERO,
        peak_memory: 0,
        wall: Duration::ZERO,
    }
}
