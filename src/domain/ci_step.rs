//! A step of a CI job, with everything that decides how it runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::id::RepoPath;

/// A step that failed, as the workflow of the base branch describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CiStep {
    /// The file of the workflow.
    pub workflow: RepoPath,
    pub job: String,
    pub name: String,
    /// The script that its shell runs.
    pub script: String,
    /// The directory it runs in. `None` is the root.
    pub directory: Option<RepoPath>,
    /// The variables that the workflow sets for it; none of them is a secret.
    pub env: BTreeMap<String, String>,
    /// The test tool recognised in its log, as `suite` calls it. It tells which of several commands failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shows: Option<String>,
}
