//! The command as a child of init: starts, interrupts and reaps it.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, ensure};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use super::landlock;
use crate::kernel::subreaper;
use crate::spec::backend::Backend;
use crate::spec::command::WORKSPACE;
use crate::wire::{Orders, Progress};

/// Starts the command, with these output streams or those of this process.
pub(crate) fn start(orders: &Orders, output: Option<[OwnedFd; 2]>) -> anyhow::Result<Pid> {
    let spec = &orders.spec;
    if spec.backend == Backend::Landlock {
        return landlock::start(orders);
    }
    let workspace = if spec.backend.has_namespaces() {
        Path::new(WORKSPACE)
    } else {
        &spec.workspace
    };
    let directory = workspace.join(&spec.cwd);
    ensure!(directory.is_dir(), "there is no directory {}", directory.display());
    let (program, arguments) = spec.argv.split_first().context("there is no program to run")?;
    #[expect(clippy::disallowed_methods, reason = "only this crate spawns processes")]
    let mut command = std::process::Command::new(program);
    if let Some([stdout, stderr]) = output {
        command.stdout(stdout).stderr(stderr);
    }
    let child = command
        .args(arguments)
        .env_clear()
        .envs(&spec.env)
        .current_dir(directory)
        .stdin(Stdio::null())
        .process_group(0)
        .spawn()
        .with_context(|| format!("start {}", program.display()))?;
    i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .context("the kernel returned no process id for the command")
}

/// Sends SIGINT to every process but this one.
pub(crate) fn interrupt(in_namespaces: bool) {
    let everyone = if in_namespaces {
        subreaper::others()
    } else {
        subreaper::descendants()
    };
    for process in everyone {
        // The process may already be gone.
        let _ = rustix::process::kill_process(process, Signal::INT);
    }
}

/// Reaps every process that dies, until the command does.
pub(crate) fn wait_for(command: Pid) -> io::Result<Progress> {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == command => return Ok(progress(status)),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn progress(status: WaitStatus) -> Progress {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Progress::Exited(code),
        (None, Some(signal)) => Progress::Signalled(signal),
        (None, None) => Progress::CouldNotStart("the command ended in a way unknown to greenlight".into()),
    }
}
