//! Signs people in with GitHub, and recognises them.
//!
//! Nothing is stored for a sign-in that is under way: the browser keeps a random value in a cookie, and the `state` and
//! the PKCE verifier are derived from it with the client secret. So a code is only accepted from the browser that asked
//! for it, by any process of this greenlight. After it, the journal has a digest of the session's cookie, the
//! account's id and its login; GitHub's token is dropped.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Form, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{AppendHeaders, IntoResponse as _, Redirect, Response};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use tokio::sync::Semaphore;

use super::secrets::{Seal, cookies, is_random, random, session_key};
use super::viewer::{Frame, Person, Viewer};
use super::{Missing, Shelf, rendered, within};
use crate::github::SignInApp;
use crate::journal::Session;

/// How long a session lasts.
const SESSION: SignedDuration = SignedDuration::from_hours(12);
/// How long a sign-in may take: as long as GitHub's codes are valid.
const UNDER_WAY: SignedDuration = SignedDuration::from_mins(10);
/// How many codes are exchanged at once, and how long that may take.
const MAX_EXCHANGES: usize = 8;
const EXCHANGE: Duration = Duration::from_secs(20);
/// The longest code.
const MAX_CODE: usize = 200;

/// Told to people who come from GitHub's page. Anybody can make such a link, so nothing relies on it.
const INSTALLED: &str = "The App is installed: from now on, greenlight answers when CI fails on a pull request, and \
                         when a maintainer comments /greenlight fix. Sign in to see and answer the runs of your \
                         repositories.";

/// The door for people who sign in.
#[derive(Clone)]
pub(super) struct SignInDoor(Arc<SignInState>);

struct SignInState {
    app: SignInApp,
    seal: Seal,
    /// Browsers keep a cookie with `__Host-` only over https.
    is_secure: bool,
    origin: String,
    exchanges: Semaphore,
}

#[derive(Template)]
#[template(path = "sign-in.html")]
struct SignInPage {
    frame: Frame,
    title: &'static str,
    text: &'static str,
    /// The page to return to.
    to: String,
}

impl SignInDoor {
    pub(super) fn new(app: SignInApp) -> Self {
        Self(Arc::new(SignInState {
            seal: Seal::new(app.client_secret.clone()),
            is_secure: app.public_url.scheme() == "https",
            origin: app.public_url.origin().ascii_serialization(),
            exchanges: Semaphore::new(MAX_EXCHANGES),
            app,
        }))
    }

    fn session_cookie(&self) -> &'static str {
        match self.0.is_secure {
            true => "__Host-greenlight",
            false => "greenlight-session",
        }
    }

    fn sign_in_cookie(&self) -> &'static str {
        match self.0.is_secure {
            true => "__Host-greenlight-sign-in",
            false => "greenlight-sign-in",
        }
    }

    /// A cookie that the browser keeps for so long. Scripts cannot read it, and other sites cannot send it along with
    /// anything but a link.
    fn cookie(&self, (name, value): (&str, &str), age: SignedDuration) -> (header::HeaderName, String) {
        let secure = if self.0.is_secure { "; Secure" } else { "" };
        let age = age.as_secs();
        let cookie = format!("{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Lax{secure}");
        (header::SET_COOKIE, cookie)
    }

    /// Who sends a request.
    async fn viewer(&self, shelf: &Shelf, headers: &HeaderMap) -> Result<Option<Viewer>, Missing> {
        let cookie = cookies(headers, self.session_cookie()).find(|cookie| is_random(cookie));
        let Some(cookie) = cookie else { return Ok(None) };
        let journal = &shelf.queue.app().journal;
        let key = session_key(cookie);
        let session = journal.session(&key, Timestamp::now()).await?;
        let csrf = self.0.seal.of("csrf", cookie);
        Ok(session.zip(csrf).map(|(session, csrf)| {
            let (id, account) = (session.id, session.account());
            Viewer::Person(Arc::new(Person { id, key, account, csrf }))
        }))
    }

    /// Whether a form was sent from a page of this session: it carries the session's token, and the browser does not
    /// say that another site sent it.
    pub(super) fn is_own_form(&self, headers: &HeaderMap, person: &Person, csrf: &str) -> bool {
        let value = |name: header::HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let origin = value(header::ORIGIN);
        let site = value(header::HeaderName::from_static("sec-fetch-site"));
        (origin.is_some() || site.is_some())
            && origin.is_none_or(|origin| origin == self.0.origin)
            && site.is_none_or(|site| site == "same-origin")
            && super::secrets::fingerprint(csrf) == super::secrets::fingerprint(&person.csrf)
    }

    /// The value of the cookie for a sign-in that begins now and returns to this page.
    fn begin(&self, to: &str) -> Option<String> {
        Some(format!("{}.{}.{to}", Timestamp::now().as_second(), random()?))
    }

    /// Checks that this browser began the sign-in with this `state`, not long ago. Returns the PKCE verifier and the page
    /// to return to.
    fn verified<'a>(&self, cookie: &'a str, state: &str) -> Option<(String, &'a str)> {
        let mut parts = cookie.splitn(3, '.');
        let (begun, secret, to) = (parts.next()?, parts.next()?, parts.next()?);
        let begun = Timestamp::from_second(begun.parse().ok()?).ok()?;
        let age = Timestamp::now().duration_since(begun);
        let is_young = !age.is_negative() && age <= UNDER_WAY;
        (is_young && is_random(secret) && self.0.seal.is_of("state", cookie, state))
            .then(|| self.0.seal.of("verifier", cookie))
            .flatten()
            .map(|verifier| (verifier, to))
    }
}

