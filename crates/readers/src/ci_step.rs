//! A step of a CI job, with everything that decides how it runs.

use std::collections::{BTreeMap, BTreeSet};

use greenlight_anchor::RepoPath;
use serde::{Deserialize, Serialize};

/// A step that failed, as the workflow of the base branch describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CiStep {
    /// The workflow file.
    pub workflow: RepoPath,
    /// The id of its job in that file.
    pub job: String,
    /// Its name, as the page of the workflow run shows it.
    pub name: String,
    /// The script that its shell runs.
    pub script: String,
    /// The directory it runs in. `None` is the root.
    pub directory: Option<RepoPath>,
    /// The variables that the workflow sets for it; none of them is a secret.
    pub env: BTreeMap<String, String>,
    /// The names of the variables that the step sets itself, and not its job or its workflow.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub own_env: BTreeSet<String>,
    /// The test tool recognised in its log, as `suite` calls it. It tells which of several commands failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shows: Option<String>,
    /// Scripts of earlier steps of the job that install or build something, in order. Those that the workflow does not determine
    /// are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<CiScript>,
    /// The versions that earlier steps of the job set up, by the name of the language; those of a matrix are separated
    /// by commas.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub versions: BTreeMap<String, String>,
    /// The service containers of its job, by image.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<String>,
    /// Whether its tests are named and not run, because its job or its workflow needs more than the code, as tests of how
    /// parts work together do.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_aside: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// The script of a step, and where it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CiScript {
    /// What its shell runs.
    pub script: String,
    /// The directory it runs in. `None` is the root.
    pub directory: Option<RepoPath>,
    /// The variables that its step sets itself, and not its job or its workflow.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}
