//! Reviews with suggestions: one per head SHA, edited when the proposal for that head changes.

use serde::Deserialize;
use serde_json::{Value, json};

use super::client::{Client, Error};
use super::comments::{User, is_marked};
use crate::domain::id::{CommitSha, Login, PullRequestId};

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
    fn wire(&self) -> Value {
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

    /// Edits a review: its text, and its suggestions one by one, since a posted review takes no new ones.
    /// A comment somebody replied to stays, and so does the thread.
    async fn rewrite(&self, id: &PullRequestId, me: &Login, posted: &Review, review: &NewReview) -> Result<(), Error> {
        let pull = format!("/repos/{}/pulls/{}", id.repository, id.number);
        let all: Vec<Posted> = self.get_all(&format!("{pull}/comments")).await?;
        let old: Vec<Posted> = self.get_all(&format!("{pull}/reviews/{}/comments", posted.id)).await?;
        let comments = format!("/repos/{}/pulls/comments", id.repository);
        for comment in &old {
            let is_mine = is_marked(comment.user.as_ref(), comment.body.as_deref(), me, "");
            let has_reply = all.iter().any(|other| other.in_reply_to_id == Some(comment.id));
            if is_mine && !has_reply {
                self.delete(&format!("{comments}/{}", comment.id)).await?;
            }
        }
        for comment in &review.comments {
            let mut wire = comment.wire();
            wire["commit_id"] = json!(review.head);
            let find = || async {
                let all: Vec<Posted> = self.get_all(&format!("{pull}/comments")).await?;
                Ok(all
                    .into_iter()
                    .find(|other| is_marked(other.user.as_ref(), other.body.as_deref(), me, &comment.body)))
            };
            let _: Posted = self.once(&format!("{pull}/comments"), &wire, find).await?;
        }
        // The text comes last: while it is the old one, a restart does all of this again.
        let body = json!({ "body": review.body });
        let _: Value = self
            .set(http::Method::PUT, &format!("{pull}/reviews/{}", posted.id), &body)
            .await?;
        Ok(())
    }
}
