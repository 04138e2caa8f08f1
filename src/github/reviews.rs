//! Reviews with suggestions: one per head, in parts if it is long, and edited when the proposal for that head
//! changes.

use serde::Deserialize;
use serde_json::{Value, json};

use super::client::Client;
use super::comments::{User, is_marked};
use super::error::Error;
use super::threads::SuggestionComment;
use crate::domain::anchor::Fingerprint;
use crate::domain::id::{Account, CommitSha, PullRequestId};
use crate::domain::reply::{self, Source};

/// More comments in one request trigger GitHub's abuse limits, so the rest goes into further reviews.
pub const MAX_COMMENTS: usize = 30;

/// A review to post.
#[derive(Debug, Clone)]
pub struct NewReview {
    pub head: CommitSha,
    pub source: Source,
    pub body: String,
    pub comments: Vec<ReviewComment>,
}

/// One comment of a review, in the form GitHub expects: `start_line` only if it is before `line`.
/// <https://docs.github.com/en/rest/pulls/reviews#create-a-review-for-a-pull-request>
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewComment {
    pub path: String,
    pub start_line: u32,
    pub line: u32,
    pub body: String,
    /// Identifies its suggestion.
    pub id: Fingerprint,
}

impl ReviewComment {
    /// The JSON for GitHub's API.
    pub fn wire(&self) -> Value {
        let mut wire = json!({ "path": self.path, "side": "RIGHT", "line": self.line, "body": self.body });
        if self.start_line < self.line {
            wire["start_side"] = json!("RIGHT");
            wire["start_line"] = json!(self.start_line);
        }
        wire
    }

    /// Whether the other comment is on exactly the same lines.
    pub fn is_at(&self, other: &SuggestionComment) -> bool {
        other.path == self.path && other.lines == Some((self.start_line, self.line))
    }

    /// Whether the other comment carries this very suggestion, on any head.
    pub fn is_carried_by(&self, other: &SuggestionComment) -> bool {
        self.is_at(other) && other.says.id == self.id
    }
}

/// A posted review.
#[derive(Debug, Clone, Deserialize)]
pub struct Review {
    pub id: u64,
    pub body: Option<String>,
    user: Option<User>,
}

impl Review {
    fn is_marked(&self, by: &Account, marker: &str) -> bool {
        is_marked(self.user.as_ref(), self.body.as_deref(), by, marker)
    }
}

/// What we have posted on a pull request.
#[derive(Debug, Default)]
pub struct Posted {
    reviews: Vec<Review>,
    pub suggestions: Vec<SuggestionComment>,
}

/// The route and the body that post a review.
fn wire(id: &PullRequestId, (body, head, comments): (&str, &CommitSha, &[&ReviewComment])) -> (String, Value) {
    let route = format!("/repos/{}/pulls/{}/reviews", id.repository, id.number);
    let comments: Vec<Value> = comments.iter().map(|comment| comment.wire()).collect();
    let wire = json!({ "commit_id": head, "event": "COMMENT", "body": body, "comments": comments });
    (route, wire)
}

