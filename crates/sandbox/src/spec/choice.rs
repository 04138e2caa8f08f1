//! The requested protection, and the paths that a sandbox needs.

use std::path::{Path, PathBuf};

use super::backend::Backend;

/// The paths that a sandbox needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The absolute path of the greenlight binary, `std::env::current_exe()` in production; its `main` must begin
    /// with [`is_wanted`](crate::helpers::is_wanted).
    pub helper: PathBuf,
    /// The socket of Docker or Podman, if it is not at a usual path.
    pub container_socket: Option<PathBuf>,
}

impl From<PathBuf> for Places {
    fn from(helper: PathBuf) -> Self {
        Self {
            helper,
            container_socket: None,
        }
    }
}

impl From<&Path> for Places {
    fn from(helper: &Path) -> Self {
        helper.to_owned().into()
    }
}

impl From<&str> for Places {
    fn from(helper: &str) -> Self {
        Path::new(helper).into()
    }
}

/// The requested protection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The best available on this machine.
    Auto,
    /// Exactly this one. Running without confinement must be requested explicitly.
    Only(Backend),
}
