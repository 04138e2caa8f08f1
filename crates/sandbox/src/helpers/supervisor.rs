//! The supervisor of one run: makes the namespaces, starts init in them, enforces the limits, and ends all processes.
//! It stays outside of the namespaces, so that nothing inside can see, stop, starve or influence it.

use std::io;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::helpers::control_channel::{ControlChannel, Event};
use crate::helpers::landlock;
use crate::helpers::process_tree::{self, Tree};
use crate::helpers::watchdog::Watch;
use crate::kernel::cgroup::Cgroup;
use crate::kernel::scratch::Scratch;
use crate::kernel::{fd_passing, limits, overlay};
use crate::spec::backend::Backend;
use crate::spec::output::Outcome;
use crate::wire::{
    ContainerState, Counted, ExitReport, Identity, Orders, Progress, Spec, SupervisorMessage, read_frame, write_frame,
};
use crate::{container, wire};

/// How long init may take to build the sandbox.
const SET_UP: Duration = Duration::from_secs(30);

/// How long init of a container may take to clean up before the container is ended.
const CLEANING: Duration = Duration::from_secs(2);

/// Runs the spec read from standard input, and reports there.
pub(crate) fn main() -> io::Result<()> {
    let mut control = wire::control()?;
    rustix::process::setsid()?;
    limits::forbid_core_dumps()?;
    let spec: Spec = read_frame(&mut control)?;
    let container = if spec.backend.is_container() {
        let [connection] = fd_passing::receive(&control)?;
        Some(UnixStream::from(connection))
    } else {
        None
    };
    let report = run(spec, &control, container).unwrap_or_else(|reason| ExitReport {
        outcome: Outcome::DidNotStart(format!("{reason:#}")),
        cpu: Duration::ZERO,
        peak_memory: 0,
        wall: Duration::ZERO,
        counted: Counted::Nothing,
        lent: false,
        container: ContainerState::Spent,
    });
    write_frame(&control, &report)
}

fn run(mut spec: Spec, control: &UnixStream, container: Option<UnixStream>) -> anyhow::Result<ExitReport> {
    // Must outlive everything in it.
    let _scratch = arrange(&mut spec)?;
    let identity = Identity::choose(&spec)?;
    let cgroup = if let Some(connection) = &container {
        container::group(&spec, identity, connection)?
    } else if spec.is_confined() {
        Cgroup::create(&spec.name, &spec.limits)
    } else {
        None
    };
    let mut watch = Watch::new(&spec, cgroup.as_ref())?;
    process_tree::prepare(&spec, identity)?;
    let (progress, theirs) = match container {
        Some(connection) => (connection, None),
        None => UnixStream::pair()
            .map(|(ours, theirs)| (ours, Some(theirs)))
            .context("make a socket")?,
    };
    let channel = ControlChannel::of(control, &progress)?;
    let mut tree = match theirs {
        Some(theirs) => Tree::start(&spec, theirs)?,
        None => Tree::join(&spec, &progress)?,
    };
    // A container is in its control group from the start.
    let admitted = |cgroup: &Cgroup| spec.backend.is_container() || cgroup.admit(tree.first()).is_ok();
    let counted = cgroup.as_ref().is_some_and(admitted);
    if !counted {
        watch.count_itself();
    }
    let inodes = container::inodes(&spec)?;
    let orders = Orders {
        inodes,
        spec,
        identity,
        counted,
    };
    tell(&progress, &orders)?;

    let mut started = Instant::now();
    let ready = await_sandbox(&channel)?;
    let outcome = match ready.and_then(|()| watch.begin(tree.first()).map_err(did_not_start)) {
        Ok(()) => {
            started = Instant::now();
            // Fails only if init is dead, which is a separate event.
            let _ = write_frame(&progress, &SupervisorMessage::Go);
            attend(
                &channel,
                &progress,
                started.checked_add(orders.spec.limits.wall),
                &mut watch,
            )?
        }
        Err(outcome) => outcome,
    };
    // This must be read before the processes are killed.
    let living = watch.time_of_the_living();
    if let Some(cgroup) = &cgroup {
        if orders.spec.backend.is_container() {
            cgroup.remember();
        } else {
            cgroup.end();
        }
    }
    let is_clean = orders.spec.backend.is_container() && is_clean(&outcome, &channel)?;
    if !is_clean {
        tree.end()?;
    }
    let outcome = watch.correct(outcome);
    let in_container = cgroup.as_ref().and_then(Cgroup::remembered_time);
    Ok(ExitReport {
        container: match outcome {
            Outcome::Exited(_) | Outcome::Signalled(_) | Outcome::DidNotStart(_) if is_clean => ContainerState::Clean,
            _ => ContainerState::Spent,
        },
        outcome,
        cpu: in_container.unwrap_or_else(|| limits::cpu_time_of_children().max(living)),
        peak_memory: watch.peak_memory(),
        wall: started.elapsed(),
        counted: cgroup
            .filter(|_| orders.counted)
            .map_or(Counted::Nothing, |group| group.counted()),
        lent: matches!(orders.identity, Identity::Lent(_)),
    })
}

