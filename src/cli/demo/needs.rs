//! What the story's project takes of this machine, asked for before anything is played.
//!
//! It is asked inside of the sandbox, where the tests run later: what works outside may not be there.

use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::super::Exit;
use crate::sandbox::{Command, Limits, Outcome, Policy, Sandbox};

/// Programs that `cargo test` of the story's project runs, and how one gets them.
const PROGRAMS: [(&str, &str); 2] = [
    ("cargo", "install Rust (https://rustup.rs)"),
    (
        "cc",
        "install a C compiler, whose linker Rust uses (such as the package `gcc`)",
    ),
];
/// More than enough for a program to say its version, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest reason that is shown, in characters.
const MAX_REASON: usize = 200;

/// Fails unless the programs of the story run in the sandbox.
pub(super) async fn check(sandbox: &Sandbox, folder: &Path) -> Result<(), Exit> {
    let empty = tempfile::tempdir_in(sandbox.workspaces(folder)).map_err(super::fault)?;
    let policy = Policy {
        limits: Limits {
            wall: PATIENCE,
            ..Limits::default()
        },
        ..Policy::default()
    };
    for (program, remedy) in PROGRAMS {
        let command = Command::new([program, "--version"], empty.path());
        let output = sandbox
            .exec(&command, &policy, &CancellationToken::new())
            .await
            .map_err(super::fault)?;
        let why = match &output.outcome {
            Outcome::Exited(0) => continue,
            Outcome::DidNotStart(_) => "is missing on this machine".to_string(),
            // Such as a `cargo` of rustup's without a toolchain.
            _ => {
                let said = output.stderr.text();
                let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
                let first: String = first.chars().take(MAX_REASON).collect();
                format!("does not work here ({})", first.trim())
            }
        };
        return Err(Exit::Usage(format!(
            "the demo did not start: its repository is written in Rust, and `{program}` {why}; {remedy}, and run this \
             again"
        )));
    }
    Ok(())
}
