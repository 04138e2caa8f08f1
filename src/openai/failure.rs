//! Why a request got no answer, and what to do about it. Nothing from here puts any part of a body into a log.

use std::time::Duration;

use async_openai::error::OpenAIError;
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use serde_json::Value;

use super::endpoint::Endpoint;
use crate::agent::ModelError;
use crate::domain::redact::{redact, visible};

/// The longest wait before a request is repeated. If an endpoint asks for more, the request is not repeated.
pub(super) const MAX_WAIT: Duration = Duration::from_secs(60);
/// The longest part of an endpoint's error message that is shown, in characters.
const MAX_MESSAGE: usize = 300;
/// How much of a web page is searched for its title, in characters.
const MAX_PAGE: usize = 4 << 10;

/// Why a request got no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failure {
    #[error("unreachable: {0}")]
    Unreachable(String),
    #[error("status {status}")]
    Refused {
        status: u16,
        message: String,
        wait: Option<Duration>,
        about: About,
    },
    #[error("nonsense: {0}")]
    Nonsense(String),
}

/// Which part of a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    /// The account has no credit; status 429 alone may also mean a rate limit.
    Credit,
    /// The history is longer than the model's context.
    Length,
    Tools,
    /// Streaming the answer.
    Stream,
    /// Ending a stream with the usage.
    StreamUsage,
    /// A limit on the length of the answer.
    Brevity,
    Other,
}

impl Failure {
    /// Interprets an error body and its status.
    pub(super) fn refused(status: u16, body: &Value, text: &str, headers: &HeaderMap) -> Self {
        let message = error_message(body).unwrap_or(text);
        let about = about(status, body, message);
        Self::Refused {
            status,
            message: page(text).unwrap_or_else(|| one_line(message)),
            // Without credit, repeating the request is pointless.
            wait: if about == About::Credit {
                Some(Duration::MAX)
            } else {
                retry_after(headers)
            },
            about,
        }
    }

    /// Whether the same request may succeed if it is repeated.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Nonsense(_) => true,
            Self::Refused { wait: Some(wait), .. } if *wait > MAX_WAIT => false,
            Self::Refused { about, .. } if !matches!(about, About::Other | About::Credit) => false,
            Self::Refused { status, .. } => matches!(status, 408 | 409 | 425 | 429 | 500..=599),
        }
    }

    /// Whether another model at the same endpoint may answer.
    pub(super) fn is_of_this_model(&self) -> bool {
        match self {
            Self::Unreachable(_) => false,
            Self::Nonsense(_) => true,
            Self::Refused { about, .. } if !matches!(about, About::Other | About::Credit) => false,
            Self::Refused { status, message, .. } => {
                let names_model = || message.to_ascii_lowercase().contains("model");
                matches!(status, 402 | 404 | 408 | 429 | 500..=599) || matches!(status, 400 | 403) && names_model()
            }
        }
    }

    pub(super) fn is_about(&self, what: About) -> bool {
        matches!(self, Self::Refused { about, .. } if *about == what)
    }

    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { wait, .. } => *wait,
            Self::Unreachable(_) | Self::Nonsense(_) => None,
        }
    }

    /// The failure in one word, for counting.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Unreachable(_) => "unreachable",
            Self::Refused { status: 429, .. } => "limited",
            Self::Refused { status: 500.., .. } => "broken",
            Self::Refused { .. } => "refused",
            Self::Nonsense(_) => "nonsense",
        }
    }

    /// A description for the log, without any text from the endpoint.
    pub(super) fn kind(&self) -> String {
        match self {
            Self::Unreachable(_) => "unreachable".into(),
            Self::Refused { status, .. } => format!("status {status}"),
            Self::Nonsense(_) => "nonsense".into(),
        }
    }

    /// The failure as a sentence that tells users what to do.
    pub(super) fn explain(self, endpoint: &Endpoint) -> ModelError {
        match self {
            Self::Unreachable(reason) => ModelError::Unreachable {
                endpoint: endpoint.shown.clone(),
                reason,
            },
            Self::Nonsense(reason) => ModelError::Nonsense {
                reason: endpoint.without_key(&reason),
            },
            Self::Refused {
                message,
                about: About::Length,
                ..
            } => ModelError::TooLong {
                message: endpoint.without_key(&message),
            },
            Self::Refused {
                status, message, about, ..
            } => ModelError::Refused {
                status,
                message: endpoint.without_key(&message),
                remedy: match (about, status) {
                    (About::Tools, _) => {
                        "set GREENLIGHT_MODEL_TOOLS=code, or GREENLIGHT_MODEL to a model with tool \
                                          calls"
                    }
                    (_, 300..=399) => "it redirects: set GREENLIGHT_MODEL_BASE_URL to the new address",
                    (_, 401 | 403) => "check GREENLIGHT_MODEL_API_KEY",
                    (_, 404) => "check GREENLIGHT_MODEL_BASE_URL and GREENLIGHT_MODEL",
                    (_, 402 | 429) => {
                        "its quota or rate limit is used up: try later, or set another GREENLIGHT_MODEL_API_KEY"
                    }
                    (_, 500..=599) => "the endpoint failed: try later, or set another GREENLIGHT_MODEL_BASE_URL",
                    _ => "check that GREENLIGHT_MODEL is a model with tool calls and a context that is large enough",
                },
            },
        }
    }
}

