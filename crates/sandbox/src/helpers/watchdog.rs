//! Watches limits that the kernel does not enforce: the size of the workspace on disk and, without a control group,
//! the memory of all processes together. It measures from outside, where it cannot be starved or deceived.

use std::fs;
use std::os::fd::OwnedFd;
use std::time::Duration;

use anyhow::Context;
use rustix::fs::{CWD, Mode, OFlags, fstatvfs, openat};

use crate::kernel::cgroup::Cgroup;
use crate::kernel::disk_usage::{Disk, used_bytes};
use crate::kernel::limits;
use crate::kernel::overlay::Layer;
use crate::kernel::process_list::ProcessList;
use crate::spec::backend::Backend;
use crate::spec::command::Changes;
use crate::spec::output::Outcome;
use crate::wire::Spec;

/// The time between two measurements: short at first, so that short runs are measured, then long enough to cost
/// almost nothing.
const FIRST_INTERVAL: Duration = Duration::from_millis(4);
const LAST_INTERVAL: Duration = Duration::from_millis(50);

pub(crate) struct Watch<'a> {
    cgroup: Option<&'a Cgroup>,
    memory: Option<Memory>,
    disk: Disk,
    changes: Changes,
    layer: Option<Layer>,
    backend: Backend,
    machine: Machine,
    /// The processes whose CPU time is counted at the end.
    living: Option<ProcessList>,
    memory_limit: u64,
    home: std::path::PathBuf,
    interval: Duration,
    /// The first limit that was exceeded.
    verdict: Option<Outcome>,
}

impl<'a> Watch<'a> {
    /// Prepares to watch, while the workspace can still be reached by its path.
    pub(crate) fn new(spec: &Spec, cgroup: Option<&'a Cgroup>) -> anyhow::Result<Self> {
        Ok(Self {
            cgroup,
            memory: None,
            disk: Disk::new(spec)?,
            changes: spec.changes,
            layer: None,
            backend: spec.backend,
            machine: Machine::now(),
            living: None,
            memory_limit: spec.limits.memory,
            home: spec.home.clone(),
            interval: FIRST_INTERVAL,
            verdict: None,
        })
    }

    /// Ignores the control group, which enforces nothing.
    pub(crate) fn count_itself(&mut self) {
        self.cgroup = None;
    }

    /// Starts to watch a sandbox that is ready.
    pub(crate) fn begin(&mut self, init: u32) -> anyhow::Result<()> {
        let process_list = || match self.backend {
            Backend::Landlock | Backend::None => ProcessList::of_descendants(),
            _ => ProcessList::of_namespace(init),
        };
        self.living = process_list().ok();
        if self.backend != Backend::None {
            match process_list() {
                Ok(processes) => self.disk.open_files_of(processes),
                // Only root may inspect a container.
                Err(_) if self.backend.is_container() => {}
                Err(error) => return Err(error).context("watch the files"),
            }
            self.layer = Layer::of(self.changes, init).context("watch the changes")?;
            if self.cgroup.is_none() {
                let root = format!("/proc/{init}/root");
                let home = &self.home;
                let memory = Memory::of(
                    process_list().context("watch the memory")?,
                    &root,
                    home,
                    self.memory_limit,
                );
                let mut memory = memory.context("watch the memory")?;
                // Only with this backend is the supervisor in the namespace that it inspects.
                memory.sees_segments = self.backend == Backend::Native;
                self.memory = Some(memory);
            }
        }
        Ok(())
    }

    /// The time until the next measurement.
    pub(crate) fn interval(&self) -> Duration {
        self.interval
    }

    /// Measures once, and returns the limit that is exceeded.
    pub(crate) fn check(&mut self) -> Option<Outcome> {
        self.interval = (self.interval * 2).min(LAST_INTERVAL);
        let out_of_memory = match (&mut self.memory, self.cgroup) {
            (Some(memory), _) => memory.is_exceeded(self.layer.as_ref().map_or(0, Layer::used)),
            (None, Some(cgroup)) => cgroup.ran_out_of_memory(),
            (None, None) => false,
        };
        if out_of_memory || self.machine.is_used_up(self.memory_limit) {
            self.verdict = Some(Outcome::OutOfMemory);
        } else if self.disk.is_exceeded() {
            self.verdict = Some(Outcome::DiskLimit);
        }
        self.verdict.clone()
    }

    /// The outcome of a run whose processes are all dead, corrected if it exceeded a limit at the end.
    pub(crate) fn correct(&mut self, outcome: Outcome) -> Outcome {
        let ended_by_itself = matches!(outcome, Outcome::Exited(_) | Outcome::Signalled(_));
        if !ended_by_itself {
            return outcome;
        }
        if self.cgroup.is_some_and(Cgroup::ran_out_of_memory) {
            return Outcome::OutOfMemory;
        }
        match outcome {
            Outcome::Signalled(libc::SIGXFSZ) => Outcome::DiskLimit,
            Outcome::Signalled(libc::SIGXCPU) => Outcome::TimedOut,
            _ if self.disk.is_exceeded_at_last() => Outcome::DiskLimit,
            Outcome::Exited(code) if code != 0 && self.layer.as_ref().is_some_and(Layer::is_full) => Outcome::DiskLimit,
            outcome => outcome,
        }
    }

