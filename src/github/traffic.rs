//! The one place that sends requests, and counts them.

use std::time::Instant;

use http::{HeaderMap, Method, StatusCode};

use super::connection::{Connection, Response};
use super::error::Error;
use super::limit::{GRAPHQL, RateLimit, Traffic};
use super::reset::{number, text};
use crate::metrics::{Answered, Budget, RequestClass};
use crate::traces::{self, Outcome};

/// Sends a request to a route of the API.
///
/// # Errors
/// When no answer arrives.
pub(super) async fn execute(
    connection: &Connection,
    (route, request): (&str, http::Request<String>),
    limit: &RateLimit,
) -> Result<Response, Error> {
    let class = match request.method() {
        _ if route == GRAPHQL => RequestClass::GraphQl,
        &Method::GET | &Method::HEAD => RequestClass::Read,
        _ => RequestClass::Write,
    };
    let begun = Instant::now();
    let mut span = traces::request_span(request.method().as_str(), request.uri().host());
    let response = connection.send(request).await;
    if let Ok(response) = &response {
        span.note("http.response.status_code", u64::from(response.status().as_u16()));
    }
    span.end(match &response {
        Ok(response) if response.status().is_client_error() || response.status().is_server_error() => {
            Outcome::Failed("refused")
        }
        Ok(_) => Outcome::Done,
        Err(_) => Outcome::Failed("unreachable"),
    });
    let Some(Traffic { metrics, installation }) = &limit.traffic else {
        return response;
    };
    let answered = match &response {
        Err(_) => Answered::Not,
        Ok(response) if is_limited(response.status(), response.headers()) => Answered::Limited,
        Ok(response) => Answered::Status(response.status().as_u16()),
    };
    metrics.github.count(class, answered, begun.elapsed());
    if let (Some(installation), Ok(response)) = (installation, &response)
        && let Some(budget) = budget(response.headers())
    {
        metrics.github.budget(*installation, class, budget);
    }
    response
}

/// Whether GitHub refused a request because of a rate limit.
/// <https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit>
fn is_limited(status: StatusCode, headers: &HeaderMap) -> bool {
    let is_used_up = number(headers, "x-ratelimit-remaining") == Some(0) || headers.contains_key("retry-after");
    status == StatusCode::TOO_MANY_REQUESTS || (status == StatusCode::FORBIDDEN && is_used_up)
}

fn budget(headers: &HeaderMap) -> Option<Budget> {
    let resource = text(headers, "x-ratelimit-resource");
    if !resource.is_none_or(|resource| ["core", "graphql"].contains(&resource)) {
        return None;
    }
    Some(Budget {
        remaining: number(headers, "x-ratelimit-remaining")?,
        limit: number(headers, "x-ratelimit-limit")?,
        reset: number(headers, "x-ratelimit-reset")?,
    })
}
