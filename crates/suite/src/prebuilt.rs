//! What a toolchain compiles before the project's own code, compiled once and shared read-only by every run of a
//! repository's tests: what a Go module imports, and the crates that a Rust project depends on. Go's standard library is
//! shared by all repositories.
//!
//! A fresh copy of a tree has no build output, so that even a tiny test would compile all of this again, for seconds to
//! minutes of processor time per run.
//!
//! **No code of a pull request gets in**: it is compiled in a separate run that does not see the project's code, and kept
//! under a digest of everything that this run sees. Runs find the result read-only, and link to it from
//! their own build output. If compiling it fails, each run compiles what it needs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use greenlight_sandbox::{Access, Mount};
use tokio::sync::OnceCell;

/// Folders that keep what runs share, which nobody but greenlight writes to.
#[derive(Debug, Clone, Default)]
pub struct Stores {
    /// What was installed and compiled for one repository. No other sees it.
    pub repository: PathBuf,
    /// What was compiled from nothing but a toolchain. Every repository sees it.
    pub everyone: PathBuf,
}

/// What was compiled for the runs of a suite. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Prebuilt {
    /// `None` means that nothing is shared.
    folders: Option<Stores>,
    shared: Arc<OnceCell<Option<Compiled>>>,
}

/// What a run needs to find it.
#[derive(Debug, Clone)]
pub(crate) struct Compiled {
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) mount: Mount,
}

impl Prebuilt {
    /// Build output that is kept in these folders.
    pub fn kept_in(folders: Stores) -> Self {
        Self {
            folders: Some(folders),
            shared: Arc::default(),
        }
    }

    /// The folders that keep it, and the cell that holds it after compiling.
    pub(crate) fn cell(&self) -> Option<(&Stores, &OnceCell<Option<Compiled>>)> {
        Some((self.folders.as_ref()?, &self.shared))
    }

    /// What was compiled, if that was done already.
    pub(crate) fn get(&self) -> Option<&Compiled> {
        self.shared.get().and_then(Option::as_ref)
    }
}

/// Mounts a folder of build output.
pub(crate) fn mount(source: PathBuf, target: &str, access: Access) -> Mount {
    Mount {
        source,
        target: PathBuf::from(target),
        access,
    }
}
