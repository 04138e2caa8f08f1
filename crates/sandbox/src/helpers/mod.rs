//! The processes that a sandbox starts, and the entry point that selects which of them this one is.
//!
//! Each of them is this same program, started again with [`VERB`]; `main` of every program that uses a sandbox begins
//! with [`is_wanted`]. This gives a caller no additional rights: a helper reads what to run from its standard input
//! and has no privileges.

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

/// Whether this process was started as a helper. Then it must only call [`main`].
pub fn is_wanted() -> bool {
    std::env::args_os().nth(1).is_some_and(|verb| verb == VERB)
}

/// Acts as the helper process that the arguments select, until it ends.
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
    // Nobody reads this exit code: helpers report over their socket.
    if ended.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(70)
    }
}
