//! Control groups, version 1 and 2: limits on the memory and the processes of a whole tree, where this user may make them.
//! They are made below the group greenlight itself is in, or as near to it as the kernel allows, so that they stay within
//! what the administrator gave it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::command::Limits;

const PREFIX: &str = "greenlight-";

/// One group (in version 1: one directory per controller), removed when dropped.
pub(super) struct Cgroup {
    version: Version,
    /// The directories with the controllers for memory and for processes, which are the same in version 2.
    memory: PathBuf,
    processes: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Cgroup {
    /// Makes a group that holds the limits, or nothing where that is not possible.
    pub(super) fn create(name: &str, limits: &Limits) -> Option<Self> {
        let homes = Homes::find()?;
        let cgroup = Self {
            version: homes.version,
            memory: homes.memory.join(name),
            processes: homes.processes.join(name),
        };
        cgroup.set_up(limits).ok()?;
        Some(cgroup)
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
                // Absent where the kernel does not count swap; then there may be swap on top.
                let _ = fs::write(self.memory.join("memory.memsw.limit_in_bytes"), &memory);
            }
            Version::Two => {
                fs::write(self.memory.join("memory.max"), &memory)?;
                let _ = fs::write(self.memory.join("memory.swap.max"), "0");
                let _ = fs::write(self.memory.join("memory.oom.group"), "1");
            }
        }
        fs::write(self.processes.join("pids.max"), processes)
    }

    /// Moves a process into the group; its children will be born there.
    pub(super) fn admit(&self, process: u32) -> io::Result<()> {
        fs::write(self.memory.join("cgroup.procs"), process.to_string())?;
        fs::write(self.processes.join("cgroup.procs"), process.to_string())
    }

    /// Whether the kernel killed a process of the group for want of memory.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        let file = match self.version {
            Version::One => "memory.oom_control",
            Version::Two => "memory.events",
        };
        let counters = fs::read_to_string(self.memory.join(file)).unwrap_or_default();
        counters
            .lines()
            .any(|line| line.strip_prefix("oom_kill ").is_some_and(|count| count.trim() != "0"))
    }

    /// The largest number of bytes the group ever had, where the kernel remembers it.
    pub(super) fn peak_memory(&self) -> u64 {
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
        remove(&self.memory);
        remove(&self.processes);
    }
}

/// Where new groups go.
struct Homes {
    version: Version,
    memory: PathBuf,
    processes: PathBuf,
}

impl Homes {
    fn find() -> Option<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        Self::version_two(&groups, &mounts).or_else(|| Self::version_one(&groups, &mounts))
    }

    fn version_one(groups: &str, mounts: &str) -> Option<Self> {
        let memory = own_directory(groups, mounts, Some("memory"))?;
        let processes = own_directory(groups, mounts, Some("pids"))?;
        Some(Self {
            version: Version::One,
            memory,
            processes,
        })
    }

    /// A group with processes of its own cannot hand controllers to its children, so the nearest ancestor that does
    /// is the place.
    fn version_two(groups: &str, mounts: &str) -> Option<Self> {
        let own = own_directory(groups, mounts, None)?;
        let has_controllers = |directory: &Path| {
            let handed = fs::read_to_string(directory.join("cgroup.subtree_control")).unwrap_or_default();
            ["memory", "pids"]
                .iter()
                .all(|controller| handed.split_whitespace().any(|word| word == *controller))
        };
        let hands_on = |directory: &Path| {
            has_controllers(directory)
                || (fs::write(directory.join("cgroup.subtree_control"), "+memory +pids").is_ok()
                    && has_controllers(directory))
        };
        let home = own
            .ancestors()
            .take_while(|path| path.join("cgroup.procs").exists())
            .find(|path| hands_on(path))?;
        Some(Self {
            version: Version::Two,
            memory: home.to_owned(),
            processes: home.to_owned(),
        })
    }
}

/// The directory of this process's own group in the hierarchy of a controller, or in the unified one.
fn own_directory(groups: &str, mounts: &str, controller: Option<&str>) -> Option<PathBuf> {
    let group = groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let fits = match controller {
            Some(name) => controllers.split(',').any(|controller| controller == name),
            None => controllers.is_empty(),
        };
        fits.then_some(path)
    })?;
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut kind = kind.split(' ');
        let fits = match (kind.next()?, controller) {
            ("cgroup", Some(name)) => kind.nth(1)?.split(',').any(|option| option == name),
            ("cgroup2", None) => true,
            _ => return None,
        };
        let mut place = place.split(' ').skip(3);
        let (root, mount_point) = (place.next()?, place.next()?);
        let below = Path::new(group).strip_prefix(root).ok()?;
        fits.then(|| Path::new(mount_point).join(below))
    })
}

/// A name for a group that shows which process it was made for.
pub(super) fn name(process: u32, run: u64) -> String {
    format!("{PREFIX}{process}-{}-{run}", start_time(process).unwrap_or(0))
}

/// When a process started, in ticks since the machine did; tells it from a later one with the same number.
fn start_time(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Field 22, see proc_pid_stat(5); the second may hold anything, the third is the first after it.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// Ends and removes the groups whose greenlight is dead.
pub(super) fn remove_orphans() {
    let Some(homes) = Homes::find() else { return };
    for home in [&homes.memory, &homes.processes] {
        for entry in fs::read_dir(home).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(is_orphan) {
                remove(&entry.path());
            }
        }
    }
}

/// Whether this is the [`name`] of a run whose greenlight is dead.
pub(super) fn is_orphan(name: &str) -> bool {
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

/// Removes a group, with what is left in it. The kernel lets a group go only a moment after its last process.
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

    const MOUNTS: &str = "\
25 20 0:22 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
26 25 0:23 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
27 25 0:24 /docker/abc /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
28 25 0:25 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";

    #[test]
    fn the_own_group_is_found_in_every_hierarchy() {
        let groups = "4:cpu,memory:/a/b\n3:pids:/docker/abc/d\n0::/u\n";
        let find = |controller| own_directory(groups, MOUNTS, controller);
        assert_eq!(find(Some("memory")), Some("/sys/fs/cgroup/memory/a/b".into()));
        assert_eq!(find(Some("pids")), Some("/sys/fs/cgroup/pids/d".into()));
        assert_eq!(find(None), Some("/sys/fs/cgroup/unified/u".into()));
        assert_eq!(find(Some("cpuset")), None);
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
