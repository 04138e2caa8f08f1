//! The tree of a pull request: fetched from GitHub, laid out, with what is known of it.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::super::{Broken, Context, drive};
use super::originals::originals;
use super::{COPIES, Desk, FETCH, INSTALLED, TREES};
use crate::checkout::Checkout;
use crate::config::repository::RepoConfig;
use crate::domain::anchor;
use crate::domain::budget::{self, Scope, Used};
use crate::domain::id::{CommitSha, PullRequestId, RepoPath};
use crate::domain::memory::Memory;
use crate::domain::run::{Reading, Run};
use crate::git::{Mirror, Remote};
use crate::github::ChangedFile;
use crate::suite::Hints;

/// The mirror of the repository, with this commit in it.
///
/// # Errors
/// When GitHub or git cannot give it.
pub(in crate::engine) async fn mirror(context: &Context<'_>, head: &CommitSha) -> Result<Mirror, Broken> {
    let (app, repository) = (context.app, &context.id().repository);
    let mirror = Mirror::open(
        &app.folder
            .join("mirrors")
            .join(repository.owner())
            .join(repository.name()),
    )?;
    if !mirror.has(head) {
        let token = app.github.clone_token(context.installation, repository).await?;
        let remote = Remote {
            url: app.github.clone_url(repository),
            token,
        };
        mirror.fetch(&remote, std::slice::from_ref(head), &FETCH).await?;
    }
    Ok(mirror)
}

/// Fetches a head and lays it out, with the lines that the pull request changed.
///
/// # Errors
/// When GitHub or git cannot give it.
pub(in crate::engine) async fn fetch(context: &Context<'_>, run: &Run, config: RepoConfig) -> Result<Desk, Broken> {
    let head = &run.started.head;
    let files = context.client.changed_files(context.id()).await?;
    let desk = lay_out(context, head, config).await?;
    Ok(Desk {
        changed: changed_lines(&files),
        originals: originals(&files, &desk.checkout),
        memory: drive::recalled(context, Some(run)).await?,
        hints: run.reading.as_ref().map(hints).unwrap_or_default(),
        ..desk
    })
}

/// Fetches a commit and lays it out.
///
/// # Errors
/// When GitHub or git cannot give it.
pub(in crate::engine) async fn lay_out(
    context: &Context<'_>,
    head: &CommitSha,
    config: RepoConfig,
) -> Result<Desk, Broken> {
    let mirror = mirror(context, head).await?;
    let objects = mirror.objects();
    let trees = context.app.folder.join(TREES);
    let (from, sha) = (mirror, head.clone());
    let laid_out = tokio::task::spawn_blocking(move || -> Result<_, Broken> {
        let disk = |error| Broken::Disk(trees.display().to_string(), error);
        std::fs::create_dir_all(&trees).map_err(disk)?;
        let folder = tempfile::Builder::new()
            .prefix("tree-")
            .tempdir_in(&trees)
            .map_err(disk)?;
        let root = folder.path().join("tree");
        let exported = from.export(&sha, &root)?;
        Ok((Checkout::exported(&root, &exported.skipped)?, folder))
    });
    let (checkout, folder) = laid_out.await.map_err(|error| Broken::Bug(error.to_string()))??;
    Ok(Desk {
        checkout,
        memory: Memory::default(),
        never: context.app.github.hosts(),
        left: budget::left(&[(Scope::Run, config.limits.allowance(), Used::default())]),
        config,
        hints: Hints::default(),
        changed: BTreeMap::new(),
        originals: BTreeMap::new(),
        workspaces: context.app.folder.join(COPIES),
        repository: Some((objects, head.clone())),
        installed: installed(&context.app.folder, context.id()),
        done: OnceLock::new(),
        _folder: Some(folder),
    })
}

/// What the reading of a failed job tells about how its tests are run. It is in the journal, so that what was approved
/// is found again.
fn hints(reading: &Reading) -> Hints {
    let places = reading.failures.iter().filter_map(|failure| failure.location.as_ref());
    Hints {
        step: reading.step.clone(),
        near: places.filter_map(|place| place.path.parse().ok()).collect(),
    }
}

/// The lines a pull request added, by file.
fn changed_lines(files: &[ChangedFile]) -> BTreeMap<RepoPath, Vec<RangeInclusive<u32>>> {
    files
        .iter()
        .filter_map(|file| Some((file.path()?, anchor::added_lines(file.patch.as_deref()?))))
        .collect()
}

/// Where the packages of one repository are kept, apart from those of any other.
fn installed(folder: &Path, pull_request: &PullRequestId) -> PathBuf {
    let repository = &pull_request.repository;
    // Beside those of local checkouts, which are no one's to name.
    let all = folder.join(INSTALLED).join("github");
    all.join(repository.owner()).join(repository.name())
}
