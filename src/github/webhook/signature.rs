//! Verifies that a delivery is from GitHub: the signature of its body, and the secret it is made with.

use std::fmt;

use hex::FromHex;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

/// The secret that GitHub signs deliveries with. It is never empty and never shown.
///
/// What is kept is the state that every signature begins with, and not the secret.
#[derive(Clone)]
pub struct WebhookSecret(Hmac<Sha256>);

/// The secret is empty, so that anybody could sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the webhook secret is empty: set GREENLIGHT_WEBHOOK_SECRET to the secret of the GitHub App or webhook")]
pub struct EmptySecret;

/// Why a delivery is not accepted as GitHub's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    #[error("no `X-Hub-Signature-256` header: give the webhook a secret")]
    Missing,
    #[error("the signature is not `sha256=` and 64 hexadecimal digits")]
    Malformed,
    #[error("the signature does not match the body: compare the secret with that of the webhook")]
    Wrong,
}

impl WebhookSecret {
    /// Takes the secret that was given to GitHub.
    ///
    /// # Errors
    /// When it is empty or only white space.
    pub fn new(secret: String) -> Result<Self, EmptySecret> {
        let secret = SecretString::from(secret);
        let text = secret.expose_secret();
        if text.trim().is_empty() {
            return Err(EmptySecret);
        }
        // Keys may have any length.
        Hmac::new_from_slice(text.as_bytes()).map(Self).map_err(|_| EmptySecret)
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret([redacted])")
    }
}

/// Verifies a signature while the body arrives.
pub struct Verification {
    mac: Hmac<Sha256>,
    signature: [u8; 32],
}

impl Verification {
    /// Begins with the value of `X-Hub-Signature-256`: an HMAC-SHA256 of the body.
    /// <https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries>
    ///
    /// # Errors
    /// When the header is missing, or has another form (such as `sha1=`).
    pub fn begin(secret: &WebhookSecret, header: Option<&[u8]>) -> Result<Self, SignatureError> {
        let header = header.ok_or(SignatureError::Missing)?;
        let digits = header.strip_prefix(b"sha256=").ok_or(SignatureError::Malformed)?;
        let signature = <[u8; 32]>::from_hex(digits).map_err(|_| SignatureError::Malformed)?;
        let mac = secret.0.clone();
        Ok(Self { mac, signature })
    }

    /// Adds the next bytes of the body.
    pub fn take(&mut self, bytes: &[u8]) {
        self.mac.update(bytes);
    }

    /// Compares the signatures in constant time.
    ///
    /// # Errors
    /// When the signature was made with another secret or for another body.
    pub fn end(self) -> Result<(), SignatureError> {
        self.mac
            .verify_slice(&self.signature)
            .map_err(|_| SignatureError::Wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verify(secret: &WebhookSecret, header: Option<&[u8]>, body: &[u8]) -> Result<(), SignatureError> {
        let mut verification = Verification::begin(secret, header)?;
        body.chunks(5).for_each(|bytes| verification.take(bytes));
        verification.end()
    }

    fn sign(secret: &str, body: &[u8]) -> String {
        let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes())
            .unwrap()
            .chain_update(body);
        format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
    }

    #[test]
    fn only_the_holder_of_the_secret_is_believed() {
        // The example from GitHub's documentation.
        let text = "It's a Secret to Everybody";
        let secret = WebhookSecret::new(text.into()).unwrap();
        let body = b"Hello, World!";
        let right = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        assert_eq!(verify(&secret, Some(right.as_bytes()), body), Ok(()));
        assert_eq!(right, sign(text, body));
        assert_eq!(
            verify(&secret, Some(sign(text, b"\xff\r\n").as_bytes()), b"\xff\r\n"),
            Ok(())
        );
        for (header, body, expected) in [
            (None, &body[..], SignatureError::Missing),
            (Some(right), b"Hello, World", SignatureError::Wrong),
            (Some(right), b"Hello, World!\n", SignatureError::Wrong),
            (Some(right), b"", SignatureError::Wrong),
            (Some(&sign("another", body)), body, SignatureError::Wrong),
            (Some(&sign("", body)), body, SignatureError::Wrong),
            (Some(&format!("sha256={}", "0".repeat(64))), body, SignatureError::Wrong),
            (Some(""), body, SignatureError::Malformed),
            (Some("sha256="), body, SignatureError::Malformed),
            (Some(&right[7..]), body, SignatureError::Malformed),
            (Some(&right[..70]), body, SignatureError::Malformed),
            (Some(&right[..69]), body, SignatureError::Malformed),
            (Some(&format!("{right}00")), body, SignatureError::Malformed),
            (Some(&format!(" {right}")), body, SignatureError::Malformed),
            (Some(&format!("{right},{right}")), body, SignatureError::Malformed),
            (Some(&right.replace("sha256", "sha1")), body, SignatureError::Malformed),
            (
                Some("sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59"),
                body,
                SignatureError::Malformed,
            ),
            (Some(&right.replace("757", "xyz")), body, SignatureError::Malformed),
        ] {
            assert_eq!(
                verify(&secret, header.map(str::as_bytes), body),
                Err(expected),
                "{header:?}"
            );
        }
    }

    #[test]
    fn a_secret_is_neither_empty_nor_shown() {
        for empty in ["", " ", "\n"] {
            assert_eq!(WebhookSecret::new(empty.into()).unwrap_err(), EmptySecret);
        }
        let shown = format!("{:?}", WebhookSecret::new("hunter2".into()).unwrap());
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
