//! What the test runners of JavaScript and TypeScript share.

pub(super) use crate::suite::filter::javascript::{any_of, escaped, filter, part};
pub(super) use crate::suite::reporters::javascript::{JSON, XML, reporter};

/// The installers of their packages.
pub(super) const INSTALLERS: &[&str] = &["npm", "pnpm", "yarn"];
