//! greenlight's side of a run: starts the supervisor, drains the output, cancels. The helpers do the confining.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::pin;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, ChildStderr, ChildStdout};
use tokio_util::sync::CancellationToken;

use crate::kernel::scratch::Scratch;
use crate::kernel::{fd_passing, overlay};
use crate::spec::command::{Command, Limits, Mount, Policy};
use crate::spec::error::Error;
use crate::spec::output::{Capture, Outcome, Output};
use crate::wire::{self, ContainerState, Counted, ExitReport, Spec};
use crate::{Inner, container};

/// How much longer than the run the supervisor may take before it is killed. Its set-up has a shorter limit, and
/// killing all processes takes milliseconds.
const GRACE: Duration = Duration::from_secs(60);

/// How long a cancelled run may take to end.
const CANCELLED: Duration = Duration::from_secs(10);

/// How long output may still arrive after the last process died.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How a run was confined, beyond what is true of every run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Held {
    /// What a control group enforced.
    pub(crate) counted: Counted,
    /// Whether it ran as a separate user.
    pub(crate) lent: bool,
}

/// Resources that a run needs. Dropping them ends the run.
#[derive(Default)]
pub(crate) struct RunResources {
    container: Option<container::Lease>,
    /// The copy of the workspace that the container sees. Dropped last, when nothing is running in it any more.
    _copy: Option<Scratch>,
}

/// A started run. Dropping it ends the run.
pub(crate) struct Launched {
    pub(crate) supervisor: Child,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
    pub(crate) reports: OwnedReadHalf,
    pub(crate) orders: OwnedWriteHalf,
    pub(crate) resources: RunResources,
}

impl Inner {
    /// Runs one command; also returns how it was confined.
    pub(crate) async fn exec(
        &self,
        command: &Command,
        policy: &Policy,
        cancel: &CancellationToken,
    ) -> Result<(Output, Held), Error> {
        command.check()?;
        if cancel.is_cancelled() {
            return Ok((never_ran(Outcome::Cancelled), Held::default()));
        }
        let spec = self.spec(command, policy);
        let launched = tokio::select! {
            launched = self.launch(spec) => launched,
            () = cancel.cancelled() => return Ok((never_ran(Outcome::Cancelled), Held::default())),
        };
        match launched {
            Err(Error::NotReady(reason)) => Ok((never_ran(Outcome::DidNotStart(reason)), Held::default())),
            launched => launched?.collect(policy, cancel).await,
        }
    }

    /// Starts a supervisor and sends it the spec.
    pub(crate) async fn launch(&self, spec: Spec) -> Result<Launched, Error> {
        let (spec, resources) = self
            .make_ready(spec)
            .await
            .map_err(|reason| Error::NotReady(reason.to_string()))?;
        let frame = wire::encode(&spec)?;
        let (control, theirs) = StdUnixStream::pair()?;
        control.set_nonblocking(true)?;
        #[expect(clippy::disallowed_methods, reason = "only this crate spawns processes")]
        let mut supervisor = tokio::process::Command::new(&self.helper)
            .arg(wire::VERB)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (reports, mut orders) = UnixStream::from_std(control)?.into_split();
        let (Some(stdout), Some(stderr)) = (supervisor.stdout.take(), supervisor.stderr.take()) else {
            return Err(io::Error::other("no pipes to the supervisor").into());
        };
        // A supervisor that does not read the spec may still have reported why; the report is read next.
        let _ = tokio::time::timeout(GRACE, orders.write_all(&frame)).await;
        if let Some(container) = &resources.container {
            let socket = orders.as_ref();
            let sent = socket.async_io(Interest::WRITABLE, || fd_passing::send(socket, &[container.as_fd()]));
            let _ = tokio::time::timeout(GRACE, sent).await;
        }
        Ok(Launched {
            supervisor,
            stdout,
            stderr,
            reports,
            orders,
            resources,
        })
    }

    /// Creates what must exist before the supervisor starts: a container, which cannot be changed later.
    async fn make_ready(&self, mut spec: Spec) -> io::Result<(Spec, RunResources)> {
        let mut resources = RunResources::default();
        if let Some(engine) = &self.engine {
            if overlay::needs_copy(&spec) {
                let copied = tokio::task::spawn_blocking(move || copy(spec)).await;
                let (copied, copy) = copied.map_err(io::Error::other)??;
                (spec, resources._copy) = (copied, Some(copy));
            }
            resources.container = Some(engine.take(&spec, &self.helper).await?);
        }
        Ok((spec, resources))
    }

