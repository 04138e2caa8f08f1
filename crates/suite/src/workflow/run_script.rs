//! What a step of a job runs: a script with its variables.

use std::collections::{BTreeMap, BTreeSet};

use greenlight_anchor::RepoPath;

use super::{Node, Scope};

/// Maximum useful length of a script, and of a variable's value.
pub(super) const MAX_SCRIPT: usize = 32 << 10;
pub(super) const MAX_VALUE: usize = 4_000;
pub(super) const MAX_VARIABLES: usize = 64;
/// Maximum size of all variables of a step, in bytes.
pub(super) const MAX_ENV: usize = 64 << 10;

/// The context of a step.
pub(super) struct Around<'a> {
    pub(super) scope: Scope,
    /// `defaults.run` of the job and the workflow, the nearest first.
    pub(super) defaults: Vec<&'a Node>,
    /// The directory that the repository is checked out into, where it is not the workspace itself.
    pub(super) checkout: Option<String>,
}

impl Around<'_> {
    /// A step that runs nothing.
    pub(super) fn nothing(&self) -> Script {
        Script {
            text: String::new(),
            directory: None,
            env: self.scope.env.clone(),
            own_env: BTreeSet::new(),
            sets: Vec::new(),
        }
    }
}

/// What a step runs.
pub(super) struct Script {
    pub(super) text: String,
    pub(super) directory: Option<RepoPath>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) own_env: BTreeSet<String>,
    /// The variables that it sets for the steps after it; without a value, if only a runner would know it.
    pub(super) sets: Vec<(String, Option<String>)>,
}

impl Script {
    /// The variables that its step sets itself.
    pub(super) fn own_variables(&self) -> BTreeMap<String, String> {
        let own = self.own_env.iter();
        own.filter_map(|name| Some((name.clone(), self.env.get(name)?.clone())))
            .collect()
    }
}
