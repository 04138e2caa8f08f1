//! The supervisor of one run: makes the namespaces, starts init in them, holds the limits, and ends the tree.
//! It stays outside of what it makes, so nothing inside can see, stop, starve or feed it.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::thread::UnshareFlags;

use super::cgroup::Cgroup;
use super::identity::Identity;
use super::output::Outcome;
use super::watch::Watch;
use super::wire::{Go, Orders, Progress, Report, Spec, read_frame, write_frame};
use super::{helper, limits, unconfined};

/// How long init may take to build the sandbox.
const SET_UP: Duration = Duration::from_secs(30);

enum Event {
    /// greenlight cancels, or is dead.
    Abandoned,
    Init(Progress),
    InitIsGone,
}

/// Runs one spec from standard input and reports there.
pub(super) fn main() -> io::Result<()> {
    let mut control = helper::control()?;
    rustix::process::setsid()?;
    limits::forbid_core_dumps()?;
    let spec: Spec = read_frame(&mut control)?;
    let report = run(spec, &control).unwrap_or_else(|reason| Report {
        outcome: Outcome::DidNotStart(format!("{reason:#}")),
        cpu: Duration::ZERO,
        peak_memory: 0,
        wall: Duration::ZERO,
        counted: false,
        lent: false,
    });
    write_frame(&control, &report)
}

fn run(spec: Spec, control: &UnixStream) -> anyhow::Result<Report> {
    let identity = Identity::choose(&spec)?;
    let cgroup = if spec.confined {
        Cgroup::create(&spec.name, &spec.limits)
    } else {
        None
    };
    let mut watch = Watch::new(&spec, cgroup.as_ref())?;
    if spec.confined {
        enter_user_namespace(identity)?;
    }
    // The kernel allows no threads before the former namespace is made, and none after the latter are.
    let (progress, theirs) = UnixStream::pair().context("make a socket")?;
    let inbox = listen(control.try_clone()?, progress.try_clone()?);
    if spec.confined {
        enter_other_namespaces()?;
    } else {
        unconfined::adopt_orphans()?;
    }
    let mut init = spawn_init(theirs)?;
    if let Some(cgroup) = &cgroup
        && let Err(error) = cgroup.admit(init.id())
    {
        end(&mut init, spec.confined)?;
        return Err(error).context("move the sandbox into its control group");
    }
    let orders = Orders {
        spec,
        identity,
        counted: cgroup.is_some(),
    };
    write_frame(&progress, &orders).context("tell init what to run")?;

    let mut started = Instant::now();
    let outcome = match await_sandbox(&inbox).and_then(|()| watch.begin(init.id()).map_err(did_not_start)) {
        Ok(()) => {
            started = Instant::now();
            // Fails only if init is dead, which is an event of its own.
            let _ = write_frame(&progress, &Go);
            attend(&inbox, started.checked_add(orders.spec.limits.wall), &mut watch)
        }
        Err(outcome) => outcome,
    };
    end(&mut init, orders.spec.confined)?;
    Ok(Report {
        outcome: watch.correct(outcome),
        cpu: limits::cpu_time_of_children(),
        peak_memory: watch.peak_memory(),
        wall: started.elapsed(),
        counted: orders.counted,
        lent: matches!(orders.identity, Identity::Lent(_)),
    })
}

/// Gives an ordinary user the right to make the other namespaces.
fn enter_user_namespace(identity: Identity) -> anyhow::Result<()> {
    if let Identity::Own { uid, gid } = identity {
        unshare(UnshareFlags::NEWUSER).context("make a user namespace")?;
        // Without this the kernel lets no ordinary user map a group.
        fs::write("/proc/self/setgroups", "deny").context("give up supplementary groups")?;
        fs::write("/proc/self/gid_map", format!("0 {gid} 1")).context("map the group")?;
        fs::write("/proc/self/uid_map", format!("0 {uid} 1")).context("map the user")?;
    }
    Ok(())
}

/// Leaves the namespaces of the host, except those that init makes for itself.
fn enter_other_namespaces() -> anyhow::Result<()> {
    let flags = UnshareFlags::NEWPID | UnshareFlags::NEWNET | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
    unshare(flags).context("make namespaces")
}

