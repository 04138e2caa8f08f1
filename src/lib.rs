//! greenlight debugs red CI: it finds the failing tests of a pull request, works out a fix, posts it as review
//! suggestions, and lands it when a maintainer says so.
//!
//! The modules in reading order: what is decided, what remembers it, what runs code, what understands it, what
//! thinks, what talks to the outside, and what ties them together. ARCHITECTURE.md has the picture.

pub mod domain;

pub mod guard;
pub mod measure;

/// Confines untrusted commands; its own crate.
pub use greenlight_sandbox as sandbox;
/// Finds, installs, runs and reads tests; its own crate.
pub use greenlight_suite as suite;
/// Trees of files, before and after untrusted code ran in them; their own crate.
pub use greenlight_tree::{checkout, files, private};

pub mod agent;
pub mod openai;
/// Fixes without a model; its own crate.
pub use greenlight_repair as repair;

pub mod metrics;
pub mod traces;

pub mod git;
pub mod github;
pub mod journal;
pub mod lease;

/// What people see of runs: lists, timelines, statistics.
pub mod summary;

pub mod config;
pub mod engine;
pub mod server;

pub mod cli;
