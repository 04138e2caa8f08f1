//! What the test runners of JavaScript and TypeScript share.

pub(super) use crate::filter::javascript::{any_of, escaped, filter, part};
pub(super) use crate::reporters::javascript::{JSON, XML, reporter};

/// The installers of their packages.
pub(super) const INSTALLERS: &[&str] = &["npm", "pnpm", "yarn"];
