//! What a model asks for beyond what its run may do: one thing, exactly described, for a person to allow or not.

use serde::{Deserialize, Serialize};

use super::id::RepoPath;

/// One call of a model that waits for a person. What is shown at the gate, what the digest is over and what is carried
/// out are this one value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    pub what: What,
    /// Host names that it may reach; none means no network.
    #[serde(default)]
    pub network: Vec<String>,
    /// How long it may take.
    pub seconds: u64,
    /// Why the model wants it; untrusted.
    pub why: String,
    /// [`Patch::digest`](super::patch::Patch::digest) of the edits that the tree has when it is carried out.
    pub patch: String,
    /// How many files those edits are of.
    pub files: usize,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// One line of shell, in the root of the repository.
    Command(String),
    /// Code of the model's own, with packages that are installed before it runs, and before its network is gone.
    Code {
        language: Language,
        code: String,
        packages: Vec<String>,
    },
    /// Tests by their names; all of them if there are none.
    Tests(Vec<String>),
    /// A change of a protected file, in the copy that is worked on and never in a proposal.
    Edit { path: RepoPath, difference: String },
}

/// A language that code can be run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    Python,
    JavaScript,
    Bash,
}

impl Language {
    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::JavaScript => "javascript",
            Self::Bash => "bash",
        }
    }
}

/// A call that waits, and which one it is in the transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deferred {
    pub call_id: String,
    pub execution: Execution,
}

/// What came of asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    Approved,
    Rejected {
        reason: Option<String>,
    },
    /// Nobody answered in time, or nobody is there to answer.
    NoAnswer,
}
