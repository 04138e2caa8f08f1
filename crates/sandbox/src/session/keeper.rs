//! The task that owns the sandbox of one interpreter: it passes on interrupts, ends an interpreter that is idle for
//! too long, and finds out why one died. It does not see the cells or their output.

use std::io;
use std::pin::pin;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::Child;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::LostReason;
use crate::host::launch::{RunResources, receive};
use crate::spec::output::Outcome;
use crate::wire::{ExitReport, INTERRUPT};

/// How long ending a sandbox may take.
const ENDING: Duration = Duration::from_secs(10);

/// How much longer than the run the supervisor may take before it is killed.
const GRACE: Duration = Duration::from_secs(60);

/// A message to the keeper.
pub(super) enum KeeperOrder {
    Interrupt,
    /// A cell begins.
    Work,
    /// A cell ended, and the next one must begin within this time.
    Rest(Duration),
}

/// A dead interpreter.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) why: LostReason,
    pub(super) cpu: Duration,
    pub(super) peak_memory: u64,
    pub(super) wall: Duration,
}

/// A sandbox that ends when this is dropped.
pub(super) struct Keeper {
    sender: mpsc::Sender<KeeperOrder>,
    task: JoinHandle<io::Result<Ending>>,
}

impl Keeper {
    /// Takes over a supervisor that has orders to run for at most `wall`.
    pub(super) fn of(
        (supervisor, resources): (Child, RunResources),
        reports: OwnedReadHalf,
        orders: OwnedWriteHalf,
        wall: Duration,
    ) -> Self {
        let (sender, receiver) = mpsc::channel(4);
        let task = tokio::spawn(keep((supervisor, resources), (reports, orders), receiver, wall));
        Self { sender, task }
    }

    pub(super) async fn tell(&self, word: KeeperOrder) {
        // A keeper that is gone has already reported why.
        let _ = self.sender.send(word).await;
    }

    /// Whether the interpreter is known to be dead.
    pub(super) fn has_ended(&self) -> bool {
        self.task.is_finished()
    }

    /// Waits for the death of the interpreter. Must not be called again after it has returned.
    pub(super) async fn died(&mut self) -> io::Result<Ending> {
        (&mut self.task).await.map_err(io::Error::other)?
    }

    /// Ends the sandbox, and waits until all its processes are gone.
    pub(super) async fn end(self) -> io::Result<Ending> {
        drop(self.sender);
        self.task.await.map_err(io::Error::other)?
    }
}

async fn keep(
    (mut supervisor, _resources): (Child, RunResources),
    (mut reports, mut orders): (OwnedReadHalf, OwnedWriteHalf),
    mut receiver: mpsc::Receiver<KeeperOrder>,
    wall: Duration,
) -> io::Result<Ending> {
    let mut report = pin!(receive(&mut reports));
    let mut too_long = pin!(sleep(wall.saturating_add(GRACE)));
    let mut idle = pin!(sleep(Duration::MAX));
    let mut why = None;
    let ended = loop {
        tokio::select! {
            ended = &mut report => break Some(ended),
            word = receiver.recv() => match word {
                // Fails only if the supervisor is dead.
                Some(KeeperOrder::Interrupt) => drop(orders.write_all(&[INTERRUPT]).await),
                Some(KeeperOrder::Work) => idle.set(sleep(Duration::MAX)),
                Some(KeeperOrder::Rest(time)) => idle.set(sleep(time)),
                None => break None,
            },
            () = &mut idle => {
                why = Some(LostReason::Idle);
                break None;
            }
            () = &mut too_long => break None,
        }
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            // The supervisor treats the end of this stream as the end of the run.
            let _ = orders.shutdown().await;
            timeout(ENDING, report)
                .await
                .unwrap_or_else(|_| Err(io::Error::other("it does not respond")))
        }
    };
    match ended {
        Ok(report) => {
            // The supervisor only has to exit now.
            let _ = timeout(ENDING, supervisor.wait()).await;
            Ok(ending(report, why))
        }
        Err(error) => {
            // If it dies, all processes of the run die.
            let _ = supervisor.kill().await;
            Err(io::Error::other(format!(
                "the supervisor of a session is gone: {error}"
            )))
        }
    }
}

fn ending(report: ExitReport, why: Option<LostReason>) -> Ending {
    Ending {
        why: why.unwrap_or(match report.outcome {
            Outcome::Exited(code) => LostReason::Exited(code),
            Outcome::Signalled(signal) => LostReason::Signalled(signal),
            Outcome::TimedOut => LostReason::TimedOut,
            Outcome::OutOfMemory => LostReason::OutOfMemory,
            Outcome::DiskLimit => LostReason::DiskLimit,
            Outcome::Cancelled => LostReason::Cancelled,
            Outcome::DidNotStart(reason) => LostReason::DidNotStart(reason),
        }),
        cpu: report.cpu,
        peak_memory: report.peak_memory,
        wall: report.wall,
    }
}