/// Lets people in who signed in. Everyone else is asked to, no matter what the path is.
pub(super) async fn only_signed_in(
    State((door, shelf)): State<(SignInDoor, Shelf)>,
    mut request: Request,
    next: Next,
) -> Response {
    match door.viewer(&shelf, request.headers()).await {
        Ok(Some(viewer)) => {
            request.extensions_mut().insert(viewer);
            next.run(request).await
        }
        Ok(None) => {
            let is_root = request.uri().path() == "/";
            let page = SignInPage {
                frame: Frame::default(),
                title: "greenlight",
                text: match comes_from_installing(request.uri().query()) {
                    true => INSTALLED,
                    false => "Sign in to see and answer the runs of your repositories.",
                },
                to: within(Some(request.uri().path().into())),
            };
            let status = if is_root {
                StatusCode::OK
            } else {
                StatusCode::UNAUTHORIZED
            };
            (status, rendered(&page)).into_response()
        }
        Err(missing) => missing.into_response(),
    }
}

/// Whether GitHub sent somebody here who has just installed the App.
/// <https://docs.github.com/en/apps/creating-github-apps/registering-a-github-app/about-the-setup-url>
fn comes_from_installing(query: Option<&str>) -> bool {
    let pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    pairs
        .into_iter()
        .any(|(name, value)| name == "setup_action" && value == "install")
}

#[derive(Deserialize)]
pub(super) struct Begin {
    to: Option<String>,
}

/// Sends the browser to GitHub.
pub(super) async fn get_sign_in(
    State((door, shelf)): State<(SignInDoor, Shelf)>,
    begin: Result<Query<Begin>, QueryRejection>,
) -> Result<Response, Missing> {
    let to = within(begin.ok().and_then(|Query(begin)| begin.to));
    let seal = &door.0.seal;
    let made = door.begin(&to).and_then(|cookie| {
        let (state, verifier) = (seal.of("state", &cookie)?, seal.of("verifier", &cookie)?);
        Some((cookie, state, verifier))
    });
    let (cookie, state, verifier) = made.ok_or(Missing::Broken)?;
    let page = shelf.queue.app().github.sign_in_page(&door.0.app, (&state, &verifier));
    let cookie = door.cookie((door.sign_in_cookie(), &cookie), UNDER_WAY);
    Ok((AppendHeaders([cookie]), Redirect::to(page.as_str())).into_response())
}

#[derive(Deserialize)]
pub(super) struct Returned {
    code: Option<String>,
    state: Option<String>,
    error: Option<String>,
}

/// The browser comes back from GitHub.
pub(super) async fn get_callback(
    State((door, shelf)): State<(SignInDoor, Shelf)>,
    headers: HeaderMap,
    returned: Result<Query<Returned>, QueryRejection>,
) -> Result<Response, Missing> {
    let failed = |status: StatusCode, text| {
        let page = SignInPage {
            frame: Frame::default(),
            title: "You are not signed in",
            text,
            to: "/".into(),
        };
        Ok((status, rendered(&page)).into_response())
    };
    let forged = "This sign-in was not begun in this browser, or it took too long.";
    let Ok(Query(Returned { code, state, error })) = returned else {
        return failed(StatusCode::BAD_REQUEST, forged);
    };
    let state = state.unwrap_or_default();
    let begun = cookies(&headers, door.sign_in_cookie()).find_map(|cookie| door.verified(cookie, &state));
    let Some((verifier, to)) = begun else {
        return failed(StatusCode::BAD_REQUEST, forged);
    };
    let is_code = |code: &String| code.len() <= MAX_CODE && code.bytes().all(|byte| byte.is_ascii_graphic());
    let (Some(code), None) = (code.filter(is_code), error) else {
        return failed(StatusCode::FORBIDDEN, "GitHub says that you did not agree.");
    };
    let Ok(_place) = door.0.exchanges.try_acquire() else {
        return Err(Missing::Away);
    };
    let github = &shelf.queue.app().github;
    let asked = github.signed_in(&door.0.app, (&code, &verifier));
    let asked = tokio::time::timeout(EXCHANGE, asked).await.map_err(|_| Missing::Away)?;
    let Some(person) = asked? else {
        return failed(
            StatusCode::FORBIDDEN,
            "GitHub does not accept this sign-in: it was used before, or took too long.",
        );
    };
    let Some(id) = person.account.id.filter(|_| !person.is_bot) else {
        return failed(StatusCode::FORBIDDEN, "Only people sign in here.");
    };
    let now = Timestamp::now();
    let session = Session {
        id,
        login: person.account.login,
        ends: now.checked_add(SESSION).unwrap_or(now),
    };
    let journal = &shelf.queue.app().journal;
    // A session is never taken over: the cookie that came with the request, even a planted one, is not used again.
    for earlier in cookies(&headers, door.session_cookie())
        .filter(|cookie| is_random(cookie))
        .take(1)
    {
        journal.end_session(&session_key(earlier)).await?;
    }
    let secret = random().ok_or(Missing::Broken)?;
    journal.begin_session(&session_key(&secret), &session, now).await?;
    tracing::info!(login = session.login.as_str(), "somebody signed in to the page");
    let headers = AppendHeaders([
        door.cookie((door.session_cookie(), &secret), SESSION),
        door.cookie((door.sign_in_cookie(), ""), SignedDuration::ZERO),
    ]);
    Ok((headers, Redirect::to(&within(Some(to.into())))).into_response())
}