    pub(crate) fn spec(&self, command: &Command, policy: &Policy) -> Spec {
        let mut env = self.toolchains.env.clone();
        env.extend(command.env.clone());
        // See `Command::env`.
        env.retain(|name, value| !(name == "CI" && value.is_empty()));
        // A tool that was removed in the meantime is not mounted; commands that need it fail.
        let tools = self.toolchains.mounts.iter().filter(|mount| mount.source.exists());
        let mut mounts: Vec<Mount> = tools.cloned().collect();
        mounts.extend(command.mounts.clone());
        Spec {
            backend: self.backend,
            argv: command.argv.clone(),
            workspace: command.workspace.clone(),
            changes: command.changes,
            cwd: command.cwd.clone(),
            env,
            mounts,
            links: self.toolchains.links.clone(),
            home: self.toolchains.home.clone(),
            limits: Limits {
                // One file over the limit is enough to detect that it is exceeded.
                file_size: policy.limits.file_size.min(policy.limits.disk.saturating_add(1 << 20)),
                ..policy.limits.clone()
            },
            network: policy.network.clone(),
            name: run_name(),
        }
    }
}

impl Launched {
    /// Drains the output until the command has exited, reached a limit, or was cancelled.
    pub(crate) async fn collect(self, policy: &Policy, cancel: &CancellationToken) -> Result<(Output, Held), Error> {
        let Self {
            mut supervisor,
            stdout: out,
            stderr: err,
            mut reports,
            mut orders,
            mut resources,
        } = self;
        let mut stdout = Capture::keeping(policy.limits.output);
        let mut stderr = Capture::keeping(policy.limits.output);
        let report = {
            let mut drained = pin!(async { tokio::join!(stdout.drain(out), stderr.drain(err)) });
            let mut reported = pin!(tokio::time::timeout(
                policy.limits.wall.saturating_add(GRACE),
                report_or_cancel(&mut reports, &mut orders, cancel)
            ));
            let mut open = true;
            let report = loop {
                tokio::select! {
                    report = &mut reported => break report,
                    _ = &mut drained, if open => open = false,
                }
            };
            if open {
                // Processes that still have a pipe open are dead or do not belong to the run; nobody waits for their
                // output.
                let _ = tokio::time::timeout(LAST_WORDS, drained).await;
            }
            report
        };
        let report = match report {
            Ok(Ok(report)) => report,
            failure => {
                // If it dies, all processes of the run die.
                let _ = supervisor.kill().await;
                let reason = failure.map_or_else(
                    |_| "the supervisor does not respond".into(),
                    |result| result.map_or_else(|error| format!("the supervisor is gone: {error}"), |_| String::new()),
                );
                return Err(io::Error::other(reason).into());
            }
        };
        if let Some(container) = resources
            .container
            .take_if(|_| report.container == ContainerState::Clean)
        {
            container.give_back();
        }
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
}

/// Makes a copy of the workspace, and a spec that uses it.
fn copy(mut spec: Spec) -> io::Result<(Spec, Scratch)> {
    let scratch = Scratch::make(&spec.name)?;
    overlay::copy(&mut spec, &scratch).map_err(|reason| io::Error::other(format!("{reason:#}")))?;
    Ok((spec, scratch))
}

/// Waits for the report, and passes on a cancellation.
async fn report_or_cancel(
    reports: &mut OwnedReadHalf,
    orders: &mut OwnedWriteHalf,
    cancel: &CancellationToken,
) -> io::Result<ExitReport> {
    let mut receive = pin!(receive(reports));
    tokio::select! {
        report = &mut receive => report,
        () = cancel.cancelled() => {
            // The supervisor treats the end of this stream as the end of the run; it may already be gone.
            let _ = orders.shutdown().await;
            tokio::time::timeout(CANCELLED, receive).await?
        }
    }
}

/// The report of a finished run.
pub(crate) async fn receive(reports: &mut OwnedReadHalf) -> io::Result<ExitReport> {
    let mut prefix = [0; 4];
    reports.read_exact(&mut prefix).await?;
    let mut body = vec![0; wire::body_length(prefix)?];
    reports.read_exact(&mut body).await?;
    Ok(serde_json::from_slice(&body)?)
}

/// A name that is unique on this machine, and that shows which process it belongs to after greenlight died.
pub(crate) fn run_name() -> String {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    crate::kernel::cgroup::name(std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed))
}

fn never_ran(outcome: Outcome) -> Output {
    Output {
        outcome,
        stdout: Capture::keeping(0).finish(),
        stderr: Capture::keeping(0).finish(),
        cpu: Duration::ZERO,
        peak_memory: 0,
        wall: Duration::ZERO,
    }
}
