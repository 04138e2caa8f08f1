//! Patches of a repository and the suggestions that GitHub makes of them: unified diffs are read, applied and written
//! byte for byte, and a patch is cut into review suggestions and what is left.
//!
//! Not in here: git, GitHub, and what a patch is for. Nothing here does I/O.

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
