//! Random values, their digests, values that only this greenlight can have made, and cookies.

use hmac::{Hmac, KeyInit as _, Mac as _};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::Sha256;

use super::super::one_time::token;
pub(super) use super::super::one_time::{cookies, fingerprint};
use crate::journal::SessionKey;

/// 256 random bits, in hex. `None` if this machine has no random numbers.
pub(super) fn random() -> Option<String> {
    token().ok()
}

/// Whether this can be a value of [`random`].
pub(super) fn is_random(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub(super) fn session_key(cookie: &str) -> SessionKey {
    SessionKey(hex::encode(fingerprint(cookie)))
}

/// Derives values from others, with a key that every process of this greenlight has.
#[derive(Clone)]
pub(super) struct Seal(SecretString);

impl Seal {
    pub(super) fn new(key: SecretString) -> Self {
        Self(key)
    }

    /// The value for a purpose, in hex. `None` only if the key is unusable.
    pub(super) fn of(&self, purpose: &str, text: &str) -> Option<String> {
        Some(hex::encode(self.mac(purpose, text)?.finalize().into_bytes()))
    }

    /// Whether a value is the one for this purpose and text. The time says nothing about it.
    pub(super) fn is_of(&self, purpose: &str, text: &str, given: &str) -> bool {
        let given = hex::decode(given).unwrap_or_default();
        self.mac(purpose, text)
            .is_some_and(|mac| mac.verify_slice(&given).is_ok())
    }

    fn mac(&self, purpose: &str, text: &str) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.expose_secret().as_bytes()).ok()?;
        mac.update(b"greenlight page\0");
        mac.update(purpose.as_bytes());
        mac.update(b"\0");
        mac.update(text.as_bytes());
        Some(mac)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, header};

    use super::*;

    #[test]
    fn a_value_is_for_one_purpose_text_and_key() {
        let seal = Seal::new("key".to_string().into());
        let value = seal.of("a", "text").unwrap();
        assert!(seal.is_of("a", "text", &value));
        let other = Seal::new("kez".to_string().into());
        for forged in [
            seal.is_of("b", "text", &value),
            seal.is_of("a", "text2", &value),
            seal.is_of("a", "text", &value[..62]),
            seal.is_of("a", "text", ""),
            seal.is_of("a", "text", "no hex"),
            other.is_of("a", "text", &value),
        ] {
            assert!(!forged);
        }
    }

    #[test]
    fn only_cookies_of_that_name_are_read() {
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, "a=1; ab=2;a=3".parse().unwrap());
        headers.append(header::COOKIE, "a=4; b".parse().unwrap());
        assert_eq!(cookies(&headers, "a").collect::<Vec<_>>(), ["1", "3", "4"]);
    }
}
