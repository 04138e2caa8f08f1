//! A test command together with what it needs to run. Running it is in `run`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use greenlight_sandbox::{Mount, Policy, Sandbox};

use crate::frameworks::spec::Runtime;
use crate::go_library::GoLibrary;
use crate::install::Installed;
use crate::run_clock::RunClock;
use crate::test_command::TestCommand;

/// A test command and what it needs to run.
#[derive(Debug, Clone)]
pub struct Suite {
    /// Confines every run.
    pub sandbox: Sandbox,
    /// What is run.
    pub command: TestCommand,
    /// The time limit is that of the command, and enough output is kept for some ten thousand tests.
    pub policy: Policy,
    /// A directory for throw-away copies of the tree.
    pub workspaces: PathBuf,
    /// How its dependencies were installed.
    pub installed: Installed,
    /// The compiled library of Go, where the tests need it.
    pub go_library: GoLibrary,
    /// Total time of its test commands so far, without the start of their sandboxes.
    pub clock: RunClock,
}

impl Suite {
    /// Variables for the commands: those of the installed dependencies, and of the compiled library.
    pub(crate) fn env(&self) -> BTreeMap<String, String> {
        let library = self.go_library.get().into_iter().flat_map(|library| &library.env);
        let all = self.installed.env.iter().chain(library);
        all.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// The runtime of its tests that stays between runs. `None` if they start from scratch: what CI builds before them
    /// must be built after every edit.
    pub fn runtime(&self) -> Option<Runtime> {
        let is_built = self.command.builds().next().is_some();
        self.command.framework.runtime().filter(|_| !is_built)
    }

    /// Mounts for the commands, likewise.
    pub(crate) fn mounts(&self) -> Vec<Mount> {
        let library = self.go_library.get().map(|library| &library.mount);
        self.installed.mounts.iter().chain(library).cloned().collect()
    }
}
