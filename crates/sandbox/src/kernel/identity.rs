//! Selects the user that a command runs as. Root assigns a separate user id to each workspace. Anyone else runs the
//! command as themselves, in a user namespace without privileges.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;

use anyhow::Context;
use greenlight_tree::files;
use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Uid};

use crate::spec::command::Access;
use crate::wire::{Identity, Spec};

/// User ids that neither distributions nor systemd assign
/// (<https://systemd.io/UIDS-GIDS/>: 60706 to 61183 are unused).
const IDS: std::ops::Range<u32> = 61000..61184;

impl Identity {
    /// Selects a user, and makes it the owner of everything that the command may write to.
    pub(crate) fn choose(spec: &Spec) -> anyhow::Result<Self> {
        Self::choose_by(spec, std::process::id())
    }

    /// The same, for a process that selects users for many workspaces: each number may select a different user.
    pub(crate) fn choose_by(spec: &Spec, number: u32) -> anyhow::Result<Self> {
        let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
        if Self::is_lent_for(spec) {
            return Ok(Self::Lent(assign_id(spec, number)?));
        }
        Ok(Self::Own {
            uid: uid.as_raw(),
            gid: gid.as_raw(),
        })
    }

    /// Whether [`Identity::choose`] will assign a separate id.
    pub(crate) fn is_lent_for(spec: &Spec) -> bool {
        rustix::process::geteuid().is_root() && spec.is_confined() && may_assign_ids()
    }
}

/// Whether root here may use these ids. In a container without them, root is effectively an ordinary user.
fn may_assign_ids() -> bool {
    let Ok(map) = fs::read_to_string("/proc/self/uid_map") else {
        return false;
    };
    map.lines().any(|line| {
        let numbers: Vec<u64> = line
            .split_whitespace()
            .filter_map(|number| number.parse().ok())
            .collect();
        matches!(numbers[..], [first, _, count] if first <= IDS.start.into() && first + count >= IDS.end.into())
    })
}

/// Assigns one of the ids to the workspace, and to everything else that may be written to. A workspace keeps its id.
fn assign_id(spec: &Spec, number: u32) -> anyhow::Result<u32> {
    let root = open(&spec.workspace).context("open the workspace")?;
    let owner = rustix::fs::fstat(&root).context("look at the workspace")?.st_uid;
    let lent = if IDS.contains(&owner) {
        owner
    } else {
        IDS.start + number % (IDS.end - IDS.start)
    };
    give(&root, lent).context("give the workspace to its user")?;
    for mount in spec.mounts.iter().filter(|mount| mount.access == Access::ReadWrite) {
        let at = || format!("give {} to the user of the workspace", mount.source.display());
        give(&open(&mount.source).with_context(at)?, lent).with_context(at)?;
    }
    Ok(lent)
}

fn open(directory: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(directory, flags, Mode::empty())
}

/// Makes a user the owner of a directory and everything in it.
fn give(root: &OwnedFd, lent: u32) -> std::io::Result<()> {
    let (uid, gid) = (Uid::from_raw(lent), Gid::from_raw(lent));
    rustix::fs::fchown(root, Some(uid), Some(gid))?;
    files::visit(root, &mut |directory, name, stat| {
        // A file with several hard links may be shared with something outside of the workspace.
        let is_shared = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_nlink > 1;
        if stat.st_uid != lent && (!is_shared || IDS.contains(&stat.st_uid)) {
            rustix::fs::chownat(directory, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?;
        }
        Ok(())
    })
}
