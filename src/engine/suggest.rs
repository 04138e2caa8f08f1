//! Posts a patch on the head of a pull request: as suggestions where GitHub's own diff of that head allows, and the
//! rest as a patch. Proposals of a run and patches from a user share this code. Permissions are not checked here.

use std::collections::BTreeSet;

use super::Broken;
use super::worktree::ListedFiles;
use crate::domain::anchor::{self, Cut, DiffFile, Fingerprint, MAX_SUGGESTIONS};
use crate::domain::id::{Account, CommitSha, PullRequestId};
use crate::domain::patch::Patch;
use crate::domain::reply::{self, Layout, Source};
use crate::github::{
    self, BeforeReview, ChangedFile, Client, Error, NewReview, PullRequest, ReviewComment, SuggestionComment,
};

/// How often the diff is read again while it keeps changing.
const MAX_READINGS: usize = 3;
/// The maximum number of files that GitHub lists for a pull request.
/// <https://docs.github.com/en/rest/pulls/pulls#list-pull-requests-files>
const MAX_LISTED: usize = 3_000;

/// How a user's patch is described.
#[derive(Debug, Clone)]
pub struct Words {
    /// The name of the patch. A later patch with the same name replaces it.
    pub source: Source,
    /// What the patch does; untrusted, may be empty.
    pub summary: String,
}

/// The result of posting.
#[derive(Debug, Clone)]
pub struct Posted {
    /// The id of the review; of the first one, if several were needed.
    pub review: u64,
    /// How the patch was cut: its suggestions and the remainder.
    pub cut: Cut,
    /// The comments of earlier reviews that already carry suggestions of this patch.
    pub carried: Vec<u64>,
    /// Whether GitHub rejected the suggestions, so that the whole patch is in the remainder.
    pub is_refused: bool,
}

impl Posted {
    /// The number of parts of the patch: its suggestions, and one more for the remainder, if any.
    pub fn parts(&self) -> usize {
        parts(&self.cut)
    }
}

fn parts(cut: &Cut) -> usize {
    cut.suggestions.len() + usize::from(!cut.remainder.is_empty())
}

/// Renders a user's patch as it would be posted: the text of the review, and its comments.
pub fn given(head: &CommitSha, words: &Words, (patch, cut): (&Patch, &Cut)) -> (String, Vec<ReviewComment>) {
    let layout = Layout {
        cut,
        carried: 0,
        can_land: false,
        is_refused: false,
    };
    let body = reply::given_body((head, &words.source), &words.summary, patch, &layout);
    (body, comments(patch, cut, &words.source))
}

/// Posts a user's patch on the head of `pull_request`. Posting it again changes nothing.
///
/// # Errors
/// [`Broken::HeadMoved`] when the head has moved since; and when GitHub cannot be reached or refuses.
pub async fn post(
    client: &Client,
    me: &Account,
    pull_request: &PullRequest,
    patch: &Patch,
    words: &Words,
) -> Result<Posted, Broken> {
    let body = |layout: &Layout<'_>| {
        // It has no gate.
        let layout = Layout {
            can_land: false,
            ..*layout
        };
        reply::given_body((&pull_request.head, &words.source), &words.summary, patch, &layout)
    };
    let target = Target {
        client,
        me,
        pull_request,
        source: &words.source,
        as_patch: false,
        listed: None,
        before: None,
    };
    target.post(patch, &BTreeSet::new(), &body).await
}

/// Where a patch is posted.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) client: &'a Client,
    pub(super) me: &'a Account,
    /// In the state the patch was made for.
    pub(super) pull_request: &'a PullRequest,
    pub(super) source: &'a Source,
    /// Whether the whole patch goes into the text of the review, so that no part can be committed alone.
    pub(super) as_patch: bool,
    /// The files of the pull request, if this step has listed them.
    pub(super) listed: Option<&'a ListedFiles>,
    /// The pull request right before this, if that was asked.
    pub(super) before: Option<&'a BeforeReview>,
}

