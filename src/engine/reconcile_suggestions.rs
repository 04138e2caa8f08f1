//! What became of greenlight's suggestions once the head moved or the pull request was closed: told by content, written
//! down on the run they belong to, and shown by hiding what nobody can use any more.
//!
//! Nothing is deleted here. What GitHub does not let greenlight hide stays as it is.

use std::collections::BTreeMap;

use super::{App, Broken, Context, announce};
use crate::domain::anchor::{Fingerprint, Suggestion, SuggestionState, state_after};
use crate::domain::id::{CommitSha, InstallationId, PullRequestId, RunId};
use crate::domain::reply::{self, Source};
use crate::domain::run::{End, Run, Settled, Step};
use crate::github::{Classifier, Error, SuggestionComment};
use crate::journal;

/// How often a run may continue in its own lane while its suggestions are written down.
const MAX_ATTEMPTS: usize = 5;

/// How many files one push has looked at, and how many bytes of them: what is beyond stays open until the next.
const MAX_FILES_READ: usize = 200;
const MAX_BYTES_READ: usize = 256 << 20;

/// Settles every suggestion of greenlight's own that is still open. Done twice, the second time changes nothing.
///
/// # Errors
/// When something broke.
pub(super) async fn reconcile(
    app: &App,
    installation: Option<InstallationId>,
    id: &PullRequestId,
) -> Result<(), Broken> {
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
    let mut fates: BTreeMap<usize, Vec<Settled>> = BTreeMap::new();
    for comment in &comments {
        let known = runs.iter().rev().find_map(|run| run.settled.get(&comment.id)).copied();
        if comment.says.is_settled || known.is_some_and(SuggestionState::is_final) {
            continue;
        }
        if files.are_enough() {
            tracing::warn!(pull_request = %id, "more files with suggestions than are looked at after one push");
            break;
        }
        let Some(state) = files.state_of(comment).await? else {
            continue;
        };
        let owner = runs.iter().rposition(|run| owns(run, comment));
        show(&context, comment, state, owner.map(|at| &runs[at])).await?;
        if let Some(owner) = owner.filter(|_| state != SuggestionState::Open && known != Some(state)) {
            let comment = comment.id;
            fates.entry(owner).or_default().push(Settled { comment, fate: state });
        }
    }
    for (owner, suggestions) in fates {
        let run = note(&context, runs[owner].id(), suggestions).await?;
        // What landed says so, and that says it all.
        if run.is_some_and(|run| !matches!(run.end, None | Some(End::Landed { .. }))) {
            announce_again(&context, runs[owner].id()).await?;
        }
    }
    Ok(())
}

/// Whether a comment carries a suggestion of this run; of several runs the newest one counts.
fn owns(run: &Run, comment: &SuggestionComment) -> bool {
    comment.says.source == Source::Run && {
        run.carried.contains(&comment.id) || run.review.is_some() && run.started.head == comment.original_commit
    }
}

/// Shows on GitHub what became of a suggestion.
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
                taken(context.client.edit_suggestion(repository, comment, &body).await)?;
            }
            return Ok(());
        }
        SuggestionState::Applied => Classifier::Resolved,
        SuggestionState::Overwritten | SuggestionState::Outdated => Classifier::Outdated,
    };
    taken(context.client.minimize(comment, classifier).await)?;
    // Without a run there is no journal: then the comment itself says that it is done.
    if run.is_none()
        && let Some(body) = reply::settled(&comment.body)
    {
        taken(context.client.edit_suggestion(repository, comment, &body).await)?;
    }
    Ok(())
}

/// A refusal of GitHub's to hide or edit something is no reason to stop: not every token may.
fn taken(result: Result<(), Error>) -> Result<(), Error> {
    match result {
        Err(error @ Error::Refused { .. }) => {
            tracing::warn!(%error, "GitHub did not take what became of a suggestion");
            Ok(())
        }
        result => result,
    }
}

/// Writes fates down on a run, which may continue meanwhile.
async fn note(context: &Context<'_>, id: &RunId, suggestions: Vec<Settled>) -> Result<Option<Run>, Broken> {
    // Only write access lets anybody push to a branch of the repository itself. To a fork's, its owner can.
    let by_writers = !context.pull_request.is_from_fork();
    for _ in 0..MAX_ATTEMPTS {
        let Some(mut run) = context.app.journal.load(context.id(), id).await? else {
            return Ok(None);
        };
        let settled = Step::Settled {
            suggestions: suggestions.clone(),
            by_writers,
        };
        match context.app.journal.append(&mut run, settled).await {
            Err(journal::Error::Taken) => {}
            result => return Ok(result.map(|()| Some(run))?),
        }
    }
    Err(journal::Error::Taken.into())
}

/// Brings what is said of a run up to date.
async fn announce_again(context: &Context<'_>, id: &RunId) -> Result<(), Broken> {
    match context.app.journal.load(context.id(), id).await? {
        Some(run) => announce::announce(context, &run).await,
        None => Ok(()),
    }
}

/// The files that were looked at, by commit and path.
struct FetchedFiles<'a> {
    context: &'a Context<'a>,
    read: BTreeMap<(CommitSha, String), Option<Vec<u8>>>,
}

impl FetchedFiles<'_> {
    fn are_enough(&self) -> bool {
        let bytes: usize = self.read.values().flatten().map(Vec::len).sum();
        self.read.len() >= MAX_FILES_READ || bytes >= MAX_BYTES_READ
    }

    /// What became of the suggestion of a comment. `None` if that cannot be told, or it is on the head.
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
        let told = match at(&comment.original_commit) {
            // GitHub forgot that commit.
            Some(None) | None => return Ok(comment.lines.is_none().then_some(SuggestionState::Outdated)),
            // Somebody rewrote the comment: it is theirs now.
            Some(Some(old)) if Fingerprint::of(&suggestion, old) != comment.says.id => return Ok(None),
            Some(Some(old)) => {
                let (old, new) = (old.clone(), at(&head).cloned().flatten());
                let told = tokio::task::spawn_blocking(move || state_after(&suggestion, &old, new.as_deref())).await;
                told.map_err(|error| Broken::Bug(error.to_string()))?
            }
        };
        Ok(Some(match told {
            SuggestionState::Open if comment.lines.is_none() => SuggestionState::Outdated,
            SuggestionState::Open if !is_open => SuggestionState::Stale,
            told => told,
        }))
    }

    async fn read(&mut self, commit: &CommitSha, path: &str) -> Result<(), Broken> {
        let key = (commit.clone(), path.to_string());
        if self.read.contains_key(&key) {
            return Ok(());
        }
        let repository = &self.context.id().repository;
        let file = match self.context.client.file(repository, path, commit.as_str()).await {
            // Too large for GitHub, or for us: as good as gone.
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
