//! Files and folders that only greenlight may open: the journal, mirrors, bundles, memories and locks quote code that
//! may be private. They get restrictive permissions, no matter what the umask is.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

/// The permissions of a folder; nobody else can list or enter it.
pub const FOLDER: u32 = 0o700;

/// The permissions of a file.
pub const FILE: u32 = 0o600;

/// Creates a folder and its missing parents. An existing folder keeps its permissions.
///
/// # Errors
/// When it cannot be created, or something else has its name.
pub fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(path)
}

/// Writes a file so that readers see either what was there before or all of this. Its folder must exist.
///
/// # Errors
/// When the folder or the file cannot be written.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    // The temporary file has the permissions of a private one.
    let mut place = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    place.write_all(bytes)?;
    place.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Options that open a file for writing, create it if it is missing, and keep its contents.
pub fn file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(FILE);
    options
}
