//! A test command together with what it needs to run. Running it is in `run`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use greenlight_sandbox::{Mount, Policy, Sandbox};

use crate::frameworks::spec::Runtime;
use crate::install::Installed;
use crate::prebuilt::Prebuilt;
use crate::run_clock::{Purpose, RunClock};
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
    /// What is compiled once for all runs.
    pub prebuilt: Prebuilt,
    /// Whether a run that proves something compiles everything itself.
    pub cold_proof: bool,
    /// What its runs are for.
    pub purpose: Purpose,
    /// Total time of its test commands so far, without the start of their sandboxes.
    pub clock: RunClock,
}

impl Suite {
    /// Variables for the commands: those of the installed dependencies, and of what is compiled already.
    pub(crate) fn env(&self) -> BTreeMap<String, String> {
        let compiled = self.prebuilt.get().into_iter().flat_map(|compiled| &compiled.env);
        let all = self.installed.env.iter().chain(compiled);
        all.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// The runtime of its tests that stays between runs. `None` if they start from scratch: what CI builds before them
    /// must be built after every edit.
    pub fn runtime(&self) -> Option<Runtime> {
        let is_built = self.command.builds().any(|build| !build.only_copies());
        self.command.framework.runtime().filter(|_| !is_built)
    }

    /// The suite for runs with another purpose.
    pub fn for_purpose(&self, purpose: Purpose) -> Self {
        Self {
            purpose,
            ..self.clone()
        }
    }

    /// The suite for a run that proves something.
    pub fn for_proof(&self) -> Self {
        let mut suite = self.for_purpose(Purpose::Proof);
        if self.cold_proof {
            suite.prebuilt = Prebuilt::default();
        }
        suite
    }

    /// Whether its runs find something compiled; see [`Prebuilt`].
    pub fn has_prebuilt(&self) -> bool {
        self.prebuilt.get().is_some()
    }

    /// Mounts for the commands, likewise.
    pub(crate) fn mounts(&self) -> Vec<Mount> {
        let compiled = self.prebuilt.get().map(|compiled| &compiled.mount);
        self.installed.mounts.iter().chain(compiled).cloned().collect()
    }
}
