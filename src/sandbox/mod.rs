//! Runs an untrusted command in a checkout, bounded; the only room that spawns processes.

use std::path::Path;

/// Placeholder until the room arrives.
pub fn read_result(root: &Path, path: &Path, max: u64) -> std::io::Result<Vec<u8>> {
    let full = root.join(path);
    if full.symlink_metadata()?.is_symlink() || full.metadata()?.len() > max || !full.canonicalize()?.starts_with(root)
    {
        return Err(std::io::Error::other("not a plain file"));
    }
    std::fs::read(full)
}

/// Placeholder until the room arrives.
pub fn write_file(root: &Path, path: &Path, bytes: &[u8], _executable: bool) -> std::io::Result<()> {
    std::fs::write(root.join(path), bytes)
}

/// Placeholder until the room arrives.
pub fn remove_tree(root: &Path) -> std::io::Result<()> {
    std::fs::remove_dir_all(root)
}

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// Placeholder until the room arrives.
#[derive(Debug, Clone)]
pub struct Sandbox;

/// Placeholder until the room arrives.
#[derive(Debug, Clone, Default)]
pub struct Command {
    pub argv: Vec<std::ffi::OsString>,
    pub workspace: PathBuf,
    pub cwd: PathBuf,
    pub env: BTreeMap<String, String>,
    pub mounts: Vec<()>,
}

/// Placeholder until the room arrives.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    pub wall: Duration,
    pub output: usize,
}

/// Placeholder until the room arrives.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    pub limits: Limits,
}

/// Placeholder until the room arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Exited(i32),
    Signalled(i32),
    TimedOut,
    OutOfMemory,
    DiskLimit,
    Cancelled,
    DidNotStart(String),
}

/// Placeholder until the room arrives.
#[derive(Debug, Clone, Default)]
pub struct Captured {
    pub head: Vec<u8>,
    pub tail: Vec<u8>,
    pub total: u64,
}

/// Placeholder until the room arrives.
#[derive(Debug, Clone)]
pub struct Output {
    pub outcome: Outcome,
    pub stdout: Captured,
    pub stderr: Captured,
    pub wall: Duration,
}

/// Placeholder until the room arrives.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("placeholder")]
    Broken(std::io::Error),
}

/// Placeholder until the room arrives.
pub const WORKSPACE: &str = "/workspace";

impl Sandbox {
    /// Placeholder until the room arrives.
    pub async fn exec(&self, _: &Command, _: &Policy, _: &CancellationToken) -> Result<Output, Error> {
        Err(Error::Broken(std::io::Error::other("placeholder")))
    }
}
