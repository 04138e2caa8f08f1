//! What a value is, as far as that can be seen: a number made of its text.

use super::greenlight_std::fmt::{self, Write as _Write};
use super::greenlight_std::panic::{AssertUnwindSafe, catch_unwind};
use super::greenlight_std::prelude::v1::*;
use super::greenlight_std::sync::atomic::{AtomicUsize, Ordering};
use super::greenlight_std::{format, ops};
use super::means::look;

/// Bytes of one value that are looked at.
pub const MOST_BYTES: usize = 1 << 16;

/// Bytes that were looked at.
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

// A value is shown by `Debug`, else by what it holds, else not at all: the compiler takes the first that it finds.
pub struct Shown<'a, T: 'a>(Held<'a, T>);
pub struct Held<'a, T: 'a>(Opaque<'a, T>);
pub struct Opaque<'a, T: 'a>(&'a T);

pub fn shown<'a, T>(value: &'a T) -> Shown<'a, T> {
    Shown(Held(Opaque(value)))
}

impl<'a, T> ops::Deref for Shown<'a, T> {
    type Target = Held<'a, T>;
    fn deref(&self) -> &Held<'a, T> {
        &self.0
    }
}

impl<'a, T> ops::Deref for Held<'a, T> {
    type Target = Opaque<'a, T>;
    fn deref(&self) -> &Opaque<'a, T> {
        &self.0
    }
}

impl<'a, T: fmt::Debug> Shown<'a, T> {
    pub fn greenlight_show(&self, digest: &mut Digest) {
        if digest.write_fmt(format_args!("{:?};", ((self.0).0).0)).is_err() {
            digest.is_opaque = true;
        }
    }
}

impl<'a, T> Held<'a, Option<T>> {
    pub fn greenlight_show(&self, digest: &mut Digest) {
        all((self.0).0, digest);
    }
}

impl<'a, T, E> Held<'a, Result<T, E>> {
    pub fn greenlight_show(&self, digest: &mut Digest) {
        match (self.0).0 {
            Ok(value) => look(value, digest),
            Err(error) => {
                let _ = digest.write_str("error;");
                look(error, digest);
            }
        }
    }
}

impl<'a, T> Held<'a, Vec<T>> {
    pub fn greenlight_show(&self, digest: &mut Digest) {
        all((self.0).0, digest);
    }
}

impl<'a, 'b, T> Held<'a, &'b Vec<T>> {
    pub fn greenlight_show(&self, digest: &mut Digest) {
        all(*(self.0).0, digest);
    }
}

impl<'a, 'b, T> Held<'a, &'b mut Vec<T>> {
    pub fn greenlight_show(&self, digest: &mut Digest) {
        all(&**(self.0).0, digest);
    }
}

impl<'a, 'b, T> Held<'a, &'b [T]> {
    pub fn greenlight_show(&self, digest: &mut Digest) {
        all(*(self.0).0, digest);
    }
}

impl<'a, 'b, T> Held<'a, &'b mut [T]> {
    pub fn greenlight_show(&self, digest: &mut Digest) {
        all(&**(self.0).0, digest);
    }
}

impl<'a, T> Opaque<'a, T> {
    pub fn greenlight_show(&self, digest: &mut Digest) {
        look(self.0, digest);
    }
}

fn all<'a, T: 'a, I: IntoIterator<Item = &'a T>>(values: I, digest: &mut Digest) {
    for value in values {
        look(value, digest);
        if digest.is_opaque {
            return;
        }
    }
    let _ = digest.write_str("end;");
}
