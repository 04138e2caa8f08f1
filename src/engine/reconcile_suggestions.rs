//! Reconciles greenlight's suggestions after the head moved or the pull request was closed. The state of each is
//! decided by content, recorded in the run it belongs to, and shown by hiding suggestions that can no longer be used.
//!
//! Nothing is deleted here. Comments that GitHub does not let greenlight hide stay as they are.

use std::collections::BTreeMap;

use super::{App, Broken, Context, announce};
use crate::domain::anchor::{Fingerprint, Suggestion, SuggestionState, state_after};
use crate::domain::id::{CommitSha, InstallationId, PullRequestId, RunId};
use crate::domain::reply::{self, Source};
use crate::domain::run::{End, Run, Settled, Step};
use crate::github::{Classifier, Error, SuggestionComment};
use crate::journal;

/// How often a run may advance in its own lane while the states of its suggestions are appended.
const MAX_ATTEMPTS: usize = 5;

/// How many files, and how many bytes, are read after one push. Suggestions beyond that stay open until the next
/// push.
const MAX_FILES_READ: usize = 200;
const MAX_BYTES_READ: usize = 256 << 20;

/// Reconciles every open suggestion of greenlight. Calling it twice changes nothing the second time.
///
/// # Errors
/// When something broke.
pub(super) async fn reconcile(
    app: &App,
    installation: Option<InstallationId>,
    id: &PullRequestId,
) -> Result<(), Broken> {
    if is_silent(app, installation, id).await? {
        return Ok(());
    }
    let context = Context::of(app, installation, id).await?;
    let comments = context.client.suggestions(context.id(), &context.me).await?;
    if comments.is_empty() {
        return Ok(());
    }
    let runs = app.journal.runs_of(context.id()).await?;
    let mut files = FetchedFiles {
        context: &context,
        read: BTreeMap::new(),
    };
    let mut states: BTreeMap<usize, Vec<Settled>> = BTreeMap::new();
    for comment in &comments {
        let known = runs.iter().rev().find_map(|run| run.settled.get(&comment.id)).copied();
        if comment.says.is_settled || known.is_some_and(SuggestionState::is_final) {
            continue;
        }
        if files.is_full() {
            tracing::warn!(pull_request = %id, "too many files with suggestions for one push");
            break;
        }
        let Some(state) = files.state_of(comment).await? else {
            continue;
        };
        let owner = runs.iter().rposition(|run| owns(run, comment));
        show(&context, comment, state, owner.map(|at| &runs[at])).await?;
        if let Some(owner) = owner.filter(|_| state != SuggestionState::Open && known != Some(state)) {
            let comment = comment.id;
            states.entry(owner).or_default().push(Settled { comment, fate: state });
        }
    }
    for (owner, suggestions) in states {
        let run = note(&context, runs[owner].id(), suggestions).await?;
        // A landed run is already announced as such.
        if run.is_some_and(|run| !matches!(run.end, None | Some(End::Landed { .. }))) {
            announce_again(&context, runs[owner].id()).await?;
        }
    }
    Ok(())
}

/// Whether greenlight never suggested anything on a pull request, as on most. One request finds out.
async fn is_silent(app: &App, installation: Option<InstallationId>, id: &PullRequestId) -> Result<bool, Broken> {
    // With runs, the pull request is looked up by the id of its repository: another one may have taken the name.
    if !app.journal.runs_of(id).await?.is_empty() {
        return Ok(false);
    }
    let me = app.github.me().await?;
    let client = app.github.client(installation, &id.repository).await?;
    Ok(matches!(client.suggestions(id, me).await, Ok(comments) if comments.is_empty()))
}

/// Whether a comment carries a suggestion of this run. If several runs match, the newest one counts.
fn owns(run: &Run, comment: &SuggestionComment) -> bool {
    comment.says.source == Source::Run && {
        run.carried.contains(&comment.id) || run.review.is_some() && run.started.head == comment.original_commit
    }
}

/// Shows the state of a suggestion on GitHub.
async fn show(
    context: &Context<'_>,
    comment: &SuggestionComment,
    state: SuggestionState,
    run: Option<&Run>,
) -> Result<(), Broken> {
    let repository = &context.id().repository;
    let classifier = match state {
        SuggestionState::Stale => return Ok(()),
        SuggestionState::Open => {
            let is_tested = run.is_some_and(|run| run.evidence.is_some());
            if let Some(body) = reply::left_behind(&comment.body, &comment.original_commit, is_tested) {
                unless_refused(context.client.edit_suggestion(repository, comment, &body).await)?;
            }
            return Ok(());
        }
        SuggestionState::Applied => Classifier::Resolved,
        SuggestionState::Overwritten | SuggestionState::Outdated => Classifier::Outdated,
    };
    unless_refused(context.client.minimize(comment, classifier).await)?;
    // Without a run there is no journal, so the comment itself records that it is done.
    if run.is_none()
        && let Some(body) = reply::settled(&comment.body)
    {
        unless_refused(context.client.edit_suggestion(repository, comment, &body).await)?;
    }
    Ok(())
}

