//! The parts of a mode that the agent needs: its instructions, its task, the tools it is not offered, and the files
//! it must not change.
//!
//! Whether a submission is accepted is decided elsewhere, by code in `engine::work`, no matter what the model was
//! told.

use super::prompt::{self, Background};
use super::{Shell, Transcript, codeact};
use crate::domain::id::RepoPath;
use crate::domain::mode::Mode;
use crate::domain::test_path::is_test_path;
use crate::domain::test_run::TestRun;

/// One part of a mode, which a model works on separately.
#[derive(Debug, Clone, Copy)]
pub enum ModePart<'a> {
    Debug,
    /// Writing the tests of a specification.
    Tests {
        specification: &'a str,
    },
    /// Writing the code that makes these tests pass, which were seen to fail.
    Code {
        specification: &'a str,
        names: &'a [String],
        red: &'a TestRun,
    },
    Refactor {
        goal: &'a str,
        path: Option<&'a RepoPath>,
    },
    Explain,
}

impl<'a> ModePart<'a> {
    /// The next part of a mode, given the tests that were written first.
    pub fn of(mode: &'a Mode, tests_first: Option<(&'a [String], &'a TestRun)>) -> Self {
        match (mode, tests_first) {
            (Mode::Debug, _) => Self::Debug,
            (Mode::Tdd { specification }, None) => Self::Tests { specification },
            (Mode::Tdd { specification }, Some((names, red))) => Self::Code {
                specification,
                names,
                red,
            },
            (Mode::Refactor { goal, path }, _) => Self::Refactor {
                goal,
                path: path.as_ref(),
            },
            (Mode::Explain, _) => Self::Explain,
        }
    }

    /// A new transcript, for a model in a shell. Without a shell, the model is assumed to call tools.
    pub fn begin(&self, known: &Background<'_>, shell: Option<&Shell<'_>>) -> Transcript {
        let task = match self {
            Self::Debug => prompt::debug(known),
            Self::Tests { specification } => prompt::tests(specification, known),
            Self::Code {
                specification,
                names,
                red,
            } => prompt::code(specification, (names, red), known),
            Self::Refactor { goal, path } => prompt::refactor(goal, *path, known),
            Self::Explain => prompt::explain(known),
        };
        let instructions = match shell {
            Some(shell) => codeact::instructions(self.instructions(), shell, None),
            None => self.instructions().into(),
        };
        Transcript::new(instructions, task)
    }

    fn instructions(&self) -> &'static str {
        match self {
            Self::Debug => prompt::DEBUG,
            Self::Tests { .. } => include_str!("prompts/tdd_tests.md"),
            Self::Code { .. } => include_str!("prompts/tdd_code.md"),
            Self::Refactor { .. } => include_str!("prompts/refactor.md"),
            Self::Explain => include_str!("prompts/explain.md"),
        }
    }

    /// The tools that are not offered.
    pub fn without(&self) -> &'static [&'static str] {
        match self {
            Self::Explain => &["edit_file", "write_file", "apply_patch", "submit", "request_execution"],
            _ => super::shell::ONLY_TO_EXPLAIN,
        }
    }

    /// Why a file must not change, even if it is not protected. For files that contain both tests and code, the whole
    /// change is checked after it is submitted.
    pub fn leaves_alone(&self, path: &RepoPath) -> Option<String> {
        let is_test = is_test_path(path.as_str());
        match self {
            Self::Debug => None,
            Self::Tests { .. } if is_test || has_tests_inside(path) => None,
            Self::Tests { .. } => Some(format!(
                "`{path}` is not a test. Write only tests in this step; the code comes later."
            )),
            Self::Code { .. } if is_test => Some(format!(
                "`{path}` is a test, and tests must not change in this step. Change the code under test."
            )),
            Self::Code { .. } => None,
            Self::Refactor { path: within, .. } => out_of_scope(*within, path),
            Self::Explain => Some("an explanation changes nothing.".into()),
        }
    }
}

/// Why a refactoring must not change a file.
pub fn out_of_scope(within: Option<&RepoPath>, path: &RepoPath) -> Option<String> {
    if is_test_path(path.as_str()) {
        return Some(format!("`{path}` is a test, and a refactoring must not change tests."));
    }
    let within = within?;
    let rest = path.as_str().strip_prefix(within.as_str());
    let is_inside = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    (!is_inside).then(|| format!("`{path}` is outside of the goal, which covers only `{within}`."))
}

/// Languages whose tests are often in the same file as the code.
fn has_tests_inside(path: &RepoPath) -> bool {
    path.as_str().ends_with(".rs")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::tools;

    #[test]
    fn a_small_task_is_small() {
        let names = ["test_refund".to_string()];
        let red = TestRun::without_result("pytest -q", crate::domain::test_run::Outcome::Failed, "");
        let text = "refund gives back what was paid";
        let (specification, goal) = (text, text);
        let parts = [
            ModePart::Debug,
            ModePart::Tests { specification },
            ModePart::Code {
                specification,
                names: &names,
                red: &red,
            },
            ModePart::Refactor { goal, path: None },
            ModePart::Explain,
        ];
        for part in parts {
            let known = Background {
                may_execute: true,
                ..Background::default()
            };
            let transcript = serde_json::to_string(part.begin(&known, None).items()).unwrap();
            let offered = tools::all();
            let schemas = offered.iter().filter(|tool| !part.without().contains(&tool.name));
            let schemas: usize = schemas
                .map(|tool| tool.name.len() + tool.description.len() + tool.parameters.to_string().len())
                .sum();
            assert!(
                transcript.len() + schemas < 12 << 10,
                "{part:?}: {}",
                transcript.len() + schemas
            );
        }
    }

    #[test]
    fn each_part_leaves_other_files_alone() {
        let path = |text: &str| -> RepoPath { text.parse().unwrap() };
        let src = path("src/fare");
        let tests = ModePart::Tests { specification: "" };
        let refactor = ModePart::Refactor {
            goal: "",
            path: Some(&src),
        };
        for (part, file, is_left) in [
            (tests, "tests/test_a.py", false),
            (tests, "src/fare.py", true),
            (tests, "src/lib.rs", false),
            (refactor, "src/fare/zones.py", false),
            (refactor, "src/fare", false),
            (refactor, "src/fare_old.py", true),
            (refactor, "src/fare/test_zones.py", true),
            (ModePart::Explain, "src/fare.py", true),
        ] {
            assert_eq!(part.leaves_alone(&path(file)).is_some(), is_left, "{part:?} {file}");
        }
    }
}
