//! The single test binary: stories with real git, the real router, the real sandbox, and a GitHub double on the wire.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expected by panicking"
)]

mod agent;
mod anchor;
mod config;
mod deploy;
mod docs;
mod doors;
mod double;
mod fuzz;
mod git;
mod guard;
mod harness;
mod install;
mod journals;
mod lanes;
mod openapi;
mod recorded;
mod release;
mod repair;
mod rest;
mod sandbox;
mod stories;
mod suggestions;
mod suite;
mod tidy;
mod version;
mod webhooks;
mod workflows;
