//! Takes back a directory that a command could write to, so that others can be shown it and nobody can write to it.

use std::io;
use std::path::Path;

use greenlight_tree::files;
use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, Uid, chmodat, chownat, fchown, openat};

/// Makes greenlight the owner of a directory and everything below it, readable for everyone who is shown it. Links
/// are not followed; sockets and pipes stay as they are and are useless.
///
/// # Errors
/// On I/O errors, and when directories nest too deeply.
pub fn take_back(directory: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = openat(CWD, directory, flags, Mode::empty())?;
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    let own = (Uid::from_raw(uid.as_raw()), Gid::from_raw(gid.as_raw()));
    fchown(&root, Some(own.0), Some(own.1))?;
    files::visit(&root, &mut |above, name, stat| {
        if stat.st_uid != uid.as_raw() {
            chownat(above, name, Some(own.0), Some(own.1), AtFlags::SYMLINK_NOFOLLOW)?;
        }
        let readable = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => 0o755,
            FileType::RegularFile if stat.st_mode & 0o100 != 0 => 0o755,
            FileType::RegularFile => 0o644,
            _ => return Ok(()),
        };
        // No other process is using the directory, so the name still refers to the inspected entry.
        if stat.st_mode & 0o7777 != readable {
            chmodat(above, name, Mode::from_raw_mode(readable), AtFlags::empty())?;
        }
        Ok(())
    })
}
