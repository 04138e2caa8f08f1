//! Measures the size of the workspace on disk, because no kernel interface limits it on every file system.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use anyhow::Context;
use greenlight_tree::files;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, StatVfs, fstat, fstatvfs, openat, statat};
use rustix::io::Errno;

use crate::kernel::process_list::ProcessList;
use crate::spec::command::Access;
use crate::wire::Spec;

/// How many bytes an empty file counts as, because file systems have about one inode for this many bytes.
pub(crate) const BYTES_PER_ENTRY: u64 = 4096;

/// The longest time between two counts, and the share of time that counting may take.
const COUNT_EVERY: Duration = Duration::from_secs(2);
const DUTY: u32 = 20;

/// If the whole file system has less space left than this, a run that still grows is ended, no matter what used the
/// rest.
const RESERVE: u64 = 256 << 20;

/// How much space other processes may take before it is attributed to this run.
const OTHERS: u64 = 1 << 30;

/// Counts when the file system's free space has shrunk enough, and regularly in any case.
pub(crate) struct Disk {
    workspace: OwnedFd,
    /// Other writable directories.
    others: Vec<OwnedFd>,
    /// The processes to search for open files that have no name any more.
    processes: Option<ProcessList>,
    limit: u64,
    free_at_first: u64,
    free_at_last_count: u64,
    /// How often in a row more space was missing than was found.
    unexplained: u32,
    next_count: Instant,
}

impl Disk {
    pub(crate) fn new(spec: &Spec) -> anyhow::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let workspace = openat(CWD, &spec.workspace, flags, Mode::empty()).context("open the workspace")?;
        let free = free(&workspace).context("look at the file system of the workspace")?;
        let written = spec.mounts.iter().filter(|mount| mount.access == Access::ReadWrite);
        let others = written.map(|mount| openat(CWD, &mount.source, flags, Mode::empty()));
        let others = others.collect::<Result<_, _>>().context("open what is mounted")?;
        Ok(Self {
            workspace,
            others,
            processes: None,
            limit: spec.limits.disk,
            free_at_first: free,
            free_at_last_count: free,
            unexplained: 0,
            next_count: Instant::now() + COUNT_EVERY,
        })
    }

    /// Also searches for files that these processes have open.
    pub(crate) fn open_files_of(&mut self, processes: ProcessList) {
        self.processes = Some(processes);
    }

    pub(crate) fn is_exceeded(&mut self) -> bool {
        let Ok(free) = free(&self.workspace) else { return true };
        let has_shrunk = self.free_at_last_count.saturating_sub(free) > self.limit / 16;
        (has_shrunk || Instant::now() >= self.next_count) && self.is_too_much(free)
    }

    /// The final check, when nothing writes any more. It always counts, because a short run may not change the free
    /// space of a file system where others free some at the same time.
    pub(crate) fn is_exceeded_at_last(&mut self) -> bool {
        free(&self.workspace).map_or(true, |free| self.is_too_much(free))
    }

    fn is_too_much(&mut self, free: u64) -> bool {
        if free < RESERVE && self.free_at_first.saturating_sub(free) > RESERVE {
            return true;
        }
        let begun = Instant::now();
        let size = self.count();
        let missing = self.free_at_first.saturating_sub(free);
        // Files without a name can be hidden, but still take space. Other processes take some as well, so it must be
        // a large amount, twice in a row.
        let is_unexplained = missing
            > size
                .unwrap_or(0)
                .saturating_add(self.limit.saturating_mul(2))
                .saturating_add(OTHERS);
        self.unexplained = if is_unexplained { self.unexplained + 1 } else { 0 };
        if self.unexplained >= 2 {
            return true;
        }
        self.free_at_last_count = free;
        self.next_count = Instant::now() + (begun.elapsed() * DUTY).max(COUNT_EVERY);
        size.is_none_or(|size| size > self.limit)
    }

    /// The size; `None` if it is too much to count.
    fn count(&self) -> Option<u64> {
        let (mut size, mut is_hidden) = (0u64, false);
        let limit = self.limit;
        let mut add = |directory: &OwnedFd, name: &CStr, stat: &Stat| {
            is_hidden |= is_closed(directory, name, stat);
            size = size.saturating_add(bytes(stat.st_blocks).max(BYTES_PER_ENTRY));
            if size > limit {
                Err(io::Error::other("enough"))
            } else {
                Ok(())
            }
        };
        let mut places = std::iter::once(&self.workspace).chain(&self.others);
        let counted = places.try_for_each(|place| files::visit(place, &mut add));
        counted.ok()?;
        let hidden = if is_hidden {
            // The size of its content can only be inferred from the missing free space.
            self.free_at_first.saturating_sub(free(&self.workspace).ok()?)
        } else {
            0
        };
        Some(size.saturating_add(self.nameless().unwrap_or(0)).max(hidden))
    }

    /// The size of deleted files that are still open.
    fn nameless(&self) -> io::Result<u64> {
        let Some(process_list) = &self.processes else {
            return Ok(0);
        };
        let device = fstat(&self.workspace)?.st_dev;
        let mut seen = BTreeSet::new();
        let mut size = 0u64;
        for name in process_list.numbers() {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            // The process may already be gone.
            let Ok(open) = openat(&process_list.processes, format!("{name}/fd"), flags, Mode::empty()) else {
                continue;
            };
            for file in Dir::read_from(&open)?.flatten() {
                let Ok(stat) = statat(&open, file.file_name(), AtFlags::empty()) else {
                    continue;
                };
                let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
                if is_file && stat.st_nlink == 0 && stat.st_dev == device && seen.insert(stat.st_ino) {
                    size = size.saturating_add(bytes(stat.st_blocks));
                }
            }
        }
        Ok(size)
    }
}

/// Whether this is a directory that is closed to its owner, who does the counting.
fn is_closed(directory: &OwnedFd, name: &CStr, stat: &Stat) -> bool {
    let (kind, mode) = (FileType::from_raw_mode(stat.st_mode), Mode::from_raw_mode(stat.st_mode));
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    kind == FileType::Directory
        && !mode.contains(Mode::RUSR | Mode::XUSR)
        && openat(directory, name, flags, Mode::empty()).is_err_and(|error| error == Errno::ACCESS)
}

fn bytes(blocks: i64) -> u64 {
    u64::try_from(blocks).unwrap_or(0).saturating_mul(512)
}

/// The free bytes of a file system; free inodes count as bytes, too.
fn free(place: &OwnedFd) -> io::Result<u64> {
    let StatVfs {
        f_bfree,
        f_frsize,
        f_ffree,
        ..
    } = fstatvfs(place)?;
    Ok(f_bfree
        .saturating_mul(f_frsize)
        .saturating_add(f_ffree.saturating_mul(BYTES_PER_ENTRY)))
}

/// The used bytes. Even empty files use memory.
pub(crate) fn used_bytes(usage: &StatVfs) -> u64 {
    let content = usage.f_blocks.saturating_sub(usage.f_bfree);
    let files = usage.f_files.saturating_sub(usage.f_ffree);
    content
        .saturating_mul(usage.f_frsize)
        .saturating_add(files.saturating_mul(1024))
}
