//! Comments in the conversation, and reactions. Every comment carries a hidden marker, so that it is found again.

use serde::Deserialize;
use serde_json::json;

use super::client::Client;
use super::error::Error;
use crate::domain::event::CommentPlace;
use crate::domain::id::{Account, AccountId, Login, PullRequestId, RepositoryName};

/// A comment in the conversation.
#[derive(Debug, Clone, Deserialize)]
pub struct IssueComment {
    pub id: u64,
    pub body: Option<String>,
    user: Option<User>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct User {
    login: Login,
    id: Option<AccountId>,
}

impl User {
    /// Whether this is that account, by any login. Nobody else can have the login of an App.
    pub(super) fn is(&self, account: &Account) -> bool {
        let login = self.login.clone();
        let is_app = login == account.login && login.as_str().ends_with("[bot]");
        is_app || account.is(&Account { id: self.id, login })
    }
}

/// Whether a text is `me`'s and begins with the marker. A stranger's copy of a marker is only text, also where a text
/// of ours quotes it.
pub(super) fn is_marked(author: Option<&User>, body: Option<&str>, me: &Account, marker: &str) -> bool {
    author.is_some_and(|user| user.is(me)) && body.is_some_and(|body| body.starts_with(marker))
}

impl IssueComment {
    fn is_marked(&self, by: &Account, marker: &str) -> bool {
        is_marked(self.user.as_ref(), self.body.as_deref(), by, marker)
    }
}

impl Client {
    /// Finds `me`'s comment with this marker.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn marked_comment(
        &self,
        id: &PullRequestId,
        me: &Account,
        marker: &str,
    ) -> Result<Option<IssueComment>, Error> {
        let comments = self.comments(id).await?;
        Ok(comments.into_iter().find(|comment| comment.is_marked(me, marker)))
    }

    async fn comments(&self, id: &PullRequestId) -> Result<Vec<IssueComment>, Error> {
        self.get_all(&format!("/repos/{}/issues/{}/comments", id.repository, id.number))
            .await
    }

    /// Posts a comment once: a comment of `me` with the same marker is not repeated.
    ///
    /// # Errors
    /// When GitHub cannot be reached or refuses.
    pub async fn comment_once(&self, id: &PullRequestId, me: &Account, marker: &str, body: &str) -> Result<u64, Error> {
        let route = format!("/repos/{}/issues/{}/comments", id.repository, id.number);
        let find = || self.marked_comment(id, me, marker);
        let comment: IssueComment = self.once(&route, &json!({ "body": body }), find).await?;
        Ok(comment.id)
    }

    /// Posts a comment, or edits the one with the same marker when it says something else: edits notify nobody. Where
    /// there is none of `me`, one of the accounts that greenlight wrote as `before`, with another token, will do, as long
    /// as this one may edit it. Nobody else's is taken for one, no matter what it begins with.
    ///
    /// # Errors
    /// When GitHub cannot be reached or refuses.
    pub async fn stick(
        &self,
        id: &PullRequestId,
        (me, before): (&Account, &[Account]),
        marker: &str,
        body: &str,
    ) -> Result<u64, Error> {
        let comments = self.comments(id).await?;
        let of = |account: &Account| {
            let is_it = |comment: &&IssueComment| comment.is_marked(account, marker);
            comments.iter().find(is_it)
        };
        let existing = of(me).or_else(|| before.iter().find_map(of));
        let Some(existing) = existing else {
            return self.comment_once(id, me, marker, body).await;
        };
        if existing.body.as_deref().map(str::trim_end) == Some(body.trim_end()) {
            return Ok(existing.id);
        }
        let route = format!("/repos/{}/issues/comments/{}", id.repository, existing.id);
        let edited: Result<IssueComment, Error> = self.set(http::Method::PATCH, &route, &json!({ "body": body })).await;
        match edited {
            Ok(_) => Ok(existing.id),
            Err(Error::Refused { status: 403 | 404, .. }) if !existing.is_marked(me, marker) => {
                self.comment_once(id, me, marker, body).await
            }
            Err(error) => Err(error),
        }
    }

    /// Puts :eyes: on a comment: the receipt. GitHub keeps one per account, so twice is once.
    ///
    /// # Errors
    /// When GitHub cannot be reached or refuses.
    pub async fn react(
        &self,
        repository: &RepositoryName,
        place: CommentPlace,
        comment: u64,
        content: &str,
    ) -> Result<(), Error> {
        let kind = match place {
            CommentPlace::Conversation => "issues",
            CommentPlace::Review => "pulls",
        };
        let route = format!("/repos/{repository}/{kind}/comments/{comment}/reactions");
        let _: serde_json::Value = self.post_again(&route, &json!({ "content": content })).await?;
        Ok(())
    }
}
