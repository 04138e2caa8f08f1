//! Posts a patch on the head of a pull request: as suggestions where GitHub's own diff of that head allows, the rest as
//! a patch. What a proposal of a run and a patch that somebody gave have in common; who may do it is not asked here.

use std::collections::BTreeSet;

use super::Broken;
use crate::domain::anchor::{self, Cut, DiffFile, Fingerprint, MAX_SUGGESTIONS};
use crate::domain::id::{Account, CommitSha, PullRequestId};
use crate::domain::patch::Patch;
use crate::domain::reply::{self, Layout, Source};
use crate::github::{ChangedFile, Client, Error, NewReview, PullRequest, ReviewComment, SuggestionComment};

/// How often the diff is read again while the head moves.
const MAX_READINGS: usize = 3;
/// GitHub lists no more files of a pull request.
/// <https://docs.github.com/en/rest/pulls/pulls#list-pull-requests-files>
const MAX_LISTED: usize = 3_000;

/// What is said of a patch that somebody gave.
#[derive(Debug, Clone)]
pub struct Words {
    /// Under which name: another patch of the same name takes its place.
    pub source: Source,
    /// What it is good for; untrusted, and may be empty.
    pub summary: String,
}

/// What was posted.
#[derive(Debug, Clone)]
pub struct Posted {
    /// The review; the first one, if it took several.
    pub review: u64,
    /// How the patch was cut: its suggestions, and what is left.
    pub cut: Cut,
    /// The comments of earlier reviews that carry suggestions of this patch, too.
    pub carried: Vec<u64>,
    /// Whether GitHub refused the suggestions, so that all of the patch is in the remainder.
    pub is_refused: bool,
}

impl Posted {
    /// In how many parts the patch stands there: its suggestions, and one more for what they do not carry.
    pub fn parts(&self) -> usize {
        parts(&self.cut)
    }
}

fn parts(cut: &Cut) -> usize {
    cut.suggestions.len() + usize::from(!cut.remainder.is_empty())
}

/// A patch that somebody gave as it would be posted: the text of the review, and its comments.
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

/// Posts a patch that somebody gave, on the head that `pull_request` was read at. Posted again, it changes nothing.
///
/// # Errors
/// [`Broken::HeadMoved`] when the head is another one by now; and when GitHub cannot be reached or refuses.
pub async fn post(
    client: &Client,
    me: &Account,
    pull_request: &PullRequest,
    patch: &Patch,
    words: &Words,
) -> Result<Posted, Broken> {
    let body = |layout: &Layout<'_>| {
        // No gate stands behind it.
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
    };
    target.post(patch, &BTreeSet::new(), &body).await
}

/// Where a patch is posted.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) client: &'a Client,
    pub(super) me: &'a Account,
    /// As it was when the patch was made.
    pub(super) pull_request: &'a PullRequest,
    pub(super) source: &'a Source,
    /// Whether nothing of it is to be committed on its own: all of it is a patch in the text of the review.
    pub(super) as_patch: bool,
}

impl Target<'_> {
    /// Posts a patch under a text that is told how it is laid out. `hidden` are comments that nobody sees any more.
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
            self.still_there().await?;
            let cut = Cut {
                remainder: patch.clone(),
                ..Cut::default()
            };
            return self.put(patch, cut, (hidden, false), body).await;
        }
        let diff = self.diff().await?;
        let cut = anchor::cut_within(patch, &diff, MAX_SUGGESTIONS);
        match self.put(patch, cut, (hidden, false), body).await {
            // One comment that GitHub sees outside of its diff refuses them all.
            Err(Broken::GitHub(error @ Error::Refused { status: 422, .. })) => {
                self.still_there().await?;
                tracing::warn!(%error, "GitHub rejected the suggestions; they are posted as a patch");
                self.put(patch, anchor::cut(patch, &[]), (hidden, true), body).await
            }
            posted => posted,
        }
    }

    async fn put(
        &self,
        patch: &Patch,
        cut: Cut,
        (hidden, is_refused): (&BTreeSet<u64>, bool),
        body: &(dyn Fn(&Layout<'_>) -> String + Sync),
    ) -> Result<Posted, Broken> {
        let PullRequest { id, head, .. } = self.pull_request;
        let mut there = self.client.suggestions(id, self.me).await?;
        there.retain(|comment| {
            let is_shown = !hidden.contains(&comment.id) && !comment.says.is_settled;
            is_shown && comment.says.source == *self.source
        });
        let comments = comments(patch, &cut, self.source);
        let carried: Vec<u64> = comments
            .iter()
            .filter_map(|comment| carrier(comment, &there))
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
        let review = self.client.review_once(id, self.me, &review, &there).await?;
        Ok(Posted {
            review,
            cut,
            carried,
            is_refused,
        })
    }

    /// GitHub's own view of what the head changes, read while the head stood still.
    async fn diff(&self) -> Result<Vec<DiffFile>, Broken> {
        let id: &PullRequestId = &self.pull_request.id;
        let mut before = self.still_there().await?;
        for _ in 0..MAX_READINGS {
            let files = self.client.changed_files(id).await?;
            let after = self.still_there().await?;
            if after.base == before.base && after.changed_files == before.changed_files {
                return Ok(anchored(&files, &after));
            }
            // The base moved, and with it what the diff shows.
            before = after;
        }
        tracing::warn!(pull_request = %id, "the diff keeps changing, so nothing is suggested on it");
        Ok(Vec::new())
    }

    /// The pull request as it is now.
    async fn still_there(&self) -> Result<PullRequest, Broken> {
        let now = self.client.pull_request(&self.pull_request.id).await?;
        if now.head != self.pull_request.head {
            return Err(Broken::HeadMoved { head: now.head });
        }
        Ok(now)
    }
}

/// The files that can carry suggestions. A file whose hunks cannot be read, or that is missing in a list that GitHub
/// cut off, has no anchors, and hunks that do not fit the blob of the head are refused where they are used.
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

fn carrier<'a>(comment: &ReviewComment, there: &'a [SuggestionComment]) -> Option<&'a SuggestionComment> {
    there.iter().find(|other| comment.is_carried_by(other))
}

/// Whether a commit can land on the head's branch from here. "Allow edits by maintainers" is for people: an App reaches
/// only the repositories it is installed in.
pub(super) fn can_be_pushed(pull_request: &PullRequest) -> bool {
    !pull_request.is_from_fork()
}
