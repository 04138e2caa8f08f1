//! The messages between greenlight and a harness: JSON texts, the same for every language. A harness's answers are
//! claims of untrusted code: they are parsed strictly here, and every user bounds them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A request to a harness.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(super) enum HarnessRequest<'a> {
    /// Loads the tests and checks whether the failing ones fail here.
    Start(Start<'a>),
    /// Traces the tests line by line.
    Spectrum { wall_ms: u64 },
    /// Runs the tests on each candidate.
    Judge {
        /// For all of them together.
        limit_ms: u64,
        candidates: &'a [Edit<'a>],
    },
    /// Calls the edited functions with inputs from the tests, and with variations of them.
    Behave { wall_ms: u64, candidates: &'a [Edit<'a>] },
    /// The rest of an answer that was too long for one piece, from this character on.
    More { from: usize },
}

/// How the tests are run.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Start<'a> {
    /// The test command, without additions.
    pub(super) argv: &'a [String],
    /// As in the settings: `pytest`, `unittest`, `jest` …
    pub(super) framework: &'a str,
    /// Names as in the results of the suite.
    pub(super) failing: &'a [String],
    pub(super) passing: &'a [String],
    /// Whether that run did not end: then the tests that hang or end their process must be found, and count as
    /// failing.
    pub(super) was_ended: bool,
    pub(super) limit_ms: u64,
}

/// A range of bytes in a file of the workspace, and its replacement.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Edit<'a> {
    /// Relative to the root of the tree.
    pub(super) path: &'a str,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) text: &'a str,
}

/// The failing tests that fail here, or the reason why candidates cannot be tried.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Started {
    pub(super) failing: Vec<String>,
    /// How long the failing tests take.
    pub(super) ms: u64,
    pub(super) why: Option<String>,
}

/// Lines that a failing test executed: the line from 1, the number of failing tests, the number of passing tests.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Followed {
    /// The number of failing tests that were traced.
    pub(super) failing: u32,
    pub(super) files: BTreeMap<String, Vec<(u32, u32, u32)>>,
    pub(super) why: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TrialResult {
    Passes,
    Fails,
    /// Some failing tests pass, and then one fails.
    Closer,
    /// All failing tests fail, but one of them later than before, or with a value that is closer to the expected one.
    Later,
    Invalid,
    Timeout,
}

/// One verdict for each candidate, in order. There are fewer if the time was up; the others are judged another time.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Judged {
    pub(super) verdicts: Vec<TrialResult>,
    pub(super) why: Option<String>,
}

/// For each candidate its answers to the inputs, which are the same for all.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Behaved {
    pub(super) answers: Vec<Vec<String>>,
    /// The answers without any edit.
    pub(super) without: Vec<String>,
    pub(super) why: Option<String>,
}

/// An answer that is too long for one message comes in pieces: every message of a harness is one such piece. A short
/// answer is a single piece.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerPiece {
    /// A part of the JSON text of the answer, from the requested character on.
    pub(super) text: String,
    /// Total length of the text in characters. The JSON is ASCII, so this is also its length in bytes.
    pub(super) total: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn as_json(request: &HarnessRequest<'_>) -> String {
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
            as_json(&HarnessRequest::Start(start)),
            r#"{"op":"start","argv":["pytest"],"framework":"pytest","failing":[],"passing":[],"was_ended":false,"limit_ms":9}"#
        );
        let edit = Edit {
            path: "a.py",
            start: 1,
            end: 2,
            text: "é",
        };
        assert_eq!(
            as_json(&HarnessRequest::Judge {
                limit_ms: 5,
                candidates: &[edit]
            }),
            r#"{"op":"judge","limit_ms":5,"candidates":[{"path":"a.py","start":1,"end":2,"text":"é"}]}"#
        );
        assert_eq!(as_json(&HarnessRequest::More { from: 7 }), r#"{"op":"more","from":7}"#);
        assert_eq!(
            as_json(&HarnessRequest::Spectrum { wall_ms: 7 }),
            r#"{"op":"spectrum","wall_ms":7}"#
        );
    }

    #[test]
    fn answers_are_read_strictly() {
        let judged: Judged =
            serde_json::from_str(r#"{"verdicts":["passes","fails","closer","later","invalid","timeout"]}"#).unwrap();
        assert_eq!(
            judged.verdicts,
            [
                TrialResult::Passes,
                TrialResult::Fails,
                TrialResult::Closer,
                TrialResult::Later,
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
