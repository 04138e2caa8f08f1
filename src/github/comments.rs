//! Comments in the conversation, and reactions. Every comment carries a hidden marker, by which it is found again.

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
    /// Whether this is that account, under any login. Only an App can have the login of that App.
    pub(super) fn is(&self, account: &Account) -> bool {
        let login = self.login.clone();
        let is_app = login == account.login && login.as_str().ends_with("[bot]");
        is_app || account.is(&Account { id: self.id, login })
    }
}

/// Whether a text was written by `me` and begins with the marker. A marker that a stranger copied, or that one of our
/// texts quotes, does not count.
pub(super) fn is_marked(author: Option<&User>, body: Option<&str>, me: &Account, marker: &str) -> bool {
    author.is_some_and(|user| user.is(me)) && body.is_some_and(|body| body.starts_with(marker))
}

/// A comment of ours that GitHub has confirmed. It is edited without looking for it again.
#[derive(Debug, Clone)]
pub struct PostedComment {
    id: u64,
    body: String,
    /// Whether it is by the account that greenlight uses now.
    is_mine: bool,
}

impl IssueComment {
    fn posted(&self, is_mine: bool) -> PostedComment {
        PostedComment {
            id: self.id,
            body: self.body.clone().unwrap_or_default(),
            is_mine,
        }
    }

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

    /// Posts a comment once: if `me` already posted one with the same marker, nothing happens.
    ///
    /// # Errors
    /// When GitHub cannot be reached or refuses.
    pub async fn comment_once(&self, id: &PullRequestId, me: &Account, marker: &str, body: &str) -> Result<u64, Error> {
        let route = format!("/repos/{}/issues/{}/comments", id.repository, id.number);
        let find = || self.marked_comment(id, me, marker);
        let comment: IssueComment = self.once(&route, &json!({ "body": body }), find).await?;
        Ok(comment.id)
    }

    /// Posts a comment, or edits the one with the same marker if its text differs. Edits notify nobody. If `me` has
    /// no such comment, one by an account that greenlight used `before`, with another token, is edited, if the
    /// current token may do that. Comments of other accounts never count, no matter how they begin. It is looked for
    /// first, unless it is the `known` one, which this updates.
    ///
    /// # Errors
    /// When GitHub cannot be reached or refuses.
    pub async fn stick(
        &self,
        id: &PullRequestId,
        (me, before): (&Account, &[Account]),
        (marker, body): (&str, &str),
        known: &mut Option<PostedComment>,
    ) -> Result<u64, Error> {
        let existing = match known.take() {
            None => self.find_sticky(id, (me, before), marker).await?,
            known => known,
        };
        let posted = match existing {
            Some(existing) => self.edit(id, me, (marker, body), existing).await?,
            None => {
                let route = format!("/repos/{}/issues/{}/comments", id.repository, id.number);
                let find = || self.marked_comment(id, me, marker);
                let wire = json!({ "body": body });
                let comment: IssueComment = self.create(&route, &wire, find).await?;
                comment.posted(true)
            }
        };
        let id = posted.id;
        let body = body.to_string();
        *known = Some(PostedComment { body, ..posted });
        Ok(id)
    }

    async fn find_sticky(
        &self,
        id: &PullRequestId,
        (me, before): (&Account, &[Account]),
        marker: &str,
    ) -> Result<Option<PostedComment>, Error> {
        let comments = self.comments(id).await?;
        let of = |account: &Account| {
            let is_it = |comment: &&IssueComment| comment.is_marked(account, marker);
            comments.iter().find(is_it)
        };
        let mine = of(me).map(|comment| comment.posted(true));
        Ok(mine.or_else(|| before.iter().find_map(of).map(|comment| comment.posted(false))))
    }

    /// Edits a comment, or posts another one if it is not greenlight's current account's, and may not be edited.
    async fn edit(
        &self,
        id: &PullRequestId,
        me: &Account,
        (marker, body): (&str, &str),
        existing: PostedComment,
    ) -> Result<PostedComment, Error> {
        if existing.body.trim_end() == body.trim_end() {
            return Ok(existing);
        }
        let route = format!("/repos/{}/issues/comments/{}", id.repository, existing.id);
        let edited: Result<IssueComment, Error> = self.set(http::Method::PATCH, &route, &json!({ "body": body })).await;
        match edited {
            Ok(_) => Ok(existing),
            Err(Error::Refused { status: 403 | 404, .. }) if !existing.is_mine => Ok(PostedComment {
                id: self.comment_once(id, me, marker, body).await?,
                is_mine: true,
                ..existing
            }),
            Err(error) => Err(error),
        }
    }

    /// Adds the :eyes: reaction to a comment as a receipt. GitHub keeps one per account, so repeating it has no
    /// effect.
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
