//! Rust projects: `Cargo.toml`.

use super::Place;
use crate::suite::{Framework, TestCommand};

pub(super) fn find(place: &Place<'_>) -> Option<TestCommand> {
    let manifest: toml::Table = place.text("Cargo.toml")?.parse().ok()?;
    let argv: &[&str] = if manifest.contains_key("workspace") {
        &["cargo", "test", "--workspace"]
    } else {
        &["cargo", "test"]
    };
    place.command(argv, Framework::Cargo, "Cargo.toml")
}