#[expect(
    deprecated,
    reason = "only the flag FILES makes `unshare` unsound, and its replacement is an unsafe function"
)]
fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    rustix::thread::unshare(flags)
}

/// Starts init with this process's output streams, then lets go of them so that their end can be seen.
fn spawn_init(control: UnixStream) -> anyhow::Result<Child> {
    #[expect(clippy::disallowed_methods, reason = "this is the room that spawns")]
    let init = std::process::Command::new("/proc/self/exe")
        .args([helper::VERB, helper::INIT])
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(control)))
        .spawn()
        .context("start init")?;
    let nowhere = File::options()
        .write(true)
        .open("/dev/null")
        .context("open /dev/null")?;
    rustix::stdio::dup2_stdout(&nowhere).context("let go of standard output")?;
    rustix::stdio::dup2_stderr(&nowhere).context("let go of standard error")?;
    Ok(init)
}

/// Turns both sockets into one stream of events. The threads end with their sockets or with the process.
fn listen(mut control: UnixStream, mut progress: UnixStream) -> Receiver<Event> {
    let (to_inbox, inbox) = mpsc::channel();
    let from_init: Sender<Event> = to_inbox.clone();
    thread::spawn(move || {
        // greenlight says nothing more after the spec; any byte or the end of the stream means the same.
        let _ = control.read(&mut [0]);
        let _ = to_inbox.send(Event::Abandoned);
    });
    thread::spawn(move || {
        while let Ok(progress) = read_frame(&mut progress) {
            if from_init.send(Event::Init(progress)).is_err() {
                return;
            }
        }
        let _ = from_init.send(Event::InitIsGone);
    });
    inbox
}

/// Waits until init has built the sandbox.
fn await_sandbox(inbox: &Receiver<Event>) -> Result<(), Outcome> {
    match inbox.recv_timeout(SET_UP) {
        Ok(Event::Init(Progress::Ready)) => Ok(()),
        Ok(Event::Init(Progress::CouldNotStart(reason))) => Err(Outcome::DidNotStart(reason)),
        Ok(Event::Abandoned) => Err(Outcome::Cancelled),
        Ok(Event::Init(_) | Event::InitIsGone) | Err(RecvTimeoutError::Disconnected) => {
            Err(Outcome::DidNotStart("init died while it built the sandbox".into()))
        }
        Err(RecvTimeoutError::Timeout) => Err(Outcome::DidNotStart(format!(
            "the sandbox was not ready within {} s",
            SET_UP.as_secs()
        ))),
    }
}

/// Waits for the end of the command or of one of its limits. Without a deadline it lies too far ahead to be written down.
fn attend(inbox: &Receiver<Event>, deadline: Option<Instant>, watch: &mut Watch<'_>) -> Outcome {
    loop {
        let left = deadline.map_or(Duration::MAX, |deadline| {
            deadline.saturating_duration_since(Instant::now())
        });
        match inbox.recv_timeout(left.min(watch.interval())) {
            Ok(Event::Init(Progress::Exited(code))) => return Outcome::Exited(code),
            Ok(Event::Init(Progress::Signalled(signal))) => return Outcome::Signalled(signal),
            Ok(Event::Init(Progress::CouldNotStart(reason))) => return Outcome::DidNotStart(reason),
            Ok(Event::Init(Progress::Ready)) => {}
            Ok(Event::InitIsGone) | Err(RecvTimeoutError::Disconnected) => return Outcome::Signalled(libc::SIGKILL),
            Ok(Event::Abandoned) => return Outcome::Cancelled,
            Err(RecvTimeoutError::Timeout) if deadline.is_some_and(|deadline| Instant::now() >= deadline) => {
                return Outcome::TimedOut;
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Some(outcome) = watch.check() {
                    return outcome;
                }
            }
        }
    }
}

fn did_not_start(reason: anyhow::Error) -> Outcome {
    Outcome::DidNotStart(format!("{reason:#}"))
}

/// Ends every process of the tree, and returns when the last one is dead.
fn end(init: &mut Child, confined: bool) -> anyhow::Result<()> {
    // Killing process 1 of a namespace kills everything in it, and it is not dead before everything else is.
    init.kill().context("end the sandbox")?;
    init.wait().context("wait for the end of the sandbox")?;
    if !confined {
        unconfined::end_orphans();
    }
    Ok(())
}
