//! The door of `greenlight sandbox-init`: which of the helper processes this one is, and what they have in common.
//! It opens nothing that its caller could not do anyway: it reads what to run from its standard input and has no privilege.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use super::{bubblewrap, container, init, landlock, probe, relay, supervisor};

/// The first argument that makes greenlight a helper of its own sandbox.
pub const VERB: &str = "sandbox-init";

/// The second argument of process 1.
pub(super) const INIT: &str = "init";

/// The second argument of process 1 of a container.
pub(super) const CONTAINER: &str = "container";
/// The second argument of the stage that becomes `bwrap`.
pub(super) const LAUNCH: &str = "launch";

/// The second argument of the stage that becomes a command without namespaces.
pub(super) const COMMAND: &str = "command";

/// The second argument of the self-test that runs inside.
pub(super) const PROBE: &str = "probe";

/// The second argument of the way out to the package registries.
pub(super) const RELAY: &str = "relay";

/// Whether this process was started as a helper, in which case [`main`] is all it may do.
pub fn is_wanted() -> bool {
    std::env::args_os().nth(1).is_some_and(|verb| verb == VERB)
}

/// Plays the helper process that the arguments name, until its end.
pub fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(2);
    let ended = match arguments.next().as_deref() {
        None => supervisor::main(),
        Some(INIT) => init::main(),
        Some(CONTAINER) => container::main(),
        Some(LAUNCH) => bubblewrap::main(),
        Some(COMMAND) => landlock::main(),
        Some(PROBE) => probe::main(arguments),
        Some(RELAY) => relay::main(),
        Some(_) => Err(io::Error::from(io::ErrorKind::InvalidInput)),
    };
    // Nobody reads this code: what a helper has to say, it says over its socket.
    if ended.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(70)
    }
}

/// The socket that every helper gets as its standard input.
pub(super) fn control() -> io::Result<UnixStream> {
    // What others left open in greenlight stays out of the processes to come.
    close_fds::set_fds_cloexec(3, &[]);
    Ok(UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?))
}
