//! Routes for the App itself: its identity, its installations, and their tokens.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::answer::RestAnswer;
use super::auth;
use super::faults::Uninstalled;
use super::objects::{self, LONG_AGO};
use super::paging::page;
use super::route::{Needs, Route, RouteCall, get, post};
use super::state::{Holder, State};

pub(super) const ROUTES: &[Route] = &[
    get("/app", Needs::App, show_app),
    get("/app/installations", Needs::App, list_installations),
    get("/repos/{owner}/{repo}/installation", Needs::App, show_installation),
    post(
        "/app/installations/{installation_id}/access_tokens",
        Needs::App,
        &["repositories", "repository_ids", "permissions"],
        create_token,
    ),
    get("/user", Needs::Token, show_user),
    get("/user/{account_id}", Needs::Token, show_account),
];

fn show_app(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let mut app = objects::app(call.state, call.state.app());
    app["installations_count"] = json!(1);
    Ok(RestAnswer::ok(app))
}

/// `installation`, in responses and payloads.
pub(super) fn installation(state: &State, id: u64) -> Value {
    let app = state.app();
    let of = app.installations.iter().find(|(other, _)| *other == id);
    let owner = of.map_or("", |(_, owner)| owner.as_str());
    let at = format!("{}/app/installations/{id}", state.api());
    let is_suspended = state.faults.uninstalled == Some(Uninstalled::Suspended);
    json!({
        "id": id,
        "client_id": super::sign_in::client_id(state),
        "account": objects::account(state, owner),
        "repository_selection": "selected",
        "access_tokens_url": format!("{at}/access_tokens"),
        "repositories_url": format!("{}/installation/repositories", state.api()),
        "html_url": format!("{}/settings/installations/{id}", state.web),
        "app_id": app.id,
        "app_slug": app.slug,
        "target_id": state.account(owner).map_or(0, |account| account.id),
        "target_type": "Organization",
        "permissions": app.accepted(),
        "events": app.events,
        "created_at": LONG_AGO,
        "updated_at": LONG_AGO,
        "single_file_name": null,
        "has_multiple_single_files": false,
        "single_file_paths": [],
        "suspended_by": is_suspended.then(|| objects::account(state, owner)),
        "suspended_at": is_suspended.then_some(LONG_AGO),
    })
}

/// All installations of the App.
fn list_installations(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let state = &*call.state;
    let all = state.app().installations.iter().map(|(id, _)| *id);
    let shown = all.filter(|_| state.faults.uninstalled != Some(Uninstalled::Removed));
    let shown = shown.map(|id| installation(state, id)).collect();
    Ok(page(call, shown))
}

fn show_installation(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    if call.state.faults.uninstalled == Some(Uninstalled::Removed) {
        return Err(RestAnswer::not_found());
    }
    let id = call.state.installation_of(&call.repository()?.owner);
    Ok(RestAnswer::ok(installation(
        call.state,
        id.ok_or_else(RestAnswer::not_found)?,
    )))
}

/// A token of the installation, with all of its permissions or some of them.
fn create_token(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let app = call.state.app().clone();
    let id = call.number("installation_id")?;
    let of = app.installations.iter().find(|(other, _)| *other == id);
    let (_, owner) = of.ok_or_else(RestAnswer::not_found)?;
    if let Some(end) = call.state.faults.uninstalled {
        return Err(end.no_token());
    }
    let permissions = match &call.body["permissions"] {
        Value::Null => app.accepted(),
        Value::Object(wanted) => wanted_permissions(wanted, &app.accepted())?,
        other => return Err(super::answer::wrong_type("permissions", other, "an object")),
    };
    let repositories = wanted_repositories(call, owner)?;
    let holder = Holder::Installation {
        slug: app.slug.clone(),
        id: Some(id),
        permissions: permissions.clone(),
        repositories: repositories.clone(),
    };
    let (token, expires_at) = auth::mint(call.state, holder);
    let expires_at = jiff::Timestamp::from_second(expires_at.as_second()).unwrap_or(expires_at);
    let mut body = json!({
        "token": token,
        "expires_at": expires_at.to_string(),
        "permissions": permissions,
        "repository_selection": "selected",
    });
    if let Some(ids) = repositories {
        let shown = ids.iter().filter_map(|id| call.state.repository(*id));
        body["repositories"] = shown.map(|one| objects::repository(call.state, one)).collect();
    }
    Ok(RestAnswer::created(body))
}

fn wanted_permissions(
    wanted: &serde_json::Map<String, Value>,
    granted: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, RestAnswer> {
    let mut permissions: BTreeMap<String, String> = BTreeMap::from([("metadata".into(), "read".into())]);
    for (name, level) in wanted {
        let level = level.as_str().unwrap_or_default();
        let fits = match granted.get(name).map(String::as_str) {
            Some("write") => matches!(level, "read" | "write"),
            Some("read") => level == "read",
            _ => false,
        };
        if !fits {
            return Err(RestAnswer::invalid(
                "The permissions requested are not granted to this installation.",
            ));
        }
        permissions.insert(name.clone(), level.into());
    }
    Ok(permissions)
}

fn wanted_repositories(call: &RouteCall<'_>, owner: &str) -> Result<Option<Vec<u64>>, RestAnswer> {
    let (names, ids) = (call.list("repositories")?, call.list("repository_ids")?);
    if names.is_empty() && ids.is_empty() {
        return Ok(None);
    }
    let known = |value: &Value| {
        let mut theirs = call.state.repositories.iter().filter(|one| one.owner == *owner);
        let found = theirs.find(|one| value.as_str() == Some(&one.name) || value.as_u64() == Some(one.id));
        found.map(|one| one.id).ok_or_else(|| {
            RestAnswer::invalid(
                "There is at least one repository that does not exist or is not accessible to the parent installation.",
            )
        })
    };
    names.iter().chain(&ids).map(known).collect::<Result<_, _>>().map(Some)
}

fn show_account(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let id = call.number("account_id")?;
    let found = call.state.accounts.iter().find(|account| account.id == id);
    Ok(RestAnswer::ok(user(
        call.state,
        &found.ok_or_else(RestAnswer::not_found)?.login,
    )))
}

fn show_user(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    if call.app().is_some() {
        return Err(RestAnswer::not_accessible());
    }
    let mut answer = RestAnswer::ok(user(call.state, &call.login()));
    if let Some(Holder::Person { scopes, .. }) = &call.holder {
        answer.headers.push(("x-oauth-scopes", (*scopes).into()));
    }
    Ok(answer)
}

/// `public-user`.
fn user(state: &State, login: &str) -> Value {
    let mut user = objects::account(state, login);
    for name in ["name", "company", "blog", "location", "email", "hireable", "bio"] {
        user[name] = Value::Null;
    }
    for name in ["public_repos", "public_gists", "followers", "following"] {
        user[name] = json!(0);
    }
    user["created_at"] = json!(LONG_AGO);
    user["updated_at"] = json!(LONG_AGO);
    user
}
