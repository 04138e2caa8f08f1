//! The tree of a pull request: fetched from GitHub, laid out, and annotated with the changed lines.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use secrecy::SecretString;

use super::super::retention::{self, MIRRORS};
use super::super::{Broken, Context, recall};
use super::originals::originals;
use super::{COPIES, EVERYONE, FETCH, INSTALLED, TREES, Worktree};
use crate::checkout::Checkout;
use crate::config::repository::RepoConfig;
use crate::domain::anchor;
use crate::domain::budget::{self, Scope, Used};
use crate::domain::ci_step::CiStep;
use crate::domain::id::{CommitSha, PullRequestId, RepoPath};
use crate::domain::memory::Memory;
use crate::domain::run::{JobReading, Run};
use crate::git::{self, Exported, Mirror, Remote};
use crate::github::{ChangedFile, CloneToken, PullRequest};
use crate::private;
use crate::suite::{self, Hints, Stores};

/// How many files of a pull request GitHub lists.
/// <https://docs.github.com/en/rest/pulls/pulls#list-pull-requests-files>
const MAX_LISTED: usize = 3_000;
/// Maximum size of a workflow file in bytes.
const MAX_WORKFLOW: u64 = 512 << 10;

/// The mirror of the repository, with these commits in it.
///
/// # Errors
/// When GitHub or git cannot provide them.
pub(in crate::engine) async fn mirror(context: &Context<'_>, commits: &[CommitSha]) -> Result<Mirror, Broken> {
    let (app, repository) = (context.app, &context.id().repository);
    let mirror = Mirror::open(&app.folder.join(MIRRORS).join(repository.key()))?;
    if !commits.iter().all(|commit| mirror.has(commit)) {
        fetch_into(context, &mirror, commits).await?;
        retention::bound_mirrors(&app.folder, app.retention).await;
    }
    Ok(mirror)
}

/// Fetches commits into a mirror. A token that the git host refuses is replaced once.
async fn fetch_into(context: &Context<'_>, mirror: &Mirror, commits: &[CommitSha]) -> Result<(), Broken> {
    let (github, repository) = (&context.app.github, &context.id().repository);
    let url = github.clone_url(repository);
    let remote = |token: Option<SecretString>| Remote {
        url: url.clone(),
        token,
    };
    let mut refused: Option<SecretString> = None;
    loop {
        let granted = github.clone_token(context.installation, repository, refused.as_ref());
        let token = match granted.await? {
            CloneToken::ReadOnly(token) => token,
            // A public repository needs no token, so a token that can write is not sent to the git host.
            CloneToken::Whole(token) => match mirror.fetch(&remote(None), commits, &FETCH).await {
                Err(git::Error::Refused(_) | git::Error::Unreachable { .. }) => {
                    return Ok(mirror.fetch(&remote(Some(token)), commits, &FETCH).await?);
                }
                fetched => return Ok(fetched?),
            },
        };
        match mirror.fetch(&remote(Some(token.clone())), commits, &FETCH).await {
            Err(git::Error::Refused(_)) if refused.is_none() => refused = Some(token),
            fetched => return Ok(fetched?),
        }
    }
}

/// The files of a pull request, as GitHub listed them after it was in a known state.
#[derive(Debug, Clone)]
pub(in crate::engine) struct ListedFiles {
    head: CommitSha,
    base: CommitSha,
    count: Option<u64>,
    pub(in crate::engine) files: Vec<ChangedFile>,
}

impl ListedFiles {
    /// Whether these are the files of the pull request in this later state: neither its head nor its base has moved.
    pub(in crate::engine) fn is_of(&self, now: &PullRequest) -> bool {
        self.head == now.head && self.base == now.base && self.count == now.changed_files
    }
}

/// Lists the files of the pull request.
///
/// # Errors
/// When GitHub cannot be reached.
pub(in crate::engine) async fn list(context: &Context<'_>) -> Result<Arc<ListedFiles>, Broken> {
    let PullRequest { head, base, .. } = context.pull_request.clone();
    let files = context.client.changed_files(context.id()).await?;
    let count = context.pull_request.changed_files;
    Ok(Arc::new(ListedFiles {
        head,
        base,
        count,
        files,
    }))
}

/// Fetches a head and lays it out, with the lines that the pull request changed.
///
/// # Errors
/// When GitHub or git cannot provide it.
pub(in crate::engine) async fn fetch(
    context: &Context<'_>,
    run: &Run,
    config: RepoConfig,
    ListedFiles { files, .. }: &ListedFiles,
) -> Result<Worktree, Broken> {
    let head = &run.started.head;
    let mirror = commits_of(context, run).await?;
    let worktree = lay_out(context, head, config).await?;
    let known = run.reading.as_ref().map(hints).unwrap_or_default();
    let ci = of_workflows(mirror, &run.started.base, &worktree.checkout).await?;
    Ok(Worktree {
        changed: changed_lines(files),
        touched: touched(files),
        originals: originals(files, &worktree.checkout),
        memory: recall::recalled(context, Some(run)).await?,
        hints: Hints { ci, ..known },
        ..worktree
    })
}

