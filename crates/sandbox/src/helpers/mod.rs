//! The processes that a sandbox starts, and their door: which of them this one is.
//!
//! All are this same program, started again with [`VERB`]; `main` of every program that uses a sandbox begins with
//! [`is_wanted`].
//! It opens nothing that its caller could not do anyway: it reads what to run from its standard input and has no privilege.

use std::io;
use std::process::ExitCode;

use crate::container;
use crate::kernel::raw;
pub use crate::wire::VERB;
use crate::wire::{COMMAND, CONTAINER, INIT, LAUNCH, PROBE, RELAY};

pub(crate) mod bubblewrap;
pub(crate) mod command_process;
mod control_channel;
mod init;
pub(crate) mod landlock;
pub(crate) mod probe;
mod process_tree;
pub(crate) mod relay;
mod supervisor;
mod watchdog;

/// Whether this process was started as a helper, in which case [`main`] is all it may do.
pub fn is_wanted() -> bool {
    std::env::args_os().nth(1).is_some_and(|verb| verb == VERB)
}

/// Plays the helper process that the arguments name, until its end.
pub fn main() -> ExitCode {
    raw::stop_ignoring_signals();
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
