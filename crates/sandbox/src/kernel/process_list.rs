//! The processes of one run, from the supervisor's `/proc`: those of a namespace, or its own descendants.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

use rustix::fs::{CWD, Dir, Mode, OFlags, openat};

use crate::kernel::subreaper;

/// Where to find the processes of a run.
pub(crate) struct ProcessList {
    /// An open `/proc`.
    pub(crate) processes: OwnedFd,
    /// Whether it lists only the processes of this run.
    pub(crate) is_namespace: bool,
}

impl ProcessList {
    /// The processes in the namespace of this process.
    pub(crate) fn of_namespace(process: u32) -> rustix::io::Result<Self> {
        Ok(Self {
            processes: open(&format!("/proc/{process}/root/proc"))?,
            is_namespace: true,
        })
    }

    /// The descendants of the calling process.
    pub(crate) fn of_descendants() -> rustix::io::Result<Self> {
        Ok(Self {
            processes: open("/proc")?,
            is_namespace: false,
        })
    }

    /// The ids of the current processes.
    pub(crate) fn numbers(&self) -> Vec<String> {
        if !self.is_namespace {
            let descendants = subreaper::descendants();
            return descendants
                .iter()
                .map(|process| process.as_raw_pid().to_string())
                .collect();
        }
        let list = Dir::read_from(&self.processes).into_iter().flatten().flatten();
        list.filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned))
            .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
            .collect()
    }

    /// A file below this `/proc`, at most one megabyte of it.
    pub(crate) fn read(&self, path: &str) -> Option<String> {
        let file = openat(&self.processes, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let mut content = String::new();
        File::from(file).take(1 << 20).read_to_string(&mut content).ok()?;
        Some(content)
    }
}

fn open(path: &str) -> rustix::io::Result<OwnedFd> {
    openat(
        CWD,
        path,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
}
