//! A workspace whose changes are discarded: an in-memory overlay in greenlight's own namespaces, and a copy on disk
//! everywhere else. The workspace itself is never written to.

use std::ffi::{CStr, CString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use greenlight_tree::files::MAX_DEPTH;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Gid, MemfdFlags, Mode, OFlags, Stat, Timespec, Timestamps, Uid, XattrFlags, fchmod,
    fchown, fsetxattr, fstat, fstatvfs, futimens, memfd_create, mkdirat, openat, readlinkat, statat, symlinkat,
};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::kernel::disk_usage::{BYTES_PER_ENTRY, used_bytes};
use crate::kernel::mount_piece::{self, MountPiece};
use crate::kernel::scratch::Scratch;
use crate::spec::backend::Backend;
use crate::spec::command::{Access, Changes, WORKSPACE};
use crate::wire::{Identity, Orders, Spec};

/// Where the layers are mounted; the directory is gone when the command starts.
const LAYERS: &str = "/.layers";

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Whether the workspace must be copied for its changes to be discarded.
pub(crate) fn needs_copy(spec: &Spec) -> bool {
    let in_place = spec.backend == Backend::Native
        && fs::read_to_string("/proc/filesystems").is_ok_and(|list| list.contains("\toverlay\n"))
        && (Identity::is_lent_for(spec) || memory_has_attributes());
    matches!(spec.changes, Changes::Discarded { .. }) && !in_place
}

/// Whether tmpfs supports user extended attributes, as it does since Linux 6.6. An unprivileged overlay uses them to
/// record that a directory was replaced.
fn memory_has_attributes() -> bool {
    let file = memfd_create("greenlight", MemfdFlags::CLOEXEC);
    file.is_ok_and(|file| fsetxattr(&file, "user.greenlight", b"", XattrFlags::empty()).is_ok())
}

/// Mounts the workspace with an in-memory layer over it, in a root directory under construction.
pub(crate) fn attach(workspace: MountPiece, bytes: u64, orders: &Orders) -> anyhow::Result<()> {
    let layers = Path::new(LAYERS);
    let inodes = (bytes / BYTES_PER_ENTRY).clamp(256, 1 << 20);
    let options = format!("size={},nr_inodes={inodes},mode=700", bytes.max(1));
    fs::create_dir(layers).context("make an overlay")?;
    mount_piece::mount_tmpfs(layers, MountFlags::empty(), &options).context("mount the layer for changes")?;
    for name in ["lower", "upper", "work"] {
        fs::create_dir(layers.join(name)).context("make an overlay")?;
    }
    let lower = layers.join("lower");
    let piece = MountPiece {
        target: lower.clone(),
        access: Access::ReadOnly,
        ..workspace
    };
    piece.attach(orders)?;
    // The root of an overlay has the attributes of its upper layer.
    let original = fs::metadata(&lower).context("look at the workspace")?;
    let upper = layers.join("upper");
    fs::set_permissions(&upper, fs::Permissions::from_mode(original.mode() & 0o777)).context("make an overlay")?;
    if let Identity::Lent(_) = orders.identity {
        chown(&upper, Some(original.uid()), Some(original.gid())).context("make an overlay")?;
    }
    let attributes = match orders.identity {
        Identity::Lent(_) => "",
        Identity::Own { .. } => ",userxattr",
    };
    let options = format!("lowerdir={LAYERS}/lower,upperdir={LAYERS}/upper,workdir={LAYERS}/work{attributes}");
    fs::create_dir(WORKSPACE).context("make an overlay")?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount(
        "overlay",
        WORKSPACE,
        "overlay",
        flags,
        CString::new(options)?.as_c_str(),
    )
    .context("mount the overlay")?;
    // The overlay keeps its layers open, and nobody else needs to see them.
    unmount(&lower, UnmountFlags::DETACH).context("hide the layers")?;
    unmount(layers, UnmountFlags::DETACH).context("hide the layers")?;
    fs::remove_dir(layers).context("hide the layers")
}

/// The layer for changes, from the supervisor's side.
pub(crate) struct Layer {
    root: OwnedFd,
    bytes: u64,
}

impl Layer {
    /// The layer over the workspace of a sandbox that is ready, if there is one.
    pub(crate) fn of(spec_changes: Changes, init: u32) -> rustix::io::Result<Option<Self>> {
        let Changes::Discarded { bytes } = spec_changes else {
            return Ok(None);
        };
        let root = openat(CWD, format!("/proc/{init}/root{WORKSPACE}"), DIRECTORY, Mode::empty())?;
        Ok(Some(Self { root, bytes }))
    }

