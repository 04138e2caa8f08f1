//! Shows a value to a digest in the best way that its type has.

use super::digest::Digest;
use super::greenlight_std::fmt::{self, Write as _Write};
use super::greenlight_std::ops;
use super::greenlight_std::prelude::v1::*;
use super::means::look;

// A value is shown by `Debug`, else by what it contains, else not at all: the compiler picks the first
// implementation.
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
