//! Compares the files of `greenlight init` with those of the checkout, and writes them: all or none, and over a
//! different file only if that was asked for.

use std::path::Path;

use super::super::Exit;
use crate::domain::id::RepoPath;
use crate::domain::patch::{Blob, FileChange, Patch};
use crate::files::{self, FileError};

/// Nothing that greenlight would replace is larger.
const MAX_BYTES: u64 = 1 << 20;

/// What happens to files that exist with other content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Different {
    Refuse,
    Replace,
    Keep,
}

/// A file that is missing, or has other content than wanted.
pub(super) struct Wanted {
    path: RepoPath,
    before: Option<Vec<u8>>,
    after: String,
    /// What is lost that the file says now, as words after its name.
    replaces: Option<&'static str>,
}

/// What a file becomes.
pub(super) enum Content {
    /// This, no matter what it was.
    Whole(String),
    /// This, if there is no such file. One that exists stays as it is.
    IfMissing(String),
    /// What it was, with an addition.
    Added(fn(Option<&[u8]>) -> Result<Addition, Exit>),
}

/// The new text of a file that keeps what it had, apart from an entry that the addition needs, if that is different.
pub(super) struct Addition {
    pub(super) text: String,
    /// What is lost, as words after the name of the file.
    pub(super) replaces: Option<&'static str>,
}

/// The files that have to be written; those that are as wanted are left out.
///
/// # Errors
/// When a file cannot be read, or nothing can be added to it, or when it is a link, or is below one: nothing outside of
/// the checkout is ever written.
pub(super) fn changes(root: &Path, wanted: Vec<(String, Content)>) -> Result<Vec<Wanted>, Exit> {
    let mut changes = Vec::new();
    for (path, content) in wanted {
        let before = match files::read_result(root, Path::new(&path), MAX_BYTES) {
            Ok(before) => Some(before),
            Err(FileError::Missing) => None,
            Err(error) => return Err(unusable(&path, &error)),
        };
        let Addition { text: after, replaces } = match content {
            Content::Whole(text) => Addition {
                text,
                replaces: before.is_some().then_some("exists already, with other content"),
            },
            Content::IfMissing(_) if before.is_some() => continue,
            Content::IfMissing(text) => Addition { text, replaces: None },
            Content::Added(added) => added(before.as_deref())?,
        };
        if before.as_deref() != Some(after.as_bytes()) {
            let path = path.parse().map_err(|_| Exit::Fault(format!("{path} is not a path")))?;
            changes.push(Wanted {
                path,
                before,
                after,
                replaces,
            });
        }
    }
    Ok(changes)
}

/// Without the files that exist with other content, if that is kept; an error if it is neither kept nor replaced. A file
/// that loses nothing is changed in any case.
///
/// # Errors
/// Which files differ, and what to do.
pub(super) fn allowed(mut changes: Vec<Wanted>, different: Different) -> Result<Vec<Wanted>, Exit> {
    let losses = changes.iter().filter_map(|change| {
        let loss = change.replaces?;
        Some(format!("{} {loss}", change.path))
    });
    let losses: Vec<String> = losses.collect();
    match different {
        Different::Refuse if !losses.is_empty() => {
            return Err(Exit::Usage(format!(
                "{}; nothing was written. `--force` replaces that, and `--keep` keeps it and writes only what is missing",
                losses.join("; ")
            )));
        }
        Different::Keep => changes.retain(|change| change.replaces.is_none()),
        Different::Refuse | Different::Replace => {}
    }
    Ok(changes)
}

/// The changes as a diff.
pub(super) fn diff(changes: &[Wanted]) -> String {
    let changes = changes.iter().map(|change| {
        let file = FileChange {
            before: change.before.clone().map(Blob::regular),
            after: Some(Blob::regular(change.after.clone())),
        };
        (change.path.clone(), file)
    });
    Patch::new(changes).unified()
}

/// The names of the changed files: "a, b".
pub(super) fn names(changes: &[Wanted]) -> String {
    let names: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    names.join(", ")
}

/// Writes the files.
///
/// # Errors
/// When one cannot be written.
pub(super) fn write(root: &Path, changes: &[Wanted]) -> Result<(), Exit> {
    for Wanted { path, after, .. } in changes {
        let path = path.as_str();
        files::write_file(root, Path::new(path), after.as_bytes(), false).map_err(|error| unusable(path, &error))?;
    }
    Ok(())
}

fn unusable(path: &str, error: &FileError) -> Exit {
    Exit::Usage(match error {
        FileError::NotOrdinary => format!(
            "{path} is a symbolic link or no ordinary file, or one of its folders is; greenlight writes through none of \
             them, so that nothing outside of the checkout changes. Replace it by an ordinary file or folder"
        ),
        error => format!("{path}: {error}"),
    })
}
