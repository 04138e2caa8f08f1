//! The messages between greenlight and its helper processes: frames of JSON over a private socket.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::spec::backend::Backend;
use crate::spec::command::{Changes, Limits, Mount, Network};
use crate::spec::output::Outcome;

/// The first argument that makes a program act as a helper of its sandbox.
pub const VERB: &str = "sandbox-init";

/// The second argument of process 1.
pub(crate) const INIT: &str = "init";

/// The second argument of process 1 of a container.
pub(crate) const CONTAINER: &str = "container";
/// The second argument of the process that becomes `bwrap`.
pub(crate) const LAUNCH: &str = "launch";

/// The second argument of the process that becomes a command without namespaces.
pub(crate) const COMMAND: &str = "command";

/// The second argument of the self-test that runs inside.
pub(crate) const PROBE: &str = "probe";

/// The second argument of the relay to the package registries.
pub(crate) const RELAY: &str = "relay";

/// The largest frame. Specs and reports are smaller; a larger one is a bug.
pub(super) const MAX_FRAME: usize = 8 << 20;

/// The socket that every helper gets as its standard input.
pub(crate) fn control() -> io::Result<UnixStream> {
    // Descriptors that other code left open in greenlight must not leak into child processes.
    close_fds::set_fds_cloexec(3, &[]);
    Ok(UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Everything that the helper needs to know; it has no environment and no other input.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Spec {
    pub(super) backend: Backend,
    pub(super) argv: Vec<OsString>,
    pub(super) workspace: PathBuf,
    pub(super) changes: Changes,
    pub(super) cwd: PathBuf,
    pub(super) env: BTreeMap<String, String>,
    pub(super) mounts: Vec<Mount>,
    /// Symbolic links in the root directory: their paths and targets.
    pub(super) links: BTreeMap<PathBuf, PathBuf>,
    pub(super) home: PathBuf,
    pub(super) limits: Limits,
    pub(super) network: Network,
    /// A name that is unique among all runs on this machine.
    pub(super) name: String,
}

impl Spec {
    pub(super) fn is_confined(&self) -> bool {
        self.backend != Backend::None
    }
}

/// The user and group id inside a separate user namespace.
pub(crate) const INSIDE: u32 = 1000;

/// The user that the command runs as.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) enum Identity {
    /// A user that owns only the workspace. No user namespace is involved.
    Lent(u32),
    /// The user who runs greenlight, who appears inside as [`INSIDE`].
    Own { uid: u32, gid: u32 },
}

impl Identity {
    /// The user id that the command sees.
    pub(crate) fn seen_inside(self) -> u32 {
        match self {
            Self::Lent(uid) => uid,
            Self::Own { .. } => INSIDE,
        }
    }
}

/// From the supervisor to init.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Orders {
    pub(super) spec: Spec,
    pub(super) identity: Identity,
    /// Whether a control group enforces the limits on memory and processes.
    pub(super) counted: bool,
    /// For a container: the expected device, inode and owner at each mount.
    pub(super) inodes: Vec<(u64, u64, u32)>,
}

/// From the first process of the sandbox to its supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Progress {
    /// Everything is ready; the command is next.
    Ready,
    CouldNotStart(String),
    Exited(i32),
    Signalled(i32),
    /// In a container: all traces of the command are gone, and the next command may start.
    Clean,
}

/// From the supervisor to init, once it has its [`Orders`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum SupervisorMessage {
    /// The supervisor is watching: start the command.
    Go,
    /// Send SIGINT to everything inside.
    Interrupt,
    /// Only for init of a container, before anything else: output streams and orders for a command follow.
    Next,
}

/// The byte that greenlight sends to the supervisor, after the spec, for [`SupervisorMessage::Interrupt`]. Any other
/// byte, and the end of the stream, ends the run.
pub(super) const INTERRUPT: u8 = b'i';

/// What a control group counted and limited in a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Counted {
    #[default]
    Nothing,
    /// Processes and memory, but not all kernel memory for sockets.
    NotAllSockets,
    Everything,
}

/// From the supervisor to greenlight, after the last process died.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ExitReport {
    pub(super) outcome: Outcome,
    pub(super) cpu: Duration,
    pub(super) peak_memory: u64,
    pub(super) wall: Duration,
    pub(super) counted: Counted,
    /// Whether the command ran as a separate user.
    pub(super) lent: bool,
    pub(super) container: ContainerState,
}

/// The state of a container after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ContainerState {
    /// No trace of the command is left.
    Clean,
    /// Traces are left, or there was no container.
    Spent,
}

/// Writes one frame: its length in four bytes, then its body.
///
/// # Errors
/// When the other side is gone, or the value is too long for a frame.
pub(super) fn write_frame(mut to: impl Write, value: &impl Serialize) -> io::Result<()> {
    to.write_all(&encode(value)?)
}

/// The bytes of one frame.
pub(super) fn encode(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, value)?;
    let length = frame.len() - 4;
    let prefix = u32::try_from(length).ok().filter(|_| length <= MAX_FRAME);
    let prefix = prefix.ok_or_else(|| io::Error::other("the command is too long to be sent to its sandbox"))?;
    frame[..4].copy_from_slice(&prefix.to_le_bytes());
    Ok(frame)
}

/// Reads one frame.
///
/// # Errors
/// When the stream ends before the frame does, or the frame is invalid.
pub(super) fn read_frame<T: DeserializeOwned>(mut from: impl Read) -> io::Result<T> {
    let mut prefix = [0; 4];
    from.read_exact(&mut prefix)?;
    let mut body = vec![0; body_length(prefix)?];
    from.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}

/// The length of the body, according to its prefix.
pub(super) fn body_length(prefix: [u8; 4]) -> io::Result<usize> {
    let length = u32::from_le_bytes(prefix) as usize;
    if length <= MAX_FRAME {
        Ok(length)
    } else {
        Err(io::Error::other("the frame is too long"))
    }
}
