//! GitHub's errors: classifies its responses, and makes their messages readable.

use std::fmt;
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use serde_json::Value;

use super::reach::unconnected;
use super::reset::{until_reset, wrong_clock};
use crate::domain::redact;

/// GitHub asks for at least a minute between attempts if it names no time.
/// <https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api#handle-rate-limit-errors-appropriately>
pub(super) const SECONDARY_WAIT: Duration = Duration::from_secs(60);
/// How many entries of `errors` are shown.
const MAX_ERRORS: usize = 5;

/// Why a request to GitHub failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Setup(String),
    #[error("GitHub cannot be reached: {0}")]
    Unreachable(String),
    /// The request may or may not have taken effect.
    #[error("GitHub did not say whether the request took effect: {0}")]
    Unclear(String),
    #[error("GitHub refused {route} with {status}: {message}{}", also(lacks.as_ref()))]
    Refused {
        status: u16,
        route: String,
        message: String,
        /// The permission that would have allowed it, if GitHub says that one is missing.
        lacks: Option<MissingPermission>,
    },
    /// Another process may have taken over what this one was doing, so it changes nothing any more.
    #[error("another process took over")]
    LeaseLost,
    /// The App is not installed there, or its installation is suspended. Nothing can be done or posted.
    #[error("greenlight's App is not installed there, or is suspended: {0}")]
    NotInstalled(String),
    #[error("GitHub's rate limit allows no request before {0}")]
    RateLimited(Pause),
    /// A retry would give the same result.
    #[error("GitHub's answer to {0} is too long")]
    TooLong(String),
    #[error("GitHub's answer to {route} cannot be read: {message}")]
    Unreadable { route: String, message: String },
}

fn also(lacks: Option<&MissingPermission>) -> String {
    lacks.map_or_else(String::new, |lacks| format!("; {lacks}"))
}

impl Error {
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// The missing permission, if that is the reason.
    pub fn lacks(&self) -> Option<&MissingPermission> {
        match self {
            Self::Refused { lacks, .. } => lacks.as_ref(),
            _ => None,
        }
    }

    /// When to retry, if a rate limit is the reason.
    pub fn not_before(&self) -> Option<Timestamp> {
        match self {
            Self::RateLimited(pause) => Some(pause.until),
            _ => None,
        }
    }

    /// Whether a retry may succeed later: GitHub is unavailable or asks to wait, or this process has wrong credentials
    /// or a wrong clock, which somebody corrects or another process does not have.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Unclear(_) | Self::RateLimited(_)) || self.is_unauthorized()
    }

    /// Whether GitHub does not accept who this process says it is, so that nothing can be read or posted.
    pub fn is_unauthorized(&self) -> bool {
        self.status() == Some(401)
    }
}

/// How long GitHub accepts no requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    pub length: Duration,
    /// Its end, by this machine's clock.
    pub until: Timestamp,
}

impl Pause {
    /// A pause that begins now.
    pub fn of(length: Duration) -> Self {
        let until = Timestamp::now().checked_add(length).unwrap_or(Timestamp::MAX);
        Self { length, until }
    }
}

impl fmt::Display for Pause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:.0}", self.until)
    }
}

/// Whose permissions apply to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    App,
    /// A token of a person or a workflow run.
    Token,
}

/// A missing permission, with GitHub's names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingPermission {
    pub holder: Holder,
    /// Sets of permissions, any of which would suffice, such as `[["contents: read", "pull_requests: write"]]`.
    any_of: Vec<Vec<String>>,
}

impl MissingPermission {
    /// Parses `x-accepted-github-permissions`: commas join permissions that are needed together, semicolons separate
    /// alternatives.
    /// <https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api#resource-not-accessible>
    fn read(holder: Holder, header: &str) -> Option<Self> {
        let one = |text: &str| {
            let (name, level) = text.trim().split_once('=')?;
            let is_word = |word: &str| {
                (1..=40).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
            };
            (is_word(name) && is_word(level)).then(|| format!("{name}: {level}"))
        };
        let set = |text: &str| text.split(',').take(8).map(one).collect::<Option<Vec<_>>>();
        let any_of: Vec<Vec<String>> = header.split(';').take(4).map(set).collect::<Option<_>>()?;
        Some(Self { holder, any_of })
    }
}

