//! Who is asking, and what they may: GitHub says both, and nothing of a token is kept but its digest, for a minute.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::problem::Problem;
use super::{Api, bearer};
use crate::domain::id::{Account, InstallationId, Repository, RepositoryName};
use crate::domain::permission::{Permission, authorize};
use crate::github::{Client, Error, Person, TokenKind};

/// How long it is believed whose token it is.
const KNOWN_FOR: Duration = Duration::from_secs(60);
/// How many tokens are known at once, and how many strangers are asked about at once.
const MAX_KNOWN: usize = 1_000;
const MAX_ASKED: usize = 8;
/// How many tokens that are nobody's one address may show in a minute before the rest is refused unseen.
const MAX_MADE_UP: u32 = 20;
/// How long a token of GitHub's can be, and how it begins.
/// <https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github#githubs-token-formats>
const TOKEN_LENGTH: std::ops::RangeInclusive<usize> = 10..=1_024;
const TOKEN_PREFIXES: [&str; 5] = ["ghp_", "github_pat_", "gho_", "ghu_", "ghs_"];

/// A token's SHA-256.
type Fingerprint = [u8; 32];

/// Whether this can be a token of GitHub's. Old ones are 40 hexadecimal digits.
fn is_token(token: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let is_old = token.len() == 40 && token.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_named = TOKEN_PREFIXES.iter().any(|prefix| token.starts_with(prefix));
    TOKEN_LENGTH.contains(&token.len()) && token.bytes().all(plain) && (is_named || is_old)
}

/// What a token has to show, besides whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Proof {
    Reads(RepositoryName, Option<u64>),
    Writes(RepositoryName),
}

/// Knows for a minute whose token it was.
#[derive(Clone)]
pub(super) struct Who(Arc<Inner>);

struct Inner {
    known: Mutex<HashMap<Fingerprint, (Instant, Option<Person>)>>,
    proved: Mutex<HashMap<(Fingerprint, Proof), (Instant, bool)>>,
    /// Until when made-up tokens of an address are counted, and how many there were.
    made_up: Mutex<HashMap<Option<IpAddr>, (Instant, u32)>>,
    asked: Semaphore,
}

impl Default for Who {
    fn default() -> Self {
        Self(Arc::new(Inner {
            known: Mutex::default(),
            proved: Mutex::default(),
            made_up: Mutex::default(),
            asked: Semaphore::new(MAX_ASKED),
        }))
    }
}

impl Who {
    async fn is(&self, api: &Api, token: &str, from: Option<IpAddr>) -> Result<Option<Person>, Problem> {
        if !is_token(token) {
            return Ok(None);
        }
        let fingerprint: Fingerprint = Sha256::digest(token).into();
        if let Some(known) = self.known(&fingerprint) {
            return Ok(known);
        }
        let place = self.0.asked.try_acquire();
        if place.is_err() || self.has_made_up_too_many(from) {
            return Err(Problem::Busy);
        }
        let person = api.queue.app().github.who(SecretString::from(token)).await?;
        if person.is_none() {
            let mut all = self.0.made_up.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            let (until, count) = all
                .get(&from)
                .copied()
                .filter(|(until, _)| *until > now)
                .unwrap_or((now + KNOWN_FOR, 0));
            if all.len() >= MAX_KNOWN {
                all.retain(|_, (until, _)| *until > now);
            }
            if all.len() < MAX_KNOWN || all.contains_key(&from) {
                all.insert(from, (until, count + 1));
            }
        }
        let mut all = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        keep(&mut all, fingerprint, person.clone());
        Ok(person)
    }

    /// Whether a token shows what it has to, asked with itself.
    async fn proves(&self, api: &Api, caller: &Caller, proof: Proof) -> Result<bool, Problem> {
        let key = (Sha256::digest(caller.token.expose_secret()).into(), proof);
        let known = {
            let all = self.0.proved.lock().unwrap_or_else(PoisonError::into_inner);
            all.get(&key).filter(|(until, _)| *until > Instant::now()).copied()
        };
        if let Some((_, shown)) = known {
            return Ok(shown);
        }
        let Ok(_place) = self.0.asked.try_acquire() else {
            return Err(Problem::Busy);
        };
        let (github, token) = (&api.queue.app().github, caller.token.clone());
        let shown = match &key.1 {
            Proof::Reads(repository, number) => github.reads(token, (repository, *number)).await?,
            Proof::Writes(repository) => github.writes(token, repository, caller.kind).await?,
        };
        let mut all = self.0.proved.lock().unwrap_or_else(PoisonError::into_inner);
        keep(&mut all, key, shown);
        Ok(shown)
    }

