//! The current state and the history of a comment: who wrote it, when, and how it was edited. They are fetched to
//! verify claims about it.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::Client;
use super::error::Error;
use super::escaped;
use crate::domain::event::CommentPlace;
use crate::domain::id::{Account, AccountId, CommitSha, Login, PullRequestId, RepositoryName};

/// Pages of a comment's history that are read, and revisions per page.
const MAX_PAGES: usize = 10;
const PER_PAGE: usize = 50;

/// The current state of a comment.
#[derive(Debug, Clone)]
pub struct CurrentComment {
    /// The number of its pull request or issue.
    pub number: Option<u64>,
    pub author: Account,
    /// Whether GitHub does not call the author a user, or an App wrote in a user's name.
    pub is_bot: bool,
    pub body: String,
    pub written: Timestamp,
    pub is_edited: bool,
}

/// The text of a comment from one moment on.
#[derive(Debug, Clone)]
pub struct Revision {
    pub from: Timestamp,
    /// Who made this revision. `None` if GitHub does not say.
    pub by: Option<Actor>,
    pub body: String,
}

/// The author of a revision.
#[derive(Debug, Clone)]
pub struct Actor {
    pub account: Account,
    pub is_bot: bool,
}

/// The latest move of a branch.
#[derive(Debug, Clone, Deserialize)]
pub struct Push {
    #[serde(rename = "after")]
    pub head: CommitSha,
    #[serde(rename = "timestamp")]
    pub at: Timestamp,
}

#[derive(Deserialize)]
struct CommentWire {
    node_id: String,
    user: Option<WireUser>,
    body: Option<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
    /// The field that exists for this kind of comment.
    #[serde(alias = "pull_request_url")]
    issue_url: Option<String>,
    performed_via_github_app: Option<Value>,
}

#[derive(Deserialize)]
struct WireUser {
    login: Login,
    id: Option<AccountId>,
    #[serde(default)]
    r#type: String,
}

impl WireUser {
    fn actor(self) -> Actor {
        let is_bot = self.r#type != "User" || self.login.as_str().ends_with("[bot]");
        let account = Account {
            id: self.id,
            login: self.login,
        };
        Actor { account, is_bot }
    }
}

