//! Caches the owners of tokens, and limits the look-ups of unknown ones. Only the digest of a token is stored.
//!
//! Anybody can invent tokens. Look-ups of unknown tokens have a few separate slots, so that a caller who recently
//! showed a valid token never waits behind strangers, nor is refused because of them.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::super::remembered::Remembered;
use crate::github::Person;

/// How long the owner of a token is cached.
pub(super) const KNOWN_FOR: Duration = Duration::from_secs(60);
/// How long a token that was valid has priority: until a day after it was last found valid.
const WELCOME_FOR: Duration = Duration::from_hours(24);
/// How many tokens, and how many addresses, are remembered at once.
pub(super) const MAX_KNOWN: usize = 1_000;
/// How many look-ups of unknown tokens may run at once, and how many of other tokens.
const MAX_STRANGE: usize = 8;
const MAX_WELCOME: usize = 32;
/// How many invalid tokens one address may show in a minute before the rest is refused without a look-up.
const MAX_MADE_UP: u32 = 20;

/// What is remembered.
pub(super) type Known<K, V> = Remembered<K, V, MAX_KNOWN>;

/// The SHA-256 digest of a token.
pub(super) type Fingerprint = [u8; 32];

/// What is known about a token without a look-up.
#[derive(Debug)]
pub(super) enum CachedToken {
    Somebodys(Box<Person>),
    Nobodys,
    /// It was valid before, and has to be looked up again.
    Welcome,
    /// It has to be looked up, in this slot.
    Strange(OwnedSemaphorePermit),
    /// Too many invalid tokens came from there.
    Refused,
}

pub(super) struct Tokens {
    known: Mutex<Known<Fingerprint, Person>>,
    nobodys: Mutex<Known<Fingerprint, ()>>,
    /// The tokens that were valid at their last look-up.
    welcome: Mutex<Known<Fingerprint, ()>>,
    /// How many invalid tokens came from an address.
    made_up: Mutex<Known<Option<IpAddr>, u32>>,
    strange: Arc<Semaphore>,
    asked: Arc<Semaphore>,
}

impl Default for Tokens {
    fn default() -> Self {
        Self {
            known: Mutex::default(),
            nobodys: Mutex::default(),
            welcome: Mutex::default(),
            made_up: Mutex::default(),
            strange: Arc::new(Semaphore::new(MAX_STRANGE)),
            asked: Arc::new(Semaphore::new(MAX_WELCOME)),
        }
    }
}

impl Tokens {
    pub(super) fn look(&self, token: &Fingerprint, from: Option<IpAddr>, now: Instant) -> CachedToken {
        if let Some(person) = lock(&self.known).get(token, now) {
            return CachedToken::Somebodys(Box::new(person.clone()));
        }
        if lock(&self.welcome).get(token, now).is_some() {
            return CachedToken::Welcome;
        }
        if lock(&self.nobodys).get(token, now).is_some() {
            return CachedToken::Nobodys;
        }
        if lock(&self.made_up)
            .get(&from, now)
            .is_some_and(|count| *count >= MAX_MADE_UP)
        {
            return CachedToken::Refused;
        }
        let place = Arc::clone(&self.strange).try_acquire_owned();
        place.map_or(CachedToken::Refused, CachedToken::Strange)
    }

    /// Waits for a slot to look up a token that is or was valid. One is free soon, because look-ups have a short
    /// timeout.
    pub(super) async fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.asked).acquire_owned().await.ok()
    }

    /// Records the result of a look-up.
    pub(super) fn note(&self, token: Fingerprint, person: Option<&Person>, (from, now): (Option<IpAddr>, Instant)) {
        if let Some(person) = person {
            lock(&self.known).keep(token, person.clone(), now, KNOWN_FOR);
            lock(&self.welcome).keep(token, (), now, WELCOME_FOR);
            return;
        }
        lock(&self.welcome).forget(&token);
        lock(&self.nobodys).keep(token, (), now, KNOWN_FOR);
        let mut made_up = lock(&self.made_up);
        match made_up.get_mut(&from, now) {
            Some(count) => *count += 1,
            None => made_up.keep(from, 1, now, KNOWN_FOR),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::Account;
    use crate::github::TokenKind;

    fn person() -> Person {
        Person {
            account: Account::new("mia"),
            is_bot: false,
            token: TokenKind::Classic,
        }
    }

    fn fingerprint(number: usize) -> Fingerprint {
        let mut fingerprint = [0; 32];
        fingerprint[..8].copy_from_slice(&number.to_be_bytes());
        fingerprint
    }

    #[tokio::test]
    async fn a_valid_token_is_not_kept_out_by_invalid_ones() {
        let (tokens, now) = (Tokens::default(), Instant::now());
        let proxy = Some(IpAddr::from([127, 0, 0, 1]));
        let good = fingerprint(0);
        let CachedToken::Strange(place) = tokens.look(&good, proxy, now) else {
            panic!("it is not known yet");
        };
        tokens.note(good, Some(&person()), (proxy, now));
        drop(place);
        // Strangers take every slot, and use up the limit of their shared proxy address.
        let places: Vec<CachedToken> = (1..=MAX_STRANGE)
            .map(|at| tokens.look(&fingerprint(at), proxy, now))
            .collect();
        assert!(places.iter().all(|place| matches!(place, CachedToken::Strange(_))));
        assert!(matches!(
            tokens.look(&fingerprint(99), proxy, now),
            CachedToken::Refused
        ));
        for at in 0..5_000 {
            tokens.note(fingerprint(1_000 + at), None, (proxy, now));
        }
        assert!(
            matches!(tokens.look(&good, proxy, now), CachedToken::Somebodys(person) if person.account == Account::new("mia"))
        );
        let later = now + KNOWN_FOR + Duration::from_secs(1);
        assert!(matches!(tokens.look(&good, proxy, later), CachedToken::Welcome));
        assert!(tokens.place().await.is_some());
        drop(places);
        assert!(matches!(tokens.look(&fingerprint(1), proxy, now), CachedToken::Refused));
        assert!(matches!(
            tokens.look(&fingerprint(1), proxy, later),
            CachedToken::Strange(_)
        ));
        // A revoked token is like any other.
        tokens.note(good, None, (proxy, later));
        assert!(matches!(tokens.look(&good, None, later), CachedToken::Nobodys));
        let days_later = later + 2 * WELCOME_FOR;
        assert!(matches!(tokens.look(&good, None, days_later), CachedToken::Strange(_)));
    }

    #[test]
    fn the_number_of_remembered_tokens_is_bounded() {
        let (tokens, now) = (Tokens::default(), Instant::now());
        for at in 0..3 * MAX_KNOWN {
            let later = now + Duration::from_millis(u64::try_from(at).unwrap());
            tokens.note(fingerprint(at), Some(&person()), (None, later));
        }
        assert_eq!(lock(&tokens.known).len(), MAX_KNOWN);
        assert_eq!(lock(&tokens.welcome).len(), MAX_KNOWN);
        assert!(matches!(
            tokens.look(&fingerprint(3 * MAX_KNOWN - 1), None, now),
            CachedToken::Somebodys(_)
        ));
    }
}
