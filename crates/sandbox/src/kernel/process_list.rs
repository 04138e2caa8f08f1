//! The processes of one run, as `/proc` shows them to the supervisor: those of a namespace, or its own descendants.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

use rustix::fs::{CWD, Dir, Mode, OFlags, openat};

use crate::kernel::subreaper;

/// Where to look for the processes of a run.
pub(crate) struct ProcessList {
    /// A `/proc`.
    pub(crate) processes: OwnedFd,
    /// Whether it lists the processes of this run and no others.
    pub(crate) is_namespace: bool,
}

impl ProcessList {
    /// The processes in the namespace of this one.
    pub(crate) fn of_namespace(process: u32) -> rustix::io::Result<Self> {
        Ok(Self {
            processes: open(&format!("/proc/{process}/root/proc"))?,
            is_namespace: true,
        })
    }

    /// The descendants of the process that asks.
    pub(crate) fn of_descendants() -> rustix::io::Result<Self> {
        Ok(Self {
            processes: open("/proc")?,
            is_namespace: false,
        })
    }

    /// The numbers of the processes that there are now.
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

    /// A file below this `/proc`, up to a megabyte of it.
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
