//! Go's standard library, compiled once and shared read-only by every run of a repository's tests.
//!
//! Go ships its library as source, and its build cache is empty in a fresh copy of a tree, so that even a tiny test would
//! compile it again: ten to thirty seconds of processor time per run. Go's cache names everything by the digest of what
//! it was made from, so an entry is the right one or is not found.
//!
//! **Nothing untrusted gets in**: the library is compiled in a separate run that sees the toolchain and no tree. The
//! tree only says which packages are compiled, by names that Go itself has to know. Runs find the result read-only, and
//! link to it from their own cache. If compiling it fails, Go compiles what it needs in each run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use greenlight_sandbox::{Access, Mount};
use tokio::sync::OnceCell;

/// Where the sandbox mounts the compiled library.
pub(crate) const LIBRARY: &str = "/go-library";
/// The variable that tells the wrapper where the library is.
const VARIABLE: &str = "GREENLIGHT_GO_LIBRARY";

/// The compiled library that the runs of a suite share. Clones share it, too.
#[derive(Debug, Clone, Default)]
pub struct GoLibrary {
    /// The folder that keeps it. `None` means that it is not shared.
    folder: Option<PathBuf>,
    shared: Arc<OnceCell<Option<CompiledLibrary>>>,
}

/// What a run needs to find it.
#[derive(Debug, Clone)]
pub(crate) struct CompiledLibrary {
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) mount: Mount,
}

impl GoLibrary {
    /// A library that is kept in this folder, which nobody but greenlight writes to.
    pub fn kept_in(folder: PathBuf) -> Self {
        Self {
            folder: Some(folder),
            shared: Arc::default(),
        }
    }

    /// The folder that keeps it, and the cell that holds it after compiling.
    pub(crate) fn cell(&self) -> Option<(&Path, &OnceCell<Option<CompiledLibrary>>)> {
        Some((self.folder.as_deref()?, &self.shared))
    }

    /// The library, if it is compiled already.
    pub(crate) fn get(&self) -> Option<&CompiledLibrary> {
        self.shared.get().and_then(Option::as_ref)
    }
}

impl CompiledLibrary {
    /// The library in this folder.
    pub(crate) fn at(folder: PathBuf) -> Self {
        Self {
            env: BTreeMap::from([(VARIABLE.to_owned(), LIBRARY.to_owned())]),
            mount: mount(folder, Access::ReadOnly),
        }
    }
}

/// Mounts the folder of the library.
pub(crate) fn mount(source: PathBuf, access: Access) -> Mount {
    Mount {
        source,
        target: PathBuf::from(LIBRARY),
        access,
    }
}
