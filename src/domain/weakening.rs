//! How a patch weakens tests, as people and models are told. `guard` detects it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::id::RepoPath;

/// A way in which tests check less than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WeakeningKind {
    /// A test is removed, emptied, or moved to where no runner collects it.
    Removed,
    /// A test is skipped or expected to fail, or makes others so.
    Skipped,
    /// Statements keep its assertions from being reached.
    NotReached,
    FewerAssertions,
    WeakerAssertion,
    /// A different value is expected.
    ExpectationChanged,
    ToleranceWidened,
    ErrorSwallowed,
    Retried,
    /// Something is replaced by a mock.
    Mocked,
    /// A change of a test's preparation, its cases, or its helpers.
    SetupChanged,
    /// A change of snapshots, or of files that tests read.
    DataChanged,
    /// A change of how tests are found, built or run.
    Configuration,
    /// A change of what CI does.
    Ci,
    /// Code under test recognises a test's input.
    SpecialCased,
    /// Code under test recognises that it is being tested.
    DetectsTests,
    /// The change cannot be judged, so the worst is assumed.
    CannotBeJudged,
}

impl WeakeningKind {
    /// Whether a person may be asked to approve it, as a claim that the test is wrong. Nobody is asked about changes
    /// of how tests run or what CI does, nor about code that cheats.
    pub fn may_be_proposed(self) -> bool {
        !matches!(
            self,
            Self::Configuration | Self::Ci | Self::SpecialCased | Self::DetectsTests | Self::CannotBeJudged
        )
    }

    /// Whether tests check less after it, no matter who did it. Authors of pull requests have good reasons to change
    /// expectations, data and settings every day.
    pub fn takes_away(self) -> bool {
        matches!(
            self,
            Self::Removed
                | Self::Skipped
                | Self::NotReached
                | Self::FewerAssertions
                | Self::WeakerAssertion
                | Self::ToleranceWidened
                | Self::ErrorSwallowed
                | Self::Retried
        )
    }
}

impl WeakeningKind {
    /// All kinds.
    pub const ALL: [Self; 17] = [
        Self::Removed,
        Self::Skipped,
        Self::NotReached,
        Self::FewerAssertions,
        Self::WeakerAssertion,
        Self::ExpectationChanged,
        Self::ToleranceWidened,
        Self::ErrorSwallowed,
        Self::Retried,
        Self::Mocked,
        Self::SetupChanged,
        Self::DataChanged,
        Self::Configuration,
        Self::Ci,
        Self::SpecialCased,
        Self::DetectsTests,
        Self::CannotBeJudged,
    ];

    /// The kind in one word, as people type it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Removed => "removed",
            Self::Skipped => "skipped",
            Self::NotReached => "not-reached",
            Self::FewerAssertions => "fewer-assertions",
            Self::WeakerAssertion => "weaker-assertion",
            Self::ExpectationChanged => "expectation-changed",
            Self::ToleranceWidened => "tolerance-widened",
            Self::ErrorSwallowed => "error-swallowed",
            Self::Retried => "retried",
            Self::Mocked => "mocked",
            Self::SetupChanged => "setup-changed",
            Self::DataChanged => "data-changed",
            Self::Configuration => "configuration",
            Self::Ci => "ci",
            Self::SpecialCased => "special-cased",
            Self::DetectsTests => "detects-tests",
            Self::CannotBeJudged => "cannot-be-judged",
        }
    }
}

/// The name of findings that a person allows: `expectation-changed@src/sums.py`, a kind and a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllowedFinding {
    kind: WeakeningKind,
    path: RepoPath,
}

impl AllowedFinding {
    /// Whether this is the name of a finding.
    pub fn names(&self, finding: &Weakening) -> bool {
        self.kind == finding.kind && self.path == finding.path
    }
}

impl fmt::Display for AllowedFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.kind.word(), self.path)
    }
}

/// Why a text does not name a finding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidFinding {
    #[error("a finding is named as the refusal of a fix names it, such as `removed@tests/test_a.py`")]
    Form,
    #[error("`{}` is none of {}", .0, WeakeningKind::ALL.map(WeakeningKind::word).join(", "))]
    Kind(String),
}

impl FromStr for AllowedFinding {
    type Err = InvalidFinding;
    fn from_str(text: &str) -> Result<Self, InvalidFinding> {
        let (word, path) = text.split_once('@').ok_or(InvalidFinding::Form)?;
        let kind = WeakeningKind::ALL.into_iter().find(|kind| kind.word() == word);
        let unknown = || InvalidFinding::Kind(word.chars().take(40).collect());
        Ok(Self {
            kind: kind.ok_or_else(unknown)?,
            path: path.parse().map_err(|_| InvalidFinding::Form)?,
        })
    }
}

