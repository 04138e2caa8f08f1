//! A private directory on disk for one run, outside of every workspace, removed with the run.

use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::{fs, io};

use greenlight_tree::files;

use crate::kernel::cgroup;

/// World-writable directories; the first is not in memory on most machines.
const PLACES: [&str; 2] = ["/var/tmp", "/tmp"];

/// A directory that others can enter but not list; removed when dropped.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Creates one for the run with this name.
    pub(crate) fn make(run: &str) -> io::Result<Self> {
        let name = format!("{run}-{}", ulid::Ulid::new());
        let mut made = Err(io::ErrorKind::NotFound.into());
        for place in PLACES {
            let path = Path::new(place).join(&name);
            made = fs::DirBuilder::new().mode(0o711).create(&path).map(|()| Self(path));
            if made.is_ok() {
                break;
            }
        }
        made
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// A new directory in it that only its owner can access.
    pub(crate) fn directory(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.0.join(name);
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = files::remove_tree(&self.0) {
            tracing::warn!(directory = %self.0.display(), %error, "could not remove the directory of a run");
        }
    }
}

/// Removes directories of this user whose greenlight is dead.
pub(crate) fn remove_orphans() {
    let own = rustix::process::geteuid().as_raw();
    for entry in PLACES
        .into_iter()
        .filter_map(|place| fs::read_dir(place).ok())
        .flatten()
        .flatten()
    {
        let is_ours = entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == own);
        if is_ours && entry.file_name().to_str().is_some_and(cgroup::is_orphan) {
            drop(Scratch(entry.path()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_gone_with_its_run() {
        let scratch = Scratch::make(&cgroup::name(std::process::id(), 7)).unwrap();
        let inner = scratch.directory("inner").unwrap();
        fs::write(inner.join("file"), "x").unwrap();
        remove_orphans();
        assert!(inner.exists(), "its greenlight is alive");
        drop(scratch);
        assert!(!inner.exists());
    }

    #[test]
    fn what_a_killed_greenlight_left_is_removed() {
        let left = Scratch::make("greenlight-4194999-5-0").unwrap();
        let path = left.0.clone();
        std::mem::forget(left);
        remove_orphans();
        assert!(!path.exists());
    }
}