/// Sends the orders to every process that reads them.
fn tell(progress: &UnixStream, orders: &Orders) -> anyhow::Result<()> {
    write_frame(progress, orders).context("tell init what to run")?;
    if orders.spec.backend == Backend::Bubblewrap {
        // Sends them again for init, which follows the launcher. If the launcher failed, it reports why.
        let _ = write_frame(progress, orders);
    }
    Ok(())
}

/// Creates what the run needs on disk besides its workspace.
fn arrange(spec: &mut Spec) -> anyhow::Result<Option<Scratch>> {
    let (is_copied, is_landlock) = (overlay::needs_copy(spec), spec.backend == Backend::Landlock);
    if !is_copied && !is_landlock {
        return Ok(None);
    }
    let scratch = Scratch::make(&spec.name).context("make a directory for the run")?;
    if is_copied {
        overlay::copy(spec, &scratch)?;
    }
    if is_landlock {
        landlock::arrange(spec, &scratch)?;
    }
    Ok(Some(scratch))
}

/// Waits until init of a container has removed all traces of a command that ended without being killed. Later
/// messages are for the supervisor of the next command.
fn is_clean(outcome: &Outcome, channel: &ControlChannel<'_>) -> anyhow::Result<bool> {
    let ended_by_itself = matches!(
        outcome,
        Outcome::Exited(_) | Outcome::Signalled(_) | Outcome::DidNotStart(_)
    );
    Ok(ended_by_itself && matches!(channel.next(CLEANING)?, Event::Init(Progress::Clean)))
}

/// Waits until init has built the sandbox.
fn await_sandbox(channel: &ControlChannel<'_>) -> anyhow::Result<Result<(), Outcome>> {
    Ok(match channel.next(SET_UP)? {
        Event::Init(Progress::Ready) => Ok(()),
        Event::Init(Progress::CouldNotStart(reason)) => Err(Outcome::DidNotStart(reason)),
        Event::Abandoned | Event::Interrupted => Err(Outcome::Cancelled),
        Event::Init(_) | Event::InitIsGone => Err(Outcome::DidNotStart("init died while it built the sandbox".into())),
        Event::Silence => Err(Outcome::DidNotStart(format!(
            "the sandbox was not ready within {} s",
            SET_UP.as_secs()
        ))),
    })
}

/// Waits until the command ends or a limit is reached. Without a deadline, it is too far ahead to be represented.
fn attend(
    channel: &ControlChannel<'_>,
    progress: &UnixStream,
    deadline: Option<Instant>,
    watch: &mut Watch<'_>,
) -> anyhow::Result<Outcome> {
    loop {
        let left = deadline.map_or(Duration::MAX, |deadline| {
            deadline.saturating_duration_since(Instant::now())
        });
        match channel.next(left.min(watch.interval()))? {
            Event::Init(Progress::Exited(code)) => return Ok(Outcome::Exited(code)),
            Event::Init(Progress::Signalled(signal)) => return Ok(Outcome::Signalled(signal)),
            Event::Init(Progress::CouldNotStart(reason)) => return Ok(Outcome::DidNotStart(reason)),
            // Only a compromised init would send this now.
            Event::Init(Progress::Ready | Progress::Clean) | Event::InitIsGone => {
                return Ok(Outcome::Signalled(libc::SIGKILL));
            }
            Event::Abandoned => return Ok(Outcome::Cancelled),
            // Fails only if init is dead, which is a separate event.
            Event::Interrupted => drop(write_frame(progress, &SupervisorMessage::Interrupt)),
            Event::Silence if deadline.is_some_and(|deadline| Instant::now() >= deadline) => {
                return Ok(Outcome::TimedOut);
            }
            Event::Silence => {
                if let Some(outcome) = watch.check() {
                    return Ok(outcome);
                }
            }
        }
    }
}

fn did_not_start(reason: anyhow::Error) -> Outcome {
    Outcome::DidNotStart(format!("{reason:#}"))
}
