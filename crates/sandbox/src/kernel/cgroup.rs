//! Control groups, version 1 and 2: limits on the memory and processes of a whole run, if this user may make them.
//! They are created below greenlight's own group, or as close to it as the kernel allows, so that the administrator's
//! limits still apply.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io, thread};

use crate::kernel::cgroup_hierarchy::{Homes, Version, own_directory};
use crate::spec::command::Limits;
use crate::wire::Counted;

const PREFIX: &str = "greenlight-";

/// One group (in version 1: one directory per controller), removed when dropped.
pub(crate) struct Cgroup {
    version: Version,
    /// The directories of the memory and process controllers, which are the same in version 2.
    memory: PathBuf,
    processes: PathBuf,
    /// Set for the group of a container, which its engine creates and removes, so that earlier counts may vanish.
    foreign: Option<Foreign>,
}

struct Foreign {
    /// The directory that counts CPU time.
    time: PathBuf,
    /// The CPU time of earlier commands.
    time_before: Duration,
    last: Cell<Option<Usage>>,
}

/// The usage of a group.
#[derive(Debug, Clone, Copy)]
struct Usage {
    ran_out_of_memory: bool,
    peak_memory: u64,
    time: Duration,
}

impl Cgroup {
    /// Creates a group that enforces the limits. `None` if that is impossible: in most containers, where control
    /// groups are read-only, and for ordinary users without delegation.
    pub(crate) fn create(name: &str, limits: &Limits) -> Option<Self> {
        let mut homes = Homes::all().into_iter();
        homes.find_map(|home| Self::create_in(&home, name, limits))
    }

    fn create_in(home: &Homes, name: &str, limits: &Limits) -> Option<Self> {
        let cgroup = Self {
            version: home.version,
            memory: home.memory.join(name),
            processes: home.processes.join(name),
            foreign: None,
        };
        // On failure, anything that was created is removed with it.
        cgroup.set_up(limits).ok().filter(|()| cgroup.holds(limits))?;
        Some(cgroup)
    }

    /// The group of a container that a process is in. `None` if it does not enforce the limits.
    pub(crate) fn of_container(process: u32, limits: &Limits) -> Option<Self> {
        let groups = fs::read_to_string(format!("/proc/{process}/cgroup")).ok()?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let find = |controller| own_directory(&groups, &mounts, controller);
        let unified = find(None).filter(|group| group.join("memory.max").exists());
        let (version, memory, processes, time) = match unified {
            Some(group) => (Version::Two, group.clone(), group.clone(), group),
            None => (
                Version::One,
                find(Some("memory"))?,
                find(Some("pids"))?,
                find(Some("cpuacct"))?,
            ),
        };
        let mut group = Self {
            version,
            memory,
            processes,
            foreign: None,
        };
        if !group.holds(limits) {
            return None;
        }
        // Resets the peak if possible, so that earlier commands do not count.
        let _ = fs::write(group.memory.join("memory.max_usage_in_bytes"), "0");
        let mut foreign = Foreign {
            time,
            time_before: Duration::ZERO,
            last: Cell::new(None),
        };
        foreign.time_before = foreign.time();
        group.foreign = Some(foreign);
        Some(group)
    }

    /// Records a container's usage before it can vanish with its group.
    pub(crate) fn remember(&self) {
        let Some(foreign) = &self.foreign else { return };
        let usage = Usage {
            ran_out_of_memory: self.ran_out_of_memory(),
            peak_memory: self.peak_memory(),
            time: foreign.time().saturating_sub(foreign.time_before),
        };
        foreign.last.set(Some(usage));
    }

    /// The recorded CPU time of a container.
    pub(crate) fn remembered_time(&self) -> Option<Duration> {
        self.last().map(|usage| usage.time)
    }

    fn last(&self) -> Option<Usage> {
        self.foreign.as_ref()?.last.get()
    }

    fn set_up(&self, limits: &Limits) -> io::Result<()> {
        fs::create_dir(&self.memory)?;
        // Init counts too.
        let processes = limits.processes.saturating_add(1).to_string();
        let memory = limits.memory.to_string();
        match self.version {
            Version::One => {
                fs::create_dir(&self.processes)?;
                fs::write(self.memory.join("memory.limit_in_bytes"), &memory)?;
                // The file is missing if the kernel does not count swap; then swap may be used in addition.
                let _ = fs::write(self.memory.join("memory.memsw.limit_in_bytes"), &memory);
                // Counted separately; the file is missing if the kernel does not count it.
                let _ = fs::write(self.memory.join("memory.kmem.tcp.limit_in_bytes"), &memory);
            }
            Version::Two => {
                fs::write(self.memory.join("memory.max"), &memory)?;
                let _ = fs::write(self.memory.join("memory.swap.max"), "0");
                let _ = fs::write(self.memory.join("memory.oom.group"), "1");
            }
        }
        fs::write(self.processes.join("pids.max"), processes)
    }