/// One place where a patch weakens tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weakening {
    pub path: RepoPath,
    /// From 1: in the file after the change, or before it if the line is gone.
    pub line: usize,
    /// The test or helper, as its file names it; empty for the file as a whole. Untrusted.
    pub test: String,
    pub kind: WeakeningKind,
    /// What was done, to be read after the location and the name. It may quote code, so it is untrusted, too.
    pub what: String,
}

impl Weakening {
    /// The name that a person allows it by. It does not contain what the patch says.
    pub fn name(&self) -> AllowedFinding {
        AllowedFinding {
            kind: self.kind,
            path: self.path.clone(),
        }
    }

    /// Whether a test that ran under this name does not run any more because of it.
    pub fn lets_go(&self, ran: &str) -> bool {
        let takes_tests = matches!(self.kind, WeakeningKind::Removed | WeakeningKind::Skipped);
        let mut parts = self.test.split(" > ");
        takes_tests && !self.test.is_empty() && parts.all(|part| has_word(ran, part))
    }
}

/// Whether a name contains another one as a whole. Frameworks add files, modules and parameters.
fn has_word(name: &str, word: &str) -> bool {
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
    name.match_indices(word).any(|(at, _)| {
        let before = name[..at].chars().next_back();
        let after = name[at + word.len()..].chars().next();
        !before.is_some_and(is_of_word) && !after.is_some_and(is_of_word)
    })
}

impl fmt::Display for Weakening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path, line, test, what, ..
        } = self;
        if test.is_empty() {
            write!(f, "{path}:{line}: {what}")
        } else {
            write!(f, "{path}:{line}: {test}: {what}")
        }
    }
}

/// A few of them in one line, and the number of the others.
pub fn listed(weakenings: &[Weakening]) -> String {
    const SHOWN: usize = 5;
    let mut shown: Vec<String> = weakenings.iter().take(SHOWN).map(ToString::to_string).collect();
    if weakenings.len() > SHOWN {
        shown.push(format!("and {} more", weakenings.len() - SHOWN));
    }
    shown.join("; ")
}

/// How a person can allow them to a command such as `fix`: each name once, and the number of the others.
pub fn how_to_allow(weakenings: &[Weakening], command: &str) -> String {
    const SHOWN: usize = 5;
    let mut names: Vec<String> = Vec::new();
    for name in weakenings.iter().map(|weakening| weakening.name().to_string()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let more = match names.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let flags: Vec<String> = names.iter().take(SHOWN).map(|name| format!("--allow {name}")).collect();
    format!(
        "Only a person can allow it, with `greenlight {command} {}`{more}",
        flags.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_test_takes_no_other_one_with_it() {
        let mut removed = Weakening {
            path: "t.py".parse().unwrap(),
            line: 3,
            test: "T > test_a".into(),
            kind: WeakeningKind::Removed,
            what: String::new(),
        };
        for (name, expected) in [
            ("tests/t.py::T::test_a", true),
            ("t.T.test_a", true),
            ("t.py::T::test_a[1]", true),
            ("t.U.test_a", false),
            ("t.T.test_ab", false),
            ("t.T.my_test_a", false),
        ] {
            assert_eq!(removed.lets_go(name), expected, "{name}");
        }
        removed.kind = WeakeningKind::ExpectationChanged;
        assert!(!removed.lets_go("t.T.test_a"));
    }

    #[test]
    fn a_finding_is_named_by_its_kind_and_file() {
        let finding = |kind, path: &str| Weakening {
            path: path.parse().unwrap(),
            line: 3,
            test: String::new(),
            kind,
            what: "`--allow ci@a`".into(),
        };
        for kind in WeakeningKind::ALL {
            let one = finding(kind, "tests/a@b.py");
            let allowed: AllowedFinding = one.name().to_string().parse().unwrap();
            assert!(allowed.names(&one));
            assert!(!allowed.names(&finding(kind, "tests/a.py")));
            let others = WeakeningKind::ALL.into_iter().filter(|other| *other != kind);
            assert!(
                others
                    .into_iter()
                    .all(|other| !allowed.names(&finding(other, "tests/a@b.py")))
            );
        }
        for text in [
            "",
            "removed",
            "removed@",
            "all@tests/a.py",
            "removed@../a.py",
            "*@a",
            "removed@/etc",
        ] {
            assert!(text.parse::<AllowedFinding>().is_err(), "{text}");
        }
        let two = [finding(WeakeningKind::Ci, "a"), finding(WeakeningKind::Ci, "a")];
        assert_eq!(
            how_to_allow(&two, "fix"),
            "Only a person can allow it, with `greenlight fix --allow ci@a`"
        );
    }
}
