//! A request that waits for approval, and how it is answered.
//!
//! An approval covers exactly this content, on this head, until this time, by these people. The digest covers
//! exactly what will run or land; only `Run::answer` turns an open gate into an approval.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::budget::Estimate;
use super::execution::Execution;
use super::id::{Account, CommitSha, InvalidName, Login, RunId};

/// The short name of a gate that people type: `g`, four characters of base 32, and a digit, so that it never forms a
/// word.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct GateId(String);

const BASE32: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

impl GateId {
    /// Derives the id from the content, so that opening the same gate again after a crash gives the same id.
    pub fn derive(run: &RunId, ordinal: usize, digest: &str) -> Self {
        let hash = Sha256::digest(format!("{run}\n{ordinal}\n{digest}"));
        let letter = |byte: u8| char::from(BASE32[usize::from(byte & 31)]);
        let digit = char::from(BASE32[26 + usize::from(hash[4] % 6)]);
        Self(
            std::iter::once('g')
                .chain(hash[..4].iter().copied().map(letter))
                .chain([digit])
                .collect(),
        )
    }
}

impl fmt::Display for GateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for GateId {
    type Err = InvalidName;
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let tail = text.strip_prefix('g').filter(|tail| tail.len() == 5);
        if tail.is_some_and(|tail| {
            tail.bytes().all(|byte| BASE32.contains(&byte)) && tail.ends_with(|last: char| last.is_ascii_digit())
        }) {
            Ok(Self(text.into()))
        } else {
            Err(InvalidName {
                value: text.chars().take(40).collect(),
                expected: "a gate id such as `g7fqa3`",
            })
        }
    }
}

impl TryFrom<String> for GateId {
    type Error = InvalidName;
    fn try_from(text: String) -> Result<Self, InvalidName> {
        text.parse()
    }
}

impl From<GateId> for String {
    fn from(id: GateId) -> Self {
        id.0
    }
}

/// What an approval starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateKind {
    /// Runs the test command in the sandbox and looks for a fix; nothing lands.
    Search { command: String, minutes: u64 },
    /// Runs the test command on the proposed tree in the sandbox and, if it is green, commits it.
    VerifyAndLand {
        command: String,
        minutes: u64,
        files: usize,
    },
    /// Commits the tree that was tested.
    Land { files: usize },
    /// Commits a change of tests that makes them say less, because they may be wrong. Only an approval that names it
    /// counts.
    ChangeTests { files: usize, weakenings: usize },
    /// Executes one call that a model asked for, and returns the result to it; nothing lands.
    Execute(Box<Execution>),
    /// Accepts these tests, which were seen to fail, as the specification; the run then writes the code.
    Tests { files: usize, tests: usize },
}

impl GateKind {
    /// Whether an approval has to name its id.
    pub fn wants_its_name(&self) -> bool {
        matches!(self, Self::ChangeTests { .. })
    }

    /// Whether an approval leads to a commit.
    pub fn lands(&self) -> bool {
        match self {
            Self::VerifyAndLand { .. } | Self::Land { .. } | Self::ChangeTests { .. } => true,
            Self::Search { .. } | Self::Execute(_) | Self::Tests { .. } => false,
        }
    }

    /// The kind in one word, for machines.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Search { .. } => "search",
            Self::VerifyAndLand { .. } => "verify-and-land",
            Self::Land { .. } => "land",
            Self::ChangeTests { .. } => "change-tests",
            Self::Execute(_) => "execute",
            Self::Tests { .. } => "tests",
        }
    }

    /// The call that a model asks for, if this is such a gate.
    pub fn execution(&self) -> Option<&Execution> {
        match self {
            Self::Execute(execution) => Some(execution),
            _ => None,
        }
    }

    /// Whether the answer goes to the model, so that the run continues either way.
    pub fn is_for_the_model(&self) -> bool {
        matches!(self, Self::Execute(_))
    }
}

/// A posted request that waits for approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    pub id: GateId,
    pub kind: GateKind,
    /// The head the request was made for. A push voids it.
    pub head: CommitSha,
    /// SHA-256 over the head and exactly what will run or land, in hex.
    pub digest: String,
    /// How many people have to approve.
    pub approvers: u32,
    pub opened: Timestamp,
    pub expires: Timestamp,
    /// What the model may cost if it continues after this. For people only; the digest does not cover it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    #[serde(default, skip_serializing_if = "Circumstances::are_plain")]
    pub circumstances: Circumstances,
}

