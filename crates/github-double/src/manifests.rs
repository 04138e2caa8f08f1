//! Apps from manifests: the pages that a person's browser sees, and the exchange of the code.
//!
//! Everybody who opens these pages is [`super::MAINTAINER`]. The new App takes the place of the first one, with its id
//! and key, and is not installed yet.
//! <https://docs.github.com/en/apps/sharing-github-apps/registering-a-github-app-from-a-manifest>

use std::collections::BTreeMap;

use axum::http::request::Parts;
use jiff::{Timestamp, ToSpan as _};
use serde_json::{Value, json};
use url::Url;

use super::answer::{ResponseBody, RestAnswer};
use super::faults::Uninstalled;
use super::names::MAINTAINER;
use super::registering::FormShown;
use super::route::{Needs, Route, RouteCall, post};
use super::state::State;
use super::{Double, apps, auth, objects};

pub(super) const ROUTES: &[Route] = &[post("/app-manifests/{code}/conversions", Needs::Nothing, &[], convert)];

/// GitHub's limits.
const MAX_NAME: usize = 34;
const MAX_CALLBACKS: usize = 10;
const FIELDS: [&str; 12] = [
    "name",
    "url",
    "hook_attributes",
    "redirect_url",
    "callback_urls",
    "setup_url",
    "description",
    "public",
    "default_events",
    "default_permissions",
    "request_oauth_on_install",
    "setup_on_update",
];
/// The keys of `app-permissions` that concern repositories, and the levels of each.
const READ_OR_WRITE: [&str; 18] = [
    "actions",
    "administration",
    "checks",
    "codespaces",
    "contents",
    "deployments",
    "environments",
    "issues",
    "merge_queues",
    "packages",
    "pages",
    "pull_requests",
    "repository_hooks",
    "secrets",
    "security_events",
    "statuses",
    "workflows",
    "metadata",
];
const EVENTS: [&str; 20] = [
    "check_run",
    "check_suite",
    "commit_comment",
    "create",
    "delete",
    "deployment",
    "fork",
    "issue_comment",
    "issues",
    "label",
    "merge_group",
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_review_thread",
    "push",
    "release",
    "repository",
    "status",
    "workflow_run",
];

impl Double {
    /// Lets the codes of new Apps become an hour older.
    pub fn age_codes(&self) {
        for made in self.shared.lock().manifests.codes.values_mut() {
            *made = made.checked_sub(1.hours()).unwrap_or(Timestamp::MIN);
        }
    }
}

/// Answers a browser's request for one of the pages. `None` if it is for something else.
pub(super) fn serve(state: &mut State, parts: &Parts, body: &[u8]) -> Option<RestAnswer> {
    let segments: Vec<&str> = parts.uri.path().split('/').skip(1).collect();
    let field = |bytes: &[u8], name: &str| {
        let mut pairs = url::form_urlencoded::parse(bytes).into_owned();
        pairs
            .find(|(key, _)| key == name)
            .map(|(_, value)| value)
            .unwrap_or_default()
    };
    let sent = || FormShown {
        state: field(parts.uri.query().unwrap_or_default().as_bytes(), "state"),
        manifest: serde_json::from_str(&field(body, "manifest")).unwrap_or(Value::Null),
    };
    Some(match (parts.method.as_str(), segments.as_slice()) {
        ("POST", ["settings", "apps", "new"]) => ask(state, MAINTAINER, sent()),
        ("POST", ["organizations", login, "settings", "apps", "new"]) => match state.account(login) {
            Some(owner) if owner.kind == "Organization" => ask(state, login, sent()),
            _ => page(404, "Not Found"),
        },
        ("POST", ["settings", "apps", "manifests", number]) => create(state, number),
        ("GET", ["apps", slug, "installations", "new"]) if *slug == state.app().slug => {
            let here = format!("/apps/{slug}/installations");
            page(200, &button(&here, "Install"))
        }
        ("POST", ["apps", slug, "installations"]) if *slug == state.app().slug => install(state),
        ("GET", ["favicon.ico"]) => RestAnswer::empty(404),
        _ => return None,
    })
}

/// Shows the manifest to the person, or its mistakes.
fn ask(state: &mut State, owner: &str, shown: FormShown) -> RestAnswer {
    let mistakes = mistakes(&shown.manifest);
    if !mistakes.is_empty() {
        return page(
            422,
            &format!("Invalid GitHub App configuration: {}", mistakes.join(", ")),
        );
    }
    let number = state.fresh_id().to_string();
    let question = format!("Create GitHub App for {}?", escaped(owner));
    let form = button(&format!("/settings/apps/manifests/{number}"), "Create GitHub App");
    state.manifests.shown.insert(number, shown);
    page(200, &format!("{question}{form}"))
}

