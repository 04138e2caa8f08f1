//! Reads, writes and removes files in a directory that untrusted code has changed. No link is followed, nothing
//! outside can be reached, nothing blocks, and every read is bounded, even if the code swaps entries meanwhile.

use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, chmod, fchmod, fchown, fstat, mkdirat, openat,
    openat2, renameat, statat, unlinkat,
};
use rustix::io::Errno;

/// Why a file of a workspace was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// There is no such file.
    #[error("there is no such file")]
    Missing,
    /// A link, pipe, device or directory, or a path that leads outside. Ordinary tools do not create these.
    #[error("it is not an ordinary file of the workspace")]
    NotOrdinary,
    /// It is larger than this many bytes.
    #[error("it has more than {0} bytes")]
    TooLarge(u64),
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The deepest directory level. Ordinary trees are not deeper; a deeper one could exhaust the code that walks it.
pub const MAX_DEPTH: usize = 100;

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

const BENEATH: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);

/// Reads a file of the workspace with at most `max_bytes`.
///
/// # Errors
/// [`FileError`]; the content is never partial.
pub fn read_result(workspace: &Path, relative: &Path, max_bytes: u64) -> Result<Vec<u8>, FileError> {
    let root = openat(CWD, workspace, DIRECTORY, Mode::empty()).map_err(io::Error::from)?;
    // Without NONBLOCK, opening a pipe would wait for its writer.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat2(&root, normal(relative)?, flags, Mode::empty(), BENEATH).map_err(refusal)?;
    let stat = fstat(&file).map_err(io::Error::from)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(FileError::NotOrdinary);
    }
    let mut content = Vec::new();
    File::from(file)
        .take(max_bytes.saturating_add(1))
        .read_to_end(&mut content)?;
    if content.len() as u64 > max_bytes {
        Err(FileError::TooLarge(max_bytes))
    } else {
        Ok(content)
    }
}

/// Writes a file of the workspace, replaces an existing one, and creates missing parent directories.
///
/// The new file belongs to the owner of the workspace, so that a later run can change it. It is a new inode: other
/// hard links to an old file keep its content.
///
/// # Errors
/// When a parent is not a directory, when a directory has the file's name, or on I/O errors.
pub fn write_file(workspace: &Path, relative: &Path, bytes: &[u8], executable: bool) -> Result<(), FileError> {
    static WRITES: AtomicU64 = AtomicU64::new(0);
    let relative = normal(relative)?;
    let name = relative.file_name().ok_or(FileError::NotOrdinary)?;
    let mut directory = openat(CWD, workspace, DIRECTORY, Mode::empty()).map_err(io::Error::from)?;
    let owner = fstat(&directory).map_err(io::Error::from)?;
    for part in relative.parent().into_iter().flat_map(Path::components) {
        directory = enter_or_make(&directory, part.as_os_str(), &owner)?;
    }
    let temporary = format!(
        ".greenlight-{}-{}",
        std::process::id(),
        WRITES.fetch_add(1, Ordering::Relaxed)
    );
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(&directory, &temporary, flags, Mode::from_raw_mode(0o600)).map_err(refusal)?;
    let written = (|| {
        give(&file, &owner)?;
        fchmod(&file, Mode::from_raw_mode(if executable { 0o755 } else { 0o644 }))?;
        File::from(file).write_all(bytes)?;
        renameat(&directory, &temporary, &directory, name)?;
        io::Result::Ok(())
    })();
    written.map_err(|error| {
        let _ = unlinkat(&directory, &temporary, AtFlags::empty());
        match Errno::from_io_error(&error) {
            Some(Errno::ISDIR | Errno::NOTDIR | Errno::NOTEMPTY | Errno::EXIST) => FileError::NotOrdinary,
            _ => FileError::Io(error),
        }
    })
}

fn enter_or_make(above: &OwnedFd, name: &OsStr, owner: &Stat) -> Result<OwnedFd, FileError> {
    match mkdirat(above, name, Mode::from_raw_mode(0o755)) {
        Ok(()) => {
            let made = openat2(above, name, DIRECTORY, Mode::empty(), BENEATH).map_err(refusal)?;
            give(&made, owner)?;
            Ok(made)
        }
        Err(Errno::EXIST) => openat2(above, name, DIRECTORY, Mode::empty(), BENEATH).map_err(refusal),
        Err(error) => Err(refusal(error)),
    }
}

/// Changes the owner of a new file to the workspace's, if that is a different user.
fn give(file: &OwnedFd, owner: &Stat) -> io::Result<()> {
    if fstat(file)?.st_uid != owner.st_uid {
        let (uid, gid) = (
            rustix::fs::Uid::from_raw(owner.st_uid),
            rustix::fs::Gid::from_raw(owner.st_gid),
        );
        fchown(file, Some(uid), Some(gid))?;
    }
    Ok(())
}

