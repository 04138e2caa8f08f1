//! Misbehaviour on demand: failures of GitHub and of the network, each for one request.

use super::answer::{ResponseBody, RestAnswer};
use super::limits::secondary_limit;

/// One kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// 502 from the load balancer; the request was not executed.
    BadGatewayBefore,
    /// 502 from the load balancer, although the request was executed.
    BadGatewayAfter,
    /// The connection is closed without a response; the request was not executed.
    ResetBefore,
    /// The connection is closed without a response, although the request was executed.
    ResetAfter,
    /// 403 with the message of the secondary rate limit and `retry-after` in seconds; the request was not executed.
    SecondaryLimit {
        /// Seconds.
        retry_after: u64,
    },
    /// 429 with `retry-after` in seconds; the request was not executed.
    TooManyRequests {
        /// Seconds.
        retry_after: u64,
    },
    /// 401 as for a revoked token; the request was not executed.
    BadCredentials,
    /// 403 as for a token without permission to write pull requests; the request was not executed.
    NotAccessible,
    /// 422 that identifies the error only by field and code, as recorded in `octokit/fixtures`; the request was not
    /// executed.
    MissingField,
    /// 410 as for an expired log; the request was not executed.
    Gone,
    /// 307 to this URL; the request was not executed.
    SendElsewhere(&'static str),
    /// 422 as for a line that is not in GitHub's view of the diff; the request was not executed.
    LineNotInDiff,
}

/// How an installation of the App ended.
/// <https://docs.github.com/en/apps/using-github-apps/reviewing-and-modifying-installed-github-apps>
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uninstalled {
    /// It is suspended: its tokens, and requests for new ones, are refused with 403.
    Suspended,
    /// It is removed: its tokens are invalid, and its id no longer exists.
    Removed,
}

impl Uninstalled {
    /// The response to a request for a token.
    pub(super) fn no_token(self) -> RestAnswer {
        match self {
            Self::Suspended => RestAnswer::error(403, "This installation has been suspended"),
            Self::Removed => RestAnswer::not_found(),
        }
    }

    /// The response to a request with an earlier token.
    pub(super) fn void_token(self) -> RestAnswer {
        match self {
            Self::Suspended => RestAnswer::error(403, "This installation has been suspended"),
            Self::Removed => RestAnswer::error(401, "Bad credentials"),
        }
    }
}

#[derive(Debug)]
struct Planned {
    method: String,
    path: String,
    fault: Fault,
}

/// Planned faults that have not occurred yet.
#[derive(Debug, Default)]
pub(super) struct Faults {
    planned: Vec<Planned>,
    /// How the App's installation ended. `None` if it is installed.
    pub(super) uninstalled: Option<Uninstalled>,
}

/// What a fault does to its request.
pub(super) enum Effect {
    /// Sends this response; the route is not executed.
    Instead(Option<RestAnswer>),
    /// Executes the route, but sends this response.
    Afterwards(Option<RestAnswer>),
}

impl Faults {
    /// Plans one fault for the next request with this method (`*` for any) whose path contains `path`.
    pub(super) fn plan(&mut self, method: &str, path: &str, fault: Fault) {
        self.planned.push(Planned {
            method: method.into(),
            path: path.into(),
            fault,
        });
    }

    /// How many planned faults have not occurred yet.
    pub(super) fn waiting(&self) -> usize {
        self.planned.len()
    }

    /// Takes the fault for this request. `None` inside the effect closes the connection.
    pub(super) fn take(&mut self, method: &str, path: &str) -> Option<Effect> {
        let fits = |planned: &Planned| {
            (planned.method == "*" || planned.method == method) && path.contains(planned.path.as_str())
        };
        let found = self.planned.iter().position(fits)?;
        Some(match self.planned.remove(found).fault {
            Fault::BadGatewayBefore => Effect::Instead(Some(bad_gateway())),
            Fault::BadGatewayAfter => Effect::Afterwards(Some(bad_gateway())),
            Fault::ResetBefore => Effect::Instead(None),
            Fault::ResetAfter => Effect::Afterwards(None),
            Fault::SecondaryLimit { retry_after } => Effect::Instead(Some(secondary_limit(retry_after))),
            Fault::TooManyRequests { retry_after } => {
                let answer =
                    RestAnswer::error(429, "API rate limit exceeded").header("retry-after", retry_after.to_string());
                Effect::Instead(Some(answer))
            }
            Fault::LineNotInDiff => {
                let errors = serde_json::json!(["Pull request review thread line must be part of the diff"]);
                let message = "Unprocessable Entity";
                let body = serde_json::json!({ "message": message, "errors": errors, "status": "422" });
                Effect::Instead(Some(RestAnswer::json(422, body)))
            }
            Fault::SendElsewhere(to) => {
                let answer = RestAnswer::error(307, "Temporary Redirect").header("location", to);
                Effect::Instead(Some(answer))
            }
            Fault::NotAccessible => {
                let answer =
                    RestAnswer::not_accessible().header("x-accepted-github-permissions", "pull_requests=write");
                Effect::Instead(Some(answer))
            }
            Fault::MissingField => {
                let errors =
                    [serde_json::json!({ "resource": "PullRequestReview", "code": "missing_field", "field": "body" })];
                Effect::Instead(Some(RestAnswer::unprocessable(&errors)))
            }
            Fault::Gone => Effect::Instead(Some(RestAnswer::error(410, "Gone"))),
            Fault::BadCredentials => Effect::Instead(Some(RestAnswer::error(401, "Bad credentials"))),
        })
    }
}

fn bad_gateway() -> RestAnswer {
    let page = b"<html><head><title>502 Bad Gateway</title></head></html>".to_vec();
    RestAnswer {
        status: 502,
        headers: Vec::new(),
        body: ResponseBody::Bytes("text/html", page),
    }
}
