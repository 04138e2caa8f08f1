//! What greenlight and a harness say to each other: JSON texts, the same for every language. What a harness answers is a
//! claim of untrusted code; everything here is parsed strictly, and anyone who uses it bounds it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a harness is asked.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(super) enum HarnessRequest<'a> {
    /// Loads the tests and sees whether the failing ones fail here.
    Start(Start<'a>),
    /// Follows the tests line by line.
    Spectrum { wall_ms: u64 },
    /// Runs the tests on each candidate.
    Judge {
        /// For all of them together.
        limit_ms: u64,
        candidates: &'a [Edit<'a>],
    },
    /// Runs the edited functions on inputs that the tests give them, and on others like those.
    Behave { wall_ms: u64, candidates: &'a [Edit<'a>] },
    /// The rest of an answer that was too long for one, from this character of its text.
    More { from: usize },
}

/// How the tests are run.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Start<'a> {
    /// The test command, with nothing added.
    pub(super) argv: &'a [String],
    /// As in settings: `pytest`, `unittest`, `jest` …
    pub(super) framework: &'a str,
    /// Names as a run of the suite has them.
    pub(super) failing: &'a [String],
    pub(super) passing: &'a [String],
    /// That run never came to its end: the tests that hang or end their process are to be found, and count as failing.
    pub(super) was_ended: bool,
    pub(super) limit_ms: u64,
}

/// Bytes of a file, as it lies in the workspace, and what replaces them.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Edit<'a> {
    /// From the root of the tree.
    pub(super) path: &'a str,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) text: &'a str,
}

/// The failing tests that fail here, or why there is no way to try candidates.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Started {
    pub(super) failing: Vec<String>,
    /// How long the failing tests take.
    pub(super) ms: u64,
    pub(super) why: Option<String>,
}

/// Lines that a failing test executed: the line from 1, failing tests, passing tests.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Followed {
    /// Failing tests that were followed.
    pub(super) failing: u32,
    pub(super) files: BTreeMap<String, Vec<(u32, u32, u32)>>,
    pub(super) why: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TrialResult {
    Passes,
    Fails,
    Invalid,
    Timeout,
}

/// One for each candidate, in their order; fewer when the time was up, which judges the others another time.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Judged {
    pub(super) verdicts: Vec<TrialResult>,
    pub(super) why: Option<String>,
}

/// For each candidate what it did with each input, all with the same inputs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Behaved {
    pub(super) answers: Vec<Vec<String>>,
    pub(super) why: Option<String>,
}

/// A text that is too long for one answer comes in pieces: every answer of a harness is one such piece. A text that fits
/// is one piece with all of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerPiece {
    /// A part of the JSON text of the answer, from the character that was asked for.
    pub(super) text: String,
    /// How long the whole text is, in characters (of JSON in ASCII only, so also in bytes).
    pub(super) total: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(request: &HarnessRequest<'_>) -> String {
        serde_json::to_string(request).unwrap()
    }

    #[test]
    fn requests_name_what_they_want() {
        let words = ["pytest".to_string()];
        let start = Start {
            argv: &words,
            framework: "pytest",
            failing: &[],
            passing: &[],
            was_ended: false,
            limit_ms: 9,
        };
        assert_eq!(
            said(&HarnessRequest::Start(start)),
            r#"{"op":"start","argv":["pytest"],"framework":"pytest","failing":[],"passing":[],"was_ended":false,"limit_ms":9}"#
        );
        let edit = Edit {
            path: "a.py",
            start: 1,
            end: 2,
            text: "é",
        };
        assert_eq!(
            said(&HarnessRequest::Judge {
                limit_ms: 5,
                candidates: &[edit]
            }),
            r#"{"op":"judge","limit_ms":5,"candidates":[{"path":"a.py","start":1,"end":2,"text":"é"}]}"#
        );
        assert_eq!(said(&HarnessRequest::More { from: 7 }), r#"{"op":"more","from":7}"#);
        assert_eq!(
            said(&HarnessRequest::Spectrum { wall_ms: 7 }),
            r#"{"op":"spectrum","wall_ms":7}"#
        );
    }

    #[test]
    fn answers_are_read_strictly() {
        let judged: Judged = serde_json::from_str(r#"{"verdicts":["passes","fails","invalid","timeout"]}"#).unwrap();
        assert_eq!(
            judged.verdicts,
            [
                TrialResult::Passes,
                TrialResult::Fails,
                TrialResult::Invalid,
                TrialResult::Timeout
            ]
        );
        for forged in [
            r#"{"verdicts":["confirmed"]}"#,
            r#"{"verdicts":[],"extra":1}"#,
            r#"{"verdicts":"passes"}"#,
            "[",
        ] {
            assert!(serde_json::from_str::<Judged>(forged).is_err(), "{forged}");
        }
        let followed: Followed = serde_json::from_str(r#"{"failing":1,"files":{"a.py":[[3,1,0]]}}"#).unwrap();
        assert_eq!(followed.files["a.py"], [(3, 1, 0)]);
        for forged in [
            r#"{"failing":-1}"#,
            r#"{"files":{"a.py":[[3,1]]}}"#,
            r#"{"failing":4294967296}"#,
        ] {
            assert!(serde_json::from_str::<Followed>(forged).is_err(), "{forged}");
        }
    }
}
