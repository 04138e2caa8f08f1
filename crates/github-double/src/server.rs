//! The double's single request handler: finds the route, checks the caller, executes the route and records the
//! exchange.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body as HttpBody, Bytes};
use axum::extract::{DefaultBodyLimit, State as Shared_};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Response, StatusCode};
use serde_json::Value;

use super::answer::{ResponseBody, RestAnswer};
use super::auth::{self, Credentials};
use super::faults::Effect;
use super::limits::{GRAPHQL, conditional};
use super::record::RecordedExchange;
use super::route::{self, Needs, Route, RouteCall};
use super::state::{Holder, State};
use super::{Shared, git_http, graphql, manifests, moving, sign_in, table};

/// The largest request body.
const LARGEST_BODY: usize = 64 * 1024 * 1024;
/// The request headers that are recorded.
const RECORDED_HEADERS: [&str; 7] = [
    "accept",
    "content-encoding",
    "content-type",
    "user-agent",
    "x-github-api-version",
    "if-none-match",
    "git-protocol",
];

pub(super) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .fallback(answer)
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .with_state(shared)
}

async fn answer(Shared_(shared): Shared_<Arc<Shared>>, parts: Parts, body: Bytes) -> Response<HttpBody> {
    let path = parts.uri.path();
    let prefix = shared.lock().prefix.clone();
    let inside = path.strip_prefix(&prefix).unwrap_or(path);
    shared.rounds.wait(parts.method.as_str(), inside).await;
    let answer = {
        let mut state = shared.lock();
        exchange(&mut state, &parts, &body)
    };
    if parts.method != "GET" {
        shared.changed();
    }
    answer.map_or_else(close_connection, into_response)
}

/// A body that fails before its first byte, so that hyper drops the connection without sending anything.
fn close_connection() -> Response<HttpBody> {
    let broken = futures::stream::once(async { Err::<Bytes, _>(std::io::Error::other("planned reset")) });
    Response::new(HttpBody::from_stream(broken))
}

fn into_response(answer: RestAnswer) -> Response<HttpBody> {
    let mut response = Response::builder()
        .status(answer.status)
        .header("server", "github.com (double)")
        .header("x-github-media-type", "github.v3; format=json");
    for (name, value) in &answer.headers {
        response = response.header(*name, value);
    }
    let built = match answer.body {
        ResponseBody::Empty => response.body(HttpBody::empty()),
        ResponseBody::Json(value) => {
            let response = response.header("content-type", "application/json; charset=utf-8");
            response.body(HttpBody::from(value.to_string()))
        }
        ResponseBody::Bytes(kind, bytes) => response.header("content-type", kind).body(HttpBody::from(bytes)),
    };
    built.unwrap_or_else(|_| {
        let mut failed = Response::new(HttpBody::from("the double built a broken answer"));
        *failed.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        failed
    })
}

/// Answers one request and records it. `None` closes the connection instead.
fn exchange(state: &mut State, parts: &Parts, body: &[u8]) -> Option<RestAnswer> {
    let path = parts.uri.path();
    let operation = if path.ends_with(graphql::PATH) {
        graphql::operation(body)
    } else {
        ""
    };
    let effect = state.faults.take(parts.method.as_str(), &format!("{path}{operation}"));

    let (mut record, answer) = match &effect {
        Some(Effect::Instead(_)) => (blank_record(state, parts), RestAnswer::empty(502)),
        _ => dispatch(state, parts, body),
    };
    record.faulty = effect.is_some();
    record.request = serde_json::from_slice(body).unwrap_or(Value::Null);
    record.status = answer.status;
    if let ResponseBody::Json(value) = &answer.body {
        record.response = value.clone();
    }
    let sent = match effect {
        Some(Effect::Instead(planned) | Effect::Afterwards(planned)) => planned,
        None => Some(answer),
    };
    if record.faulty {
        record.status = sent.as_ref().map_or(0, |answer| answer.status);
    }
    state.recorder.keep(record);
    sent
}

fn blank_record(state: &State, parts: &Parts) -> RecordedExchange {
    let path = parts.uri.path();
    let header = |name: &&str| Some(((*name).to_owned(), parts.headers.get(*name)?.to_str().ok()?.to_owned()));
    RecordedExchange {
        method: parts.method.to_string(),
        path: path.strip_prefix(&state.prefix).unwrap_or(path).to_owned(),
        route: None,
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: RECORDED_HEADERS.iter().filter_map(header).collect(),
        login: String::new(),
        request: Value::Null,
        status: 0,
        response: Value::Null,
        faulty: false,
    }
}