impl fmt::Display for MissingPermission {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let holder = match self.holder {
            Holder::App => "App",
            Holder::Token => "token",
        };
        let set = |all: &Vec<String>| {
            let all: Vec<String> = all.iter().map(|one| format!("`{one}`")).collect();
            all.join(" and ")
        };
        let any: Vec<String> = self.any_of.iter().map(set).collect();
        write!(formatter, "the {holder} lacks {}", any.join(", or "))
    }
}

/// An HTTP response.
pub(super) struct HttpAnswer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: bytes::Bytes,
}

/// Turns the response to a failed request into an error.
pub(super) fn judge(holder: Holder, route: &str, answer: HttpAnswer) -> Result<HttpAnswer, Error> {
    let status = answer.status;
    if status.is_success() {
        return Ok(answer);
    }
    if status.is_server_error() {
        return Err(Error::Unclear(format!("{route} answered {}", status.as_u16())));
    }
    Err(refusal(holder, route, &answer))
}

/// The meaning of a client error.
pub(super) fn refusal(holder: Holder, route: &str, answer: &HttpAnswer) -> Error {
    let (status, mut message) = (answer.status, message(&answer.body));
    let text = |name: &str| answer.headers.get(name).and_then(|value| value.to_str().ok());
    let number = |name: &str| text(name).and_then(|value| value.parse::<u64>().ok());
    let limited = status == StatusCode::TOO_MANY_REQUESTS
        || (status == StatusCode::FORBIDDEN
            && (number("retry-after").is_some()
                || number("x-ratelimit-remaining") == Some(0)
                || mentions_rate_limit(&message)));
    if limited {
        let says_when = number("retry-after").is_some() || number("x-ratelimit-remaining") == Some(0);
        let length = until_reset(&answer.headers).filter(|_| says_when);
        return Error::RateLimited(Pause::of(length.unwrap_or(SECONDARY_WAIT)));
    }
    if status == StatusCode::FORBIDDEN && is_suspension(&message) {
        return Error::NotInstalled(message);
    }
    if status == StatusCode::UNAUTHORIZED
        && let Some(wrong) = wrong_clock(&answer.headers, Timestamp::now())
    {
        message = format!("{message}; {wrong}");
    }
    // The header is always present; only this message means that a permission is missing.
    let is_permission = status == StatusCode::FORBIDDEN && message.starts_with("Resource not accessible by ");
    let accepted = text("x-accepted-github-permissions").filter(|_| is_permission);
    Error::Refused {
        status: status.as_u16(),
        route: route.to_string(),
        message,
        lacks: accepted.and_then(|accepted| MissingPermission::read(holder, accepted)),
    }
}

/// The meaning of an error without an answer.
pub(super) fn unsent(error: &octocrab::Error) -> Error {
    match unconnected(error) {
        Some(why) => Error::Unreachable(why),
        None => Error::Unclear(describe(error)),
    }
}

/// Whether a refusal is about a rate limit. Older versions of GitHub Enterprise Server call it abuse.
/// <https://docs.github.com/en/enterprise-server@3.4/rest/overview/resources-in-the-rest-api#secondary-rate-limits>
fn mentions_rate_limit(message: &str) -> bool {
    let message = message.to_lowercase();
    message.contains("rate limit") || message.contains("abuse detection")
}

/// <https://docs.github.com/en/apps/maintaining-github-apps/suspending-a-github-app-installation>
fn is_suspension(message: &str) -> bool {
    message.to_lowercase().contains("installation has been suspended")
}

/// GitHub's own message, bounded: `message`, and the sentences that `errors` adds.
/// <https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api#validation-failed>
pub(super) fn message(body: &[u8]) -> String {
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        return "no message".into();
    };
    let errors = match &value["errors"] {
        Value::Array(errors) => errors.as_slice(),
        other => std::slice::from_ref(other),
    };
    let main = value["message"].as_str().unwrap_or_default().trim();
    let details = errors.iter().filter_map(sentence).filter(|text| text != main);
    let parts: Vec<String> = Some(main.to_string())
        .filter(|main| !main.is_empty())
        .into_iter()
        .chain(details.take(MAX_ERRORS))
        .collect();
    if parts.is_empty() {
        return "no message".into();
    }
    redact::bounded(&parts.join("; "), 500)
}