/// Accepts only names; `..` and absolute paths are refused before the kernel would refuse them.
fn normal(relative: &Path) -> Result<&Path, FileError> {
    let is_normal = relative.components().all(|part| matches!(part, Component::Normal(_)));
    if is_normal && !relative.as_os_str().is_empty() {
        Ok(relative)
    } else {
        Err(FileError::NotOrdinary)
    }
}

/// The error for an entry of an unexpected kind.
fn refusal(error: Errno) -> FileError {
    match error {
        Errno::NOENT => FileError::Missing,
        Errno::LOOP | Errno::NOTDIR | Errno::ISDIR | Errno::XDEV | Errno::NXIO | Errno::NODEV | Errno::NAMETOOLONG => {
            FileError::NotOrdinary
        }
        error => FileError::Io(error.into()),
    }
}

/// Called with a directory, a name in it, and its metadata.
pub type Visitor<'a> = dyn FnMut(&OwnedFd, &CStr, &Stat) -> io::Result<()> + 'a;

/// Calls the visitor for everything below a directory, parents first.
///
/// # Errors
/// An error of the visitor, directories that nest too deeply, or I/O errors. Entries that vanish meanwhile, or that
/// this user may not enter, are skipped.
pub fn visit(root: &OwnedFd, visitor: &mut Visitor<'_>) -> io::Result<()> {
    visit_below(root, visitor, 0)
}

fn visit_below(directory: &OwnedFd, visitor: &mut Visitor<'_>, depth: usize) -> io::Result<()> {
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if is_dots(name) {
            continue;
        }
        let stat = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => continue,
            stat => stat?,
        };
        visitor(directory, name, &stat)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            if depth >= MAX_DEPTH {
                return Err(io::Error::other("directories nest too deeply"));
            }
            match openat(directory, name, DIRECTORY, Mode::empty()) {
                Ok(below) => visit_below(&below, visitor, depth + 1)?,
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(())
}

/// Removes a directory and everything below it, no matter how deep it is and what its permissions are.
///
/// # Errors
/// On I/O errors. A missing directory is not an error.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let root = match openat(CWD, path, DIRECTORY, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ACCESS) => {
            unlock(&openat(CWD, path, OFlags::PATH | DIRECTORY, Mode::empty())?)?;
            openat(CWD, path, DIRECTORY, Mode::empty())?
        }
        root => root?,
    };
    let top = root.try_clone()?;
    let mut removal = Removal { root, moved: false };
    loop {
        removal.empty(&top, 0)?;
        // Directories that nest too deeply are moved to the top, where the next round finds them. Each round removes
        // a hundred levels.
        if !std::mem::take(&mut removal.moved) {
            return std::fs::remove_dir(path);
        }
    }
}

struct Removal {
    root: OwnedFd,
    /// Whether a directory was moved to the top.
    moved: bool,
}

impl Removal {
    fn empty(&mut self, directory: &OwnedFd, depth: usize) -> io::Result<()> {
        for entry in Dir::read_from(directory)? {
            let entry = entry?;
            let name = entry.file_name();
            if is_dots(name) {
                continue;
            }
            match unlinkat(directory, name, AtFlags::empty()) {
                Err(Errno::ISDIR | Errno::PERM) => self.remove_directory(directory, name, depth)?,
                Err(Errno::NOENT) => {}
                Err(Errno::ACCESS) => {
                    unlock(directory)?;
                    match unlinkat(directory, name, AtFlags::empty()) {
                        Err(Errno::ISDIR | Errno::PERM) => self.remove_directory(directory, name, depth)?,
                        removed => removed?,
                    }
                }
                removed => removed?,
            }
        }
        Ok(())
    }

    fn remove_directory(&mut self, above: &OwnedFd, name: &CStr, depth: usize) -> io::Result<()> {
        if depth >= MAX_DEPTH {
            self.moved = true;
            return Ok(renameat(
                above,
                name,
                &self.root,
                format!(".greenlight-{}", ulid::Ulid::new()),
            )?);
        }
        let directory = match openat(above, name, DIRECTORY, Mode::empty()) {
            Err(Errno::ACCESS) => {
                unlock(&openat(above, name, OFlags::PATH | DIRECTORY, Mode::empty())?)?;
                openat(above, name, DIRECTORY, Mode::empty())?
            }
            directory => directory?,
        };
        self.empty(&directory, depth + 1)?;
        match unlinkat(above, name, AtFlags::REMOVEDIR) {
            Err(Errno::ACCESS) => {
                unlock(above)?;
                Ok(unlinkat(above, name, AtFlags::REMOVEDIR)?)
            }
            removed => Ok(removed?),
        }
    }
}

/// Gives the owner all permissions of a directory, which may be open only as a path.
fn unlock(directory: impl AsFd) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let path = format!("/proc/self/fd/{}", directory.as_fd().as_raw_fd());
    Ok(chmod(path, Mode::from_raw_mode(0o700))?)
}

fn is_dots(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}
