//! greenlight's own suggestions on a pull request: found by account and marker, edited, or hidden.

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::Client;
use super::comments::User;
use super::error::Error;
use crate::domain::id::{Account, CommitSha, PullRequestId, RepositoryName};
use crate::domain::reply::{self, Suggested};

/// A comment of ours that carries, or carried, a suggestion.
#[derive(Debug, Clone)]
pub struct SuggestionComment {
    pub id: u64,
    /// Its id in GraphQL.
    pub node_id: String,
    pub path: String,
    /// Its first and last line now. `None` if GitHub calls it outdated.
    pub lines: Option<(u32, u32)>,
    /// Its first and last line on the commit it was made for.
    pub original_lines: (u32, u32),
    pub original_commit: CommitSha,
    pub body: String,
    pub says: Suggested,
    pub has_replies: bool,
}

/// Why a comment is hidden: two of GitHub's `ReportedContentClassifiers`.
/// <https://docs.github.com/en/graphql/reference/enums#reportedcontentclassifiers>
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Classifier {
    Resolved,
    Outdated,
}

impl Classifier {
    fn wire(self) -> &'static str {
        match self {
            Self::Resolved => "RESOLVED",
            Self::Outdated => "OUTDATED",
        }
    }
}

#[derive(Deserialize)]
struct ThreadWire {
    id: u64,
    node_id: String,
    body: Option<String>,
    user: Option<User>,
    in_reply_to_id: Option<u64>,
    path: String,
    line: Option<u32>,
    start_line: Option<u32>,
    original_line: Option<u32>,
    original_start_line: Option<u32>,
    original_commit_id: CommitSha,
}

impl Client {
    /// Every comment by `me` that begins a thread and starts with the marker of a suggestion.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn suggestions(&self, id: &PullRequestId, me: &Account) -> Result<Vec<SuggestionComment>, Error> {
        let route = format!("/repos/{}/pulls/{}/comments", id.repository, id.number);
        let all: Vec<ThreadWire> = self.get_all(&route).await?;
        let replied: Vec<u64> = all.iter().filter_map(|comment| comment.in_reply_to_id).collect();
        Ok(all.into_iter().filter_map(|wire| read(wire, me, &replied)).collect())
    }

    /// Sets the text of a review comment, unless it is unchanged. Edits notify nobody.
    ///
    /// # Errors
    /// When GitHub cannot be reached or refuses.
    pub async fn edit_suggestion(
        &self,
        repository: &RepositoryName,
        comment: &SuggestionComment,
        body: &str,
    ) -> Result<(), Error> {
        if comment.body.trim_end() != body.trim_end() {
            let route = format!("/repos/{repository}/pulls/comments/{}", comment.id);
            let _: Value = self.set(Method::PATCH, &route, &json!({ "body": body })).await?;
        }
        Ok(())
    }

    /// Hides a comment behind a line that says why. Repeating it changes nothing.
    ///
    /// # Errors
    /// When GitHub cannot be reached or refuses, for example because the token lacks the permission.
    pub async fn minimize(&self, comment: &SuggestionComment, classifier: Classifier) -> Result<(), Error> {
        const MINIMIZE: &str = "mutation($input: MinimizeCommentInput!) { \
                                minimizeComment(input: $input) { minimizedComment { isMinimized } } }";
        let input = json!({ "subjectId": comment.node_id, "classifier": classifier.wire() });
        self.graphql(MINIMIZE, &json!({ "input": input })).await?;
        Ok(())
    }
}

fn read(wire: ThreadWire, me: &Account, replied: &[u64]) -> Option<SuggestionComment> {
    let is_ours = wire.user.is_some_and(|user| user.is(me)) && wire.in_reply_to_id.is_none();
    let body = wire.body.filter(|_| is_ours)?;
    let says = reply::read_suggestion(&body)?;
    let range = |first: Option<u32>, last: Option<u32>| last.map(|last| (first.unwrap_or(last), last));
    Some(SuggestionComment {
        id: wire.id,
        node_id: wire.node_id,
        path: wire.path,
        lines: range(wire.start_line, wire.line),
        original_lines: range(wire.original_start_line, wire.original_line)?,
        original_commit: wire.original_commit_id,
        body,
        says,
        has_replies: replied.contains(&wire.id),
    })
}
