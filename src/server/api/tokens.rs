//! Which tokens are known, and who may have GitHub asked about one that is not. Nothing of a token is kept but its digest.
//!
//! Anybody can make tokens up. What is asked about those has its own places, few of them, so that anyone who showed a
//! good token lately never waits behind strangers, nor is refused because of them.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::github::Person;

/// How long it is believed whose token it is.
pub(super) const KNOWN_FOR: Duration = Duration::from_secs(60);
/// How long a token that was good is let in before others: until a day after it was last seen to be.
const WELCOME_FOR: Duration = Duration::from_hours(24);
/// How many tokens, and how many addresses, are remembered at once.
pub(super) const MAX_KNOWN: usize = 1_000;
/// About how many tokens that nobody has shown before GitHub is asked at once, and about how many others.
const MAX_STRANGE: usize = 8;
const MAX_WELCOME: usize = 32;
/// How many tokens that are nobody's one address may show in a minute before the rest is refused unseen.
const MAX_MADE_UP: u32 = 20;

/// A token's SHA-256.
pub(super) type Fingerprint = [u8; 32];

/// What is known of a token without asking.
#[derive(Debug)]
pub(super) enum CachedToken {
    Somebodys(Box<Person>),
    Nobodys,
    /// It was somebody's, and GitHub is to be asked again.
    Welcome,
    /// GitHub is to be asked, with this place.
    Strange(OwnedSemaphorePermit),
    /// Too many of its kind were made up.
    Refused,
}

pub(super) struct Tokens {
    known: Mutex<Remembered<Fingerprint, Person>>,
    nobodys: Mutex<Remembered<Fingerprint, ()>>,
    /// The tokens that were somebody's when they were last looked up.
    welcome: Mutex<Remembered<Fingerprint, ()>>,
    /// How many made-up tokens came from an address.
    made_up: Mutex<Remembered<Option<IpAddr>, u32>>,
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

    /// A place for asking GitHub with a token that is or was good: there is one soon, as GitHub is given so long only.
    pub(super) async fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.asked).acquire_owned().await.ok()
    }

    /// Notes what GitHub said of a token.
    pub(super) fn note(&self, token: Fingerprint, person: Option<&Person>, (from, now): (Option<IpAddr>, Instant)) {
        if let Some(person) = person {
            lock(&self.known).keep(token, person.clone(), now, KNOWN_FOR);
            lock(&self.welcome).keep(token, (), now, WELCOME_FOR);
            return;
        }
        lock(&self.welcome).0.remove(&token);
        lock(&self.nobodys).keep(token, (), now, KNOWN_FOR);
        let mut made_up = lock(&self.made_up);
        match made_up.0.get_mut(&from).filter(|(until, _)| *until > now) {
            Some((_, count)) => *count += 1,
            None => made_up.keep(from, 1, now, KNOWN_FOR),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is remembered until when, and only so much of it.
pub(super) struct Remembered<K, V>(HashMap<K, (Instant, V)>);

impl<K, V> Default for Remembered<K, V> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Hash + Eq + Clone, V> Remembered<K, V> {
    pub(super) fn get(&self, key: &K, now: Instant) -> Option<&V> {
        let (_, value) = self.0.get(key).filter(|(until, _)| *until > now)?;
        Some(value)
    }

    /// Keeps something for so long. Where there is no room, what would be forgotten first is.
    pub(super) fn keep(&mut self, key: K, value: V, now: Instant, long: Duration) {
        if self.0.len() >= MAX_KNOWN {
            self.0.retain(|_, (until, _)| *until > now);
        }
        if self.0.len() >= MAX_KNOWN
            && let Some(first) = self
                .0
                .iter()
                .min_by_key(|(_, (until, _))| *until)
                .map(|(key, _)| key.clone())
        {
            self.0.remove(&first);
        }
        self.0.insert(key, (now + long, value));
    }
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
    async fn whoever_showed_a_good_token_is_not_kept_out_by_made_up_ones() {
        let (tokens, now) = (Tokens::default(), Instant::now());
        let proxy = Some(IpAddr::from([127, 0, 0, 1]));
        let good = fingerprint(0);
        let CachedToken::Strange(place) = tokens.look(&good, proxy, now) else {
            panic!("nobody knows it yet");
        };
        tokens.note(good, Some(&person()), (proxy, now));
        drop(place);
        // Strangers take every place, and use up what their address, a proxy's, may ask.
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
        // Revoked, it is like any other.
        tokens.note(good, None, (proxy, later));
        assert!(matches!(tokens.look(&good, None, later), CachedToken::Nobodys));
        let days_later = later + 2 * WELCOME_FOR;
        assert!(matches!(tokens.look(&good, None, days_later), CachedToken::Strange(_)));
    }

    #[test]
    fn only_so_many_tokens_are_remembered() {
        let (tokens, now) = (Tokens::default(), Instant::now());
        for at in 0..3 * MAX_KNOWN {
            let later = now + Duration::from_millis(u64::try_from(at).unwrap());
            tokens.note(fingerprint(at), Some(&person()), (None, later));
        }
        assert_eq!(lock(&tokens.known).0.len(), MAX_KNOWN);
        assert_eq!(lock(&tokens.welcome).0.len(), MAX_KNOWN);
        assert!(matches!(
            tokens.look(&fingerprint(3 * MAX_KNOWN - 1), None, now),
            CachedToken::Somebodys(_)
        ));
    }
}
