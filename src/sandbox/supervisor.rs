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
use super::wire::{Orders, Progress, Report, Spec, read_frame, write_frame};
use super::{helper, limits, unconfined};

/// How long init may take to build the sandbox.
const SET_UP: Duration = Duration::from_secs(10);

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
    let cgroup = if spec.confined { Cgroup::create(&spec.name, &spec.limits) } else { None };
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
    let orders = Orders { spec, identity, counted: cgroup.is_some() };
    write_frame(&progress, &orders).context("tell init what to run")?;

    let mut started = Instant::now();
    let outcome = attend(&inbox, &orders.spec, &mut watch, init.id(), &mut started);
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

#[expect(deprecated, reason = "only the flag FILES makes `unshare` unsound, and its replacement is an unsafe function")]
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
    let nowhere = File::options().write(true).open("/dev/null").context("open /dev/null")?;
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

/// Waits for the end of the command or of one of its limits.
fn attend(inbox: &Receiver<Event>, spec: &Spec, watch: &mut Watch, init: u32, started: &mut Instant) -> Outcome {
    let mut deadline = *started + SET_UP;
    let mut is_running = false;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let patience = if is_running { left.min(watch.interval()) } else { left };
        match inbox.recv_timeout(patience) {
            Ok(Event::Init(Progress::Ready)) => {
                *started = Instant::now();
                deadline = started.checked_add(spec.limits.wall).unwrap_or(deadline);
                is_running = true;
                if let Err(reason) = watch.begin(init) {
                    return Outcome::DidNotStart(format!("{reason:#}"));
                }
            }
            Ok(Event::Init(Progress::CouldNotStart(reason))) => return Outcome::DidNotStart(reason),
            Ok(Event::Init(Progress::Exited(code))) => return Outcome::Exited(code),
            Ok(Event::Init(Progress::Signalled(signal))) => return Outcome::Signalled(signal),
            Ok(Event::InitIsGone) | Err(RecvTimeoutError::Disconnected) if is_running => {
                return Outcome::Signalled(libc::SIGKILL);
            }
            Ok(Event::InitIsGone) | Err(RecvTimeoutError::Disconnected) => {
                return Outcome::DidNotStart("init died while it built the sandbox".into());
            }
            Ok(Event::Abandoned) => return Outcome::Cancelled,
            Err(RecvTimeoutError::Timeout) if Instant::now() < deadline => {
                if let Some(outcome) = watch.check() {
                    return outcome;
                }
            }
            Err(RecvTimeoutError::Timeout) if is_running => return Outcome::TimedOut,
            Err(RecvTimeoutError::Timeout) => {
                return Outcome::DidNotStart(format!("the sandbox was not ready within {} s", SET_UP.as_secs()));
            }
        }
    }
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
