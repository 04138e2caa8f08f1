//! The caller's request: the command, the files it sees, and its limits. Only data types.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::spec::error::Error;

/// The path of the workspace inside the sandbox.
pub const WORKSPACE: &str = "/workspace";

/// One command, to be run in one workspace.
#[derive(Debug, Clone)]
pub struct Command {
    /// The program and its arguments. A program without a slash is looked up in the sandbox's own `PATH`.
    pub argv: Vec<OsString>,
    /// A directory that only greenlight owns. It is mounted read-write at [`WORKSPACE`], and belongs to the untrusted
    /// code from then on: read it only with [`greenlight_tree::files`], and never let two checkouts share inodes.
    pub workspace: PathBuf,
    /// What happens to what the command writes there.
    pub changes: Changes,
    /// Where in the workspace the command starts; empty means its root.
    pub cwd: PathBuf,
    /// Added to the environment that the sandbox builds from scratch; no other variables get in. `CI` is `true` unless
    /// it is set here, and unset if it is empty here.
    pub env: BTreeMap<String, String>,
    /// Further files and directories of the host.
    pub mounts: Vec<Mount>,
}

impl Command {
    /// A command at the root of a workspace, with nothing added.
    pub fn new(argv: impl IntoIterator<Item = impl Into<OsString>>, workspace: impl Into<PathBuf>) -> Self {
        Self {
            argv: argv.into_iter().map(Into::into).collect(),
            workspace: workspace.into(),
            changes: Changes::Kept,
            cwd: PathBuf::new(),
            env: BTreeMap::new(),
            mounts: Vec::new(),
        }
    }

    /// Rejects requests that would otherwise fail later with a less clear error.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let invalid = |what: String| Err(Error::InvalidCommand(what));
        if self.argv.first().is_none_or(|program| program.is_empty()) {
            return invalid("name a program to run".into());
        }
        if self.argv.iter().any(|word| word.as_encoded_bytes().contains(&0)) {
            return invalid("remove the NUL byte from the arguments".into());
        }
        if !self.workspace.is_absolute() {
            return invalid(format!(
                "give the workspace {} as an absolute path",
                self.workspace.display()
            ));
        }
        if !self
            .cwd
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
        {
            return invalid(format!(
                "{} has to be a directory inside the workspace",
                self.cwd.display()
            ));
        }
        let spoils_the_list =
            |(name, value): (&String, &String)| name.is_empty() || name.contains(['=', '\0']) || value.contains('\0');
        if let Some((name, _)) = self.env.iter().find(|pair| spoils_the_list(*pair)) {
            return invalid(format!("{name:?} cannot be set as an environment variable"));
        }
        match self.mounts.iter().find(|mount| !mount.is_well_formed()) {
            Some(mount) => invalid(format!(
                "{} cannot be mounted at {}",
                mount.source.display(),
                mount.target.display()
            )),
            None => Ok(()),
        }
    }
}

/// What happens to what a command writes to its workspace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Changes {
    /// It stays, for the next reader of the workspace.
    #[default]
    Kept,
    /// It is discarded after the command; the workspace is not changed.
    Discarded {
        /// How many bytes the command may write.
        bytes: u64,
    },
}

/// A file or directory of the host that is visible inside.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Mount {
    /// The file or directory of the host.
    pub source: PathBuf,
    /// An absolute path inside; not in `/proc` or `/dev`.
    pub target: PathBuf,
    /// What the command may do with it.
    pub access: Access,
}

impl Mount {
    fn is_well_formed(&self) -> bool {
        let mut parts = self.target.components();
        parts.next() == Some(Component::RootDir)
            && parts.clone().next().is_some()
            && parts.all(|part| matches!(part, Component::Normal(_)))
            && !["/proc", "/dev", WORKSPACE]
                .iter()
                .any(|taken| self.target.starts_with(taken))
            && self.source.is_absolute()
            && self.source != Path::new("/")
    }
}

