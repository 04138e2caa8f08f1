//! The parts of this machine that are visible in a container: the mounts of a run, nested mounts, and small files
//! that only the container has.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::{BINARY, SOCKET};
use crate::kernel::mounts::{own_files, unescape};
use crate::kernel::seccomp_profile;
use crate::spec::backend::Backend;
use crate::spec::command::{Access, Mount, WORKSPACE};
use crate::wire::Spec;

/// Files that a container needs until it has started.
pub(super) struct Prepared {
    directory: tempfile::TempDir,
    pub(super) listener: UnixListener,
    pub(super) mounts: Vec<Mount>,
    /// The system call filter in the form that the engine wants.
    pub(super) seccomp: String,
}

impl Prepared {
    /// Writes the files, listens for init's connection, and collects the mounts for a container with this user.
    pub(super) fn new(spec: &Spec, helper: &Path, (uid, gid): (u32, u32)) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("greenlight-").tempdir()?;
        let socket = directory.path().join("socket");
        let listener = UnixListener::bind(&socket)?;
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o600))?;
        chown(&socket, Some(uid), Some(gid))?;
        let mut mounts = vec![read_only(&socket, SOCKET), read_only(helper, BINARY)];
        for (name, content) in own_files(uid, &spec.home) {
            let file = directory.path().join(name);
            fs::write(&file, content)?;
            fs::set_permissions(&file, fs::Permissions::from_mode(0o644))?;
            mounts.push(read_only(&file, Path::new("/etc").join(name)));
        }
        for mount in of_run(spec) {
            // If two mounts have the same target, only the later one is visible.
            mounts.retain(|other| other.target != mount.target);
            mounts.push(mount);
        }
        let table = fs::read("/proc/self/mountinfo")?;
        let below = below(&mounts, &table);
        mounts.extend(below);
        let mut seccomp = seccomp_profile::json();
        if spec.backend == Backend::Podman {
            // Docker takes the filter itself, Podman the path of a file.
            let file = directory.path().join("seccomp");
            fs::write(&file, seccomp)?;
            seccomp = file.display().to_string();
        }
        Ok(Self {
            directory,
            listener,
            mounts,
            seccomp,
        })
    }

    /// Removes the files. Existing mounts of them stay.
    pub(super) fn remove(self) -> io::Result<()> {
        drop(self.listener);
        self.directory.close()
    }
}

/// The mounts of a run, including its workspace.
pub(super) fn of_run(spec: &Spec) -> Vec<Mount> {
    let workspace = Mount {
        source: spec.workspace.clone(),
        target: WORKSPACE.into(),
        access: Access::ReadWrite,
    };
    spec.mounts.iter().cloned().chain([workspace]).collect()
}

/// The current devices, inodes and owners at the sources of a run's mounts.
///
/// # Errors
/// When one of them does not exist.
pub(super) fn inodes(spec: &Spec) -> io::Result<Vec<(u64, u64, u32)>> {
    let look = |mount: Mount| {
        let found = fs::metadata(&mount.source).map_err(|error| {
            io::Error::new(
                error.kind(),
                format!("show {} inside the sandbox: {error}", mount.source.display()),
            )
        })?;
        Ok((found.dev(), found.ino(), found.uid()))
    };
    of_run(spec).into_iter().map(look).collect()
}

/// In-memory directories that the command owns: temporary directories, its home, and parent directories of mounts in
/// its home, which root would own otherwise.
pub(super) fn in_memory(spec: &Spec) -> Vec<PathBuf> {
    let mut found = vec!["/tmp".into(), "/dev/shm".into(), spec.home.clone()];
    for mount in &spec.mounts {
        let above = mount.target.ancestors().skip(1);
        for directory in above.take_while(|path| path.starts_with(&spec.home)) {
            if !found.iter().any(|other| other == directory) {
                found.push(directory.to_owned());
            }
        }
    }
    found.sort();
    found
}

/// Mounts below the sources of read-only mounts, as separate mounts: an engine would bind them without the read-only
/// flag.
fn below(mounts: &[Mount], table: &[u8]) -> Vec<Mount> {
    let points: Vec<PathBuf> = table
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.split(|byte| *byte == b' ').nth(4))
        .map(unescape)
        .collect();
    let mut found: Vec<Mount> = Vec::new();
    for mount in mounts.iter().filter(|mount| mount.access != Access::ReadWrite) {
        for point in points.iter().filter(|point| **point != mount.source) {
            let Ok(rest) = point.strip_prefix(&mount.source) else {
                continue;
            };
            let target = mount.target.join(rest);
            if !mounts.iter().chain(&found).any(|other| other.target == target) {
                found.push(read_only(point, target));
            }
        }
    }
    found
}

fn read_only(source: impl AsRef<Path>, target: impl Into<PathBuf>) -> Mount {
    Mount {
        source: source.as_ref().to_owned(),
        target: target.into(),
        access: Access::ReadOnly,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_mounts_are_read_only() {
        let table =
            b"1 0 8:1 / / rw - ext4 x rw\n2 1 8:2 / /usr/local rw - ext4 y rw\n3 1 8:3 / /usrx rw - ext4 z rw\n";
        let found = below(&[read_only("/usr", "/usr"), read_only("/opt", "/opt")], table);
        assert_eq!(found, [read_only("/usr/local", "/usr/local")]);
    }
}
