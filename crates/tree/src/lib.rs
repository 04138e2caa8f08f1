//! Trees of files that greenlight works on: a directory with edits held in memory, copies of it in which untrusted code
//! may run, and reading and writing there without following a link.
//!
//! Not in here: git, which lays trees out, and the sandbox, which runs code in their copies.

#![warn(missing_docs)]

pub mod checkout;
pub mod files;
pub mod private;
