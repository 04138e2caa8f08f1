//! Reads a working directory whose content is untrusted: no link is followed, nothing outside it is reached, and no
//! read blocks, even if files are swapped meanwhile. What its files mean to git is not in here.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2, readlinkat};
use rustix::io::Errno;

use super::{Error, at, printable};
use crate::domain::patch::{Blob, FileMode};

const BENEATH: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS);

/// An open working directory.
pub(super) struct Disk {
    root: OwnedFd,
    path: PathBuf,
}

impl Disk {
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, path, flags, Mode::empty()).map_err(|error| at(path)(error.into()))?;
        let path = path.to_path_buf();
        Ok(Self { root, path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The kind of the file at a path. `None` if there is nothing, or if a parent is not a directory.
    pub(super) fn kind(&self, path: &[u8]) -> Result<Option<FileType>, Error> {
        let found = self.find(path)?;
        Ok(found.map(|(_, stat)| FileType::from_raw_mode(stat.st_mode)))
    }

    /// A file or link with at most this many bytes. `None` for anything that git would not store.
    pub(super) fn read(&self, path: &[u8], max: u64) -> Result<Option<Blob>, Error> {
        let Some((found, stat)) = self.find(path)? else {
            return Ok(None);
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => {
                let target = readlinkat(&found, c"", Vec::new()).map_err(|error| failed(path, error))?;
                let (mode, bytes) = (FileMode::Symlink, target.into_bytes());
                return Ok(Some(Blob { mode, bytes }));
            }
            FileType::RegularFile => {}
            _ => return Ok(None),
        }
        // Non-blocking, in case it has become a pipe meanwhile.
        let Some(file) = self.enter(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)? else {
            return Ok(None);
        };
        let stat = fstat(&file).map_err(|error| failed(path, error))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        File::from(file)
            .take(max.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(at(Path::new(&printable(path))))?;
        if bytes.len() as u64 > max {
            let what = printable(path);
            return Err(Error::TooLarge { what, limit: max });
        }
        let mode = if stat.st_mode & 0o100 == 0 {
            FileMode::Regular
        } else {
            FileMode::Executable
        };
        Ok(Some(Blob { mode, bytes }))
    }

    /// The names in a directory and their kinds, at most `max`. Empty if it is no longer a directory.
    pub(super) fn names(&self, directory: &[u8], max: u64) -> Result<Vec<(Vec<u8>, FileType)>, Error> {
        let path: &[u8] = if directory.is_empty() { b"." } else { directory };
        let Some(open) = self.enter(path, OFlags::RDONLY | OFlags::DIRECTORY)? else {
            return Ok(Vec::new());
        };
        let mut names = Vec::new();
        for entry in Dir::new(open).map_err(|error| failed(path, error))? {
            let entry = entry.map_err(|error| failed(path, error))?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            if names.len() as u64 >= max {
                let what = "the working directory".into();
                return Err(Error::TooLarge { what, limit: max });
            }
            names.push((name.to_vec(), entry.file_type()));
        }
        Ok(names)
    }

    /// The file at a path, held without opening it, because opening a device can have an effect.
    fn find(&self, path: &[u8]) -> Result<Option<(OwnedFd, Stat)>, Error> {
        let Some(found) = self.enter(path, OFlags::PATH)? else {
            return Ok(None);
        };
        let stat = fstat(&found).map_err(|error| failed(path, error))?;
        Ok(Some((found, stat)))
    }

    fn enter(&self, path: &[u8], flags: OFlags) -> Result<Option<OwnedFd>, Error> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat2(&self.root, path, flags, Mode::empty(), BENEATH) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(error) => Err(failed(path, error)),
        }
    }
}

fn failed(path: &[u8], error: Errno) -> Error {
    at(Path::new(&printable(path)))(error.into())
}
