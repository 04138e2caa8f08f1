//! A variant of `means.rs` without unsafe code. Values of unknown types cannot be read, and variables are kept in
//! files, because newer Rust versions consider setting environment variables unsafe.

use super::digest::Digest;
use super::greenlight_std::prelude::v1::*;
use super::greenlight_std::{env, format, fs};

pub fn look<T>(_: &T, digest: &mut Digest) {
    digest.is_opaque = true;
}

pub fn get(name: &str) -> Option<String> {
    fs::read_to_string(file(name)).or_else(|_| env::var(name)).ok()
}

pub fn put(name: &str, value: &str) {
    let _ = fs::write(file(name), value);
}

pub fn away(name: &str) {
    let _ = fs::remove_file(file(name));
}

fn file(name: &str) -> String {
    format!("{}.{}", env::var("GREENLIGHT_OBSERVE").unwrap_or_default(), name)
}