#[derive(Deserialize)]
pub(super) struct SignOut {
    csrf: String,
}

/// Ends the session.
pub(super) async fn post_sign_out(
    State((door, shelf)): State<(SignInDoor, Shelf)>,
    axum::Extension(viewer): axum::Extension<Viewer>,
    headers: HeaderMap,
    Form(SignOut { csrf }): Form<SignOut>,
) -> Result<Response, Missing> {
    let person = viewer.person().ok_or(Missing::Nothing)?;
    if !door.is_own_form(&headers, person, &csrf) {
        return Err(Missing::Forged);
    }
    let journal = &shelf.queue.app().journal;
    for cookie in cookies(&headers, door.session_cookie())
        .filter(|cookie| is_random(cookie))
        .take(1)
    {
        journal.end_session(&session_key(cookie)).await?;
    }
    let gone = door.cookie((door.session_cookie(), ""), SignedDuration::ZERO);
    Ok((AppendHeaders([gone]), Redirect::to("/")).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door(url: &str) -> SignInDoor {
        SignInDoor::new(SignInApp {
            client_id: "Iv23li".into(),
            client_secret: "sesame".to_string().into(),
            public_url: url.parse().unwrap(),
        })
    }

    #[test]
    fn a_state_belongs_to_the_cookie_of_one_browser() {
        let door = door("https://g.example");
        let (mine, theirs) = (door.begin("/runs/r1").unwrap(), door.begin("/").unwrap());
        let state = door.0.seal.of("state", &mine).unwrap();
        let (verifier, to) = door.verified(&mine, &state).unwrap();
        assert_eq!((verifier.len(), to), (64, "/runs/r1"));
        assert_ne!(verifier, state);
        assert!(door.verified(&theirs, &state).is_none());
        assert!(door.verified(&mine, "").is_none());
        // The page to return to is part of what is sealed, and so is the time.
        assert!(door.verified(&mine.replace("/runs/r1", "/runs/r2"), &state).is_none());
        let (_, rest) = mine.split_once('.').unwrap();
        let old = format!("1000000000.{rest}");
        assert!(door.verified(&old, &state).is_none());
        let state = door.0.seal.of("state", &old).unwrap();
        assert!(door.verified(&old, &state).is_none());
    }

    #[test]
    fn a_form_comes_from_a_page_of_the_session() {
        let door = door("https://g.example");
        let person = Person {
            id: crate::domain::id::AccountId(1),
            key: session_key("x"),
            account: crate::domain::id::Account::new("mia"),
            csrf: "00ff".into(),
        };
        let headers = |pairs: &[(&'static str, &'static str)]| -> HeaderMap {
            let pairs = pairs.iter().map(|(name, value)| {
                (
                    header::HeaderName::from_static(name),
                    header::HeaderValue::from_static(value),
                )
            });
            pairs.collect()
        };
        let own = [("origin", "https://g.example"), ("sec-fetch-site", "same-origin")];
        assert!(door.is_own_form(&headers(&own), &person, "00ff"));
        assert!(door.is_own_form(&headers(&own[..1]), &person, "00ff"));
        assert!(!door.is_own_form(&headers(&own), &person, "00fe"));
        assert!(!door.is_own_form(&headers(&own), &person, ""));
        for foreign in [
            vec![],
            vec![("origin", "null")],
            vec![("origin", "https://g.example.evil.example")],
            vec![("origin", "http://g.example")],
            vec![own[0], ("sec-fetch-site", "same-site")],
            vec![("sec-fetch-site", "cross-site")],
        ] {
            assert!(!door.is_own_form(&headers(&foreign), &person, "00ff"), "{foreign:?}");
        }
    }

    #[test]
    fn cookies_are_only_for_this_host_over_https() {
        let (_, cookie) = door("https://g.example").cookie(("__Host-greenlight", "x"), SESSION);
        assert_eq!(
            cookie,
            "__Host-greenlight=x; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax; Secure"
        );
        let local = door("http://127.0.0.1:8080");
        assert_eq!(local.session_cookie(), "greenlight-session");
        assert!(!local.cookie(("a", "x"), SESSION).1.contains("Secure"));
    }
}
