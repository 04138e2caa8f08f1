//! Routes, and the arguments of their handlers.
//!
//! A route names the permission that it needs and the body keys that GitHub documents, and [`super::server`] enforces
//! both for all of them. [`super::table`] lists all routes.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::answer::{RestAnswer, check_body, wrong_type};
use super::state::{Holder, PullRequest, Repository, State};

/// The permission that a route needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    /// No credentials.
    Nothing,
    /// A JSON web token signed with the App's key.
    App,
    /// Any valid token.
    Token,
    /// One of these permissions, for reading.
    Read(&'static [&'static str]),
    /// One of these permissions, for writing.
    Write(&'static [&'static str]),
}

pub(super) type Handler = fn(&mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer>;

/// Captures that may consist of several segments.
const LONG: [&str; 3] = ["ref", "path", "basehead"];

/// One route of the REST API.
pub(super) struct Route {
    pub(super) method: &'static str,
    /// The path as in GitHub's OpenAPI description: literal segments and `{captures}`.
    pub(super) path: &'static str,
    pub(super) needs: Needs,
    /// The top-level keys that GitHub documents for the body.
    pub(super) keys: &'static [&'static str],
    pub(super) run: Handler,
}

pub(super) const fn get(path: &'static str, needs: Needs, run: Handler) -> Route {
    Route {
        method: "GET",
        path,
        needs,
        keys: &[],
        run,
    }
}

pub(super) const fn post(path: &'static str, needs: Needs, keys: &'static [&'static str], run: Handler) -> Route {
    Route {
        method: "POST",
        path,
        needs,
        keys,
        run,
    }
}

pub(super) const fn patch(path: &'static str, needs: Needs, keys: &'static [&'static str], run: Handler) -> Route {
    Route {
        method: "PATCH",
        path,
        needs,
        keys,
        run,
    }
}

pub(super) const fn put(path: &'static str, needs: Needs, keys: &'static [&'static str], run: Handler) -> Route {
    Route {
        method: "PUT",
        path,
        needs,
        keys,
        run,
    }
}

pub(super) const fn delete(path: &'static str, needs: Needs, run: Handler) -> Route {
    Route {
        method: "DELETE",
        path,
        needs,
        keys: &[],
        run,
    }
}

impl Route {
    /// The captures, if this path matches the route.
    pub(super) fn captures(&self, segments: &[String]) -> Option<HashMap<&'static str, String>> {
        let pattern: Vec<&'static str> = self.path.split('/').skip(1).collect();
        let spare = segments.len().checked_sub(pattern.len())?;
        let mut captures = HashMap::new();
        let mut rest = segments;
        for part in pattern {
            let name = part.strip_prefix('{').and_then(|part| part.strip_suffix('}'));
            let take = if name.is_some_and(|name| LONG.contains(&name)) {
                1 + spare
            } else {
                1
            };
            let (here, after) = rest.split_at_checked(take)?;
            rest = after;
            match name {
                Some(name) => {
                    captures.insert(name, here.join("/"));
                }
                None if here[0] == part => {}
                None => return None,
            }
        }
        rest.is_empty().then_some(captures)
    }
}

/// A request during its handling.
pub(super) struct RouteCall<'a> {
    pub(super) state: &'a mut State,
    pub(super) holder: Option<Holder>,
    pub(super) captures: HashMap<&'static str, String>,
    pub(super) query: HashMap<String, String>,
    pub(super) body: Value,
    pub(super) accept: String,
    /// Whether the request had an `Authorization` header.
    pub(super) authorized: bool,
    /// The path without the prefix, for links to other pages.
    pub(super) path: String,
}

impl RouteCall<'_> {
    pub(super) fn capture(&self, name: &str) -> &str {
        self.captures.get(name).map_or("", String::as_str)
    }

    /// A number in the path; like GitHub, answers 404 to anything else.
    pub(super) fn number(&self, name: &str) -> Result<u64, RestAnswer> {
        self.capture(name).parse().map_err(|_| RestAnswer::not_found())
    }

    /// The repository that the path names. The holder's access was already checked.
    pub(super) fn repository(&self) -> Result<&Repository, RestAnswer> {
        self.state
            .repository_named(self.capture("owner"), self.capture("repo"))
            .ok_or_else(RestAnswer::not_found)
    }

    pub(super) fn repository_id(&self) -> Result<u64, RestAnswer> {
        Ok(self.repository()?.id)
    }

    /// The pull request that the path names as a pull request or an issue, with the id of its repository.
    pub(super) fn pull(&self) -> Result<(u64, PullRequest), RestAnswer> {
        let number = self.number("pull_number").or_else(|_| self.number("issue_number"))?;
        let repository = self.repository()?;
        let pull = repository.pulls.get(&number).ok_or_else(RestAnswer::not_found)?;
        Ok((repository.id, pull.clone()))
    }

    /// The login that this request acts as.
    pub(super) fn login(&self) -> String {
        match &self.holder {
            Some(Holder::Installation { slug, .. }) => self.state.app_named(slug).bot(),
            Some(Holder::Person { login, .. } | Holder::FineGrained { login, .. }) => login.clone(),
            None => String::new(),
        }
    }

    /// The App that this request acts as. `None` for a person.
    pub(super) fn app(&self) -> Option<&str> {
        match &self.holder {
            Some(Holder::Installation { slug, .. }) => Some(slug),
            _ => None,
        }
    }

    /// A required string in the body.
    pub(super) fn text(&self, key: &str) -> Result<String, RestAnswer> {
        match self.body.get(key) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(Value::Null) | None => Err(RestAnswer::invalid(&format!(
                "Invalid request.\n\n\"{key}\" wasn't supplied."
            ))),
            Some(other) => Err(wrong_type(key, other, "a string")),
        }
    }

    /// An optional string in the body; `null` counts as missing.
    pub(super) fn optional_text(&self, key: &str) -> Result<Option<String>, RestAnswer> {
        match self.body.get(key) {
            Some(Value::Null) | None => Ok(None),
            Some(_) => self.text(key).map(Some),
        }
    }

    /// An optional list in the body.
    pub(super) fn list(&self, key: &str) -> Result<Vec<Value>, RestAnswer> {
        match self.body.get(key) {
            Some(Value::Array(items)) => Ok(items.clone()),
            Some(Value::Null) | None => Ok(Vec::new()),
            Some(other) => Err(wrong_type(key, other, "an array")),
        }
    }

    /// A comment's text: required, not blank, at most 65 536 characters.
    pub(super) fn comment_body(&self) -> Result<String, RestAnswer> {
        let body = self.text("body")?;
        check_body(&body)?;
        if body.trim().is_empty() {
            return Err(RestAnswer::unprocessable(&[json!({
                "resource": "IssueComment", "code": "missing_field", "field": "body"
            })]));
        }
        Ok(body)
    }
}

/// Keys of the body that the route does not have.
pub(super) fn unknown_keys(route: &Route, body: &Value) -> Vec<String> {
    let none = Map::new();
    let keys = body.as_object().unwrap_or(&none).keys();
    keys.filter(|key| !route.keys.contains(&key.as_str()))
        .cloned()
        .collect()
}