/// Logs, but does not return, a refusal by GitHub to hide or edit something: not every token may.
fn unless_refused(result: Result<(), Error>) -> Result<(), Error> {
    match result {
        Err(error @ Error::Refused { .. }) => {
            tracing::warn!(%error, "GitHub refused to update a suggestion");
            Ok(())
        }
        result => result,
    }
}

/// Appends suggestion states to a run, which may advance meanwhile.
async fn note(context: &Context<'_>, id: &RunId, suggestions: Vec<Settled>) -> Result<Option<Run>, Broken> {
    // To a branch of the repository itself, only people with write access can push. To a fork's branch, its owner
    // can.
    let by_writers = !context.pull_request.is_from_fork();
    for _ in 0..MAX_ATTEMPTS {
        let Some(mut run) = context.app.journal.load(context.id(), id).await? else {
            return Ok(None);
        };
        let settled = Step::Settled {
            suggestions: suggestions.clone(),
            by_writers,
        };
        match context.app.append(&mut run, settled).await {
            Err(journal::Error::Taken) => {}
            result => return Ok(result.map(|()| Some(run))?),
        }
    }
    Err(journal::Error::Taken.into())
}

/// Announces the current state of a run.
async fn announce_again(context: &Context<'_>, id: &RunId) -> Result<(), Broken> {
    match context.app.journal.load(context.id(), id).await? {
        Some(run) => announce::announce(context, &run, &mut announce::Shown::default()).await,
        None => Ok(()),
    }
}

/// The files that were fetched, by commit and path.
struct FetchedFiles<'a> {
    context: &'a Context<'a>,
    read: BTreeMap<(CommitSha, String), Option<Vec<u8>>>,
}

impl FetchedFiles<'_> {
    fn is_full(&self) -> bool {
        let bytes: usize = self.read.values().flatten().map(Vec::len).sum();
        self.read.len() >= MAX_FILES_READ || bytes >= MAX_BYTES_READ
    }

    /// The state of a comment's suggestion. `None` if it cannot be decided, or the suggestion is on the current head.
    async fn state_of(&mut self, comment: &SuggestionComment) -> Result<Option<SuggestionState>, Broken> {
        let pull_request = &self.context.pull_request;
        let head = pull_request.head.clone();
        let is_open = pull_request.is_open;
        let Some(replacement) = comment.says.replacement.clone() else {
            return Ok(None);
        };
        if comment.original_commit == head {
            return Ok((!is_open).then_some(SuggestionState::Stale));
        }
        let Ok(path) = comment.path.parse() else {
            return Ok(None);
        };
        self.read(&comment.original_commit, &comment.path).await?;
        self.read(&head, &comment.path).await?;
        let at = |commit: &CommitSha| self.read.get(&(commit.clone(), comment.path.clone()));
        let (start_line, line) = comment.original_lines;
        let suggestion = Suggestion {
            path,
            start_line,
            line,
            replacement,
        };
        let state = match at(&comment.original_commit) {
            // GitHub no longer has that commit.
            Some(None) | None => return Ok(comment.lines.is_none().then_some(SuggestionState::Outdated)),
            // Somebody rewrote the comment, so it is theirs now.
            Some(Some(old)) if Fingerprint::of(&suggestion, old) != comment.says.id => return Ok(None),
            Some(Some(old)) => {
                let (old, new) = (old.clone(), at(&head).cloned().flatten());
                let computed =
                    tokio::task::spawn_blocking(move || state_after(&suggestion, &old, new.as_deref())).await;
                computed.map_err(|error| Broken::Bug(error.to_string()))?
            }
        };
        Ok(Some(match state {
            SuggestionState::Open if comment.lines.is_none() => SuggestionState::Outdated,
            SuggestionState::Open if !is_open => SuggestionState::Stale,
            state => state,
        }))
    }

    async fn read(&mut self, commit: &CommitSha, path: &str) -> Result<(), Broken> {
        let key = (commit.clone(), path.to_string());
        if self.read.contains_key(&key) {
            return Ok(());
        }
        let repository = &self.context.id().repository;
        let file = match self.context.client.file(repository, path, commit.as_str()).await {
            // Too large for GitHub or for us, so treated as deleted.
            Err(error @ (Error::Refused { .. } | Error::TooLong(_))) => {
                tracing::warn!(%error, path, "a file with a suggestion cannot be read");
                None
            }
            file => file?,
        };
        self.read.insert(key, file);
        Ok(())
    }
}