impl From<reqwest::Error> for Failure {
    fn from(error: reqwest::Error) -> Self {
        if error.is_timeout() {
            return Self::Unreachable("no answer in time".into());
        }
        // The outer errors only say that something failed; the innermost says what.
        let mut reason: &dyn std::error::Error = &error;
        while let Some(source) = reason.source() {
            reason = source;
        }
        Self::Unreachable(one_line(&reason.to_string()))
    }
}

impl From<OpenAIError> for Failure {
    fn from(error: OpenAIError) -> Self {
        match error {
            OpenAIError::Boxed(error) => match error.downcast::<Self>() {
                Ok(failure) => *failure,
                Err(_) => Self::Unreachable("the request could not be made".into()),
            },
            OpenAIError::Reqwest(error) => error.into(),
            _ => Self::Nonsense("an unexpected answer".into()),
        }
    }
}

/// What an error is about. Servers share no error codes for most of it, so this looks for words in the message.
fn about(status: u16, body: &Value, message: &str) -> About {
    let is = |code: &str| {
        ["/error/code", "/error/type", "/code", "/type"]
            .iter()
            .any(|at| body.pointer(at).is_some_and(|is| is == code))
    };
    let message = message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    const TOO_LONG: [&str; 8] = [
        "context length",
        "context size",
        "context window",
        "context limit",
        "prompt is too long",
        "input is too long",
        "too many tokens",
        "reduce the length",
    ];
    if is("insufficient_quota") {
        About::Credit
    } else if !matches!(status, 400 | 404 | 413 | 415 | 422 | 500 | 501) {
        About::Other
    } else if status == 413 || is("context_length_exceeded") || is("exceed_context_size_error") || says(&TOO_LONG) {
        About::Length
    } else if says(&["stream_options", "include_usage"]) {
        About::StreamUsage
    } else if status >= 500 {
        // Server errors may mention tools, but are temporary.
        if says(&["tools param", "not support tool"]) {
            About::Tools
        } else {
            About::Other
        }
    } else if says(&["stream"]) {
        About::Stream
    } else if says(&["max_tokens", "max_completion_tokens", "max_output_tokens"]) {
        About::Brevity
    } else if says(&["tool", "function call", "functions"]) {
        About::Tools
    } else {
        About::Other
    }
}

/// How long an endpoint asks to wait: seconds, a date, or milliseconds as with OpenAI and Azure.
/// <https://www.rfc-editor.org/rfc/rfc9110#field.retry-after>
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(milliseconds) = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(milliseconds / 1_000.0).ok();
    }
    let wait = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = wait.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let time = |text: &str| Some(rfc2822::parse(text).ok()?.timestamp());
    // Relative to the endpoint's own clock, if it sends the time.
    let now = text(DATE.as_str()).and_then(time).unwrap_or_else(Timestamp::now);
    Some(Duration::try_from(time(wait)?.duration_since(now)).unwrap_or_default())
}

/// A description of a web page that arrived instead of an answer. `None` if the text is not a page.
fn page(text: &str) -> Option<String> {
    let text: String = text.trim_start().chars().take(MAX_PAGE).collect();
    let lower = text.to_ascii_lowercase();
    if !lower.starts_with("<!doctype html") && !lower.starts_with("<html") {
        return None;
    }
    let title = lower.find("<title>").map(|at| at + "<title>".len());
    let title = title.and_then(|from| text.get(from..from + lower.get(from..)?.find('<')?));
    Some(match title.map(one_line).filter(|title| !title.is_empty()) {
        Some(title) => format!("a web page titled “{title}”, not a model's answer"),
        None => "a web page, not a model's answer".into(),
    })
}

