//! GitHub's own pages of the web flow of an App: a person agrees, and the App exchanges the code for a token.
//! <https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-user-access-token-for-a-github-app>
//!
//! In one point this is stricter than GitHub: a request without `state` or without PKCE is a violation.

use std::collections::HashMap;
use std::fmt::Write as _;

use axum::http::request::Parts;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{Timestamp, ToSpan as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;
use url::form_urlencoded::{Serializer, parse};

use super::answer::RestAnswer;
use super::sign_ins::Code;
use super::state::{Holder, State};
use super::{Double, auth, objects};

const AUTHORIZE: &str = "/login/oauth/authorize";
const EXCHANGE: &str = "/login/oauth/access_token";
/// How long a code is valid, and how long a person's token is.
const CODE_MINUTES: i64 = 10;
const TOKEN_SECONDS: i64 = 28_800;

type Parameters = HashMap<String, String>;

impl Double {
    /// Adds a callback URL to the App's settings.
    pub fn add_callback(&self, url: &str) {
        self.shared.lock().sign_ins.callbacks.push(url.into());
    }

    /// From now on, GitHub's pages are opened by this person, who agrees at once. Without one, the page asks who it is.
    pub fn set_browser_of(&self, login: Option<&str>) {
        self.shared.lock().sign_ins.browser = login.map(str::to_owned);
    }

    /// Somebody withdraws the App's permission to act for them; delivers `github_app_authorization.revoked`.
    pub async fn revoke(&self, login: &str) {
        {
            let mut state = self.shared.lock();
            state.tokens.retain(|name, token| {
                !(name.starts_with("ghu_")
                    && matches!(&token.holder, Holder::Person { login: its, .. } if its == login))
            });
            let payload = json!({ "action": "revoked", "sender": objects::account(&state, login) });
            state.notify_plainly("github_app_authorization", payload);
        }
        self.delivered().await;
    }

    /// Lets the codes that were not exchanged yet expire.
    pub fn expire_codes(&self) {
        for code in self.shared.lock().sign_ins.codes.values_mut() {
            code.made = Timestamp::UNIX_EPOCH;
        }
    }
}

/// The client id of the App.
pub(super) fn client_id(state: &State) -> String {
    format!("Iv23li{:08}", state.app().id)
}

/// The client secret of the App: a different one in each world.
pub(super) fn client_secret(state: &State) -> String {
    hex::encode(&Sha256::digest(format!("client secret of {}", state.web))[..20])
}

/// Answers a request of the web flow. `None` if it is not one.
pub(super) fn serve(state: &mut State, parts: &Parts, body: &[u8]) -> Option<RestAnswer> {
    let query: Parameters = parse(parts.uri.query().unwrap_or_default().as_bytes())
        .into_owned()
        .collect();
    match (parts.method.as_str(), parts.uri.path()) {
        // Browsers ask for it at every host.
        ("GET", "/favicon.ico") => Some(RestAnswer::empty(404)),
        ("GET", AUTHORIZE) => Some(authorize(state, &query, None)),
        ("POST", AUTHORIZE) => {
            let form: Parameters = parse(body).into_owned().collect();
            let login = form.get("login").cloned().unwrap_or_default();
            Some(authorize(state, &form, Some(login)))
        }
        ("POST", EXCHANGE) => {
            let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
            let is_json = header("content-type").is_some_and(|kind| kind.contains("json"));
            let mut given = query;
            match serde_json::from_slice(body) {
                Ok(Value::Object(keys)) if is_json => given.extend(
                    keys.into_iter()
                        .filter_map(|(key, value)| Some((key, value.as_str()?.to_owned()))),
                ),
                _ => given.extend(parse(body).into_owned()),
            }
            let answer = exchange(state, &given).unwrap_or_else(|error| error);
            Some(in_format(&answer, header("accept").unwrap_or_default()))
        }
        _ => None,
    }
}

/// The page that asks a person, or the way back to the App. `login`: who agreed on the page; empty if nobody did.
fn authorize(state: &mut State, asked: &Parameters, login: Option<String>) -> RestAnswer {
    let get = |name: &str| asked.get(name).map_or("", String::as_str);
    if get("client_id") != client_id(state) {
        return page(404, "<h1>Not Found</h1>");
    }
    if get("state").is_empty() || get("code_challenge").is_empty() {
        let what = "a sign-in has no `state` or no `code_challenge`";
        state.recorder.violation(what.into());
    }
    let Some(first) = state.sign_ins.callbacks.first().cloned() else {
        return page(400, "<h1>The App has no callback URL.</h1>");
    };
    let redirect = asked.get("redirect_uri").cloned().unwrap_or_else(|| first.clone());
    if !state.sign_ins.callbacks.iter().any(|known| fits(known, &redirect)) {
        let text = "The redirect_uri MUST match the registered callback URL for this application.";
        return back(
            &first,
            &[
                ("error", "redirect_uri_mismatch"),
                ("error_description", text),
                ("state", get("state")),
            ],
        );
    }
    if !get("code_challenge").is_empty() && get("code_challenge_method") != "S256" {
        return page(400, "<h1>Only S256 is supported.</h1>");
    }
    let login = match login.or_else(|| state.sign_ins.browser.clone()) {
        None => return ask(state, asked),
        Some(login) if state.account(&login).is_none_or(|account| account.kind != "User") => {
            let text = "The user has denied your application access.";
            return back(
                &redirect,
                &[
                    ("error", "access_denied"),
                    ("error_description", text),
                    ("state", get("state")),
                ],
            );
        }
        Some(login) => login,
    };
    let serial = state.fresh_id();
    let code = hex::encode(&Sha256::digest(format!("code {serial} of {}", state.web))[..10]);
    let made = Code {
        login,
        redirect: redirect.clone(),
        challenge: asked.get("code_challenge").cloned(),
        made: Timestamp::now(),
    };
    state.sign_ins.codes.insert(code.clone(), made);
    back(&redirect, &[("code", &code), ("state", get("state"))])
}

/// Whether a redirect is to a callback URL: exactly, except for the port of a loopback address.
fn fits(known: &str, redirect: &str) -> bool {
    let parts = |text: &str| {
        let mut url = Url::parse(text).ok()?;
        let is_loopback = matches!(url.host_str(), Some("127.0.0.1" | "[::1]"));
        if is_loopback {
            url.set_port(None).ok()?;
        }
        Some(url)
    };
    parts(known).is_some_and(|known| parts(redirect) == Some(known))
}

fn back(to: &str, parameters: &[(&str, &str)]) -> RestAnswer {
    let Ok(mut url) = Url::parse(to) else {
        return page(400, "<h1>The callback URL is not a URL.</h1>");
    };
    url.query_pairs_mut().extend_pairs(parameters);
    RestAnswer::empty(302).header("location", url.to_string())
}

fn page(status: u16, body: &str) -> RestAnswer {
    let html = format!(
        "<!doctype html>\n<html lang=\"en\"><link rel=\"icon\" href=\"data:,\"><title>GitHub (double)</title>\n{body}</html>\n"
    );
    RestAnswer {
        status,
        ..RestAnswer::bytes("text/html; charset=utf-8", html.into_bytes())
    }
}

/// A button for each person.
fn ask(state: &State, asked: &Parameters) -> RestAnswer {
    let escaped = |text: &str| {
        let text = text.replace('&', "&amp;").replace('"', "&quot;");
        text.replace('<', "&lt;")
    };
    let mut html = String::from("<h1>Sign in to greenlight</h1>\n<form method=\"post\">\n");
    for (name, value) in asked {
        let _ = writeln!(
            html,
            "<input type=\"hidden\" name=\"{}\" value=\"{}\">",
            escaped(name),
            escaped(value)
        );
    }
    for account in state.accounts.iter().filter(|account| account.kind == "User") {
        let login = escaped(&account.login);
        let _ = writeln!(
            html,
            "<button name=\"login\" value=\"{login}\">Continue as {login}</button>"
        );
    }
    html.push_str("<button name=\"login\" value=\"\">Cancel</button>\n</form>\n");
    page(200, &html)
}

/// The token for a code, or the error, as keys of the answer.
/// <https://docs.github.com/en/apps/oauth-apps/maintaining-oauth-apps/troubleshooting-oauth-app-access-token-request-errors>
fn exchange(state: &mut State, given: &Parameters) -> Result<Value, Value> {
    let get = |name: &str| given.get(name).map_or("", String::as_str);
    let error = |code: &str, description: &str| {
        let uri = format!("/apps/managing-oauth-apps/troubleshooting-oauth-app-access-token-request-errors/#{code}");
        json!({ "error": code, "error_description": description, "error_uri": uri })
    };
    if get("client_id") != client_id(state) || get("client_secret") != client_secret(state) {
        let text = "The client_id and/or client_secret passed are incorrect.";
        return Err(error("incorrect_client_credentials", text));
    }
    let bad = || error("bad_verification_code", "The code passed is incorrect or expired.");
    // A code is used up even if the rest is wrong.
    let code = state.sign_ins.codes.remove(get("code")).ok_or_else(bad)?;
    if Timestamp::now() > code.made.checked_add(CODE_MINUTES.minutes()).unwrap_or(code.made) {
        return Err(bad());
    }
    if given
        .get("redirect_uri")
        .is_some_and(|redirect| *redirect != code.redirect)
    {
        let text = "The redirect_uri MUST match the registered callback URL for this application.";
        return Err(error("redirect_uri_mismatch", text));
    }
    let proof = URL_SAFE_NO_PAD.encode(Sha256::digest(get("code_verifier")));
    if code.challenge.is_some_and(|challenge| challenge != proof) {
        return Err(bad());
    }
    let token = auth::mint_for_sign_in(state, &code.login, TOKEN_SECONDS);
    Ok(json!({ "access_token": token, "expires_in": TOKEN_SECONDS, "scope": "", "token_type": "bearer" }))
}

/// JSON only for clients that ask for it.
fn in_format(answer: &Value, accept: &str) -> RestAnswer {
    if accept.contains("json") {
        return RestAnswer::ok(answer.clone());
    }
    let mut form = Serializer::new(String::new());
    for (key, value) in answer.as_object().into_iter().flatten() {
        form.append_pair(key, value.as_str().unwrap_or(&value.to_string()));
    }
    RestAnswer::bytes(
        "application/x-www-form-urlencoded; charset=utf-8",
        form.finish().into_bytes(),
    )
}
