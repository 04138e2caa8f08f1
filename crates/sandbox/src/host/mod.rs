//! The caller's side of the wall: detects what this machine can enforce, starts the helpers, and reads their reports.

pub(crate) mod detect;
mod fix_hint;
pub(crate) mod launch;
pub(crate) mod open;
pub(crate) mod seal;
pub(crate) mod toolchains;