    /// How much memory the changes use.
    pub(crate) fn used(&self) -> u64 {
        fstatvfs(&self.root).map_or(0, |usage| used_bytes(&usage))
    }

    /// Whether the command probably could not write everything it wanted to.
    pub(crate) fn is_full(&self) -> bool {
        fstatvfs(&self.root).is_ok_and(|usage| {
            let free = usage.f_bfree.saturating_mul(usage.f_frsize);
            free < (self.bytes / 64).clamp(1, 64 << 10) || usage.f_ffree == 0
        })
    }
}

/// Replaces the workspace of a run by a copy, which may grow by the amount that the run may write.
///
/// # Errors
/// When the workspace already exceeds its limit, nests too deeply, or cannot be read.
pub(crate) fn copy(spec: &mut Spec, scratch: &Scratch) -> anyhow::Result<()> {
    let Changes::Discarded { bytes } = spec.changes else {
        return Ok(());
    };
    let to = scratch
        .directory("workspace")
        .context("make a directory for the copy")?;
    let mut copy = Copy { left: spec.limits.disk };
    let from = openat(CWD, &spec.workspace, DIRECTORY, Mode::empty()).context("open the workspace")?;
    let root = openat(CWD, &to, DIRECTORY, Mode::empty()).context("open the copy of the workspace")?;
    copy.directory(&from, &root, Path::new("."), 0)?;
    let size = spec.limits.disk - copy.left;
    spec.limits.disk = spec.limits.disk.min(size.saturating_add(bytes));
    spec.workspace = to;
    spec.changes = Changes::Kept;
    Ok(())
}

struct Copy {
    /// How many more bytes may be copied.
    left: u64,
}

impl Copy {
    fn directory(&mut self, from: &OwnedFd, to: &OwnedFd, path: &Path, depth: usize) -> anyhow::Result<()> {
        ensure!(depth < MAX_DEPTH, "the directories of the workspace nest too deeply");
        for entry in Dir::read_from(from)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let path = path.join(name.to_string_lossy().as_ref());
            self.entry(from, to, name, (&path, depth))
                .with_context(|| format!("copy {} of the workspace", path.display()))?;
        }
        finish(to, &fstat(from)?)?;
        Ok(())
    }

    fn entry(&mut self, from: &OwnedFd, to: &OwnedFd, name: &CStr, place: (&PathBuf, usize)) -> anyhow::Result<()> {
        self.take(BYTES_PER_ENTRY)?;
        let stat = statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let private = Mode::RWXU;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                mkdirat(to, name, private)?;
                let inner = openat(from, name, DIRECTORY, Mode::empty())?;
                let outer = openat(to, name, DIRECTORY, Mode::empty())?;
                self.directory(&inner, &outer, place.0, place.1 + 1)
            }
            FileType::Symlink => Ok(symlinkat(readlinkat(from, name, Vec::new())?, to, name)?),
            FileType::RegularFile => {
                // It may have been replaced by a pipe, which must not block.
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                let source = openat(from, name, flags, Mode::empty())?;
                let stat = fstat(&source)?;
                ensure!(
                    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile,
                    "it was replaced meanwhile"
                );
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let mut target = File::from(openat(to, name, flags, private)?);
                let mut source = File::from(source).take(self.left.saturating_add(1));
                let written = io::copy(&mut source, &mut target)?;
                self.take(written)?;
                Ok(finish(&OwnedFd::from(target), &stat)?)
            }
            // A checkout contains no pipes, sockets or devices.
            _ => Ok(()),
        }
    }

    fn take(&mut self, bytes: u64) -> anyhow::Result<()> {
        let left = self.left.checked_sub(bytes);
        self.left = left.context("the workspace has more bytes than its limit allows")?;
        Ok(())
    }
}

/// Gives a copy the owner, permissions and times of its original. Build tools rely on the times.
fn finish(copy: &OwnedFd, original: &Stat) -> rustix::io::Result<()> {
    if rustix::process::geteuid().is_root() {
        let (uid, gid) = (Uid::from_raw(original.st_uid), Gid::from_raw(original.st_gid));
        fchown(copy, Some(uid), Some(gid))?;
    }
    fchmod(copy, Mode::from_raw_mode(original.st_mode & 0o777))?;
    let time = |seconds, nanoseconds| Timespec {
        tv_sec: seconds,
        tv_nsec: nanoseconds,
    };
    #[expect(clippy::cast_possible_wrap, reason = "nanoseconds are below a billion")]
    let times = Timestamps {
        last_access: time(original.st_atime, original.st_atime_nsec as i64),
        last_modification: time(original.st_mtime, original.st_mtime_nsec as i64),
    };
    futimens(copy, &times)
}
