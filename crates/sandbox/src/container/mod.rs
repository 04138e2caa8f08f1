//! Containers of Docker and Podman as sandboxes. greenlight has the engine make a hardened container from an empty
//! image, with the tools of this machine bound into it, whose process 1 is greenlight's own init (`inside.rs`).
//!
//! Init calls back over a Unix socket that is bound into the container and answered once. The call shows that the
//! engine works on this machine and with its files. From then on everything is as in the other sandboxes: a supervisor
//! (`supervision.rs` has its part) gives the orders over that connection, together with the output streams of the command, and
//! when the connection ends, init ends, and the container with it, no matter who died.
//!
//! A container costs a quarter of a second, so one that is as it was before its command waits a few seconds for the next
//! command of the same workspace and policy (`pool.rs`). One per workspace, or more where commands overlap.
//!
//! Not in here: which tools are shown, and what the limits are.

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

/// What an engine says, which may quote all that it was asked for.
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

/// What has to be found at the mounts of a run; nothing where it happens in no container.
pub(crate) fn inodes(spec: &crate::wire::Spec) -> std::io::Result<Vec<(u64, u64, u32)>> {
    if spec.backend.is_container() {
        mounts::inodes(spec)
    } else {
        Ok(Vec::new())
    }
}

/// Where the greenlight binary is inside.
const BINARY: &str = "/run/greenlight";

/// Where init calls back.
const SOCKET: &str = "/run/greenlight.socket";