/// What an execution runs with, besides what the kind of its gate says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Circumstances {
    /// The test command with its installation, or the installation alone; `None` if neither is used.
    pub command: Option<String>,
    /// The model's edits that are in the tree at that time, as a diff. `None` if it is too long to be shown.
    pub edits: Option<String>,
}

impl Circumstances {
    fn are_plain(&self) -> bool {
        *self == Self::default()
    }
}

impl Gate {
    /// Opens a gate; the digest binds run, head, kind and `content` (a patch's digest, or a command).
    pub fn open(run: &RunId, ordinal: usize, kind: GateKind, content: &str, terms: Terms) -> Self {
        let Terms {
            head,
            approvers,
            opened,
            expires,
        } = terms;
        let bound = serde_json::json!({ "run": run, "head": head, "kind": kind, "content": content }).to_string();
        let digest = hex::encode(Sha256::digest(bound));
        let id = GateId::derive(run, ordinal, &digest);
        Self {
            id,
            kind,
            head,
            digest,
            approvers,
            opened,
            expires,
            estimate: None,
            circumstances: Circumstances::default(),
        }
    }

    /// Opens a model's request. The digest binds its circumstances as well.
    pub fn open_request(
        run: &RunId,
        ordinal: usize,
        execution: &Execution,
        circumstances: Circumstances,
        terms: Terms,
    ) -> Self {
        let kind = GateKind::Execute(Box::new(execution.clone()));
        let content = serde_json::json!(circumstances).to_string();
        Self {
            circumstances,
            ..Self::open(run, ordinal, kind, &content, terms)
        }
    }
}

/// The head that a gate is opened for, how long it is open, and how many people must approve.
#[derive(Debug, Clone)]
pub struct Terms {
    pub head: CommitSha,
    pub approvers: u32,
    pub opened: Timestamp,
    pub expires: Timestamp,
}

/// How a gate was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Approved {
        #[serde(flatten)]
        by: Account,
    },
    Rejected {
        #[serde(flatten)]
        by: Account,
        reason: Option<String>,
    },
    /// Nobody answered in time.
    Expired,
}

/// Why greenlight does not obey a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The permission, fetched live, is not enough.
    NeedsWriteAccess {
        login: Login,
    },
    /// Bots never approve.
    IsBot,
    NothingOpen,
    SeveralOpen(Vec<GateId>),
    UnknownGate(GateId),
    /// It makes tests say less, so an approval must name it.
    WantsItsName(GateId),
    Expired(GateId),
    /// Nobody answered the model's request in time, and the run continued without it.
    WentOn(GateId),
    /// The comment was written before the request was posted.
    WrittenBefore(GateId),
    /// The head moved since the gate was posted.
    HeadMoved {
        expected: CommitSha,
        actual: CommitSha,
    },
    /// The same person already approved, and another one is needed.
    NeedsAnother {
        approvers: u32,
    },
    PullRequestClosed,
    /// greenlight landed nothing here, or another commit came later.
    NothingToUndo,
    /// There is no run to cancel, or no failed job to re-run.
    NothingRunning,
    NoFailedJobs,
}

/// Picks the gate that a command means: the named one, or the only open one, unless that must be named.
///
/// # Errors
/// A refusal that says what to type instead.
pub fn choose<'a>(open: &'a [Gate], wanted: Option<&GateId>) -> Result<&'a Gate, Refusal> {
    match (wanted, open) {
        (Some(id), _) => open
            .iter()
            .find(|gate| gate.id == *id)
            .ok_or_else(|| Refusal::UnknownGate(id.clone())),
        (None, []) => Err(Refusal::NothingOpen),
        (None, [only]) if only.kind.wants_its_name() => Err(Refusal::WantsItsName(only.id.clone())),
        (None, [only]) => Ok(only),
        (None, several) => Err(Refusal::SeveralOpen(
            several.iter().map(|gate| gate.id.clone()).collect(),
        )),
    }
}

/// Checks that a gate may still be answered on this head and at this time.
///
/// # Errors
/// When the head moved, or the time is up.
pub fn still_valid(gate: &Gate, head: &CommitSha, now: Timestamp) -> Result<(), Refusal> {
    if gate.head != *head {
        return Err(Refusal::HeadMoved {
            expected: gate.head.clone(),
            actual: head.clone(),
        });
    }
    if now >= gate.expires {
        return Err(Refusal::Expired(gate.id.clone()));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
