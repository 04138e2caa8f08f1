//! What greenlight and its helper processes say to each other: frames of JSON over a socket that only they hold.

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

/// The first argument that makes a program a helper of the program's sandbox.
pub const VERB: &str = "sandbox-init";

/// The second argument of process 1.
pub(crate) const INIT: &str = "init";

/// The second argument of process 1 of a container.
pub(crate) const CONTAINER: &str = "container";
/// The second argument of the stage that becomes `bwrap`.
pub(crate) const LAUNCH: &str = "launch";

/// The second argument of the stage that becomes a command without namespaces.
pub(crate) const COMMAND: &str = "command";

/// The second argument of the self-test that runs inside.
pub(crate) const PROBE: &str = "probe";

/// The second argument of the way out to the package registries.
pub(crate) const RELAY: &str = "relay";

/// No spec and no report is longer; a longer one is a fault, not something to make room for.
pub(super) const MAX_FRAME: usize = 8 << 20;

/// The socket that every helper gets as its standard input.
pub(crate) fn control() -> io::Result<UnixStream> {
    // What others left open in greenlight stays out of the processes to come.
    close_fds::set_fds_cloexec(3, &[]);
    Ok(UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Everything the helper has to know; it has no environment and no other input.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Spec {
    pub(super) backend: Backend,
    pub(super) argv: Vec<OsString>,
    pub(super) workspace: PathBuf,
    pub(super) changes: Changes,
    pub(super) cwd: PathBuf,
    pub(super) env: BTreeMap<String, String>,
    pub(super) mounts: Vec<Mount>,
    /// Symbolic links of the root directory: where, and what they say.
    pub(super) links: BTreeMap<PathBuf, PathBuf>,
    pub(super) home: PathBuf,
    pub(super) limits: Limits,
    pub(super) network: Network,
    /// Names this run among all runs of this machine.
    pub(super) name: String,
}

impl Spec {
    pub(super) fn is_confined(&self) -> bool {
        self.backend != Backend::None
    }
}

/// The user and group inside its own user namespace.
pub(crate) const INSIDE: u32 = 1000;

/// The user behind the command.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) enum Identity {
    /// A user that owns nothing but the workspace. No user namespace is involved.
    Lent(u32),
    /// The user who runs greenlight, seen from inside as [`INSIDE`].
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
    /// Whether a control group holds the limits on memory and processes.
    pub(super) counted: bool,
    /// For a container: device, inode and owner of what has to be found at each mount.
    pub(super) inodes: Vec<(u64, u64, u32)>,
}

/// From the first process of the sandbox to its supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Progress {
    /// Everything is in place; the command is next.
    Ready,
    CouldNotStart(String),
    Exited(i32),
    Signalled(i32),
    /// In a container: nothing is left of the command, and the next one may come.
    Clean,
}

/// From the supervisor to init, once it has its [`Orders`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum SupervisorMessage {
    /// The supervisor watches: start the command.
    Go,
    /// Send everything inside the signal of ctrl-c.
    Interrupt,
    /// To init of a container, before anything else: output streams and orders for a command follow.
    Next,
}

/// What greenlight says to the supervisor, after the spec, for [`SupervisorMessage::Interrupt`]. Anything else, and the end of the
/// stream, ends the run.
pub(super) const INTERRUPT: u8 = b'i';

/// What a control group counted of a run, and held within its limits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Counted {
    #[default]
    Nothing,
    /// Processes and memory, but not all that the kernel keeps for sockets.
    NotAllSockets,
    Everything,
}

/// From the supervisor to greenlight, when the last process is dead.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ExitReport {
    pub(super) outcome: Outcome,
    pub(super) cpu: Duration,
    pub(super) peak_memory: u64,
    pub(super) wall: Duration,
    pub(super) counted: Counted,
    /// Whether the command ran as its own user.
    pub(super) lent: bool,
    pub(super) container: ContainerState,
}

/// What a command left of the container it ran in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ContainerState {
    /// It is as if the command had never been there.
    Clean,
    /// It is not, or there was none.
    Spent,
}

/// Writes one frame: its length in four bytes, then itself.
///
/// # Errors
/// When the other side is gone or the value is too long to be one of ours.
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
/// When the stream ends before it, or it is not one.
pub(super) fn read_frame<T: DeserializeOwned>(mut from: impl Read) -> io::Result<T> {
    let mut prefix = [0; 4];
    from.read_exact(&mut prefix)?;
    let mut body = vec![0; body_length(prefix)?];
    from.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}

/// The length of the body that follows a prefix.
pub(super) fn body_length(prefix: [u8; 4]) -> io::Result<usize> {
    let length = u32::from_le_bytes(prefix) as usize;
    if length <= MAX_FRAME {
        Ok(length)
    } else {
        Err(io::Error::other("the frame is too long"))
    }
}