impl Client {
    /// What we have posted on a pull request so far: our reviews, and our suggestions in them.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn posted(&self, id: &PullRequestId, me: &Account) -> Result<Posted, Error> {
        let reviews = self.reviews(id, me).await?;
        // Every comment on a line belongs to a review by the same account.
        let suggestions = match reviews.is_empty() {
            true => Vec::new(),
            false => self.suggestions(id, me).await?,
        };
        Ok(Posted { reviews, suggestions })
    }

    /// Posts a review, in parts if it has many comments, or updates the review of the same head. `posted` was read
    /// just before; its suggestions are those that are visible. A suggestion that one of them already carries is only
    /// edited.
    ///
    /// # Errors
    /// When GitHub cannot be reached or refuses. One invalid comment makes GitHub refuse the whole review.
    pub async fn review_once(
        &self,
        id: &PullRequestId,
        me: &Account,
        review: &NewReview,
        Posted {
            reviews,
            suggestions: existing,
        }: &Posted,
    ) -> Result<u64, Error> {
        let carrier = |comment: &ReviewComment| existing.iter().find(|other| comment.is_carried_by(other));
        for comment in &review.comments {
            if let Some(carrier) = carrier(comment) {
                self.edit_suggestion(&id.repository, carrier, &comment.body).await?;
            }
        }
        // Suggestions on earlier heads are not part of this review; those already on this head are.
        let fresh: Vec<&ReviewComment> = review
            .comments
            .iter()
            .filter(|comment| carrier(comment).is_none_or(|other| other.original_commit == review.head))
            .collect();
        let missing = |comment: &&&ReviewComment| carrier(comment).is_none();
        let marker = reply::review_marker(&review.head, &review.source);
        let posted = reviews.iter().find(|review| review.is_marked(me, &marker));
        let is_said = |posted: &&Review| posted.body.as_deref().map(str::trim_end) == Some(review.body.trim_end());
        if let Some(posted) = posted.filter(|posted| !is_said(posted)) {
            let missing: Vec<&ReviewComment> = fresh.iter().filter(missing).copied().collect();
            self.add(id, me, (review, existing), &missing).await?;
            self.take_back(id, review, existing).await?;
            // The text is updated last: until then, a restart repeats all of this.
            let route = format!("/repos/{}/pulls/{}/reviews/{}", id.repository, id.number, posted.id);
            let body = json!({ "body": review.body });
            let _: Value = self.set(http::Method::PUT, &route, &body).await?;
            return Ok(posted.id);
        }
        let parts: Vec<&[&ReviewComment]> = match fresh.len() {
            0 => vec![&[]],
            _ => fresh.chunks(MAX_COMMENTS).collect(),
        };
        let mut first = posted.map(|posted| posted.id);
        for (part, all) in (1..).zip(&parts) {
            let comments: Vec<&ReviewComment> = all.iter().filter(missing).copied().collect();
            if part == 1 && first.is_none() {
                let (route, wire) = wire(id, (&review.body, &review.head, &comments));
                let find = || self.find_review(id, me, &marker);
                let posted: Review = self.create(&route, &wire, find).await?;
                first = Some(posted.id);
            } else if part == 1 {
                // The comments were deleted or hidden after the review was posted.
                self.add(id, me, (review, existing), &comments).await?;
            } else if !comments.is_empty() {
                let marker = reply::part_marker(&review.head, &review.source, part, parts.len());
                let body = reply::review_part(&review.head, &review.source, part, parts.len());
                self.post(id, me, (&marker, &body), (&review.head, &comments)).await?;
            }
        }
        self.take_back(id, review, existing).await?;
        first.ok_or_else(|| Error::Setup("a review has no first part".into()))
    }

    async fn find_review(&self, id: &PullRequestId, me: &Account, marker: &str) -> Result<Option<Review>, Error> {
        let reviews = self.reviews(id, me).await?;
        Ok(reviews.into_iter().find(|review| review.is_marked(me, marker)))
    }

    /// Our reviews of a pull request.
    async fn reviews(&self, id: &PullRequestId, me: &Account) -> Result<Vec<Review>, Error> {
        let route = format!("/repos/{}/pulls/{}/reviews", id.repository, id.number);
        let mut reviews: Vec<Review> = self.get_all(&route).await?;
        reviews.retain(|review| review.user.as_ref().is_some_and(|user| user.is(me)));
        Ok(reviews)
    }

    /// Posts one review, exactly once.
    async fn post(
        &self,
        id: &PullRequestId,
        me: &Account,
        (marker, body): (&str, &str),
        (head, comments): (&CommitSha, &[&ReviewComment]),
    ) -> Result<u64, Error> {
        let (route, wire) = wire(id, (body, head, comments));
        let posted: Review = self.once(&route, &wire, || self.find_review(id, me, marker)).await?;
        Ok(posted.id)
    }

    /// Adds suggestions to a posted review. A suggestion on the same lines is edited, which notifies nobody. GitHub
    /// adds no new comments to a posted review, so the others go into further reviews, with one notification for
    /// each.
    async fn add(
        &self,
        id: &PullRequestId,
        me: &Account,
        (review, existing): (&NewReview, &[SuggestionComment]),
        missing: &[&ReviewComment],
    ) -> Result<(), Error> {
        let mut elsewhere: Vec<&ReviewComment> = Vec::new();
        for comment in missing {
            let is_here = |other: &&SuggestionComment| other.original_commit == review.head && comment.is_at(other);
            match existing.iter().find(is_here) {
                Some(here) => self.edit_suggestion(&id.repository, here, &comment.body).await?,
                None => elsewhere.push(comment),
            }
        }
        for more in elsewhere.chunks(MAX_COMMENTS) {
            let ids = more.iter().map(|comment| &comment.id);
            let marker = reply::more_marker(&review.head, &review.source, ids);
            let body = format!("{marker}\nAdditional suggestions.");
            self.post(id, me, (&marker, &body), (&review.head, more)).await?;
        }
        Ok(())
    }

    /// Withdraws suggestions on this head that are no longer wanted.
    async fn take_back(
        &self,
        id: &PullRequestId,
        review: &NewReview,
        existing: &[SuggestionComment],
    ) -> Result<(), Error> {
        for old in existing.iter().filter(|old| old.original_commit == review.head) {
            if review.comments.iter().any(|comment| comment.is_at(old)) {
                continue;
            }
            // Other programs may use this account. A comment without a suggestion block is not one of greenlight's.
            if old.says.replacement.is_none() {
                continue;
            }
            if old.has_replies {
                // Somebody replied, so the thread stays, but the rejected suggestion must not be committed.
                let body = reply::withdrawn(&old.says);
                self.edit_suggestion(&id.repository, old, &body).await?;
            } else {
                let route = format!("/repos/{}/pulls/comments/{}", id.repository, old.id);
                self.delete(&route).await?;
            }
        }
        Ok(())
    }
}
