//! A posted request for a green light, and what becomes of it.
//!
//! An approval means one thing: this content, on this head, before this time, by these people. The digest covers
//! exactly what will run or land; `Run::answer` is the only way from an open gate to an approval.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::execution::Execution;
use super::id::{CommitSha, InvalidName, Login, RunId};

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
    /// Goes on to the code of a specification with these tests, which were seen to fail.
    Tests { files: usize, tests: usize },
}

impl GateKind {
    /// Whether whoever approves it has to say its name.
    pub fn wants_its_name(&self) -> bool {
        matches!(self, Self::ChangeTests { .. })
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
        by: Login,
    },
    Rejected {
        by: Login,
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
mod tests {
    use super::*;

    fn head(digit: char) -> CommitSha {
        digit.to_string().repeat(40).parse().unwrap()
    }

    fn gate(content: &str) -> Gate {
        let terms = Terms {
            head: head('a'),
            approvers: 1,
            opened: "2026-01-01T00:00:00Z".parse().unwrap(),
            expires: "2026-01-02T00:00:00Z".parse().unwrap(),
        };
        Gate::open(&RunId("r1".into()), 0, GateKind::Land { files: 1 }, content, terms)
    }

    #[test]
    fn the_digest_is_bound_to_content_and_head() {
        assert_eq!(gate("x").digest, gate("x").digest);
        assert_eq!(gate("x").id, gate("x").id);
        assert_ne!(gate("x").digest, gate("y").digest);
        assert!(gate("x").id.to_string().parse::<GateId>().is_ok());
    }

    #[test]
    fn without_an_id_the_only_open_gate_is_meant() {
        let (one, two) = (gate("x"), gate("y"));
        assert_eq!(choose(&[], None), Err(Refusal::NothingOpen));
        assert_eq!(choose(std::slice::from_ref(&one), None), Ok(&one));
        assert_eq!(
            choose(&[one.clone(), two.clone()], None),
            Err(Refusal::SeveralOpen(vec![one.id.clone(), two.id.clone()]))
        );
        assert_eq!(choose(&[one.clone(), two.clone()], Some(&two.id)), Ok(&two));
        let kind = GateKind::ChangeTests {
            files: 1,
            weakenings: 1,
        };
        let tests = Gate { kind, ..one };
        let named = Some(&tests.id);
        assert_eq!(
            choose(std::slice::from_ref(&tests), None),
            Err(Refusal::WantsItsName(tests.id.clone()))
        );
        assert_eq!(choose(std::slice::from_ref(&tests), named), Ok(&tests));
    }

    #[test]
    fn a_push_or_the_clock_voids_it() {
        let early = "2026-01-01T00:00:00Z".parse().unwrap();
        let late = "2026-01-02T00:00:00Z".parse().unwrap();
        assert_eq!(still_valid(&gate("x"), &head('a'), early), Ok(()));
        assert!(matches!(
            still_valid(&gate("x"), &head('b'), early),
            Err(Refusal::HeadMoved { .. })
        ));
        assert!(matches!(
            still_valid(&gate("x"), &head('a'), late),
            Err(Refusal::Expired(_))
        ));
    }
}
