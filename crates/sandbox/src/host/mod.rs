//! The caller's side of the wall: finds out what this machine can hold, starts the helpers, and reads what they say.

pub(crate) mod detect;
mod fix_hint;
pub(crate) mod launch;
pub(crate) mod seal;
pub(crate) mod toolchains;
