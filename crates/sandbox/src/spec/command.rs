//! What a caller asks for: the command, the files it sees, and the bounds it runs in. Only words, nothing is done here.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::spec::error::Error;

/// Where the workspace is found inside the sandbox.
pub const WORKSPACE: &str = "/workspace";

/// One command, to be run in one workspace.
#[derive(Debug, Clone)]
pub struct Command {
    /// The program and its arguments. A program without a slash is looked up in the sandbox's own `PATH`.
    pub argv: Vec<OsString>,
    /// A directory that only greenlight owns; it is mounted read-write at [`WORKSPACE`] and belongs to the
    /// untrusted code from then on: read it with [`greenlight_tree::files`] only, and never give two checkouts the same inodes.
    pub workspace: PathBuf,
    /// What becomes of what the command writes there.
    pub changes: Changes,
    /// Where in the workspace the command starts; empty means its root.
    pub cwd: PathBuf,
    /// Added to the environment that the sandbox builds from scratch; nothing else gets in.
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

    /// Checks what would otherwise be misunderstood further down, where the error would be less clear.
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

/// What becomes of what a command writes to its workspace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Changes {
    /// It stays, for anyone who reads the workspace next.
    #[default]
    Kept,
    /// It is gone with the command; the workspace is not touched.
    Discarded {
        /// How much there may be of it.
        bytes: u64,
    },
}

/// A file or directory of the host, shown inside.
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
    /// It can be read only.
    ReadOnly,
    /// The same, but for named pipes that lie in the directory when the command starts: those can be written to. Where
    /// mounts confine, that holds for all that is read-only, because writing to a pipe changes no file system.
    ReadOnlyButPipes,
    /// Of directories only. They belong to the command like its workspace, and count as parts of it.
    ReadWrite,
}

/// The bounds of one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// The bounds of its resources.
    pub limits: Limits,
    /// What it can reach.
    pub network: Network,
}

/// How much of everything one run may take. Every one of them ends or fails the command, none of them hangs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// From the start of the command to its end.
    pub wall: Duration,
    /// Of each process, rounded up to seconds.
    pub cpu_time: Duration,
    /// Bytes of memory of all processes together, including what they put in `/tmp`, `/dev/shm` and their home.
    pub memory: u64,
    /// Processes and threads at the same time.
    pub processes: u64,
    /// Bytes of the largest file.
    pub file_size: u64,
    /// Bytes of the whole workspace on disk, with what was there before.
    pub disk: u64,
    /// Open files of each process.
    pub open_files: u64,
    /// Bytes kept of each output stream, half from its start and half from its end; the rest is counted and dropped.
    pub output: usize,
}

impl Default for Limits {
    fn default() -> Self {
        const GIB: u64 = 1 << 30;
        Self {
            wall: Duration::from_secs(10 * 60),
            cpu_time: Duration::from_secs(30 * 60),
            memory: 2 * GIB,
            // Maven, the virtual machine that it starts, and a server with its clients in it are some four hundred.
            processes: 1024,
            file_size: GIB,
            disk: 4 * GIB,
            open_files: 1024,
            output: 256 << 10,
        }
    }
}

/// What a command can reach over the network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    /// Nothing, not even itself.
    None,
    /// Only its own processes, over a loopback interface that no one else has.
    #[default]
    Loopback,
    /// Besides its own processes these hosts, by their exact names, on port 443 and only through a proxy.
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
    fn what_makes_no_sense_is_said_so() {
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
