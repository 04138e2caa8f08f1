//! GraphQL requests, for the few things that GitHub's REST API lacks.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::client::Client;
use super::connection::{Authentication, Connection};
use super::error::{Error, Pause, SECONDARY_WAIT};
use super::limit::GRAPHQL;
use crate::domain::id::{Account, AccountId, CommitSha, Login};

/// The base address of GraphQL, if it differs from that of the REST API: GitHub Enterprise Server has `/api/graphql`
/// beside `/api/v3`.
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
    /// Whether the query uses something that this server does not support.
    fn is_unknown(&self) -> bool {
        let code = self.extensions["code"].as_str().or(self.r#type.as_deref());
        matches!(code, Some("undefinedField" | "variableRequiresValidType"))
            || self.message.contains("doesn't exist on type")
    }
}

/// The result of moving a branch by compare-and-swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Swap {
    Done,
    /// This server does not support it.
    Unknown,
}

/// An answer that is not what was asked for.
pub(super) fn unreadable(what: &dyn std::fmt::Display) -> Error {
    Error::Unreadable {
        route: GRAPHQL.into(),
        message: what.to_string(),
    }
}

/// The bound on a GraphQL error message, in bytes.
const MAX_MESSAGE: usize = 2_000;

impl Client {
    /// The same client with the GraphQL address that belongs to this REST API.
    pub(super) fn beside(mut self, api: &url::Url) -> Self {
        self.graphql = beside(api).map(Arc::new);
        self
    }

    /// The client for GraphQL. A connection has one base address, so another address needs another connection.
    async fn for_graphql(&self) -> Result<Self, Error> {
        let Some(address) = &self.graphql else {
            return Ok(self.clone());
        };
        let token = self.connection.token().await?;
        let auth = token.clone().map_or(Authentication::Nothing, Authentication::Token);
        let connection = Connection::new(address, auth)?;
        let limit = Arc::clone(&self.limit);
        Ok(Self {
            limit,
            pauses: self.pauses.clone(),
            ..Self::new(address, Arc::new(connection), token)
        })
    }

    /// Sends a query, or a mutation that may safely be sent again.
    ///
    /// # Errors
    /// When GitHub cannot be reached or refuses. GraphQL refuses with status 200, which is reported as 403 here.
    pub(super) async fn graphql(&self, query: &str, variables: &Value) -> Result<Value, Error> {
        let answer = self.query(query, variables).await?;
        self.data(answer)
    }

    /// Sends a query once, for a caller that can ask over REST instead.
    ///
    /// # Errors
    /// As for [`Self::graphql`].
    pub(super) async fn graphql_once(&self, query: &str, variables: &Value) -> Result<Value, Error> {
        let body = json!({ "query": query, "variables": variables });
        let answer = self.for_graphql().await?.query_once(GRAPHQL, &body).await?;
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
            self.limit.check(GRAPHQL)?;
            return Err(Error::RateLimited(Pause::of(SECONDARY_WAIT)));
        }
        Err(Error::Refused {
            status: 403,
            route: GRAPHQL.into(),
            message: crate::domain::redact::bounded(&mistake.message, MAX_MESSAGE),
            lacks: None,
        })
    }

    /// Moves a reference to another commit, if it is at the expected one. This is a compare-and-swap, whereas the
    /// REST API would restore a branch that was reset meanwhile. After a refusal, the caller has to read the branch,
    /// because an earlier attempt may have succeeded.
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
            // An Enterprise Server, or a server like GitHub, without GraphQL.
            Err(Error::Refused { status: 404 | 405, .. }) => return Ok(Swap::Unknown),
            answer => answer?,
        };
        if answer.errors.iter().any(Mistake::is_unknown) {
            return Ok(Swap::Unknown);
        }
        self.data(answer).map(|_| Swap::Done)
    }

    /// The account that the token of an installation writes as. REST does not reveal it (`GET /user` answers 403),
    /// and calls the author `slug[bot]`; GraphQL reveals it, in places without the suffix.
    /// <https://github.com/fullsend-ai/fullsend/pull/1953>
    ///
    /// # Errors
    /// When GitHub cannot be reached or refuses.
    pub(super) async fn bot(&self) -> Result<Account, Error> {
        let data = self
            .graphql("query { viewer { login databaseId } }", &json!({}))
            .await?;
        let login = data["viewer"]["login"].as_str().filter(|login| !login.is_empty());
        let login = login.ok_or_else(|| unreadable(&"it does not say who owns this token"))?;
        Ok(Account {
            id: data["viewer"]["databaseId"].as_u64().map(AccountId),
            login: Login::new(format!("{}[bot]", login.trim_end_matches("[bot]"))),
        })
    }
}
