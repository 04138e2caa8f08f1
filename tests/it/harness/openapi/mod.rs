//! Checks every exchange with GitHub against GitHub's published description of its API.
//!
//! An operation outside of the slice of the description (`tests/fixtures/openapi`) is a violation, so that no request
//! is sent that nobody looked up. Rules that depend on the state of a repository are not checked here; the double
//! checks them.

use std::fmt;
use std::sync::OnceLock;

use description::{Description, Operation};
use github_double::RecordedExchange;
use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator as Schema};
use serde_json::{Value, json};

mod description;

/// Statuses that any operation may return, which GitHub describes once: not modified, invalid JSON, invalid token,
/// forbidden, not found (or not visible), invalid fields, rate limits, and server errors.
/// <https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api>
const ANYWHERE: [u16; 11] = [304, 400, 401, 403, 404, 422, 429, 500, 502, 503, 504];

/// One request and its answer, as they went over the wire.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange<'a> {
    pub(crate) method: &'a str,
    /// Percent-encoded, without host, base path and query.
    pub(crate) path: &'a str,
    /// The text after the `?`; empty if there is none.
    pub(crate) query: &'a str,
    pub(crate) request_body: Option<&'a Value>,
    pub(crate) status: u16,
    /// `None` if there is no body, or one that is not JSON, like a diff or a log.
    pub(crate) response_body: Option<&'a Value>,
}

/// A deviation from GitHub's description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The operation, then `path`, `query`, `status`, or `request` or `response` with a JSON pointer.
    pub(crate) at: String,
    pub(crate) what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.what)
    }
}

/// What GitHub's description does not allow in an exchange that the double recorded.
pub(crate) fn violations(recorded: &RecordedExchange) -> Vec<String> {
    let body = |value: &Value| (!value.is_null()).then(|| value.clone());
    let (request, response) = (body(&recorded.request), body(&recorded.response));
    let exchange = Exchange {
        method: &recorded.method,
        path: &recorded.path,
        query: &recorded.query,
        request_body: request.as_ref(),
        status: recorded.status,
        response_body: response.as_ref(),
    };
    let found = Validator::load().check(&exchange);
    found.iter().map(ToString::to_string).collect()
}

pub(crate) struct Validator {
    description: Description,
}

impl Validator {
    /// Returns the validator that all tests share.
    pub(crate) fn load() -> &'static Self {
        static VALIDATOR: OnceLock<Validator> = OnceLock::new();
        VALIDATOR.get_or_init(|| Self {
            description: Description::read(),
        })
    }

    /// Lists everything in an exchange that GitHub's description does not allow.
    pub(crate) fn check(&self, exchange: &Exchange<'_>) -> Vec<Violation> {
        let Some((operation, arguments)) = self.description.find(exchange.method, exchange.path) else {
            let at = format!("{} {}", exchange.method, exchange.path);
            return vec![Violation {
                at,
                what: "no such operation in the slice of the description".into(),
            }];
        };
        let mut found = Vec::new();
        for (name, value) in arguments {
            check_parameter(operation, "path", name, &value, &mut found);
        }
        check_query(operation, exchange.query, &mut found);
        self.check_request(operation, exchange.request_body, &mut found);
        self.check_response(operation, exchange.status, exchange.response_body, &mut found);
        for violation in &mut found {
            violation.at = format!("{} {} {}", operation.method, operation.template, violation.at);
        }
        found
    }

    fn check_request(&self, operation: &Operation, body: Option<&Value>, found: &mut Vec<Violation>) {
        match (&operation.request, body) {
            (None, Some(_)) => report(found, "request", "a body where none is described"),
            (Some(request), None) if request.is_required => report(found, "request", "no body"),
            (Some(request), Some(body)) => {
                check_body(&request.schema, "request", body, found);
                self.check_keys(&request.source, "request", body, found);
            }
            (_, None) => {}
        }
    }

    /// GitHub ignores unknown keys, so a misspelt one would never be noticed.
    fn check_keys(&self, schema: &Value, at: &str, value: &Value, found: &mut Vec<Violation>) {
        let schema = self.description.resolve(schema);
        match value {
            Value::Object(map) => {
                let properties = self.description.properties(schema);
                if properties.is_empty() || schema["additionalProperties"].is_object() {
                    return;
                }
                for (key, value) in map {
                    match properties.get(key.as_str()) {
                        Some(schema) => self.check_keys(schema, &format!("{at}/{key}"), value, found),
                        None => report(found, at, &format!("unknown key {key:?}")),
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.check_keys(&schema["items"], &format!("{at}/{index}"), item, found);
                }
            }
            _ => {}
        }
    }

    fn check_response(&self, operation: &Operation, status: u16, body: Option<&Value>, found: &mut Vec<Violation>) {
        match (operation.responses.get(&status), body) {
            (Some(Some(schema)), Some(body)) => check_body(schema, "response", body, found),
            (Some(None), Some(_)) => report(found, "response", "a body where none is described"),
            (None, _) if !ANYWHERE.contains(&status) => {
                report(found, "status", &format!("{status} is not described"));
            }
            (None, Some(body)) => check_body(&self.description.error_body, "response", body, found),
            (_, None) => {}
        }
    }
}

fn report(found: &mut Vec<Violation>, at: &str, what: &str) {
    found.push(Violation {
        at: at.into(),
        what: what.into(),
    });
}

fn check_query(operation: &Operation, query: &str, found: &mut Vec<Violation>) {
    let pairs: Vec<_> = url::form_urlencoded::parse(query.as_bytes()).collect();
    for (name, value) in &pairs {
        check_parameter(operation, "query", name, value, found);
    }
    for required in operation
        .parameters
        .iter()
        .filter(|it| it.place == "query" && it.is_required)
    {
        if !pairs.iter().any(|(name, _)| *name == required.name) {
            report(found, "query", &format!("{} is missing", required.name));
        }
    }
}

fn check_parameter(operation: &Operation, place: &str, name: &str, text: &str, found: &mut Vec<Violation>) {
    let Some(parameter) = operation
        .parameters
        .iter()
        .find(|it| it.place == place && it.name == name)
    else {
        return report(found, place, &format!("unknown parameter {name:?}"));
    };
    let value = match parameter.kind.as_str() {
        "integer" => text.parse::<i64>().map_or_else(|_| json!(text), Value::from),
        "boolean" => text.parse::<bool>().map_or_else(|_| json!(text), Value::from),
        _ => json!(text),
    };
    if let Err(error) = parameter.schema.validate(&value) {
        report(found, place, &format!("{name}: {error}"));
    }
}

fn check_body(schema: &Schema, at: &str, body: &Value, found: &mut Vec<Violation>) {
    for error in schema.iter_errors(body) {
        let error = innermost(&error);
        report(
            found,
            &format!("{at}{}", error.instance_path()),
            &error.masked().to_string(),
        );
    }
}

/// If no alternative matches, the errors of the nearest one are the most helpful.
fn innermost<'a>(error: &'a ValidationError<'a>) -> &'a ValidationError<'a> {
    let (ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context }) = error.kind() else {
        return error;
    };
    let nearest = context
        .iter()
        .filter(|errors| !errors.is_empty())
        .min_by_key(|errors| errors.len());
    nearest.map_or(error, |errors| innermost(&errors[0]))
}
