//! One mount: a part of the host's tree, or an in-memory directory, at the path where the command sees it.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Context;
use rustix::fs::{CWD, FileType, StatVfsMountFlags, fstat, statvfs};
use rustix::mount::{MountFlags, MoveMountFlags, OpenTreeFlags, mount, mount_remount, move_mount, open_tree};

use crate::spec::command::{Access, Mount};
use crate::wire::{Identity, Orders};

/// A part of the host's tree, kept open while the root is changed.
pub(crate) struct MountPiece {
    pub(crate) tree: OwnedFd,
    pub(crate) target: PathBuf,
    pub(crate) access: Access,
}

impl MountPiece {
    pub(crate) fn of(mount: &Mount) -> anyhow::Result<Self> {
        let recursive = OpenTreeFlags::AT_RECURSIVE;
        let tree = open_tree(
            CWD,
            &mount.source,
            OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | recursive,
        )
        .with_context(|| format!("show {} inside the sandbox", mount.source.display()))?;
        Ok(Self {
            tree,
            target: mount.target.clone(),
            access: mount.access,
        })
    }

    pub(crate) fn attach(self, orders: &Orders) -> anyhow::Result<()> {
        let at = || format!("mount {}", self.target.display());
        let is_directory = FileType::from_raw_mode(fstat(&self.tree).with_context(at)?.st_mode) == FileType::Directory;
        if is_directory {
            make_directories(&self.target, orders).with_context(at)?;
        } else {
            make_directories(self.target.parent().unwrap_or(Path::new("/")), orders).with_context(at)?;
            fs::File::options()
                .create(true)
                .append(true)
                .open(&self.target)
                .with_context(at)?;
        }
        move_mount(
            &self.tree,
            "",
            CWD,
            &self.target,
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
        )
        .with_context(at)?;
        if self.target.starts_with("/dev") {
            return restrict(
                &self.target,
                MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NOEXEC,
            );
        }
        // Immediately, so that creating the targets of inner mounts cannot change the host.
        restrict(&self.target, flags_for(self.access))
    }
}

/// Creates a directory and its missing parents; below the home directory, the command owns them.
pub(crate) fn make_directories(path: &Path, orders: &Orders) -> anyhow::Result<()> {
    let missing: Vec<&Path> = path.ancestors().take_while(|path| !path.exists()).collect();
    for directory in missing.into_iter().rev() {
        fs::create_dir(directory)?;
        if directory.starts_with(&orders.spec.home) {
            give(directory, orders)?;
        }
    }
    Ok(())
}

/// Makes the command's user the owner of a file. In a user namespace it already is.
pub(crate) fn give(path: &Path, orders: &Orders) -> io::Result<()> {
    match orders.identity {
        Identity::Lent(uid) => chown(path, Some(uid), Some(uid)),
        Identity::Own { .. } => Ok(()),
    }
}

pub(crate) fn mount_tmpfs(target: impl AsRef<Path>, flags: MountFlags, options: &str) -> anyhow::Result<()> {
    let options = CString::new(options)?;
    Ok(mount(
        "tmpfs",
        target.as_ref(),
        "tmpfs",
        flags | MountFlags::NOSUID | MountFlags::NODEV,
        options.as_c_str(),
    )?)
}

pub(crate) fn flags_for(access: Access) -> MountFlags {
    let always = MountFlags::NOSUID | MountFlags::NODEV;
    match access {
        Access::ReadOnly | Access::ReadOnlyButPipes => always | MountFlags::RDONLY,
        Access::ReadWrite => always,
    }
}

/// Adds restrictions to one mount. Existing ones are kept, because the kernel does not let a user namespace remove
/// any.
pub(crate) fn restrict(path: &Path, flags: MountFlags) -> anyhow::Result<()> {
    let at = || format!("restrict {}", path.display());
    let present = statvfs(path).with_context(at)?.f_flag;
    let kept = [
        (StatVfsMountFlags::RDONLY, MountFlags::RDONLY),
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
    ];
    let kept = kept
        .into_iter()
        .filter(|(flag, _)| present.contains(*flag))
        .map(|(_, flag)| flag);
    mount_remount(path, kept.fold(flags | MountFlags::BIND, |all, flag| all | flag), "").with_context(at)
}
