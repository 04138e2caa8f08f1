//! Misbehaviour on demand: what GitHub and the network between do on a bad day, once and for one request.

use super::answer::{ResponseBody, RestAnswer};
use super::limits::secondary_limit;

/// One way to misbehave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// 502 from the load balancer; nothing was done.
    BadGatewayBefore,
    /// 502 from the load balancer, although everything was done.
    BadGatewayAfter,
    /// The connection is closed without an answer; nothing was done.
    ResetBefore,
    /// The connection is closed without an answer, although everything was done.
    ResetAfter,
    /// 403 with the text of the secondary rate limit and `retry-after` in seconds; nothing was done.
    SecondaryLimit {
        /// Seconds.
        retry_after: u64,
    },
    /// 429 with `retry-after` in seconds; nothing was done.
    TooManyRequests {
        /// Seconds.
        retry_after: u64,
    },
    /// 401 as for a token that was revoked; nothing was done.
    BadCredentials,
    /// 403 as for a token that lacks the permission to write pull requests; nothing was done.
    NotAccessible,
    /// 422 that says only by codes what is wrong with which field, as recorded in `octokit/fixtures`; nothing was done.
    MissingField,
    /// 410 as for a log that is not kept any more; nothing was done.
    Gone,
    /// 307 to this address; nothing was done.
    SendElsewhere(&'static str),
    /// 422 as for a line that GitHub's own view of the diff does not have; nothing was done.
    LineNotInDiff,
}

/// How an installation of the App ends.
/// <https://docs.github.com/en/apps/using-github-apps/reviewing-and-modifying-installed-github-apps>
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uninstalled {
    /// Its tokens and requests for new ones are refused with 403.
    Suspended,
    /// Its tokens are void, and nothing by its number is there any more.
    Removed,
}

impl Uninstalled {
    /// What is answered to a request for a token.
    pub(super) fn no_token(self) -> RestAnswer {
        match self {
            Self::Suspended => RestAnswer::error(403, "This installation has been suspended"),
            Self::Removed => RestAnswer::not_found(),
        }
    }

    /// What is answered to a token from before.
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

/// The faults that wait for their request.
#[derive(Debug, Default)]
pub(super) struct Faults {
    planned: Vec<Planned>,
    /// Whether the App is installed no more.
    pub(super) uninstalled: Option<Uninstalled>,
}

/// What a fault does to the request it met.
pub(super) enum Effect {
    /// This is the answer; the route is not run.
    Instead(Option<RestAnswer>),
    /// The route is run; this is the answer all the same.
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

    /// How many faults have not met their request yet.
    pub(super) fn waiting(&self) -> usize {
        self.planned.len()
    }

    /// Takes the fault of this request; `None` in the effect stands for a closed connection.
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
