//! Authentication and authorization: App JSON web tokens, installation tokens, people's tokens.
//!
//! In one point this is stricter than GitHub: reading a public repository through the REST API needs a token here
//! too, to detect clients that lose their credentials.

use axum::http::HeaderMap;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::{Span, Timestamp, ToSpan as _};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::answer::RestAnswer;
use super::names::Role;
use super::route::Needs;
use super::state::{Holder, Repository, State, Token};

/// The private key of the double's App. It was generated for the double, is used nowhere else, and is safe to
/// publish.
pub(super) const APP_KEY: &str = include_str!("app_key.pem");
const APP_PUBLIC_KEY: &str = include_str!("app_key.pub.pem");

/// What the `Authorization` header of a request proved.
pub(super) enum Credentials {
    Missing,
    App,
    Token(Holder),
}

/// Parses and checks the credentials of a request.
pub(super) fn credentials(state: &State, headers: &HeaderMap) -> Result<Credentials, RestAnswer> {
    let Some(header) = headers.get("authorization").and_then(|value| value.to_str().ok()) else {
        return Ok(Credentials::Missing);
    };
    let (scheme, secret) = header.split_once(' ').unwrap_or((header, ""));
    let secret = secret.trim();
    match scheme.to_ascii_lowercase().as_str() {
        "basic" => {
            let decoded = STANDARD
                .decode(secret)
                .ok()
                .and_then(|bytes| String::from_utf8(bytes).ok());
            let password = decoded
                .as_deref()
                .and_then(|pair| pair.split_once(':'))
                .map_or("", |(_, password)| password);
            token(state, password)
        }
        "bearer" if secret.starts_with("ey") && secret.matches('.').count() == 2 => check_jwt(state, secret),
        "bearer" | "token" => token(state, secret),
        _ => Err(bad_credentials()),
    }
}

fn bad_credentials() -> RestAnswer {
    RestAnswer::error(401, "Bad credentials")
}

fn token(state: &State, secret: &str) -> Result<Credentials, RestAnswer> {
    match state.tokens.get(secret) {
        Some(token) if token.expires_at > Timestamp::now() => {
            if let (Holder::Installation { slug, .. }, Some(end)) = (&token.holder, state.faults.uninstalled)
                && *slug == state.app().slug
            {
                return Err(end.void_token());
            }
            Ok(Credentials::Token(token.holder.clone()))
        }
        _ => Err(bad_credentials()),
    }
}

/// Checks an App's JSON web token: signature, issuer, and a lifetime of at most ten minutes.
/// <https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-json-web-token-jwt-for-a-github-app>
fn check_jwt(state: &State, jwt: &str) -> Result<Credentials, RestAnswer> {
    let refuse = |message: &str| RestAnswer::error(401, message);
    let key = DecodingKey::from_rsa_pem(APP_PUBLIC_KEY.as_bytes())
        .map_err(|error| RestAnswer::error(500, &format!("the double's App key is broken: {error}")))?;
    let mut validation = Validation::new(Algorithm::RS256);
    validation.validate_exp = false;
    validation.validate_aud = false;
    validation.required_spec_claims.clear();
    let claims = jsonwebtoken::decode::<Value>(jwt, &key, &validation)
        .map_err(|_| refuse("A JSON web token could not be decoded"))?
        .claims;
    let issuer = claims["iss"]
        .as_str()
        .map(str::to_owned)
        .or_else(|| claims["iss"].as_u64().map(|id| id.to_string()));
    if issuer != Some(state.app().id.to_string()) {
        return Err(refuse(
            "'Issuer' claim ('iss') must be an Integer and the ID of the App",
        ));
    }
    let now = Timestamp::now().as_second();
    match (claims["iat"].as_i64(), claims["exp"].as_i64()) {
        (None, _) => Err(refuse("Missing 'issued at' claim ('iat') in assertion")),
        (_, None) => Err(refuse("Missing 'expiration time' claim ('exp') in assertion")),
        (Some(issued), _) if issued > now + 60 => Err(refuse(
            "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
        )),
        (_, Some(expires)) if expires <= now => Err(refuse(
            "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
        )),
        (_, Some(expires)) if expires > now + 600 => {
            Err(refuse("'Expiration time' claim ('exp') is too far in the future"))
        }
        _ => Ok(Credentials::App),
    }
}

/// Checks whether these credentials may use a route; its path names the repository.
pub(super) fn permit(
    state: &State,
    needs: Needs,
    credentials: &Credentials,
    repository: Option<&Repository>,
) -> Result<(), RestAnswer> {
    match (needs, credentials) {
        (Needs::Nothing, _) | (Needs::App, Credentials::App) => Ok(()),
        (Needs::App, Credentials::Token(..)) => Err(RestAnswer::error(401, "A JSON web token could not be decoded")),
        (_, Credentials::Missing) => Err(RestAnswer::error(401, "Requires authentication")),
        (_, Credentials::App) => Err(RestAnswer::not_accessible()),
        (needs, Credentials::Token(holder)) => {
            let Some(repository) = repository else { return Ok(()) };
            if !may_see(state, holder, repository) {
                return Err(RestAnswer::not_found());
            }
            match needs {
                Needs::Read(permissions) => permit_reading(holder, repository, permissions),
                Needs::Write(permissions) => permit_writing(state, holder, repository, permissions),
                _ => Ok(()),
            }
        }
    }
}

