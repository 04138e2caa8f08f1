//! Trees as plain values: patches between them, and the parts of a review of such a patch.

use std::collections::BTreeSet;

use github_double::{Files, ShownFile};
use greenlight::domain::anchor::{DiffFile, Fingerprint, Suggestion, parse_hunks};
use greenlight::domain::patch::{Blob, FileChange, FileMode, Patch};
use greenlight::domain::reply::{self, Source};
use serde_json::{Value, json};

fn blob(files: &Files, path: &str) -> Option<Blob> {
    let (mode, bytes) = files.get(path)?;
    let mode = match mode {
        0o100_755 => FileMode::Executable,
        0o120_000 => FileMode::Symlink,
        _ => FileMode::Regular,
    };
    let bytes = bytes.clone();
    Some(Blob { mode, bytes })
}

/// The patch from one tree to another.
pub(super) fn patch_between(from: &Files, to: &Files) -> Patch {
    let paths: BTreeSet<&String> = from.keys().chain(to.keys()).collect();
    let changes = paths.into_iter().map(|path| {
        let (before, after) = (blob(from, path), blob(to, path));
        (path.parse().unwrap(), FileChange { before, after })
    });
    Patch::new(changes)
}

/// Applies a patch that must match this tree exactly.
pub(super) fn patched(mut tree: Files, patch: &Patch) -> Result<Files, String> {
    for (path, change) in patch.files() {
        if blob(&tree, path.as_str()) != change.before {
            return Err(format!("{path} is not what the remainder is on"));
        }
        tree.remove(path.as_str());
        if let Some(after) = &change.after {
            let mode = u32::from_str_radix(after.mode.octal(), 8).unwrap();
            tree.insert(path.to_string(), (mode, after.bytes.clone()));
        }
    }
    Ok(tree)
}

/// The diff as parsed from the API's list of files. A file that becomes a link is listed twice.
pub(super) fn diff_files(shown: &[ShownFile]) -> Result<Vec<DiffFile>, String> {
    let read = |file: &ShownFile| {
        let hunks = file.patch.as_deref().map_or(Ok(Vec::new()), parse_hunks);
        Ok(DiffFile {
            path: file.filename.parse().unwrap(),
            hunks: hunks.map_err(|error| format!("{error}:\n{:?}", file.patch))?,
        })
    };
    shown.iter().map(read).collect()
}

/// The comment with a suggestion, as it is sent to the API.
pub(super) fn comment(suggestion: &Suggestion, of: usize) -> Value {
    let body = reply::suggestion(
        &suggestion.block(),
        &Fingerprint::of(suggestion, &[]),
        &Source::Run,
        (of, false),
    );
    let mut comment =
        json!({ "path": suggestion.path.as_str(), "side": "RIGHT", "line": suggestion.line, "body": body });
    if suggestion.start_line < suggestion.line {
        comment["start_line"] = suggestion.start_line.into();
        comment["start_side"] = "RIGHT".into();
    }
    comment
}
