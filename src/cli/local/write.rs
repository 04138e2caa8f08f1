//! Writes an approved fix to the user's working tree: all of it or nothing, and only over the files it was tested on.

use std::fs;
use std::path::Path;

use super::super::terminal;
use crate::checkout::{self, Checkout};
use crate::domain::id::RepoPath;
use crate::domain::patch::{Blob, FileMode};
use crate::domain::run::Approved;
use crate::{files, git};

/// Why nothing was written.
pub(super) enum NotWritten {
    /// The checkout is not the one that was tested.
    Refused(String),
    Broken(String),
}

impl From<checkout::Error> for NotWritten {
    fn from(error: checkout::Error) -> Self {
        Self::Broken(error.to_string())
    }
}

/// Writes what was approved if every file is still as it was tested. If one cannot be written, none is.
///
/// # Errors
/// When a file has changed meanwhile, or cannot be written.
pub(super) fn write(root: &Path, approved: &Approved<'_>) -> Result<(), NotWritten> {
    let patch = &approved.proposal().patch;
    let now = Checkout::open(root)?;
    let now = now.with_tracked(&git::tracked(root));
    for (path, change) in patch.files() {
        if now.read_original(path) != change.before {
            return Err(NotWritten::Refused(format!(
                "{path} changed meanwhile, so nothing was written; run the same command again"
            )));
        }
        // A file that git ignores is not part of the tested tree, and may exist nowhere else.
        if change.before.is_none() && fs::symlink_metadata(root.join(path.as_str())).is_ok() {
            return Err(NotWritten::Refused(format!(
                "the change would replace {path}, which exists but is ignored by git; nothing was written"
            )));
        }
    }
    let mut written: Vec<(&RepoPath, Option<&Blob>)> = Vec::new();
    for (path, change) in patch.files() {
        if let Err(error) = put(root, path, change.after.as_ref()) {
            for (path, before) in written.into_iter().rev() {
                if let Err(error) = put(root, path, before) {
                    terminal::tell(&format!("{path} could not be restored: {error}"));
                }
            }
            return Err(NotWritten::Refused(format!(
                "{path} cannot be written: {error}; nothing was written. Make it writable for you, and run the same \
                 command again"
            )));
        }
        written.push((path, change.before.as_ref()));
    }
    Ok(())
}

fn put(root: &Path, path: &RepoPath, content: Option<&Blob>) -> Result<(), String> {
    let file = root.join(path.as_str());
    let Some(blob) = content else {
        return fs::remove_file(&file).map_err(|error| error.to_string());
    };
    let is_executable = blob.mode == FileMode::Executable;
    let old = fs::symlink_metadata(&file).ok();
    files::write_file(root, Path::new(path.as_str()), &blob.bytes, is_executable).map_err(|error| error.to_string())?;
    // Git records only the executable bit; the other permissions are the user's.
    match old {
        Some(old) if old.is_file() && is_executable == executable(&old) => {
            fs::set_permissions(&file, old.permissions()).map_err(|error| error.to_string())
        }
        _ => Ok(()),
    }
}

fn executable(file: &fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&file.permissions()) & 0o111 != 0
}
