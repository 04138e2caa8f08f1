//! Process 1 of a sandbox: builds it from within, gives up every right, starts the command, and reaps.
//! Its end is the end of everything inside.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::{fs, io, thread};

use anyhow::{Context, bail, ensure};
use rustix::fs::Mode;
use rustix::process::{DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus};
use rustix::thread::{CapabilitySet, CapabilitySets, Gid, Uid, UnshareFlags};

use super::backend::Backend;
use super::command::{Network, WORKSPACE};
use super::identity::{INSIDE, Identity};
use super::tree::unshare;
use super::wire::{Orders, Progress, Word, read_frame, write_frame};
use super::{bubblewrap, helper, landlock, limits, mounts, network, orphans, relay, seccomp, strict};

/// Takes orders from standard input and reports progress there.
pub(super) fn main() -> io::Result<()> {
    let mut control = helper::control()?;
    let orders: Orders = read_frame(&mut control)?;
    // The relay comes last, under the same filter of system calls as the command.
    if let Err(reason) = prepare(&orders).and_then(|()| relay::start(&orders.spec)) {
        return write_frame(&control, &Progress::CouldNotStart(format!("{reason:#}")));
    }
    // Fails when the supervisor died before it could take this process along.
    write_frame(&control, &Progress::Ready)?;
    let Word::Go = read_frame(&mut control)? else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    // Same user, same namespace: without this the command could trace init, or read its memory and descriptors. Not
    // before the supervisor has looked in, which it could not do any more.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let ended = match start(&orders, None) {
        Ok(command) => {
            let words = control.try_clone()?;
            let in_namespaces = orders.spec.backend.has_namespaces();
            thread::spawn(move || obey(words, in_namespaces));
            let ended = wait_for(command)?;
            if !in_namespaces {
                // Whatever the command left, before this process goes too.
                orphans::end();
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
            orphans::adopt().context("watch the command")?;
            return die_with_the_supervisor();
        }
        Backend::Bubblewrap => return bubblewrap::confine(orders),
        Backend::Landlock => return landlock::stay_outside(orders),
        other => bail!("{other} is not here yet"),
    }
    unshare(UnshareFlags::NEWNS | UnshareFlags::NEWCGROUP).context("make namespaces")?;
    rustix::system::sethostname(b"sandbox").context("set the host name")?;
    match &orders.spec.network {
        Network::None => {}
        Network::Loopback | Network::Registries(_) => network::loopback_up()?,
    }
    mounts::build(orders)?;
    become_nobody(orders.identity)?;
    limits::apply(orders)?;
    die_with_the_supervisor()?;
    if !orders.counted {
        strict::forbid_queues()?;
    }
    seccomp::apply(orders.counted)
}

/// Gives up every right over this machine and over the namespaces around.
fn become_nobody(identity: Identity) -> anyhow::Result<()> {
    if let Identity::Own { .. } = identity {
        // One more user namespace, because the one around owns the mounts and the network.
        unshare(UnshareFlags::NEWUSER).context("make the inner user namespace")?;
        fs::write("/proc/self/gid_map", format!("{INSIDE} 0 1")).context("map the group inside")?;
        fs::write("/proc/self/uid_map", format!("{INSIDE} 0 1")).context("map the user inside")?;
    }
    // The bounding set goes first, while there is still the right to shrink it.
    shrink_bounding_set()?;
    give_up_rights(identity)
}

/// Makes sure that no program can bring a capability back.
pub(super) fn shrink_bounding_set() -> anyhow::Result<()> {
    for number in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        if rustix::thread::remove_capability_from_bounding_set(capability).is_err() {
            ensure!(number > 40, "give up capability {number}: refused");
            break;
        }
    }
    Ok(())
}

/// Gives up groups, user and capabilities of this process.
pub(super) fn give_up_rights(identity: Identity) -> anyhow::Result<()> {
    if let Identity::Lent(id) = identity {
        let (uid, gid) = (Uid::from_raw(id), Gid::from_raw(id));
        rustix::thread::set_thread_groups(&[]).context("give up groups")?;
        rustix::thread::set_thread_res_gid(gid, gid, gid).context("change the group")?;
        rustix::thread::set_thread_res_uid(uid, uid, uid).context("change the user")?;
    }
    give_up_capabilities()
}

/// Leaves this process and all it starts with the rights of an ordinary user, for good.
pub(super) fn give_up_capabilities() -> anyhow::Result<()> {
    let none = CapabilitySet::empty();
    rustix::thread::clear_ambient_capability_set().context("give up ambient capabilities")?;
    let nothing = CapabilitySets {
        effective: none,
        permitted: none,
        inheritable: none,
    };
    rustix::thread::set_capabilities(None, nothing).context("give up capabilities")?;
    rustix::thread::set_no_new_privs(true).context("forbid new privileges")
}

/// Must come after the change of the user, which would undo it.
pub(super) fn die_with_the_supervisor() -> anyhow::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).context("tie init to the supervisor")
}

/// Starts the command, with these output streams or those of this process.
pub(super) fn start(orders: &Orders, output: Option<[OwnedFd; 2]>) -> anyhow::Result<Pid> {
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
    #[expect(clippy::disallowed_methods, reason = "this is the room that spawns")]
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
        .context("the kernel gave the command no number")
}

/// Does what the supervisor says, and ends with it.
fn obey(mut words: UnixStream, in_namespaces: bool) {
    while let Ok(word) = read_frame(&mut words) {
        match word {
            Word::Go | Word::Next => {}
            Word::Interrupt => interrupt(in_namespaces),
        }
    }
    if !in_namespaces {
        orphans::end();
    }
    #[expect(clippy::exit, reason = "the main thread waits for the command, which may never end")]
    std::process::exit(70);
}

/// Sends the signal of ctrl-c to everything but this process.
pub(super) fn interrupt(in_namespaces: bool) {
    let everyone = if in_namespaces {
        orphans::others()
    } else {
        orphans::descendants()
    };
    for process in everyone {
        // It may be gone by now.
        let _ = rustix::process::kill_process(process, Signal::INT);
    }
}

/// Reaps whatever dies, until it is the command.
pub(super) fn wait_for(command: Pid) -> io::Result<Progress> {
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