    /// The CPU time of processes that are still alive, which nobody reports once they are killed.
    pub(crate) fn time_of_the_living(&self) -> Duration {
        let Some(process_list) = &self.living else {
            return Duration::ZERO;
        };
        let stats = process_list
            .numbers()
            .into_iter()
            .filter_map(|number| process_list.read(&format!("{number}/stat")));
        stats.map(|stat| limits::cpu_time_in(&stat)).sum()
    }

    pub(crate) fn peak_memory(&self) -> u64 {
        match (&self.memory, self.cgroup) {
            (Some(memory), _) => memory.peak,
            (None, Some(cgroup)) => cgroup.peak_memory(),
            (None, None) => 0,
        }
    }
}

/// The memory of the whole machine. Kernel memory, such as that of sockets, is attributed to no process, but is used
/// all the same.
struct Machine {
    available_at_first: u64,
}

impl Machine {
    fn now() -> Self {
        Self {
            available_at_first: available().map_or(0, |(available, _)| available),
        }
    }

    /// Whether little memory is left, and more was used up than this run may use. No matter who used it, the run
    /// cannot continue.
    fn is_used_up(&self, limit: u64) -> bool {
        available().is_some_and(|(available, all)| {
            available < all / 16 && self.available_at_first.saturating_sub(available) > limit
        })
    }
}

/// The available and the total memory in bytes.
fn available() -> Option<(u64, u64)> {
    let table = fs::read_to_string("/proc/meminfo").ok()?;
    Some((
        kilobytes(&table, "MemAvailable:")? * 1024,
        kilobytes(&table, "MemTotal:")? * 1024,
    ))
}

/// The memory used by the processes of one run.
struct Memory {
    process_list: ProcessList,
    /// Whether System V shared memory can be counted. If not, commands may not use it.
    sees_segments: bool,
    /// File systems whose content is in memory.
    file_systems: Vec<OwnedFd>,
    limit: u64,
    peak: u64,
}

impl Memory {
    fn of(process_list: ProcessList, root: &str, home: &std::path::Path, limit: u64) -> anyhow::Result<Self> {
        let places = ["/tmp".to_owned(), "/dev/shm".to_owned(), home.display().to_string()];
        // Without namespaces, they are not those of the run.
        let places = places.iter().filter(|_| process_list.is_namespace);
        let file_systems = places.map(|place| open(&format!("{root}{place}"), OFlags::PATH));
        Ok(Self {
            file_systems: file_systems.collect::<Result<_, _>>()?,
            process_list,
            sees_segments: false,
            limit,
            peak: 0,
        })
    }

    /// Whether the memory exceeds its limit, including the memory of `changes`.
    fn is_exceeded(&mut self, changes: u64) -> bool {
        let elsewhere = changes + self.in_file_systems() + self.in_segments();
        // Counts shared pages once for each process that maps them, so the result is too high, but cheap.
        let elsewhere = elsewhere + self.of_processes("status", "VmPTE:");
        let most = elsewhere + self.of_processes("status", "VmRSS:");
        let used = if most > self.limit {
            elsewhere + self.of_processes("smaps_rollup", "Pss:")
        } else {
            most
        };
        self.peak = self.peak.max(used);
        used > self.limit
    }

    fn in_file_systems(&self) -> u64 {
        self.file_systems
            .iter()
            .filter_map(|place| fstatvfs(place).ok())
            .map(|usage| used_bytes(&usage))
            .sum()
    }

    /// System V shared memory, attached or not. The second column from the right has its resident bytes.
    fn in_segments(&self) -> u64 {
        if !self.sees_segments {
            return 0;
        }
        let table = self.process_list.read("sysvipc/shm").unwrap_or_default();
        table
            .lines()
            .skip(1)
            .filter_map(|line| line.split_whitespace().nth(14)?.parse::<u64>().ok())
            .sum()
    }

    /// Adds up one value in one file of every process. For processes that hide it, adds what they cannot hide.
    fn of_processes(&self, file: &str, label: &str) -> u64 {
        let number = |process: &String, file: &str, label| {
            kilobytes(&self.process_list.read(&format!("{process}/{file}"))?, label)
        };
        let processes = self.process_list.numbers();
        let numbers = processes.iter();
        numbers
            .filter_map(|process| number(process, file, label).or_else(|| number(process, "status", "VmRSS:")))
            .sum::<u64>()
            * 1024
    }
}

fn open(path: &str, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    openat(CWD, path, flags | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

fn kilobytes(content: &str, label: &str) -> Option<u64> {
    content
        .lines()
        .find_map(|line| line.strip_prefix(label))?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}
