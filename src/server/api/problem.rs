//! The errors of the API.

use std::fmt::Display;
use std::ops::RangeInclusive;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
use serde_json::json;

use super::super::answers::NotTaken;
use crate::{github, journal};

/// No error reveals whether something exists that the caller may not see.
#[derive(Debug)]
pub(super) enum Problem {
    BadRequest(String),
    Unauthorized,
    /// The caller may see it, but not do this.
    Forbidden(&'static str),
    NotFound,
    OtherMethod,
    Conflict(String),
    Busy,
    GitHubIsAway,
    Broken,
}

/// Checks that a number of a query is within bounds. Taking the nearest bound instead would hide that results are
/// missing.
///
/// # Errors
/// When it is not.
pub(super) fn within<N: PartialOrd + Display>(name: &str, number: N, bounds: RangeInclusive<N>) -> Result<N, Problem> {
    if bounds.contains(&number) {
        return Ok(number);
    }
    let (least, most) = bounds.into_inner();
    Err(Problem::BadRequest(format!(
        "`{name}` has to be between {least} and {most}"
    )))
}

/// Replaces the framework's own refusal of a path that is not UTF-8, which is plain text. Routes refuse queries and
/// bodies themselves.
pub(super) async fn in_json(response: Response) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE);
    let is_text = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/plain"));
    if response.status() == StatusCode::BAD_REQUEST && is_text {
        return Problem::NotFound.into_response();
    }
    response
}

impl From<github::Error> for Problem {
    fn from(error: github::Error) -> Self {
        tracing::warn!(%error, "a request to GitHub for the API failed");
        Self::GitHubIsAway
    }
}

impl From<journal::Error> for Problem {
    fn from(error: journal::Error) -> Self {
        tracing::error!(%error, "the journal could not be used for the API");
        Self::Broken
    }
}

impl From<NotTaken> for Problem {
    fn from(refused: NotTaken) -> Self {
        match refused {
            NotTaken::Closed => Self::Conflict("the request is no longer open".into()),
            NotTaken::Moved(_) => Self::Conflict("the head has changed".into()),
            NotTaken::Twice => Self::Conflict("you have already approved; another person is needed".into()),
            NotTaken::Over => Self::Conflict("the run is over".into()),
            NotTaken::Busy => Self::Busy,
            NotTaken::GitHub(error) => error.into(),
            NotTaken::Journal(error) => error.into(),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, text) = match self {
            Self::BadRequest(text) => (StatusCode::BAD_REQUEST, text),
            Self::Unauthorized => (
                StatusCode::UNAUTHORIZED,
                "send your GitHub token: `Authorization: Bearer <token>`".into(),
            ),
            Self::Forbidden(text) => (StatusCode::FORBIDDEN, text.into()),
            Self::NotFound => (StatusCode::NOT_FOUND, "not found, or you may not see it".into()),
            Self::OtherMethod => (
                StatusCode::METHOD_NOT_ALLOWED,
                "this route does not take this method; `GET /api/v1/openapi.json` lists them".into(),
            ),
            Self::Conflict(text) => (StatusCode::CONFLICT, text),
            Self::Busy => (
                StatusCode::SERVICE_UNAVAILABLE,
                "greenlight is at capacity; try again later".into(),
            ),
            Self::GitHubIsAway => (
                StatusCode::SERVICE_UNAVAILABLE,
                "GitHub does not say who you are and what you may do; try again later".into(),
            ),
            Self::Broken => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "something broke on greenlight's side; its log has the details".into(),
            ),
        };
        let mut response = (status, Json(json!({ "error": text }))).into_response();
        if status == StatusCode::UNAUTHORIZED {
            let scheme = header::HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}
