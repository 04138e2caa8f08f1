//! Which protection is wanted, and where things are that it needs.

use std::path::{Path, PathBuf};

use super::backend::Backend;

/// Where things are that a sandbox needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The absolute path of the greenlight binary, `std::env::current_exe()` in production; its `main` has to begin
    /// with [`is_wanted`](crate::helpers::is_wanted).
    pub helper: PathBuf,
    /// The socket of Docker or Podman, when it is not one of the usual ones.
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

/// Which protection is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The best this machine has.
    Auto,
    /// This one, or nothing. No confinement has to be asked for explicitly.
    Only(Backend),
}
