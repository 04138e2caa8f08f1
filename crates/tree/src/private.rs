//! Files and folders that are greenlight's own: the journal, mirrors, bundles, memories and locks quote code that may be
//! private, so nobody else on the machine may open them, no matter what the umask is.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

/// The permissions of a folder, which anyone who may pass through it needs.
pub const FOLDER: u32 = 0o700;

/// The permissions of a file.
pub const FILE: u32 = 0o600;

/// Makes a folder and those above it that are missing. One that is there keeps its permissions.
///
/// # Errors
/// When it cannot be made, or something else has its name.
pub fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(path)
}

/// Options for writing to a file that is made where it is missing, and otherwise keeps what is in it.
pub fn file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(FILE);
    options
}