impl Client {
    /// Fetches a comment in its current state. `None` if it no longer exists.
    ///
    /// REST reports the time of an edit in whole seconds, so it cannot show an edit within the second of creation.
    /// GraphQL is asked as well, if it is available.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn current_comment(
        &self,
        repository: &RepositoryName,
        (place, id): (CommentPlace, u64),
    ) -> Result<Option<CurrentComment>, Error> {
        const EDITED: &str = "query($id: ID!) { node(id: $id) { ... on Comment { lastEditedAt } } }";
        let kind = match place {
            CommentPlace::Conversation => "issues",
            CommentPlace::Review => "pulls",
        };
        let route = format!("/repos/{repository}/{kind}/comments/{id}");
        let Some(wire) = self.get_optional::<CommentWire>(&route).await? else {
            return Ok(None);
        };
        let edits = known(self.graphql(EDITED, &json!({ "id": wire.node_id })).await)?;
        let by_rest = wire.updated_at != wire.created_at;
        let is_edited = match edits.as_ref().and_then(|data| data["node"].get("lastEditedAt")) {
            Some(edited) => !edited.is_null(),
            None => by_rest,
        };
        let number = wire.issue_url.as_deref().and_then(number);
        let by_app = wire.performed_via_github_app.is_some_and(|app| !app.is_null());
        let author = wire.user.map(WireUser::actor);
        Ok(Some(CurrentComment {
            number,
            is_bot: by_app || author.as_ref().is_none_or(|author| author.is_bot),
            // GitHub shows deleted accounts as `ghost`.
            author: author.map_or_else(|| Account::new("ghost"), |author| author.account),
            body: wire.body.unwrap_or_default(),
            written: wire.created_at,
            is_edited,
        }))
    }

    /// The revisions of a comment in the conversation, newest first. The `diff` of a revision is its whole text.
    /// <https://docs.github.com/en/graphql/reference/objects#usercontentedit>
    ///
    /// Without GraphQL, that is only the current text since the last edit, with an unknown author.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn revisions(&self, repository: &RepositoryName, comment: u64) -> Result<Vec<Revision>, Error> {
        let route = format!("/repos/{repository}/issues/comments/{comment}");
        let Some(wire) = self.get_optional::<CommentWire>(&route).await? else {
            return Ok(Vec::new());
        };
        let author = wire.user.map(WireUser::actor);
        let body = wire.body.unwrap_or_default();
        let Some((mut revisions, is_edited)) = self.edits(&wire.node_id).await? else {
            return Ok(vec![Revision {
                from: wire.updated_at,
                by: author,
                body,
            }]);
        };
        // A comment that was never edited has no history.
        if revisions.is_empty() && !is_edited {
            revisions.push(Revision {
                from: wire.created_at,
                by: author,
                body,
            });
        }
        Ok(revisions)
    }

    /// The edits of a comment, newest first, including its original text, and whether there were any. `None` if
    /// GraphQL does not say.
    async fn edits(&self, node: &str) -> Result<Option<(Vec<Revision>, bool)>, Error> {
        const EDITS: &str = "query($id: ID!, $first: Int!, $after: String) { node(id: $id) { ... on Comment { lastEditedAt \
                             userContentEdits(first: $first, after: $after) { \
                             nodes { editedAt diff editor { __typename login ... on Bot { databaseId } \
                             ... on User { databaseId } } } pageInfo { hasNextPage endCursor } } } } }";
        let (mut revisions, mut is_edited) = (Vec::new(), false);
        let mut after = Value::Null;
        for _ in 0..MAX_PAGES {
            let variables = json!({ "id": node, "first": PER_PAGE, "after": after });
            let Some(data) = known(self.graphql(EDITS, &variables).await)? else {
                return Ok(None);
            };
            let Some(edits) = data["node"].get("userContentEdits") else {
                return Ok(None);
            };
            is_edited |= !data["node"]["lastEditedAt"].is_null();
            revisions.extend(edits["nodes"].as_array().into_iter().flatten().filter_map(revision));
            after = edits["pageInfo"]["endCursor"].clone();
            if edits["pageInfo"]["hasNextPage"] != json!(true) {
                break;
            }
        }
        Ok(Some((revisions, is_edited)))
    }

    /// The comments of a pull request that these accounts wrote and that begin with this text.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn marked_comments(
        &self,
        id: &PullRequestId,
        is_own: impl Fn(&Account, bool) -> bool,
        marker: &str,
    ) -> Result<Vec<u64>, Error> {
        #[derive(Deserialize)]
        struct Listed {
            id: u64,
            user: Option<WireUser>,
            body: Option<String>,
        }
        let route = format!("/repos/{}/issues/{}/comments", id.repository, id.number);
        let all: Vec<Listed> = self.get_all(&route).await?;
        let is_marked = |comment: &Listed| comment.body.as_deref().is_some_and(|body| body.starts_with(marker));
        let marked = all.into_iter().filter(is_marked).filter_map(|comment| {
            let Actor { account, is_bot } = comment.user?.actor();
            is_own(&account, is_bot).then_some(comment.id)
        });
        Ok(marked.collect())
    }

    /// The latest move of a branch. `None` if GitHub does not say.
    /// <https://docs.github.com/en/rest/repos/repos#list-repository-activities>
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn last_push(&self, repository: &RepositoryName, branch: &str) -> Result<Option<Push>, Error> {
        let reference = escaped(&format!("refs/heads/{branch}"));
        let route = format!("/repos/{repository}/activity?ref={reference}&direction=desc&per_page=1");
        let listed: Option<Vec<Push>> = known(self.get(&route).await)?;
        Ok(listed.into_iter().flatten().next())
    }
}

/// `None` if this GitHub does not support the request, or does not answer it for this token.
fn known<T>(answer: Result<T, Error>) -> Result<Option<T>, Error> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(Error::Refused { .. } | Error::Unreadable { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The number at the end of an issue's or pull request's URL.
fn number(address: &str) -> Option<u64> {
    address.rsplit('/').next()?.parse().ok()
}

fn revision(edit: &Value) -> Option<Revision> {
    let editor = &edit["editor"];
    let is_bot = editor["__typename"] != "User";
    let by = editor["login"].as_str().map(|login| Actor {
        account: Account {
            id: editor["databaseId"].as_u64().map(AccountId),
            // GraphQL omits the suffix.
            login: Login::new(match is_bot {
                true => format!("{}[bot]", login.trim_end_matches("[bot]")),
                false => login.to_owned(),
            }),
        },
        is_bot,
    });
    Some(Revision {
        from: edit["editedAt"].as_str()?.parse().ok()?,
        by,
        // Anyone who may edit a comment may also delete a revision's text, which then counts as empty.
        body: edit["diff"].as_str().unwrap_or_default().to_owned(),
    })
}
