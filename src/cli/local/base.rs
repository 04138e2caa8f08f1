//! What a local checkout is compared with, to tell its own failures from older ones: the commit it is at.
//!
//! The changes that are not committed yet are a person's own; what fails without them, too, was broken before. The
//! person at the terminal wants that mended nonetheless, so it is said and worked on. A checkout without changes, one
//! outside of git and one whose changes cannot be told are compared with nothing: where it would have been branched
//! off is a guess, and laying out another tree takes time.

use std::path::PathBuf;

use tokio_util::sync::CancellationToken;

use crate::engine::Broken;
use crate::engine::desk::Desk;
use crate::engine::work::Base;
use crate::git::LocalRepository;
use crate::suite::Suite;

/// Lays out the commit that the checkout is at, if there is something to compare.
///
/// # Errors
/// When the sandbox cannot be used.
pub(super) async fn lay_out(
    (desk, suite): (&Desk, &Suite),
    within: PathBuf,
    installs: bool,
    cancel: &CancellationToken,
) -> Result<Option<Base>, Broken> {
    let (root, into) = (desk.checkout.root().to_owned(), within.join("base"));
    let exported = tokio::task::spawn_blocking(move || {
        let repository = LocalRepository::open(&root).ok()?;
        let inside = root
            .strip_prefix(repository.work_tree()?.canonicalize().ok()?)
            .ok()?
            .to_owned();
        let commit = repository.resolve("HEAD").ok()?;
        let patch = repository.working_patch(&commit).ok()?;
        if patch.is_empty() {
            return None;
        }
        repository.export(&commit, &into).ok()?;
        Some((commit, into.join(inside)))
    });
    let Ok(Some((commit, root))) = exported.await else {
        return Ok(None);
    };
    let Ok(base) = Desk::local(
        &root,
        desk.config.clone(),
        desk.workspaces.clone(),
        desk.installed.clone(),
    ) else {
        return Ok(None);
    };
    let mut suite = suite.clone();
    if installs {
        let mut granted = base.install_settings(Vec::new());
        granted.registries = true;
        if base.install(&mut suite, &granted, cancel).await?.is_err() {
            return Ok(None);
        }
    }
    Ok(Some(Base {
        commit,
        desk: base,
        suite,
    }))
}
