//! Checks that this machine has what the demo's project needs, before anything is played.
//!
//! The check runs inside of the sandbox, as the tests do later: a program that works outside may be missing there.

use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::super::Exit;
use crate::sandbox::{Command, Limits, Outcome, Policy, Sandbox};

/// The programs that `cargo test` of the demo's project runs, and how to install them.
const PROGRAMS: [(&str, &str); 2] = [
    ("cargo", "install Rust (https://rustup.rs)"),
    (
        "cc",
        "install a C compiler, whose linker Rust uses (such as the package `gcc`)",
    ),
];
/// More than enough time for a program to print its version, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// The maximum length of a reason, in characters.
const MAX_REASON: usize = 200;

/// Fails unless the programs that the demo needs run in the sandbox.
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
            // For example a `cargo` from rustup without a toolchain.
            _ => {
                let stderr = output.stderr.text();
                let first = stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
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