pub(super) fn one_line(text: &str) -> String {
    let line = visible(text).split_whitespace().collect::<Vec<_>>().join(" ");
    redact(&line).chars().take(MAX_MESSAGE).collect()
}

/// The message of an error body in the format of OpenAI, Ollama (a string), vLLM (flat) or FastAPI (`detail`).
pub(super) fn error_message(body: &Value) -> Option<&str> {
    let places = ["/error/message", "/error", "/message", "/detail"];
    places.iter().find_map(|place| body.pointer(place)?.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_web_page_is_called_one() {
        let refused = |text: &str| match Failure::refused(404, &Value::Null, text, &HeaderMap::new()) {
            Failure::Refused { message, .. } => message,
            other => other.to_string(),
        };
        assert_eq!(
            refused("\n<!DOCTYPE html>\n<html><head><TITLE>Not\nfound</TITLE></head><p>long</p></html>"),
            "a web page titled “Not found”, not a model's answer"
        );
        assert_eq!(refused("<html>ä<title>"), "a web page, not a model's answer");
        assert_eq!(refused("no such route"), "no such route");
    }

    #[test]
    fn messages_of_real_servers_say_what_was_refused() {
        #[track_caller]
        fn check(status: u16, body: Value, about: About) {
            let failure = Failure::refused(status, &body, "", &HeaderMap::new());
            assert!(failure.is_about(about), "{failure:?} of {body}");
        }
        let tools = "registry.ollama.ai/library/gemma:2b does not support tools";
        check(400, json!({ "error": { "message": tools } }), About::Tools);
        check(400, json!({ "error": tools }), About::Tools);
        let vllm = "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set";
        check(
            400,
            json!({ "object": "error", "message": vllm, "code": 400 }),
            About::Tools,
        );
        check(
            500,
            json!({ "error": { "message": "tools param requires --jinja flag" } }),
            About::Tools,
        );
        check(
            404,
            json!({ "error": { "message": "No endpoints found that support tool use." } }),
            About::Tools,
        );
        let long = json!({ "error": { "message": "x", "code": "context_length_exceeded" } });
        check(400, long, About::Length);
        let llama = "request (6031 tokens) exceeds the available context size (2048 tokens), try increasing it";
        check(
            400,
            json!({ "error": { "code": 400, "message": llama } }),
            About::Length,
        );
        check(
            400,
            json!({ "detail": "stream_options is not allowed" }),
            About::StreamUsage,
        );
        check(422, json!({ "detail": "streaming is not supported" }), About::Stream);
        check(
            400,
            json!({ "error": "Unsupported parameter: 'max_tokens'" }),
            About::Brevity,
        );
        check(429, json!({ "error": { "code": "insufficient_quota" } }), About::Credit);
        check(503, json!({ "error": "the tool shed is busy" }), About::Other);
        check(400, json!({ "error": "bad request" }), About::Other);
    }

    #[test]
    fn an_endpoint_may_ask_to_wait_in_three_ways() {
        let wait = |headers: &[(&'static str, &'static str)]| {
            let pairs = headers
                .iter()
                .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
            retry_after(&pairs.collect())
        };
        assert_eq!(wait(&[("retry-after", "2")]), Some(Duration::from_secs(2)));
        assert_eq!(wait(&[("retry-after", " 1.5 ")]), Some(Duration::from_millis(1_500)));
        assert_eq!(
            wait(&[("retry-after", "9"), ("retry-after-ms", "20")]),
            Some(Duration::from_millis(20))
        );
        let date = ("date", "Sun, 06 Nov 1994 08:49:07 GMT");
        assert_eq!(
            wait(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), date]),
            Some(Duration::from_secs(30))
        );
        assert_eq!(
            wait(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")]),
            Some(Duration::ZERO)
        );
        for wrong in ["-1", "soon", "nan", "inf", "1e300"] {
            assert_eq!(wait(&[("retry-after", wrong)]), None, "{wrong}");
        }
        assert_eq!(wait(&[]), None);
    }
}
