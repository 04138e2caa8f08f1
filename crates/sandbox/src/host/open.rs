//! Opens a link in the browser of the person at this machine, which is no untrusted command and is not confined.
//!
//! Here because nothing outside of this crate spawns processes.

use std::io;
use std::process::Stdio;

/// Starts a program with these arguments and only these variables, and does not wait for it.
///
/// # Errors
/// When it cannot be started.
pub fn open_link(program: &str, arguments: &[String], variables: &[(String, String)]) -> io::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "only this crate spawns processes")]
    let mut command = tokio::process::Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().map(drop)
}