    /// Whether the limits are in effect: no file of a control group has to keep what is written to it. greenlight's
    /// own processes are added to them.
    fn holds(&self, limits: &Limits) -> bool {
        let memory = match self.version {
            Version::One => "memory.limit_in_bytes",
            Version::Two => "memory.max",
        };
        let is_within = |file: PathBuf, limit: u64| {
            let value = fs::read_to_string(file).unwrap_or_default();
            value.trim().parse::<u64>().is_ok_and(|value| value <= limit)
        };
        is_within(self.memory.join(memory), limits.memory)
            && is_within(self.processes.join("pids.max"), limits.processes.saturating_add(2))
    }

    /// Moves a process into the group; its children will be created there.
    ///
    /// # Errors
    /// When the kernel refuses, as it does for an ordinary user whose own group was not delegated.
    pub(crate) fn admit(&self, process: u32) -> io::Result<()> {
        let process = process.to_string();
        for group in [&self.memory, &self.processes] {
            let list = group.join("cgroup.procs");
            fs::write(&list, &process)?;
            if !fs::read_to_string(list)?.lines().any(|line| line == process) {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
        }
        Ok(())
    }

    /// Ends all processes of the group if the kernel can do that at once; otherwise keeps their number from growing.
    pub(crate) fn end(&self) {
        let killed = match self.version {
            Version::One => Err(io::ErrorKind::Unsupported.into()),
            Version::Two => fs::File::options()
                .write(true)
                .open(self.memory.join("cgroup.kill"))
                .and_then(|mut file| io::Write::write_all(&mut file, b"1")),
        };
        if killed.is_err() {
            let _ = fs::write(self.processes.join("pids.max"), "0");
        }
    }

    /// What the group counts. Version 1 counts the memory of TCP sockets at best.
    pub(crate) fn counted(&self) -> Counted {
        match self.version {
            Version::One => Counted::NotAllSockets,
            Version::Two => Counted::Everything,
        }
    }

    /// Whether the kernel killed a process of the group because memory ran out.
    pub(crate) fn ran_out_of_memory(&self) -> bool {
        if let Some(usage) = self.last() {
            return usage.ran_out_of_memory;
        }
        let file = match self.version {
            Version::One => "memory.oom_control",
            Version::Two => "memory.events",
        };
        let counters = fs::read_to_string(self.memory.join(file)).unwrap_or_default();
        counters
            .lines()
            .any(|line| line.strip_prefix("oom_kill ").is_some_and(|count| count.trim() != "0"))
    }

    /// The peak memory of the group in bytes, if the kernel records it.
    pub(crate) fn peak_memory(&self) -> u64 {
        if let Some(usage) = self.last() {
            return usage.peak_memory;
        }
        let file = match self.version {
            Version::One => "memory.max_usage_in_bytes",
            Version::Two => "memory.peak",
        };
        fs::read_to_string(self.memory.join(file))
            .ok()
            .and_then(|bytes| bytes.trim().parse().ok())
            .unwrap_or(0)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        if self.foreign.is_none() {
            remove(&self.memory);
            remove(&self.processes);
        }
    }
}

impl Foreign {
    fn time(&self) -> Duration {
        if let Ok(nanoseconds) = fs::read_to_string(self.time.join("cpuacct.usage")) {
            return Duration::from_nanos(nanoseconds.trim().parse().unwrap_or(0));
        }
        let statistics = fs::read_to_string(self.time.join("cpu.stat")).unwrap_or_default();
        let microseconds = statistics.lines().find_map(|line| line.strip_prefix("usage_usec "));
        Duration::from_micros(microseconds.and_then(|number| number.trim().parse().ok()).unwrap_or(0))
    }
}

/// A name for a group that shows which process it was made for.
pub(crate) fn name(process: u32, run: u64) -> String {
    format!("{PREFIX}{process}-{}-{run}", start_time(process).unwrap_or(0))
}

/// When a process started, in ticks since boot; distinguishes it from a later process with the same id.
fn start_time(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Field 22, see proc_pid_stat(5). The second field may contain anything; the third is the first one after it.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// Ends and removes groups whose greenlight is dead.
pub(crate) fn remove_orphans() {
    let homes = Homes::all();
    for home in homes.iter().flat_map(|home| [&home.memory, &home.processes]) {
        for entry in fs::read_dir(home).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(is_orphan) {
                remove(&entry.path());
            }
        }
    }
}

/// Whether this is the [`name`] of a run whose greenlight is dead.
pub(crate) fn is_orphan(name: &str) -> bool {
    let mut numbers = name
        .strip_prefix(PREFIX)
        .unwrap_or_default()
        .split('-')
        .map(str::parse::<u64>);
    let (Some(Ok(process)), Some(Ok(started))) = (numbers.next(), numbers.next()) else {
        return false;
    };
    u32::try_from(process).is_ok_and(|process| start_time(process) != Some(started))
}

/// Removes a group and everything in it. The kernel allows this only shortly after its last process died.
fn remove(group: &Path) {
    for _ in 0..200 {
        match fs::remove_dir(group) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {}
            _ => return,
        }
        for process in fs::read_to_string(group.join("cgroup.procs"))
            .unwrap_or_default()
            .lines()
        {
            if let Some(process) = process.parse().ok().and_then(rustix::process::Pid::from_raw) {
                let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
            }
        }
        thread::sleep(Duration::from_millis(1));
    }
    tracing::warn!(group = %group.display(), "could not remove a control group");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A control group hierarchy made of ordinary files.
    fn home() -> (tempfile::TempDir, Homes) {
        let root = tempfile::tempdir().unwrap();
        let home = Homes {
            version: Version::Two,
            memory: root.path().to_owned(),
            processes: root.path().to_owned(),
        };
        (root, home)
    }