/// The mirror with the commits of a run.
///
/// # Errors
/// When GitHub or git cannot provide them.
pub(in crate::engine) async fn commits_of(context: &Context<'_>, run: &Run) -> Result<Mirror, Broken> {
    mirror(context, &[run.started.head.clone(), run.started.base.clone()]).await
}

/// Fetches a commit and lays it out.
///
/// # Errors
/// When GitHub or git cannot provide it.
pub(in crate::engine) async fn lay_out(
    context: &Context<'_>,
    head: &CommitSha,
    config: RepoConfig,
) -> Result<Worktree, Broken> {
    let mirror = mirror(context, std::slice::from_ref(head)).await?;
    let repository = (mirror.objects(), head.clone());
    let sha = head.clone();
    let export = move |root: &Path| Ok(Ok::<_, Infallible>(mirror.export(&sha, root)?));
    match over(context, repository, config, export).await? {
        Ok(worktree) => Ok(worktree),
        Err(never) => match never {},
    }
}

/// Creates a worktree over what `export` writes into a new folder. An error of `export` is passed on.
pub(super) async fn over<E: Send + 'static>(
    context: &Context<'_>,
    repository: (PathBuf, CommitSha),
    config: RepoConfig,
    export: impl FnOnce(&Path) -> Result<Result<Exported, E>, git::Error> + Send + 'static,
) -> Result<Result<Worktree, E>, Broken> {
    let trees = context.app.folder.join(TREES);
    let address = context.app.github.clone_url(&context.id().repository);
    let laid_out = tokio::task::spawn_blocking(move || -> Result<_, Broken> {
        let disk = |error| Broken::Disk(trees.display().to_string(), error);
        private::folder(&trees).map_err(disk)?;
        let folder = tempfile::Builder::new()
            .prefix("tree-")
            .tempdir_in(&trees)
            .map_err(disk)?;
        let root = folder.path().join("tree");
        Ok(match export(&root)? {
            Ok(exported) => {
                let checkout = Checkout::exported(&root, &exported.skipped)?;
                Ok((checkout.with_origin(address.as_str().trim_end_matches(".git")), folder))
            }
            Err(error) => Err(error),
        })
    });
    let (checkout, folder) = match laid_out.await.map_err(|error| Broken::Bug(error.to_string()))?? {
        Ok(laid_out) => laid_out,
        Err(error) => return Ok(Err(error)),
    };
    Ok(Ok(Worktree {
        checkout,
        memory: Memory::default(),
        without: Vec::new(),
        allowed: Vec::new(),
        never: context.app.github.hosts(),
        left: budget::left(&[(Scope::Run, config.limits.allowance(), Used::default())]),
        config,
        hints: Hints::default(),
        changed: BTreeMap::new(),
        touched: Vec::new(),
        originals: BTreeMap::new(),
        workspaces: context.app.folder.join(COPIES),
        repository: Some(repository),
        stores: stores(&context.app.folder, context.id()),
        done: OnceLock::new(),
        command: None,
        merge: None,
        folder: Some(Arc::new(folder)),
    }))
}

/// The steps that run tests according to the workflows of the base branch: anybody may have written the head's.
async fn of_workflows(mirror: Mirror, base: &CommitSha, checkout: &Checkout) -> Result<Vec<CiStep>, Broken> {
    let paths: Vec<RepoPath> = checkout.paths().into_iter().cloned().collect();
    let base = base.clone();
    let read = move || {
        suite::test_steps(&paths, &mut |path| {
            let blob = mirror.file(&base, &path.parse().ok()?, MAX_WORKFLOW).ok().flatten()?;
            String::from_utf8(blob.bytes).ok()
        })
    };
    tokio::task::spawn_blocking(read)
        .await
        .map_err(|error| Broken::Bug(error.to_string()))
}

/// What the reading of a failed job says about how its tests are run. The reading is in the journal, so that the
/// approved command is found again.
fn hints(reading: &JobReading) -> Hints {
    let places = reading.failures.iter().filter_map(|failure| failure.location.as_ref());
    Hints {
        step: reading.step.clone(),
        ci: Vec::new(),
        near: places.filter_map(|place| place.path.parse().ok()).collect(),
    }
}

/// Every path that a pull request touches. Empty if GitHub does not list them all.
fn touched(files: &[ChangedFile]) -> Vec<RepoPath> {
    if files.len() >= MAX_LISTED {
        return Vec::new();
    }
    let names = files
        .iter()
        .flat_map(|file| [Some(&file.filename), file.previous_filename.as_ref()]);
    names.flatten().filter_map(|name| name.parse().ok()).collect()
}

/// The lines a pull request added, by file.
pub(super) fn changed_lines(files: &[ChangedFile]) -> BTreeMap<RepoPath, Vec<RangeInclusive<u32>>> {
    files
        .iter()
        .filter_map(|file| Some((file.path()?, anchor::added_lines(file.patch.as_deref()?))))
        .collect()
}

/// The folders for packages: those of one repository are separate from all others.
fn stores(folder: &Path, pull_request: &PullRequestId) -> Stores {
    let all = folder.join(INSTALLED);
    Stores {
        // Local checkouts keep theirs in another folder, which no repository name can reach.
        repository: all.join("github").join(pull_request.repository.key()),
        everyone: all.join(EVERYONE),
    }
}
