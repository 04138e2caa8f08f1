//! Reviews with suggestions: one per head SHA, edited when the proposal for that head changes.

use serde::Deserialize;
use serde_json::{Value, json};

use super::client::{Client, Error};
use super::comments::{User, is_marked};
use crate::domain::id::{CommitSha, Login, PullRequestId};
use crate::domain::reply;

/// A review to be posted.
#[derive(Debug, Clone)]
pub struct NewReview {
    pub head: CommitSha,
    pub body: String,
    pub comments: Vec<ReviewComment>,
}

/// One comment of a review, exactly as GitHub takes it: `start_line` only when it is before `line`.
/// <https://docs.github.com/en/rest/pulls/reviews#create-a-review-for-a-pull-request>
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewComment {
    pub path: String,
    pub start_line: u32,
    pub line: u32,
    pub body: String,
}

impl ReviewComment {
    /// As GitHub's API takes it.
    pub fn wire(&self) -> Value {
        let mut wire = json!({ "path": self.path, "side": "RIGHT", "line": self.line, "body": self.body });
        if self.start_line < self.line {
            wire["start_side"] = json!("RIGHT");
            wire["start_line"] = json!(self.start_line);
        }
        wire
    }
}

/// A review that is there.
#[derive(Debug, Clone, Deserialize)]
pub struct Review {
    pub id: u64,
    pub body: Option<String>,
    user: Option<User>,
}

#[derive(Deserialize)]
struct Posted {
    id: u64,
    body: Option<String>,
    user: Option<User>,
    in_reply_to_id: Option<u64>,
    path: String,
    line: Option<u32>,
    start_line: Option<u32>,
    original_commit_id: CommitSha,
}

impl Posted {
    /// Whether it begins a thread on this head, and is ours.
    fn is_suggestion(&self, me: &Login, head: &CommitSha) -> bool {
        self.user.as_ref().is_some_and(|user| user.login == *me)
            && self
                .body
                .as_ref()
                .is_some_and(|body| body.contains(reply::SUGGESTION_MARKER))
            && self.in_reply_to_id.is_none()
            && self.original_commit_id == *head
    }

    fn is_on(&self, comment: &ReviewComment) -> bool {
        let first = self.start_line.or(self.line);
        self.path == comment.path && first == Some(comment.start_line) && self.line == Some(comment.line)
    }
}

impl Client {
    /// Posts a review, or turns the one that carries the same marker into it.
    ///
    /// # Errors
    /// When GitHub cannot be reached or refuses; one bad comment refuses the whole review.
    pub async fn review_once(
        &self,
        id: &PullRequestId,
        me: &Login,
        marker: &str,
        review: &NewReview,
    ) -> Result<u64, Error> {
        let route = format!("/repos/{}/pulls/{}/reviews", id.repository, id.number);
        let comments: Vec<Value> = review.comments.iter().map(ReviewComment::wire).collect();
        let body = json!({ "commit_id": review.head, "event": "COMMENT", "body": review.body, "comments": comments });
        let find = || async {
            let reviews: Vec<Review> = self.get_all(&route).await?;
            Ok(reviews
                .into_iter()
                .find(|review| is_marked(review.user.as_ref(), review.body.as_deref(), me, marker)))
        };
        let posted: Review = self.once(&route, &body, find).await?;
        if posted.body.as_deref().map(str::trim_end) != Some(review.body.trim_end()) {
            self.rewrite(id, me, &posted, review).await?;
        }
        Ok(posted.id)
    }

    /// Edits a review: its text, and its suggestions one by one. One on the same lines is edited, which notifies
    /// nobody; a posted review takes no new ones, so those on other lines begin threads of their own.
    async fn rewrite(&self, id: &PullRequestId, me: &Login, posted: &Review, review: &NewReview) -> Result<(), Error> {
        let pull = format!("/repos/{}/pulls/{}", id.repository, id.number);
        let comments = format!("/repos/{}/pulls/comments", id.repository);
        let threads = format!("{pull}/comments");
        let all = || self.get_all::<Posted>(&threads);
        let before = all().await?;
        for comment in &review.comments {
            let is_there = |other: &&Posted| other.is_suggestion(me, &review.head) && other.is_on(comment);
            if let Some(there) = before.iter().find(is_there) {
                if there.body.as_deref().map(str::trim_end) != Some(comment.body.trim_end()) {
                    let body = json!({ "body": comment.body });
                    let _: Value = self
                        .set(http::Method::PATCH, &format!("{comments}/{}", there.id), &body)
                        .await?;
                }
                continue;
            }
            let mut wire = comment.wire();
            wire["commit_id"] = json!(review.head);
            let find = || async { Ok(all().await?.into_iter().find(|other| is_there(&other))) };
            let _: Posted = self.once(&threads, &wire, find).await?;
        }
        for old in before.iter().filter(|old| old.is_suggestion(me, &review.head)) {
            if review.comments.iter().any(|comment| old.is_on(comment)) {
                continue;
            }
            let route = format!("{comments}/{}", old.id);
            if before.iter().any(|other| other.in_reply_to_id == Some(old.id)) {
                // Somebody's words hang on it: the thread stays, but nobody must commit what was turned down.
                let body = json!({ "body": reply::marked(reply::SUGGESTION_MARKER, reply::WITHDRAWN) });
                let _: Value = self.set(http::Method::PATCH, &route, &body).await?;
            } else {
                self.delete(&route).await?;
            }
        }
        // The text comes last: while it is the old one, a restart does all of this again.
        let body = json!({ "body": review.body });
        let _: Value = self
            .set(http::Method::PUT, &format!("{pull}/reviews/{}", posted.id), &body)
            .await?;
        Ok(())
    }
}
