//! greenlight's types, and the rules it decides by.
//!
//! Nothing in here reads a file, a clock, a socket or an environment variable, nothing is async, and no wire format
//! of GitHub or of a model appears. Everything can therefore be tested with plain values.

pub mod branch_rule;
pub mod budget;
pub mod command;
pub mod event;
pub mod execution;
pub mod explanation;
pub mod finding;
pub mod gate;
pub mod goal;
pub mod id;
pub mod landing;
pub mod measures;
pub mod memory;
pub mod minimize;
pub mod mode;
pub mod model;
pub mod permission;
pub mod proposal;
pub mod reply;
pub mod run;
pub mod search;
pub mod spec_tests;
pub mod spend;
pub mod triage;
pub mod weakening;
pub mod worker_labels;

/// Patches, diffs and suggestions; its own crate.
pub use greenlight_anchor as anchor;
pub use greenlight_anchor::patch;
/// Test runs and their results, which files are tests, and steps of CI; types of the crate that reads results.
pub use greenlight_readers::{ci_step, test_path, test_run, text};
/// Makes untrusted text safe to show; its own crate.
pub use greenlight_redact as redact;
/// Counts and durations, as people and records have them; their own crate.
pub use greenlight_units::{clock, count, size};

/// Whether a field has its default value, and is left out of JSON.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
