//! Process 1 of a sandbox: builds the sandbox from within, gives up all privileges, starts the command, and reaps
//! orphans. When it exits, everything inside ends.

use std::os::unix::net::UnixStream;
use std::{fs, io, thread};

use anyhow::{Context, bail};
use rustix::fs::Mode;
use rustix::process::DumpableBehavior;
use rustix::thread::UnshareFlags;

use crate::helpers::command_process::{interrupt, start, wait_for};
use crate::helpers::{bubblewrap, landlock, relay};
use crate::kernel::namespaces::unshare;
use crate::kernel::privileges::{die_with_the_supervisor, give_up_rights, shrink_bounding_set};
use crate::kernel::{limits, loopback, mounts, seccomp, seccomp_strict, subreaper};
use crate::spec::backend::Backend;
use crate::spec::command::Network;
use crate::wire;
use crate::wire::{INSIDE, Identity, Orders, Progress, SupervisorMessage, read_frame, write_frame};

/// Reads orders from standard input and reports progress there.
pub(crate) fn main() -> io::Result<()> {
    let mut control = wire::control()?;
    let orders: Orders = read_frame(&mut control)?;
    // The relay starts last, under the same system call filter as the command.
    if let Err(reason) = prepare(&orders).and_then(|()| relay::start(&orders.spec)) {
        return write_frame(&control, &Progress::CouldNotStart(format!("{reason:#}")));
    }
    // Fails if the supervisor died before it could end this process.
    write_frame(&control, &Progress::Ready)?;
    let SupervisorMessage::Go = read_frame(&mut control)? else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    // The command has the same user and namespace. Otherwise it could trace init, or read its memory and descriptors.
    // This must come after the supervisor has inspected init, which it no longer could.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let ended = match start(&orders, None) {
        Ok(command) => {
            let words = control.try_clone()?;
            let in_namespaces = orders.spec.backend.has_namespaces();
            thread::spawn(move || handle_messages(words, in_namespaces));
            let ended = wait_for(command)?;
            if !in_namespaces {
                // Everything that the command left behind must end before this process does.
                subreaper::end();
            }
            ended
        }
        Err(reason) => Progress::CouldNotStart(format!("{reason:#}")),
    };
    write_frame(&control, &ended)
}

fn prepare(orders: &Orders) -> anyhow::Result<()> {
    rustix::process::umask(Mode::from_raw_mode(0o022));
    match orders.spec.backend {
        Backend::Native => {}
        Backend::None => {
            limits::apply(orders)?;
            subreaper::adopt().context("watch the command")?;
            return die_with_the_supervisor();
        }
        Backend::Bubblewrap => return bubblewrap::confine(orders),
        Backend::Landlock => return landlock::stay_outside(orders),
        other => bail!("init cannot set up {other}"),
    }
    unshare(UnshareFlags::NEWNS | UnshareFlags::NEWCGROUP).context("make namespaces")?;
    rustix::system::sethostname(b"sandbox").context("set the host name")?;
    match &orders.spec.network {
        Network::None => {}
        Network::Loopback | Network::Registries(_) => loopback::loopback_up()?,
    }
    mounts::build(orders)?;
    drop_privileges(orders.identity)?;
    limits::apply(orders)?;
    die_with_the_supervisor()?;
    if !orders.counted {
        seccomp_strict::forbid_queues()?;
    }
    seccomp::apply(orders.counted)
}

/// Gives up all privileges over this machine and over the surrounding namespaces.
fn drop_privileges(identity: Identity) -> anyhow::Result<()> {
    if let Identity::Own { .. } = identity {
        // This needs another user namespace, because the surrounding one owns the mounts and the network.
        unshare(UnshareFlags::NEWUSER).context("make the inner user namespace")?;
        fs::write("/proc/self/gid_map", format!("{INSIDE} 0 1")).context("map the group inside")?;
        fs::write("/proc/self/uid_map", format!("{INSIDE} 0 1")).context("map the user inside")?;
    }
    // The bounding set comes first, while this process may still shrink it.
    shrink_bounding_set()?;
    give_up_rights(identity)
}

/// Executes the supervisor's messages, and exits when it dies.
fn handle_messages(mut words: UnixStream, in_namespaces: bool) {
    while let Ok(word) = read_frame(&mut words) {
        match word {
            SupervisorMessage::Go | SupervisorMessage::Next => {}
            SupervisorMessage::Interrupt => interrupt(in_namespaces),
        }
    }
    if !in_namespaces {
        subreaper::end();
    }
    #[expect(clippy::exit, reason = "the main thread waits for the command, which may never end")]
    std::process::exit(70);
}
