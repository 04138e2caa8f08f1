//! The one way to GraphQL, for the little that GitHub's REST API does not have.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::client::Client;
use super::error::{Error, Pause, SECONDARY_WAIT, describe, unsent};
use super::limit::GRAPHQL;
use crate::domain::id::{Account, AccountId, CommitSha, Login};

/// Below which address GraphQL is, where it is not below that of the REST API: GitHub Enterprise Server has
/// `/api/graphql` beside `/api/v3`.
/// <https://docs.github.com/en/enterprise-server@latest/graphql/guides/managing-enterprise-accounts>
pub(super) fn beside(api: &url::Url) -> Option<url::Url> {
    let path = api.path().trim_end_matches('/').strip_suffix("/v3")?;
    let mut url = api.clone();
    url.set_path(path);
    Some(url)
}

#[derive(Deserialize)]
struct GraphqlAnswer {
    #[serde(default)]
    data: Value,
    #[serde(default)]
    errors: Vec<Mistake>,
}

#[derive(Deserialize)]
struct Mistake {
    #[serde(default)]
    message: String,
    r#type: Option<String>,
    #[serde(default)]
    extensions: Value,
}

impl Mistake {
    /// Whether the query is about something that this server does not have.
    fn is_unknown(&self) -> bool {
        let code = self.extensions["code"].as_str().or(self.r#type.as_deref());
        matches!(code, Some("undefinedField" | "variableRequiresValidType"))
            || self.message.contains("doesn't exist on type")
    }
}

/// What came of moving a branch by compare-and-swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Swap {
    Done,
    /// This server knows no such thing.
    Unknown,
}

/// How much of what GraphQL has against something is kept, in bytes.
const MAX_MESSAGE: usize = 2_000;

impl Client {
    /// The same client, with GraphQL where it is beside this REST API.
    pub(super) fn beside(mut self, api: &url::Url) -> Self {
        self.graphql = beside(api).map(Arc::new);
        self
    }

    /// The client for GraphQL. octocrab puts everything below one address, so another one takes another octocrab.
    async fn for_graphql(&self) -> Result<Self, Error> {
        let Some(address) = &self.graphql else {
            return Ok(self.clone());
        };
        let token = match &self.token {
            Some(token) => token.clone(),
            None => {
                let granted = self.crab.installation_token().await;
                granted.map_err(|error| unsent(&error))?
            }
        };
        let crab = super::builder(address)?.personal_token(token.clone()).build();
        let crab = crab.map_err(|error| Error::Setup(describe(&error)))?;
        let limit = Arc::clone(&self.limit);
        Ok(Self {
            limit,
            ..Self::new(address, Arc::new(crab), Some(token))
        })
    }

    /// Sends a query, or a mutation that may safely be sent again.
    ///
    /// # Errors
    /// When GitHub cannot be reached or refuses. GraphQL refuses with status 200, which is told as 403 here.
    pub(super) async fn graphql(&self, query: &str, variables: &Value) -> Result<Value, Error> {
        let answer = self.query(query, variables).await?;
        self.data(answer)
    }

    async fn query(&self, query: &str, variables: &Value) -> Result<GraphqlAnswer, Error> {
        let body = json!({ "query": query, "variables": variables });
        self.for_graphql().await?.post_again(GRAPHQL, &body).await
    }

    fn data(&self, answer: GraphqlAnswer) -> Result<Value, Error> {
        let Some(mistake) = answer.errors.into_iter().next() else {
            return Ok(answer.data);
        };
        if mistake.r#type.as_deref() == Some("RATE_LIMITED") {
            self.limit.permit(GRAPHQL)?;
            return Err(Error::RateLimited(Pause::of(SECONDARY_WAIT)));
        }
        Err(Error::Refused {
            status: 403,
            route: GRAPHQL.into(),
            message: crate::domain::redact::bounded(&mistake.message, MAX_MESSAGE),
            lacks: None,
        })
    }

    /// Points a reference at another commit, if it is at the expected one: a compare-and-swap, unlike that of the REST
    /// API, which brings back a branch that was reset meanwhile. What came of a refusal is for the caller to look up:
    /// it may be of a second attempt.
    /// <https://docs.github.com/en/graphql/reference/mutations#updaterefs>
    ///
    /// # Errors
    /// When GitHub cannot be reached or refuses.
    pub(super) async fn update_ref(
        &self,
        repository: &str,
        name: &str,
        (before, after): (&CommitSha, &CommitSha),
    ) -> Result<Swap, Error> {
        const QUERY: &str = "mutation($input: UpdateRefsInput!) { updateRefs(input: $input) { clientMutationId } }";
        let update = json!({ "name": name, "beforeOid": before, "afterOid": after, "force": false });
        let input = json!({ "repositoryId": repository, "refUpdates": [update] });
        let answer = match self.query(QUERY, &json!({ "input": input })).await {
            // An Enterprise Server, or something like GitHub, without any GraphQL.
            Err(Error::Refused { status: 404 | 405, .. }) => return Ok(Swap::Unknown),
            answer => answer?,
        };
        if answer.errors.iter().any(Mistake::is_unknown) {
            return Ok(Swap::Unknown);
        }
        self.data(answer).map(|_| Swap::Done)
    }

    /// The account that the token of an installation writes as. REST names it to nobody (`GET /user` answers 403), and
    /// calls it `slug[bot]` wherever it is the author of something; GraphQL knows it, in places without the suffix.
    /// <https://github.com/fullsend-ai/fullsend/pull/1953>
    ///
    /// # Errors
    /// When GitHub cannot be reached or refuses.
    pub(super) async fn bot(&self) -> Result<Account, Error> {
        let data = self
            .graphql("query { viewer { login databaseId } }", &json!({}))
            .await?;
        let login = data["viewer"]["login"].as_str().filter(|login| !login.is_empty());
        let login = login.ok_or_else(|| Error::Unreadable {
            route: GRAPHQL.into(),
            message: "it does not say whose token this is".into(),
        })?;
        Ok(Account {
            id: data["viewer"]["databaseId"].as_u64().map(AccountId),
            login: Login::new(format!("{}[bot]", login.trim_end_matches("[bot]"))),
        })
    }
}
