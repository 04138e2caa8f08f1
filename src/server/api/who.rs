//! Identifies callers and their permissions by asking GitHub. Only the digest of a token is kept, for a minute.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::super::reach::{Reached, reach};
use super::problem::Problem;
use super::tokens::{CachedToken, Fingerprint, KNOWN_FOR, Known, Tokens};
use super::{Api, bearer};
use crate::domain::id::{Account, InstallationId, Repository, RepositoryName};
use crate::domain::permission::Permission;
use crate::github::{Person, TokenKind};

/// The possible lengths and prefixes of a GitHub token.
/// <https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github#githubs-token-formats>
const TOKEN_LENGTH: std::ops::RangeInclusive<usize> = 10..=1_024;
const TOKEN_PREFIXES: [&str; 5] = ["ghp_", "github_pat_", "gho_", "ghu_", "ghs_"];

/// Whether this can be a GitHub token. Old ones are 40 hexadecimal digits.
fn is_token(token: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let is_old = token.len() == 40 && token.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_named = TOKEN_PREFIXES.iter().any(|prefix| token.starts_with(prefix));
    TOKEN_LENGTH.contains(&token.len()) && token.bytes().all(plain) && (is_named || is_old)
}

/// What a token has to prove, besides its owner.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Proof {
    Reads(RepositoryName, Option<u64>),
    Writes(RepositoryName),
}

/// Caches the owners of tokens for a minute.
#[derive(Clone, Default)]
pub(super) struct Who(Arc<Inner>);

#[derive(Default)]
struct Inner {
    tokens: Tokens,
    proved: Mutex<Known<(Fingerprint, Proof), bool>>,
}

impl Who {
    async fn is(&self, api: &Api, token: &str, from: Option<IpAddr>) -> Result<Option<Person>, Problem> {
        if !is_token(token) {
            return Ok(None);
        }
        let fingerprint: Fingerprint = Sha256::digest(token).into();
        let tokens = &self.0.tokens;
        let place = match tokens.look(&fingerprint, from, Instant::now()) {
            CachedToken::Somebodys(person) => return Ok(Some(*person)),
            CachedToken::Nobodys => return Ok(None),
            CachedToken::Refused => return Err(Problem::Busy),
            CachedToken::Strange(place) => Some(place),
            CachedToken::Welcome => tokens.place().await,
        };
        let person = api.queue.app().github.who(SecretString::from(token)).await?;
        drop(place);
        tokens.note(fingerprint, person.as_ref(), (from, Instant::now()));
        Ok(person)
    }

    /// Whether a request with the token itself proves this.
    async fn proves(&self, api: &Api, caller: &Caller, proof: Proof) -> Result<bool, Problem> {
        let key = (Sha256::digest(caller.token.expose_secret()).into(), proof);
        if let Some(shown) = self.proved().get(&key, Instant::now()) {
            return Ok(*shown);
        }
        let _place = self.0.tokens.place().await;
        let (github, token) = (&api.queue.app().github, caller.token.clone());
        let shown = match &key.1 {
            Proof::Reads(repository, number) => github.reads(token, (repository, *number)).await?,
            Proof::Writes(repository) => github.writes(token, repository, caller.kind).await?,
        };
        self.proved().keep(key, shown, Instant::now(), KNOWN_FOR);
        Ok(shown)
    }

    fn proved(&self) -> MutexGuard<'_, Known<(Fingerprint, Proof), bool>> {
        self.0.proved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A person who showed their own token.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    pub(super) account: Account,
    token: SecretString,
    kind: TokenKind,
}

impl FromRequestParts<Api> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        let token = bearer(&parts.headers).ok_or(Problem::Unauthorized)?;
        let from = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        match api.who.is(api, token, from.map(|from| from.0.ip())).await? {
            None => Err(Problem::Unauthorized),
            Some(person) if person.is_bot => Err(Problem::Forbidden("bots may not do this; only people may")),
            Some(person) if person.token == TokenKind::SignIn => Err(Problem::Forbidden(
                "this token has no access to repositories; use a classic token with the `repo` scope, or a \
                 fine-grained token",
            )),
            Some(Person {
                account, token: kind, ..
            }) => Ok(Self {
                account,
                token: SecretString::from(token),
                kind,
            }),
        }
    }
}

/// A person's current permission in a repository.
pub(super) struct Access {
    pub(super) at: Reached,
    permission: Permission,
}

impl Caller {
    /// # Errors
    /// When the person or the token lacks write access.
    pub(super) async fn may_answer(&self, api: &Api, access: &Access) -> Result<(), Problem> {
        if !access.permission.may_approve() {
            return Err(Problem::Forbidden("this requires write access to the repository"));
        }
        let proof = Proof::Writes(access.at.repository.name.clone());
        match api.who.proves(api, self, proof).await? {
            true => Ok(()),
            false => Err(Problem::Forbidden(
                "this token may not write to the repository; a fine-grained token needs `contents: write` there",
            )),
        }
    }

    /// Fetches this person's current permission, and checks that their token can read the pull request, or the pull
    /// requests of the repository if none is named.
    ///
    /// # Errors
    /// [`Problem::NotFound`] without read access, or where greenlight is not installed.
    pub(super) async fn access(
        &self,
        api: &Api,
        installation: Option<InstallationId>,
        (repository, number): (&Repository, Option<u64>),
    ) -> Result<Access, Problem> {
        let at = reach(api.queue.app(), installation, repository).await?;
        let at = at.ok_or(Problem::NotFound)?;
        let proof = Proof::Reads(at.repository.name.clone(), number);
        if !api.who.proves(api, self, proof).await? {
            return Err(Problem::NotFound);
        }
        let permission = at.permission(&self.account).await?;
        if permission == Permission::None {
            return Err(Problem::NotFound);
        }
        Ok(Access { at, permission })
    }
}
