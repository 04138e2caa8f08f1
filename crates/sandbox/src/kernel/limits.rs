//! Limits that the kernel enforces for each process, and its accounting of time.

use std::time::Duration;
use std::{fs, io};

use anyhow::Context;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::spec::backend::Backend;
use crate::wire::{Identity, Orders};

/// How much a single process may allocate beyond the limit of the whole run before the kernel refuses. The watchdog
/// should act first, because a refused allocation looks like a bug in the program.
const HEADROOM: u64 = 1 << 30;

/// The niceness of the command, so that the processes that enforce its limits get CPU time first. Otherwise hundreds
/// of busy processes would leave them too little to enforce any limit, least of all the one on time.
const NICENESS: i32 = 10;

/// The unit of CPU time in `/proc`, which is the same on every architecture.
const TICKS_PER_SECOND: u64 = 100;

/// A core dump would write memory to a place that the host chooses.
pub(crate) fn forbid_core_dumps() -> io::Result<()> {
    lower(Resource::Core, 0)
}

/// Lowers the limits of this process and all its children.
pub(crate) fn apply(orders: &Orders) -> anyhow::Result<()> {
    let limits = &orders.spec.limits;
    let seconds = limits.cpu_time.as_secs() + u64::from(limits.cpu_time.subsec_nanos() > 0);
    lower(Resource::Core, 0).context("forbid core dumps")?;
    if orders.spec.is_confined() {
        rustix::process::nice(NICENESS).context("lower the priority")?;
    }
    // The softer signal comes first, because the harder one does not tell its reason.
    lower(Resource::Cpu, seconds.saturating_add(2)).context("limit processor time")?;
    lower_soft(Resource::Cpu, seconds.max(1)).context("limit processor time")?;
    lower(Resource::Fsize, limits.file_size).context("limit file sizes")?;
    lower(Resource::Nofile, limits.open_files).context("limit open files")?;
    lower(Resource::Memlock, 8 << 20).context("limit locked memory")?;
    lower(Resource::Rtprio, 0).context("forbid real-time priorities")?;
    match (orders.counted, orders.spec.is_confined()) {
        (true, _) => Ok(()),
        (false, true) => {
            // Init counts too, and without namespaces so does everything else that the user runs.
            let others = match orders.spec.backend {
                Backend::Landlock => tasks_of(orders.identity),
                _ => 1,
            };
            lower(Resource::Nproc, limits.processes.saturating_add(others)).context("limit processes")?;
            lower(Resource::Data, limits.memory.saturating_add(HEADROOM)).context("limit memory")
        }
        // Outside of a user namespace, all processes of the user count.
        (false, false) => lower(Resource::Data, limits.memory).context("limit memory"),
    }
}

/// The number of processes and threads that a user has now.
fn tasks_of(identity: Identity) -> u64 {
    let (Identity::Lent(user) | Identity::Own { uid: user, .. }) = identity;
    let number = |status: &str, label: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(label))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let statuses = processes.filter_map(|process| fs::read_to_string(process.path().join("status")).ok());
    statuses
        .filter(|status| number(status, "Uid:") == Some(user.into()))
        .filter_map(|status| number(&status, "Threads:"))
        .sum()
}

/// Sets both the soft and the hard limit, unless the hard limit is already lower.
fn lower(resource: Resource, to: u64) -> io::Result<()> {
    let value = getrlimit(resource).maximum.map_or(to, |hard| hard.min(to));
    Ok(setrlimit(
        resource,
        Rlimit {
            current: Some(value),
            maximum: Some(value),
        },
    )?)
}

/// Sets the soft limit, which must not exceed the hard one.
fn lower_soft(resource: Resource, to: u64) -> io::Result<()> {
    let maximum = getrlimit(resource).maximum;
    Ok(setrlimit(
        resource,
        Rlimit {
            current: Some(maximum.map_or(to, |hard| hard.min(to))),
            maximum,
        },
    )?)
}

/// The CPU time of all dead children and their descendants.
pub(crate) fn cpu_time_of_children() -> Duration {
    let [_, _, children @ ..] = ticks(&fs::read_to_string("/proc/self/stat").unwrap_or_default());
    time(&children)
}

/// The CPU time of a process and its dead children, from its `/proc/<number>/stat`.
pub(crate) fn cpu_time_in(stat: &str) -> Duration {
    time(&ticks(stat))
}

/// Fields 14 to 17 of the line, see proc_pid_stat(5): user and system time of the process, and of its children.
fn ticks(stat: &str) -> [u64; 4] {
    // The second field is the name of the program, which may contain anything; the third is the first one after it.
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let mut fields = after_name.split_whitespace().skip(11);
    [(); 4].map(|()| fields.next().and_then(|field| field.parse().ok()).unwrap_or(0))
}

fn time(ticks: &[u64]) -> Duration {
    Duration::from_millis(ticks.iter().sum::<u64>() * 1000 / TICKS_PER_SECOND)
}