/// Whether the command may write through a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Access {
    /// The command can only read it.
    ReadOnly,
    /// The same, except that named pipes in the directory can be written to if they exist when the command starts.
    /// Backends that use mounts allow this for everything read-only, because writing to a pipe does not change a file
    /// system.
    ReadOnlyButPipes,
    /// Directories only. The command owns them like its workspace, and they count as parts of it.
    ReadWrite,
}

/// The limits of one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Limits on resources.
    pub limits: Limits,
    /// Which hosts it can reach.
    pub network: Network,
}

/// Limits on the resources of one run. Reaching any of them ends or fails the command; none makes it hang.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// From the start of the command to its end.
    pub wall: Duration,
    /// CPU time of each process, rounded up to seconds.
    pub cpu_time: Duration,
    /// Bytes of memory of all processes together, including files in `/tmp`, `/dev/shm` and their home.
    pub memory: u64,
    /// Processes and threads at the same time.
    pub processes: u64,
    /// Bytes of the largest file.
    pub file_size: u64,
    /// Bytes of the whole workspace on disk, including what was there before.
    pub disk: u64,
    /// Open files of each process.
    pub open_files: u64,
    /// How many bytes of each output stream are kept, half from its start and half from its end; the rest is counted
    /// and dropped.
    pub output: usize,
}

impl Default for Limits {
    fn default() -> Self {
        const GIB: u64 = 1 << 30;
        Self {
            wall: Duration::from_secs(10 * 60),
            cpu_time: Duration::from_secs(30 * 60),
            memory: 2 * GIB,
            // Maven, the virtual machine that it starts, and a server with its clients use about four hundred.
            processes: 1024,
            file_size: GIB,
            disk: 4 * GIB,
            // Package managers unpack thousands of files at the same time.
            open_files: 8192,
            output: 256 << 10,
        }
    }
}

/// What a command can reach over the network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    /// Nothing, not even its own processes.
    None,
    /// Only its own processes, over a private loopback interface.
    #[default]
    Loopback,
    /// Its own processes, and these hosts, by exact name, on port 443 and only through a proxy.
    Registries(Vec<String>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(change: impl FnOnce(&mut Command), expected: Option<&str>) {
        let mut command = Command::new(["true"], "/w");
        change(&mut command);
        let complaint = command.check().err().map(|error| error.to_string());
        match (&complaint, expected) {
            (None, None) => {}
            (Some(complaint), Some(expected)) if complaint.contains(expected) => {}
            _ => panic!("{complaint:?}"),
        }
    }

    fn mount(source: &str, target: &str) -> Mount {
        Mount {
            source: source.into(),
            target: target.into(),
            access: Access::ReadOnly,
        }
    }

    #[test]
    fn invalid_requests_are_refused_with_a_reason() {
        check(|_| {}, None);
        check(|command| command.argv.clear(), Some("name a program"));
        check(|command| command.argv.push("a\0b".into()), Some("NUL"));
        check(|command| command.workspace = "w".into(), Some("absolute path"));
        check(|command| command.cwd = "a/./b".into(), None);
        check(|command| command.cwd = "../b".into(), Some("inside the workspace"));
        check(|command| command.cwd = "/b".into(), Some("inside the workspace"));
        check(
            |command| drop(command.env.insert("A=B".into(), "x".into())),
            Some("A=B"),
        );
        check(
            |command| drop(command.env.insert("A".into(), "x\0".into())),
            Some("\"A\""),
        );
        check(|command| command.mounts.push(mount("/cache", "/cache")), None);
        for (source, target) in [
            ("/", "/host"),
            ("/x", "/"),
            ("/x", "y"),
            ("/x", "/a/../b"),
            ("/x", "/proc/sys"),
            ("/x", "/dev/sda"),
            ("x", "/x"),
        ] {
            check(
                |command| command.mounts.push(mount(source, target)),
                Some("cannot be mounted"),
            );
        }
    }
}