/// Whether the holder may know that the repository exists.
pub(super) fn may_see(state: &State, holder: &Holder, repository: &Repository) -> bool {
    !repository.private
        || match holder {
            Holder::Installation { .. } => is_installed(state, holder, repository),
            Holder::Person { login, .. } => repository.role(login) > Role::None,
            Holder::FineGrained {
                login, repositories, ..
            } => repositories.contains(&repository.id) && repository.role(login) > Role::None,
        }
}

/// Whether an installation's token can access this repository: it belongs to the installation's account, and the
/// token is not limited to others.
fn is_installed(state: &State, holder: &Holder, repository: &Repository) -> bool {
    match holder {
        Holder::Installation { id, repositories, .. } => {
            let is_theirs = id.is_none() || state.installation_of(&repository.owner) == *id;
            is_theirs && repositories.as_ref().is_none_or(|ids| ids.contains(&repository.id))
        }
        Holder::Person { .. } | Holder::FineGrained { .. } => false,
    }
}

fn permit_reading(holder: &Holder, repository: &Repository, any_of: &[&str]) -> Result<(), RestAnswer> {
    match holder {
        // An App may read everything that anybody may read.
        Holder::Installation { permissions, .. } if repository.private || any_of == ["actions"] => {
            let granted = any_of.iter().any(|name| permissions.contains_key(*name));
            if granted {
                Ok(())
            } else {
                Err(RestAnswer::not_accessible())
            }
        }
        Holder::FineGrained { permissions, .. } if repository.private => {
            let granted = any_of.iter().any(|name| permissions.contains_key(*name));
            if granted { Ok(()) } else { Err(not_for_this_token()) }
        }
        _ => Ok(()),
    }
}

fn not_for_this_token() -> RestAnswer {
    RestAnswer::error(403, "Resource not accessible by personal access token")
}

fn permit_writing(state: &State, holder: &Holder, repository: &Repository, any_of: &[&str]) -> Result<(), RestAnswer> {
    match holder {
        Holder::Installation { permissions, .. } => {
            let granted = any_of
                .iter()
                .any(|name| permissions.get(*name).is_some_and(|level| level == "write"));
            let reaches = is_installed(state, holder, repository);
            if granted && reaches {
                Ok(())
            } else {
                Err(RestAnswer::not_accessible())
            }
        }
        Holder::FineGrained {
            login,
            repositories,
            permissions,
        } => {
            let granted = any_of
                .iter()
                .any(|name| permissions.get(*name).is_some_and(|level| level == "write"));
            let reaches = repositories.contains(&repository.id) && repository.role(login) >= Role::Write;
            if granted && reaches {
                Ok(())
            } else {
                Err(not_for_this_token())
            }
        }
        Holder::Person { .. } if any_of == ["checks"] => {
            Err(RestAnswer::error(403, "You must authenticate via a GitHub App."))
        }
        Holder::Person { login, .. } => {
            let speaking = any_of.contains(&"pull_requests");
            if speaking || repository.role(login) >= Role::Write {
                Ok(())
            } else {
                Err(RestAnswer::error(403, "Must have push access to repository"))
            }
        }
    }
}

/// Creates the token that an App gets when a person signs in with it.
pub(super) fn mint_for_sign_in(state: &mut State, login: &str, seconds: i64) -> String {
    let holder = Holder::Person {
        login: login.into(),
        scopes: "",
    };
    mint_as(state, "ghu_", holder, seconds.seconds()).0
}

/// A secret that nobody can guess who does not know the double.
pub(super) fn secret(kind: &str, serial: u64) -> String {
    hex::encode(&Sha256::digest(format!("{kind} {serial}"))[..20])
}

/// Creates a token. An App's token is valid for an hour, a person's longer than any demo.
pub(super) fn mint(state: &mut State, holder: Holder) -> (String, Timestamp) {
    let prefix = match holder {
        Holder::Person { .. } => "ghp_",
        Holder::FineGrained { .. } => "github_pat_",
        Holder::Installation { .. } => "ghs_",
    };
    let hours = match holder {
        Holder::Installation { .. } => 1,
        Holder::Person { .. } | Holder::FineGrained { .. } => 30 * 24,
    };
    mint_as(state, prefix, holder, hours.hours())
}

fn mint_as(state: &mut State, prefix: &str, holder: Holder, valid: Span) -> (String, Timestamp) {
    let serial = state.fresh_id();
    let digest = hex::encode(Sha256::digest(format!("token {serial} of {}", state.web)));
    let secret = format!("{prefix}{}", &digest[..36]);
    let now = Timestamp::now();
    let expires_at = now.checked_add(valid).unwrap_or(now);
    state.tokens.insert(secret.clone(), Token { holder, expires_at });
    (secret, expires_at)
}
