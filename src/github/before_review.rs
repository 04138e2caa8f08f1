//! What is asked right before a review is posted: in one request, where REST takes three.

use serde::Deserialize;
use serde_json::json;

use super::client::Client;
use super::error::Error;
use super::graphql::unreadable;
use crate::domain::id::{CommitSha, PullRequestId};

/// <https://docs.github.com/en/graphql/reference/objects#pullrequest>. `rules` are those of the active rulesets of the
/// repository and of its owner, as REST lists them:
/// <https://docs.github.com/en/graphql/reference/objects#ref>.
const QUERY: &str = "query($owner: String!, $name: String!, $number: Int!) { \
    repository(owner: $owner, name: $name) { databaseId pullRequest(number: $number) { \
    headRefOid baseRefOid changedFiles reviews(first: 100) { totalCount nodes { viewerDidAuthor } } \
    headRef { rules(first: 1) { totalCount } } } } }";

/// A pull request right before a review is posted on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BeforeReview {
    pub head: CommitSha,
    pub base: CommitSha,
    /// The number of files in its diff.
    pub changed_files: u64,
    /// Whether one of its reviews may be ours.
    pub may_have_posted: bool,
    /// Whether a rule may apply to the branch of the head.
    pub may_have_rules: bool,
}

#[derive(Deserialize)]
struct Answer {
    repository: RepositoryNode,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RepositoryNode {
    database_id: u64,
    pull_request: PullRequestNode,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PullRequestNode {
    head_ref_oid: CommitSha,
    base_ref_oid: CommitSha,
    changed_files: u64,
    reviews: Reviews,
    /// `None` if the branch was deleted.
    head_ref: Option<RefNode>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reviews {
    total_count: usize,
    nodes: Vec<ReviewNode>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReviewNode {
    viewer_did_author: bool,
}

#[derive(Deserialize)]
struct RefNode {
    rules: Option<Rules>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rules {
    total_count: u64,
}

impl Client {
    /// What has to be known right before a review is posted.
    ///
    /// # Errors
    /// When GitHub cannot be reached or refuses, or is an Enterprise Server that is too old to answer this. REST then
    /// has the answers.
    pub async fn before_review(&self, id: &PullRequestId) -> Result<BeforeReview, Error> {
        let name = &id.repository.name;
        let variables = json!({ "owner": name.owner(), "name": name.name(), "number": id.number });
        let Answer { repository } =
            serde_json::from_value(self.graphql_once(QUERY, &variables).await?).map_err(|error| unreadable(&error))?;
        // Another repository may have taken the name.
        if id.repository.id.is_some_and(|known| known.0 != repository.database_id) {
            return Err(unreadable(&"it is about another repository"));
        }
        let pull_request = repository.pull_request;
        let Reviews { total_count, nodes } = pull_request.reviews;
        let rules = pull_request.head_ref.and_then(|branch| branch.rules);
        Ok(BeforeReview {
            head: pull_request.head_ref_oid,
            base: pull_request.base_ref_oid,
            changed_files: pull_request.changed_files,
            may_have_posted: total_count > nodes.len() || nodes.iter().any(|review| review.viewer_did_author),
            may_have_rules: rules.is_none_or(|rules| rules.total_count > 0),
        })
    }
}