/// What GitHub would not accept.
fn mistakes(manifest: &Value) -> Vec<String> {
    let Some(fields) = manifest.as_object() else {
        return vec!["the manifest is no JSON object".into()];
    };
    let is_url = |value: &Value| value.as_str().is_some_and(|text| text.parse::<Url>().is_ok());
    let mut mistakes: Vec<String> = fields
        .keys()
        .filter(|name| !FIELDS.contains(&name.as_str()))
        .map(|name| format!("unknown field {name}"))
        .collect();
    let name = manifest["name"].as_str().unwrap_or_default();
    if name.is_empty() || name.chars().count() > MAX_NAME {
        mistakes.push("name is missing or too long".into());
    }
    let required = [
        ("url", &manifest["url"]),
        ("hook url", &manifest["hook_attributes"]["url"]),
    ];
    let optional = ["redirect_url", "setup_url"].map(|name| (name, &manifest[name]));
    let optional = optional.into_iter().filter(|(_, value)| !value.is_null());
    for (name, value) in required.into_iter().chain(optional) {
        if !is_url(value) {
            mistakes.push(format!("{name} must be a URL"));
        }
    }
    let callbacks = manifest["callback_urls"].as_array().cloned().unwrap_or_default();
    if callbacks.len() > MAX_CALLBACKS || !callbacks.iter().all(is_url) {
        mistakes.push("callback_urls are too many or no URLs".into());
    }
    for (name, level) in manifest["default_permissions"].as_object().into_iter().flatten() {
        let levels = if name == "metadata" {
            ["read", "read"]
        } else {
            ["read", "write"]
        };
        let is_known = READ_OR_WRITE.contains(&name.as_str());
        if !is_known || !level.as_str().is_some_and(|level| levels.contains(&level)) {
            mistakes.push(format!("unknown permission {name}: {level}"));
        }
    }
    for event in manifest["default_events"].as_array().into_iter().flatten() {
        if !event.as_str().is_some_and(|event| EVENTS.contains(&event)) {
            mistakes.push(format!("unknown event {event}"));
        }
    }
    mistakes
}

/// The person says yes: the App exists, its webhook gets a `ping`, and the browser is sent back with a code.
fn create(state: &mut State, number: &str) -> RestAnswer {
    let Some(FormShown { manifest, state: sent }) = state.manifests.shown.remove(number) else {
        return page(404, "Not Found");
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = text(&manifest["name"]);
    let permissions: BTreeMap<String, String> =
        serde_json::from_value(manifest["default_permissions"].clone()).unwrap_or_default();
    let app = &mut state.apps[0];
    app.slug = name.to_lowercase().replace(' ', "-");
    app.name = name;
    app.permissions = permissions;
    app.events = serde_json::from_value(manifest["default_events"].clone()).unwrap_or_default();
    let bot = app.bot();
    if let Some(account) = state.accounts.iter_mut().find(|account| account.id == 102) {
        account.login = bot;
    }
    state.faults.uninstalled = Some(Uninstalled::Removed);
    let secret = auth::secret("webhook", state.fresh_id());
    state
        .hooks
        .set_target(&text(&manifest["hook_attributes"]["url"]), &secret);
    state.manifests.webhook_secret = secret;
    state.manifests.setup_url = text(&manifest["setup_url"]);
    state.notify_plainly(
        "ping",
        json!({ "zen": "Keep it logically awesome.", "hook_id": super::hooks::HOOK }),
    );
    let code = auth::secret("code", state.fresh_id());
    state.manifests.codes.insert(code.clone(), Timestamp::now());
    let Ok(mut back) = text(&manifest["redirect_url"]).parse::<Url>() else {
        return page(200, "The App was created.");
    };
    back.query_pairs_mut()
        .append_pair("code", &code)
        .append_pair("state", &sent);
    RestAnswer::empty(302).header("location", back)
}

/// Exchanges a code, once and within an hour.
fn convert(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let code = call.capture("code").to_owned();
    let made = call.state.manifests.codes.remove(&code);
    let hour_ago = Timestamp::now().checked_sub(1.hours()).unwrap_or(Timestamp::MIN);
    if made.is_none_or(|made| made <= hour_ago) {
        return Err(RestAnswer::not_found());
    }
    let mut app = objects::app(call.state, call.state.app());
    app["client_secret"] = json!(auth::secret("client", call.state.app().id));
    app["webhook_secret"] = json!(call.state.manifests.webhook_secret);
    app["pem"] = json!(auth::APP_KEY);
    Ok(RestAnswer::created(app))
}

/// The person chooses the repositories; the browser is sent to the App's setup page.
fn install(state: &mut State) -> RestAnswer {
    state.faults.uninstalled = None;
    let id = state.app().installations[0].0;
    let payload = json!({
        "action": "created",
        "installation": apps::installation(state, id),
        "repositories": super::installing::repositories(state),
        "sender": objects::account(state, MAINTAINER),
    });
    state.notify_plainly("installation", payload);
    match state.manifests.setup_url.parse::<Url>() {
        Ok(mut url) => {
            url.query_pairs_mut()
                .append_pair("installation_id", &id.to_string())
                .append_pair("setup_action", "install");
            RestAnswer::empty(302).header("location", url)
        }
        Err(_) => page(200, "Installed."),
    }
}

fn button(action: &str, label: &str) -> String {
    format!("<form method=\"post\" action=\"{action}\"><button>{label}</button></form>")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

fn page(status: u16, content: &str) -> RestAnswer {
    let html = format!("<!doctype html><title>GitHub</title><main>{content}</main>");
    RestAnswer {
        status,
        headers: Vec::new(),
        body: ResponseBody::Bytes("text/html; charset=utf-8", html.into_bytes()),
    }
}