/// One entry of `errors`, which may be a text, or describe what is wrong with which field.
fn sentence(error: &Value) -> Option<String> {
    let text = |name: &str| error[name].as_str().map(str::trim).filter(|text| !text.is_empty());
    let message = error.as_str().map(str::trim).or_else(|| text("message"));
    let subject = match (text("field"), text("resource")) {
        (Some(field), Some(resource)) => Some(format!("{field} of {resource}")),
        (one, other) => one.or(other).map(str::to_string),
    };
    let what = text("code").map(|code| match code {
        "missing" => "does not exist (missing)".to_string(),
        "missing_field" => "is missing (missing_field)".into(),
        "invalid" => "is invalid".into(),
        "already_exists" => "is taken (already_exists)".into(),
        "unprocessable" => "cannot be processed (unprocessable)".into(),
        other => format!("is refused ({other})"),
    });
    let detail = match (subject, what) {
        (Some(subject), Some(what)) => Some(format!("{subject} {what}")),
        (Some(one), None) | (None, Some(one)) => Some(one),
        (None, None) => None,
    };
    match (detail, message.filter(|message| !message.is_empty())) {
        (Some(detail), Some(message)) => Some(format!("{detail}: {message}")),
        (Some(one), None) => Some(one),
        (None, message) => message.map(str::to_string),
    }
}

/// Describes an error in one line, because its own `Display` says only "GitHub" or prints a backtrace.
pub(super) fn describe(error: &octocrab::Error) -> String {
    let text = match error {
        octocrab::Error::Service { source, .. } => source.to_string(),
        octocrab::Error::Hyper { source, .. } => source.to_string(),
        other => other.to_string().lines().next().unwrap_or_default().to_string(),
    };
    redact::bounded(&redact::redact(&text), 300)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn judged(status: u16, pairs: &[(&'static str, &'static str)], message: &str) -> Error {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (http::HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        let answer = HttpAnswer {
            status: StatusCode::from_u16(status).unwrap(),
            headers: pairs.iter().map(pair).collect(),
            body: serde_json::json!({ "message": message }).to_string().into(),
        };
        judge(Holder::App, "/x", answer).err().unwrap()
    }

    #[test]
    fn limits_are_known_by_their_headers_and_by_old_and_new_words() {
        let left = ("x-ratelimit-remaining", "4990");
        let abuse = "You have triggered an abuse detection mechanism. Please wait a few minutes before you try again.";
        let secondary = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
        let table = [
            (403, vec![left], abuse, 60),
            (403, vec![left, ("x-ratelimit-reset", "99999999999")], secondary, 60),
            (403, vec![left, ("retry-after", "7")], "no words", 7),
            (429, vec![], "", 60),
            (429, vec![("retry-after", "0")], "", 0),
        ];
        for (status, headers, message, seconds) in table {
            let error = judged(status, &headers, message);
            let Error::RateLimited(pause) = error else {
                panic!("{error}")
            };
            assert_eq!(pause.length, Duration::from_secs(seconds), "{message}");
        }
        // A refusal that is not about a limit may quote text that somebody wrote.
        assert!(matches!(judged(422, &[], abuse), Error::Refused { .. }));
    }

    #[test]
    fn a_missing_permission_is_named_as_github_names_it() {
        let words = "Resource not accessible by integration";
        let lacks = |header| judged(403, &[("x-accepted-github-permissions", header)], words).to_string();
        let told = [
            ("actions=read", "; the App lacks `actions: read`"),
            (
                "pull_requests=write,contents=read; issues=write",
                "; the App lacks `pull_requests: write` and `contents: read`, or `issues: write`",
            ),
            ("", ""),
            ("a=b=c", ""),
            ("`@ada`=write", ""),
        ];
        for (header, told) in told {
            assert_eq!(lacks(header), format!("GitHub refused /x with 403: {words}{told}"));
        }
        let allowed = judged(
            403,
            &[("x-accepted-github-permissions", "contents=write")],
            "Must have push access",
        );
        assert_eq!(allowed.lacks(), None);
    }

    #[test]
    fn an_unexpected_body_has_no_message() {
        for body in [
            "",
            "null",
            "[]",
            "7",
            "<html>",
            r#"{"message":7,"errors":[7,[],{"code":[]}]}"#,
        ] {
            assert_eq!(message(body.as_bytes()), "no message", "{body}");
        }
    }
}
