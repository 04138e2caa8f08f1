//! The names of gates: what a maintainer types after `/greenlight approve`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::id::InvalidName;

/// The name of a gate: `g` and five lower-case base32 characters, short enough to be typed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GateId(pub String);

impl fmt::Display for GateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for GateId {
    type Err = InvalidName;
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let is_base32 = |rest: &str| rest.len() == 5 && rest.bytes().all(|b| matches!(b, b'a'..=b'z' | b'2'..=b'7'));
        if text.strip_prefix('g').is_some_and(is_base32) {
            Ok(Self(text.into()))
        } else {
            Err(InvalidName {
                value: text.chars().take(80).collect(),
                expected: "the id of a gate, like `gab23c`",
            })
        }
    }
}
