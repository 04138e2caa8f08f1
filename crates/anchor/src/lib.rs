//! Patches of a repository, and GitHub review suggestions for them. Unified diffs are parsed, applied and written
//! byte for byte, and a patch is cut into review suggestions and a remainder.
//!
//! This crate knows nothing of git, of GitHub's API, or of a patch's purpose, and does no I/O.

#![warn(missing_docs)]

mod base85;
mod error;
mod merge;
mod object;
pub mod patch;
mod path;
mod read;
mod suggest;
mod visible;
mod write;

pub use error::ReadError;
pub use merge::carried_over;
pub use path::{InvalidPath, RepoPath};
pub use read::apply as read;
pub use suggest::*;
pub use visible::is_visible;
pub use write::hunks;