impl Target<'_> {
    /// Posts a patch under a text that depends on its layout. `hidden` are comments that are no longer visible.
    ///
    /// # Errors
    /// As for [`post`].
    pub(super) async fn post(
        &self,
        patch: &Patch,
        hidden: &BTreeSet<u64>,
        body: &(dyn Fn(&Layout<'_>) -> String + Sync),
    ) -> Result<Posted, Broken> {
        if self.as_patch {
            let (posted, _) = tokio::try_join!(self.posted(), self.still_there())?;
            let cut = Cut {
                remainder: patch.clone(),
                ..Cut::default()
            };
            return self.put((patch, posted), cut, (hidden, false), body).await;
        }
        let (posted, diff) = tokio::try_join!(self.posted(), self.diff())?;
        let cut = anchor::cut_within(patch, &diff, MAX_SUGGESTIONS);
        match self.put((patch, posted), cut, (hidden, false), body).await {
            // GitHub rejects all comments if one is outside of its diff.
            Err(Broken::GitHub(error @ Error::Refused { status: 422, .. })) => {
                let again = Self { before: None, ..*self };
                let (posted, _) = tokio::try_join!(again.posted(), again.still_there())?;
                tracing::warn!(%error, "GitHub rejected the suggestions; they are posted as a patch");
                let cut = anchor::cut(patch, &[]);
                self.put((patch, posted), cut, (hidden, true), body).await
            }
            posted => posted,
        }
    }

    /// What greenlight has posted so far.
    async fn posted(&self) -> Result<github::Posted, Broken> {
        if self.before.is_some_and(|before| !before.may_have_posted) {
            return Ok(github::Posted::default());
        }
        Ok(self.client.posted(&self.pull_request.id, self.me).await?)
    }

    async fn put(
        &self,
        (patch, mut before): (&Patch, github::Posted),
        cut: Cut,
        (hidden, is_refused): (&BTreeSet<u64>, bool),
        body: &(dyn Fn(&Layout<'_>) -> String + Sync),
    ) -> Result<Posted, Broken> {
        let PullRequest { id, head, .. } = self.pull_request;
        before.suggestions.retain(|comment| {
            let is_shown = !hidden.contains(&comment.id) && !comment.says.is_settled;
            is_shown && comment.says.source == *self.source
        });
        let comments = comments(patch, &cut, self.source);
        let carried: Vec<u64> = comments
            .iter()
            .filter_map(|comment| carrier(comment, &before.suggestions))
            .filter(|carrier| carrier.original_commit != *head)
            .map(|carrier| carrier.id)
            .collect();
        let layout = Layout {
            cut: &cut,
            carried: carried.len(),
            can_land: can_be_pushed(self.pull_request),
            is_refused,
        };
        let review = NewReview {
            head: head.clone(),
            source: self.source.clone(),
            body: body(&layout),
            comments,
        };
        let review = self.client.review_once(id, self.me, &review, &before).await?;
        Ok(Posted {
            review,
            cut,
            carried,
            is_refused,
        })
    }

    /// GitHub's own diff of the head, read while neither head nor base moved.
    async fn diff(&self) -> Result<Vec<DiffFile>, Broken> {
        let id: &PullRequestId = &self.pull_request.id;
        let mut before = match self.before {
            Some(before) => self.as_of(before)?,
            None => self.still_there().await?,
        };
        if let Some(listed) = self.listed.filter(|listed| listed.is_of(&before)) {
            return Ok(anchored(&listed.files, &before));
        }
        for _ in 0..MAX_READINGS {
            let files = self.client.changed_files(id).await?;
            let after = self.still_there().await?;
            if after.base == before.base && after.changed_files == before.changed_files {
                return Ok(anchored(&files, &after));
            }
            // The base moved, which may have changed the diff.
            before = after;
        }
        tracing::warn!(pull_request = %id, "the diff keeps changing, so no suggestions are made");
        Ok(Vec::new())
    }

    /// The current pull request, if its head has not moved.
    async fn still_there(&self) -> Result<PullRequest, Broken> {
        self.unmoved(self.client.pull_request(&self.pull_request.id).await?)
    }

    /// The pull request as it was right before this, if its head has not moved.
    fn as_of(&self, before: &BeforeReview) -> Result<PullRequest, Broken> {
        self.unmoved(PullRequest {
            head: before.head.clone(),
            base: before.base.clone(),
            changed_files: Some(before.changed_files),
            ..self.pull_request.clone()
        })
    }

    fn unmoved(&self, now: PullRequest) -> Result<PullRequest, Broken> {
        match now.head == self.pull_request.head {
            true => Ok(now),
            false => Err(Broken::HeadMoved { head: now.head }),
        }
    }
}

/// The files that can carry suggestions. A file has no anchors if its hunks cannot be read, or if GitHub cut off its
/// list before it. Hunks that do not match the head's blob are refused where they are used.
fn anchored(files: &[ChangedFile], pull_request: &PullRequest) -> Vec<DiffFile> {
    let listed = files.len();
    let missing = pull_request.changed_files.is_some_and(|all| listed as u64 != all);
    if missing || listed >= MAX_LISTED {
        tracing::warn!(
            listed,
            all = pull_request.changed_files,
            "GitHub does not list every file of the diff"
        );
    }
    anchor::diff_files(files.iter().map(|file| (file.filename.as_str(), file.patch.as_deref())))
}

fn comments(patch: &Patch, cut: &Cut, source: &Source) -> Vec<ReviewComment> {
    let whole = (cut.suggestions.len(), !cut.remainder.is_empty());
    let before = |path| {
        let change = patch.files().find(|(other, _)| *other == path);
        change.and_then(|(_, change)| change.before.as_ref())
    };
    cut.suggestions
        .iter()
        .map(|suggestion| {
            let file = before(&suggestion.path).map_or(&[][..], |blob| &blob.bytes);
            let id = Fingerprint::of(suggestion, file);
            ReviewComment {
                path: suggestion.path.to_string(),
                start_line: suggestion.start_line,
                line: suggestion.line,
                body: reply::suggestion(&suggestion.block(), &id, source, whole),
                id,
            }
        })
        .collect()
}

fn carrier<'a>(comment: &ReviewComment, existing: &'a [SuggestionComment]) -> Option<&'a SuggestionComment> {
    existing.iter().find(|other| comment.is_carried_by(other))
}

/// Whether greenlight can push a commit to the head's branch. "Allow edits by maintainers" is for people: an App
/// reaches only the repositories it is installed in.
pub(super) fn can_be_pushed(pull_request: &PullRequest) -> bool {
    !pull_request.is_from_fork()
}
