//! The supervisor's view of a container: it identifies process 1 by the connection to it, and ends it from outside.

use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use anyhow::{Context, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::kernel::cgroup::Cgroup;
use crate::wire::{Identity, Spec};

/// How long the kernel may take to end a container.
const END: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Process 1 of a container.
pub(crate) struct ContainerProcess {
    process: Pid,
    /// A pidfd of the same process, which cannot refer to a later one.
    handle: OwnedFd,
    connection: UnixStream,
}

impl ContainerProcess {
    /// Identifies the process at the other end of a socket.
    pub(crate) fn of(connection: &UnixStream) -> anyhow::Result<Self> {
        let process = rustix::net::sockopt::socket_peercred(connection)
            .context("ask for the container's first process")?
            .pid;
        let handle = pidfd_open(process, PidfdFlags::empty()).context("open the container's first process")?;
        // If the process still exists, its id was never reused.
        let mut end = [PollFd::new(connection, PollFlags::RDHUP)];
        ensure!(poll(&mut end, Some(&AT_ONCE))? == 0, "the container has ended already");
        Ok(Self {
            process,
            handle,
            connection: connection.try_clone()?,
        })
    }

    /// The container's first process id, as this process sees it.
    pub(crate) fn process(&self) -> u32 {
        self.process.as_raw_pid().cast_unsigned()
    }

    /// Ends the container, and returns when its last process is dead.
    pub(crate) fn end(&self) -> anyhow::Result<()> {
        // Init exits when its connection ends. Killing it covers the case that it has no time to notice.
        let _ = self.connection.shutdown(Shutdown::Both);
        let _ = pidfd_send_signal(&self.handle, Signal::KILL);
        let mut end = [PollFd::new(&self.handle, PollFlags::IN)];
        match poll(&mut end, Some(&END)) {
            Ok(0) => bail!("the container does not end"),
            ended => ended.map(drop).context("wait for the end of the container"),
        }
    }
}

/// The user of a container, as seen on the host.
pub(super) fn user(identity: Identity) -> (u32, u32) {
    match identity {
        Identity::Lent(id) => (id, id),
        Identity::Own { uid, gid } => (uid, gid),
    }
}

/// The control group of the container at the other end of a socket.
///
/// # Errors
/// When the engine used a different user than requested, or does not enforce the limits.
pub(crate) fn group(spec: &Spec, identity: Identity, connection: &UnixStream) -> anyhow::Result<Option<Cgroup>> {
    let peer = rustix::net::sockopt::socket_peercred(connection).context("ask for the container's first process")?;
    let expected = user(identity);
    let found = (peer.uid.as_raw(), peer.gid.as_raw());
    ensure!(
        found == expected,
        "the container belongs to user {}:{} instead of {}:{}",
        found.0,
        found.1,
        expected.0,
        expected.1
    );
    let group = Cgroup::of_container(peer.pid.as_raw_pid().cast_unsigned(), &spec.limits);
    ensure!(
        group.is_some(),
        "the engine does not enforce the limits on memory and processes"
    );
    Ok(group)
}
