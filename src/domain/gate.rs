//! A posted request for a green light, and what becomes of it.
//!
//! An approval means one thing: this content, on this head, before this time, by these people. The digest covers
//! exactly what will run or land; `Run::answer` is the only way from an open gate to an approval.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::budget::Estimate;
use super::execution::Execution;
use super::id::{Account, CommitSha, InvalidName, Login, RunId};

/// The short name of a gate that people type: `g`, four characters of base 32, and a digit, so that it is no word.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct GateId(String);

const BASE32: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

impl GateId {
    /// Derives the name from what it stands for, so that opening the same gate again after a crash gives the same one.
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

/// What an approval sets off.
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
    /// Commits a change of tests that makes them say less, because they may be wrong. It is only ever approved by name.
    ChangeTests { files: usize, weakenings: usize },
    /// Carries out one thing that a model asked for, and hands it the result; nothing lands.
    Execute(Box<Execution>),
    /// Continues to the code of a specification with these tests, which were seen to fail.
    Tests { files: usize, tests: usize },
}

impl GateKind {
    /// Whether an approval has to name it.
    pub fn wants_its_name(&self) -> bool {
        matches!(self, Self::ChangeTests { .. })
    }

    /// Whether a commit comes of it.
    pub fn lands(&self) -> bool {
        match self {
            Self::VerifyAndLand { .. } | Self::Land { .. } | Self::ChangeTests { .. } => true,
            Self::Search { .. } | Self::Execute(_) | Self::Tests { .. } => false,
        }
    }

    /// What it is about in a word, for machines.
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

    /// What a model asks for, if that is what it is about.
    pub fn execution(&self) -> Option<&Execution> {
        match self {
            Self::Execute(execution) => Some(execution),
            _ => None,
        }
    }

    /// Whether its answer is for the model, and ends nothing.
    pub fn is_for_the_model(&self) -> bool {
        matches!(self, Self::Execute(_))
    }
}

/// A posted request for a green light.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    pub id: GateId,
    pub kind: GateKind,
    /// The head the request was made for; any other head voids it.
    pub head: CommitSha,
    /// SHA-256 over the head and exactly what will run or land, in hex.
    pub digest: String,
    /// How many people have to approve.
    pub approvers: u32,
    pub opened: Timestamp,
    pub expires: Timestamp,
    /// What the model takes, where it may continue after this. For people to read, and no part of the digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    #[serde(default, skip_serializing_if = "Circumstances::are_plain")]
    pub circumstances: Circumstances,
}

/// What something is carried out with, besides what the kind of its gate says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Circumstances {
    /// The test command with what is installed for it, or that installation alone, where it takes them.
    pub command: Option<String>,
    /// The edits of the model's that are in the tree by then, as a diff. `None` if that is too long to be shown.
    pub edits: Option<String>,
}

impl Circumstances {
    fn are_plain(&self) -> bool {
        *self == Self::default()
    }
}

impl Gate {
    /// Makes the request; the digest binds run, head, kind and `content` (a patch's digest, or a command).
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

    /// The request of a model, for its circumstances as well: they are bound by the digest like what it asks for.
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

/// On which head, how long and for how many people a gate is open.
#[derive(Debug, Clone)]
pub struct Terms {
    pub head: CommitSha,
    pub approvers: u32,
    pub opened: Timestamp,
    pub expires: Timestamp,
}

/// What a person said to a gate.
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

/// Why a command does not do what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The permission fetched live is not enough.
    NeedsWriteAccess {
        login: Login,
    },
    /// Bots never approve.
    IsBot,
    NothingOpen,
    SeveralOpen(Vec<GateId>),
    UnknownGate(GateId),
    /// It changes what tests say, which nobody approves in passing.
    WantsItsName(GateId),
    Expired(GateId),
    /// A request of the model's: nobody answered in time, and the run continued without.
    WentOn(GateId),
    /// The comment was written before anybody could read the request.
    WrittenBefore(GateId),
    /// The head moved since the gate was posted.
    HeadMoved {
        expected: CommitSha,
        actual: CommitSha,
    },
    /// The same person approved already, and another one is needed.
    NeedsAnother {
        approvers: u32,
    },
    PullRequestClosed,
    /// Nothing of greenlight's landed here, or something came after it.
    NothingToUndo,
    /// There is no run to cancel, or no failed job to run again.
    NothingRunning,
    NoFailedJobs,
}

/// Picks the gate a command means: the named one, or the only one that is open, unless that wants to be named.
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

/// Checks that a gate may still be answered on this head at this time.
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
