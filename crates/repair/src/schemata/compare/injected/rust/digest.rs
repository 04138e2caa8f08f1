//! A digest of a value, made from its text as far as it can be shown.

use super::greenlight_std::fmt;
use super::greenlight_std::format;
use super::greenlight_std::panic::{AssertUnwindSafe, catch_unwind};
use super::greenlight_std::prelude::v1::*;
use super::greenlight_std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of bytes of one value in a digest.
pub const MOST_BYTES: usize = 1 << 16;

/// Number of bytes digested so far.
pub static SHOWN: AtomicUsize = AtomicUsize::new(0);

pub struct Digest {
    pub hash: u64,
    pub left: usize,
    pub is_opaque: bool,
}

impl Digest {
    pub fn of(show: &dyn Fn(&mut Digest)) -> Self {
        let mut digest = Digest {
            hash: 0xcbf2_9ce4_8422_2325,
            left: MOST_BYTES,
            is_opaque: false,
        };
        if catch_unwind(AssertUnwindSafe(|| show(&mut digest))).is_err() {
            digest.is_opaque = true;
        }
        SHOWN.fetch_add(MOST_BYTES - digest.left, Ordering::Relaxed);
        digest
    }

    pub fn text(&self) -> String {
        format!("{:016x} {}", self.hash, if self.is_opaque { "o" } else { "s" })
    }
}

impl fmt::Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if text.len() >= self.left {
            self.is_opaque = true;
            return Err(fmt::Error);
        }
        self.left -= text.len();
        for byte in text.bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(())
    }
}
