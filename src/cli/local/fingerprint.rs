//! Identifies the question of a run, so that an interrupted run is resumed only for the same question about the same
//! files.

use std::os::unix::fs::MetadataExt as _;

use sha2::{Digest as _, Sha256};

use super::request::Approver;
use crate::domain::mode::Mode;
use crate::engine::worktree::Worktree;
use crate::suite::Suite;

/// A digest of every file's path, size and modification time, of the request, and of greenlight's version.
pub(super) fn of(
    worktree: &Worktree,
    suite: &Suite,
    (mode, approver, installs): (&Mode, Approver, bool),
    model: Option<&str>,
) -> String {
    let mut hash = Sha256::new();
    let question = serde_json::json!([
        env!("CARGO_PKG_VERSION"),
        mode,
        worktree.config.to_string(),
        worktree.without,
        worktree.allowed,
        suite.command.to_string(),
        approver == Approver::Nobody,
        installs,
        model,
    ]);
    hash.update(question.to_string());
    for path in worktree.checkout.paths() {
        hash.update(path.as_str());
        // A file that has been deleted changes the digest as well.
        if let Ok(meta) = std::fs::symlink_metadata(worktree.checkout.root().join(path.as_str())) {
            let numbers = [
                meta.size().cast_signed(),
                meta.mtime(),
                meta.mtime_nsec(),
                meta.mode().into(),
            ];
            numbers.iter().for_each(|number| hash.update(number.to_le_bytes()));
        }
        hash.update([0]);
    }
    hex::encode(hash.finalize())
}
