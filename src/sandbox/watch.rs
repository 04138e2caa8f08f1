//! The watchdog over what the kernel does not bound by itself: the workspace on disk, and, without a control group, the
//! memory of all processes together. It looks from outside, where it cannot be starved or lied to.

use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::time::Duration;

use anyhow::Context;
use rustix::fs::{CWD, Dir, Mode, OFlags, StatVfs, fstatvfs, openat};

use super::cgroup::Cgroup;
use super::disk::Disk;
use super::output::Outcome;
use super::wire::Spec;

/// Between two looks: short at first, so that short runs are measured, then at a pace that costs nothing.
const FIRST_INTERVAL: Duration = Duration::from_millis(4);
const LAST_INTERVAL: Duration = Duration::from_millis(50);

pub(super) struct Watch<'a> {
    cgroup: Option<&'a Cgroup>,
    memory: Option<Memory>,
    disk: Disk,
    confined: bool,
    in_container: bool,
    memory_limit: u64,
    home: std::path::PathBuf,
    interval: Duration,
    /// The first limit that was seen broken.
    verdict: Option<Outcome>,
}

impl<'a> Watch<'a> {
    /// Prepares to watch, while the workspace can still be reached under its own name.
    pub(super) fn new(spec: &Spec, cgroup: Option<&'a Cgroup>) -> anyhow::Result<Self> {
        Ok(Self {
            cgroup,
            memory: None,
            disk: Disk::new(spec)?,
            confined: spec.is_confined(),
            in_container: spec.backend.is_container(),
            memory_limit: spec.limits.memory,
            home: spec.home.clone(),
            interval: FIRST_INTERVAL,
            verdict: None,
        })
    }

    /// Starts to watch a sandbox that is ready.
    pub(super) fn begin(&mut self, init: u32) -> anyhow::Result<()> {
        if self.confined {
            let root = format!("/proc/{init}/root");
            match open(&format!("{root}/proc"), OFlags::RDONLY) {
                Ok(processes) => self.disk.open_files_of(processes),
                // Only root may look into a container.
                Err(_) if self.in_container => {}
                Err(error) => return Err(error).context("watch the files"),
            }
            if self.cgroup.is_none() {
                self.memory = Some(Memory::of(&root, &self.home, self.memory_limit).context("watch the memory")?);
            }
        }
        Ok(())
    }

    /// How long to wait until the next look.
    pub(super) fn interval(&self) -> Duration {
        self.interval
    }

    /// Looks once, and says which limit is broken.
    pub(super) fn check(&mut self) -> Option<Outcome> {
        self.interval = (self.interval * 2).min(LAST_INTERVAL);
        let out_of_memory = match (&mut self.memory, self.cgroup) {
            (Some(memory), _) => memory.is_exceeded(),
            (None, Some(cgroup)) => cgroup.ran_out_of_memory(),
            (None, None) => false,
        };
        if out_of_memory {
            self.verdict = Some(Outcome::OutOfMemory);
        } else if self.disk.is_exceeded() {
            self.verdict = Some(Outcome::DiskLimit);
        }
        self.verdict.clone()
    }

    /// The outcome of a run whose processes are all dead, with the limits in mind that it may have broken at its end.
    pub(super) fn correct(&mut self, outcome: Outcome) -> Outcome {
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
            _ if self.disk.is_exceeded() => Outcome::DiskLimit,
            outcome => outcome,
        }
    }

    pub(super) fn peak_memory(&self) -> u64 {
        match (&self.memory, self.cgroup) {
            (Some(memory), _) => memory.peak,
            (None, Some(cgroup)) => cgroup.peak_memory(),
            (None, None) => 0,
        }
    }
}

/// The memory of the processes of one process namespace.
struct Memory {
    /// The `/proc` of the sandbox, which lists its processes and no others.
    processes: OwnedFd,
    /// File systems whose content is memory.
    file_systems: Vec<OwnedFd>,
    limit: u64,
    peak: u64,
}

impl Memory {
    fn of(root: &str, home: &std::path::Path, limit: u64) -> anyhow::Result<Self> {
        let places = ["/tmp".to_owned(), "/dev/shm".to_owned(), home.display().to_string()];
        let file_systems = places.map(|place| open(&format!("{root}{place}"), OFlags::PATH));
        Ok(Self {
            processes: open(&format!("{root}/proc"), OFlags::RDONLY)?,
            file_systems: file_systems.into_iter().collect::<Result<_, _>>()?,
            limit,
            peak: 0,
        })
    }

    fn is_exceeded(&mut self) -> bool {
        let elsewhere = self.in_file_systems() + self.in_segments();
        // Counts shared pages once for each process that has them, so it is too high, but cheap.
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

    /// System V shared memory, whether attached or not; the last but one column holds its resident bytes.
    fn in_segments(&self) -> u64 {
        let table = self.read("sysvipc/shm").unwrap_or_default();
        table
            .lines()
            .skip(1)
            .filter_map(|line| line.split_whitespace().nth(14)?.parse::<u64>().ok())
            .sum()
    }

    /// Adds one number of one file of every process.
    fn of_processes(&self, file: &str, label: &str) -> u64 {
        let Ok(list) = Dir::read_from(&self.processes) else {
            return 0;
        };
        list.flatten()
            .filter(|entry| entry.file_name().to_bytes().iter().all(u8::is_ascii_digit))
            .filter_map(|entry| self.read(&format!("{}/{file}", entry.file_name().to_str().ok()?)))
            .filter_map(|content| kilobytes(&content, label))
            .sum::<u64>()
            * 1024
    }

    fn read(&self, path: &str) -> Option<String> {
        let file = openat(&self.processes, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let mut content = String::new();
        fs::File::from(file).take(1 << 20).read_to_string(&mut content).ok()?;
        Some(content)
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

fn used_bytes(usage: &StatVfs) -> u64 {
    usage
        .f_blocks
        .saturating_sub(usage.f_bfree)
        .saturating_mul(usage.f_frsize)
}