    fn has_made_up_too_many(&self, from: Option<IpAddr>) -> bool {
        let all = self.0.made_up.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&from)
            .is_some_and(|(until, count)| *until > Instant::now() && *count >= MAX_MADE_UP)
    }

    fn known(&self, fingerprint: &Fingerprint) -> Option<Option<Person>> {
        let all = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (until, person) = all.get(fingerprint)?;
        (*until > Instant::now()).then(|| person.clone())
    }
}

/// Keeps something for a minute, if there is room.
fn keep<K: Hash + Eq, V>(all: &mut HashMap<K, (Instant, V)>, key: K, value: V) {
    if all.len() >= MAX_KNOWN {
        all.retain(|_, (until, _)| *until > Instant::now());
    }
    if all.len() < MAX_KNOWN {
        all.insert(key, (Instant::now() + KNOWN_FOR, value));
    }
}

/// A person that showed a token of their own.
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
            Some(person) if person.is_bot => Err(Problem::Forbidden("bots do nothing here; a person can")),
            Some(person) if person.token == TokenKind::SignIn => Err(Problem::Forbidden(
                "this token is not good for repositories; use a classic one with the `repo` scope, or a fine-grained one",
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

/// What somebody may do in a repository, as GitHub says now.
pub(super) struct Access {
    pub(super) client: Client,
    /// With the name it has now.
    pub(super) repository: Repository,
    permission: Permission,
}

impl Caller {
    /// # Errors
    /// Without write access, of the person or of the token that was shown.
    pub(super) async fn may_answer(&self, api: &Api, access: &Access) -> Result<(), Problem> {
        authorize((), &self.account, false, access.permission)
            .map_err(|_| Problem::Forbidden("this takes write access to the repository"))?;
        let proof = Proof::Writes(access.repository.name.clone());
        match api.who.proves(api, self, proof).await? {
            true => Ok(()),
            false => Err(Problem::Forbidden(
                "this token may not write to the repository; a fine-grained one needs `contents: write` there",
            )),
        }
    }

    /// Asks for this person's live permission, and whether their own token reads the pull request, if one is named, or
    /// those of the repository.
    ///
    /// # Errors
    /// [`Problem::NotFound`] without read access, and where greenlight itself is not at home.
    pub(super) async fn access(
        &self,
        api: &Api,
        installation: Option<InstallationId>,
        (repository, number): (&Repository, Option<u64>),
    ) -> Result<Access, Problem> {
        let app = api.queue.app();
        if !app.allow_list.allows(repository) {
            return Err(Problem::NotFound);
        }
        let unseen = |error: Error| match error {
            Error::NotInstalled(_)
            | Error::Refused {
                status: 401 | 403 | 404,
                ..
            } => Problem::NotFound,
            error => error.into(),
        };
        let mut client = app.github.client(installation, repository).await.map_err(unseen)?;
        let mut found = client.repository(repository).await;
        let moved = app.github.transferred((installation, repository), found.as_ref()).await;
        if let Some(now) = moved.map_err(unseen)? {
            client = app.github.client(Some(now), repository).await.map_err(unseen)?;
            found = client.repository(repository).await;
        }
        let repository = found.map_err(unseen)?;
        if !app.allow_list.allows(&repository) {
            return Err(Problem::NotFound);
        }
        let proof = Proof::Reads(repository.name.clone(), number);
        if !api.who.proves(api, self, proof).await? {
            return Err(Problem::NotFound);
        }
        let permission = client.permission(&repository, &self.account).await.map_err(unseen)?;
        if permission == Permission::None {
            return Err(Problem::NotFound);
        }
        Ok(Access {
            client,
            repository,
            permission,
        })
    }
}
