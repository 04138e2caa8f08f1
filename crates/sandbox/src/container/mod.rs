//! Docker and Podman containers as sandboxes. greenlight has the engine create a hardened container from an empty
//! image, with the tools of this machine bound into it. Process 1 of the container is greenlight's own init
//! (`inside.rs`).
//!
//! Init connects to a Unix socket that is bound into the container and accepts one connection. The connection proves
//! that the engine runs on this machine and uses its files. From then on everything works as in the other sandboxes:
//! a supervisor (`supervision.rs` has its part) sends the orders over that connection, together with the output
//! streams of the command. When the connection ends, init and the container end, no matter which side died.
//!
//! Creating a container takes a quarter of a second. So a container that is in its initial state after a command
//! waits a few seconds for the next command with the same workspace and policy (`pool.rs`). There is one for each
//! workspace, or several if commands overlap.
//!
//! Other modules decide which tools are mounted, and what the limits are.

mod create;
mod engine;
mod image;
mod inside;
mod mounts;
mod pool;
mod supervision;

pub(crate) use engine::Engine;
pub(crate) use inside::main;
pub(crate) use pool::Lease;
pub(crate) use supervision::{ContainerProcess, group};

/// An engine's error message, which may quote the whole request.
fn io_error(error: &bollard::errors::Error) -> std::io::Error {
    const MOST: usize = 400;
    let mut text = error.to_string();
    if text.chars().count() > MOST {
        let ends = |from: usize, count: usize| text.chars().skip(from).take(count).collect::<String>();
        text = format!(
            "{} ... {}",
            ends(0, MOST / 2),
            ends(text.chars().count() - MOST / 2, MOST)
        );
    }
    std::io::Error::other(text)
}

/// The expected device, inode and owner at the mounts of a run; empty if it uses no container.
pub(crate) fn inodes(spec: &crate::wire::Spec) -> std::io::Result<Vec<(u64, u64, u32)>> {
    if spec.backend.is_container() {
        mounts::inodes(spec)
    } else {
        Ok(Vec::new())
    }
}

/// The path of the greenlight binary inside.
const BINARY: &str = "/run/greenlight";

/// The path of the socket that init connects to.
const SOCKET: &str = "/run/greenlight.socket";