    #[test]
    fn limits_are_written_before_anyone_is_in_and_have_to_stick() {
        let (root, home) = home();
        let limits = Limits::default();
        let cgroup = Cgroup::create_in(&home, "greenlight-1-2-3", &limits).unwrap();
        let group = root.path().join("greenlight-1-2-3");
        let read = |name: &str| fs::read_to_string(group.join(name)).unwrap();
        assert_eq!(read("memory.max"), limits.memory.to_string());
        assert_eq!(read("pids.max"), (limits.processes + 1).to_string());
        assert_eq!(
            (read("memory.swap.max"), read("memory.oom.group")),
            ("0".into(), "1".into())
        );
        assert!(cgroup.holds(&limits));

        for value in ["max\n", "", "99999999999999"] {
            fs::write(group.join("memory.max"), value).unwrap();
            assert!(!cgroup.holds(&limits), "{value:?}");
        }
        // The kernel rounds down to whole pages.
        fs::write(group.join("memory.max"), (limits.memory - 1).to_string()).unwrap();
        assert!(cgroup.holds(&limits));
        fs::remove_dir_all(group).unwrap();
    }

    #[test]
    fn where_no_group_can_be_made_there_is_none() {
        let (root, home) = home();
        // As if it were read-only: a group with this name cannot be created.
        fs::write(root.path().join("taken"), "").unwrap();
        assert!(Cgroup::create_in(&home, "taken", &Limits::default()).is_none());
    }

    #[test]
    fn a_group_is_ended_by_the_kernel_or_kept_from_growing() {
        let (root, home) = home();
        let cgroup = Cgroup::create_in(&home, "greenlight-1-2-4", &Limits::default()).unwrap();
        let group = root.path().join("greenlight-1-2-4");
        cgroup.end();
        assert_eq!(
            fs::read_to_string(group.join("pids.max")).unwrap(),
            "0",
            "before Linux 5.14"
        );
        fs::write(group.join("pids.max"), "5").unwrap();
        fs::write(group.join("cgroup.kill"), "").unwrap();
        cgroup.end();
        assert_eq!(fs::read_to_string(group.join("cgroup.kill")).unwrap(), "1");
        assert_eq!(fs::read_to_string(group.join("pids.max")).unwrap(), "5");
        fs::remove_dir_all(group).unwrap();
    }

    #[test]
    fn a_process_that_did_not_get_in_is_noticed() {
        let (root, home) = home();
        let cgroup = Cgroup::create_in(&home, "greenlight-1-2-5", &Limits::default()).unwrap();
        let group = root.path().join("greenlight-1-2-5");
        cgroup.admit(17).unwrap();
        assert_eq!(fs::read_to_string(group.join("cgroup.procs")).unwrap(), "17");
        // A file that accepts everything and keeps nothing.
        fs::remove_file(group.join("cgroup.procs")).unwrap();
        std::os::unix::fs::symlink("/dev/null", group.join("cgroup.procs")).unwrap();
        assert!(cgroup.admit(17).is_err());
        fs::remove_dir_all(group).unwrap();
    }

    #[test]
    fn only_groups_of_dead_processes_are_orphans() {
        assert!(!is_orphan(&name(std::process::id(), 7)));
        assert!(
            is_orphan(&format!("{PREFIX}{}-1-0", std::process::id())),
            "the number was given to a new process"
        );
        assert!(is_orphan("greenlight-4194999-5-0"));
        assert!(!is_orphan("greenlight-x-5-0"));
        assert!(!is_orphan("system.slice"));
    }
}