fn dispatch(state: &mut State, parts: &Parts, body: &[u8]) -> (RecordedExchange, RestAnswer) {
    let mut record = blank_record(state, parts);
    let pages = sign_in::serve(state, parts, body).or_else(|| manifests::serve(state, parts, body));
    if let Some(answer) = pages.or_else(|| git_http::serve(state, parts, body)) {
        return (record, answer);
    }
    let rest_path = graphql::rest_path(&state.prefix, parts.uri.path());
    let rest_path = rest_path.map(|path| moving::by_id(state, path));
    let found = rest_path.as_deref().and_then(|path| table::find(&record.method, path));
    if let Some(path) = rest_path.filter(|_| found.is_some()) {
        record.path = path;
    }
    let Some((route, captures)) = found else {
        let answer = unknown_route(state, &record);
        return (record, answer);
    };
    let path = record.path.clone();
    let is_described = route.needs != Needs::Nothing && route.path != graphql::PATH;
    record.route = is_described.then_some(route.path);
    let credentials = match auth::credentials(state, &parts.headers) {
        Ok(credentials) => credentials,
        Err(refusal) => return (record, refusal),
    };
    let asked = (record.method.as_str(), path.as_str(), parts.uri.query());
    if let Some(answer) = moving::redirect(state, asked, &credentials) {
        record.route = None;
        return (record, answer);
    }
    let query = url::form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes())
        .into_owned()
        .collect();
    let holder = match credentials {
        Credentials::Token(ref holder) => Some(holder.clone()),
        Credentials::App | Credentials::Missing => None,
    };
    let mut counted = login(state, &credentials);
    if route.path == graphql::PATH {
        counted.insert_str(0, GRAPHQL);
    }
    let request = Checked {
        route,
        captures,
        query,
        holder,
        path,
    };
    let answer = check(state, &request, &credentials, &counted).and_then(|()| {
        record.login = login(state, &credentials);
        run(state, request, &parts.headers, body)
    });
    let answer = answer.unwrap_or_else(|refusal| refusal);
    let if_none_match = parts.headers.get("if-none-match").and_then(|value| value.to_str().ok());
    let answer = if parts.method == "GET" {
        conditional(answer, if_none_match)
    } else {
        answer
    };
    if answer.status == 304 {
        state.limits.forgive(&counted);
    }
    let answer = match route.needs {
        Needs::Nothing => answer,
        Needs::App | Needs::Token => state.limits.headers(&counted, answer),
        Needs::Read(names) => accepted(state.limits.headers(&counted, answer), names, "read"),
        Needs::Write(names) => accepted(state.limits.headers(&counted, answer), names, "write"),
    };
    (record, answer)
}

/// Adds the header with the permissions, of which any is sufficient; GitHub adds it whether or not they were granted.
/// <https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api#resource-not-accessible>
fn accepted(answer: RestAnswer, names: &[&str], level: &str) -> RestAnswer {
    let any: Vec<String> = names.iter().map(|name| format!("{name}={level}")).collect();
    answer.header("x-accepted-github-permissions", any.join("; "))
}

struct Checked {
    route: &'static Route,
    captures: HashMap<&'static str, String>,
    query: HashMap<String, String>,
    holder: Option<Holder>,
    path: String,
}

/// Checks permissions before limits: a refused request only counts towards the hourly limit.
fn check(state: &mut State, request: &Checked, credentials: &Credentials, counted: &str) -> Result<(), RestAnswer> {
    let route = request.route;
    let repository = match (request.captures.get("owner"), request.captures.get("repo")) {
        (Some(owner), Some(name)) => Some(state.repository_named(owner, name).ok_or_else(RestAnswer::not_found)),
        _ => None,
    };
    let permitted = match repository {
        Some(Err(refusal)) if !matches!(credentials, Credentials::Missing) => return Err(refusal),
        Some(Err(_)) | None => auth::permit(state, route.needs, credentials, None),
        Some(Ok(repository)) => auth::permit(state, route.needs, credentials, Some(repository)),
    };
    // The App itself has a separate limit, which no story reaches.
    if route.needs != Needs::Nothing && !matches!(credentials, Credentials::App) {
        state.limits.count(counted)?;
    }
    permitted?;
    let quiet = ["/git/blobs", "/git/trees", "/access_tokens"]
        .iter()
        .any(|end| route.path.ends_with(end));
    if route.method != "GET" && !quiet {
        state.limits.create()?;
    }
    Ok(())
}

fn login(state: &State, credentials: &Credentials) -> String {
    match credentials {
        Credentials::Missing => String::new(),
        Credentials::App => state.app().slug.clone(),
        Credentials::Token(Holder::Person { login, .. } | Holder::FineGrained { login, .. }) => login.clone(),
        Credentials::Token(Holder::Installation { slug, .. }) => state.app_named(slug).bot(),
    }
}

fn run(state: &mut State, request: Checked, headers: &HeaderMap, body: &[u8]) -> Result<RestAnswer, RestAnswer> {
    let route = request.route;
    if headers.get("user-agent").is_none() {
        return Err(RestAnswer::error(
            403,
            "Request forbidden by administrative rules. Please make sure your request has a User-Agent header",
        ));
    }
    let parsed = match body {
        [] => Value::Null,
        bytes => serde_json::from_slice(bytes).map_err(|_| RestAnswer::error(400, "Problems parsing JSON"))?,
    };
    if !(parsed.is_null() || parsed.is_object()) {
        return Err(RestAnswer::error(400, "Body should be a JSON object"));
    }
    for key in route::unknown_keys(route, &parsed) {
        state
            .recorder
            .violation(format!("{} {} has the unknown key {key:?}", route.method, route.path));
    }
    let accept = headers
        .get("accept")
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .to_owned();
    let authorized = headers.contains_key("authorization");
    let Checked {
        captures,
        query,
        holder,
        path,
        ..
    } = request;
    (route.run)(&mut RouteCall {
        state,
        holder,
        captures,
        query,
        body: parsed,
        accept,
        authorized,
        path,
    })
}

/// A conspicuous 404: either the double has a gap, or the client used a wrong URL.
fn unknown_route(state: &mut State, record: &RecordedExchange) -> RestAnswer {
    let line = format!("{} {}", record.method, record.path);
    state.recorder.violation(format!("unknown route {line}"));
    RestAnswer::error(404, &format!("THE DOUBLE HAS NO ROUTE FOR {line}"))
}
