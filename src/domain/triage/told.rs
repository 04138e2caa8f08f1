//! What a triage found, in words and numbers. Names are in backticks, and bounded by whoever shows them.

use super::super::test_run::TestRun;
use super::{Judged, Rate, Triage, Verdict};

/// How many tests are named at most.
const SHOWN: usize = 10;

impl Judged {
    /// `red in 2 of 5 runs here and in 1 of 3 on the merge base: flaky`.
    pub fn numbers(&self) -> String {
        let base = match self.base {
            Rate { runs: 0, .. } if self.is_new => ", and not there on the merge base".into(),
            Rate { runs: 0, .. } => String::new(),
            Rate { red: 0, runs } => format!(" and green in {} on the merge base", runs_of(runs)),
            Rate { red, runs } => format!(" and in {red} of {runs} on the merge base"),
        };
        let Rate { red, runs } = self.head;
        let varies = if self.varies {
            ", not always in the same way"
        } else {
            ""
        };
        let what = match self.verdict {
            Verdict::Deterministic if self.base.runs > 0 => "this pull request's doing".into(),
            Verdict::Deterministic => "red every time".into(),
            Verdict::Flaky => "flaky".into(),
            Verdict::BrokenOnBase => "broken before this pull request".into(),
            Verdict::Environment => self
                .cause
                .map_or("not to be judged here", |cause| cause.said())
                .to_string(),
            Verdict::Mixed | Verdict::Green => "green".to_string(),
        };
        format!("red in {red} of {}{base}{varies}: {what}", runs_of(runs))
    }
}

fn runs_of(count: u32) -> String {
    format!("{count} run{}", if count == 1 { "" } else { "s" })
}

/// Of very many failures only some are kept, so only those are judged.
fn not_judged(before: &TestRun) -> String {
    match (before.failed as usize).saturating_sub(before.failures.len()) {
        0 => String::new(),
        more => format!(". {more} more failed, and were not looked at"),
    }
}

impl Triage {
    /// One line a test, at most [`SHOWN`]; of all tests, or of those that are not worked on.
    pub fn lines<'a>(&'a self, tests: impl Iterator<Item = &'a Judged>) -> Vec<(&'a str, String)> {
        tests
            .take(SHOWN)
            .map(|test| (test.name.as_str(), test.numbers()))
            .collect()
    }

    /// Why a red check is not worked on, in one sentence with numbers.
    pub fn why_not(&self, before: &TestRun) -> String {
        let command = &before.command;
        match (self.verdict, self.tests.as_slice()) {
            (Verdict::Green, _) => format!("`{command}` is green here: {}", before.summary()),
            (Verdict::Environment, [one]) if one.name.is_empty() => {
                let why = before.tail.lines().rfind(|line| !line.trim().is_empty());
                let why: String = why.unwrap_or_default().chars().take(200).collect();
                let cause = one
                    .cause
                    .map_or_else(String::new, |cause| format!(" ({})", cause.said()));
                format!(
                    "`{command}` could not be judged here{cause}: {}. {why}",
                    before.summary()
                )
            }
            (_, [one]) if one.name.is_empty() => format!("`{command}` is {}", one.numbers()),
            (_, [one]) => format!("`{}` is {}", one.name, one.numbers()),
            (Verdict::Flaky, []) => format!(
                "`{command}` was red in {} of {} runs on the same commit: the test is flaky",
                self.red_at_head, self.runs_at_head
            ),
            (Verdict::BrokenOnBase, []) => format!("`{command}` is red on the base branch too"),
            (_, []) => format!("`{command}` could not be judged here: {}", before.summary()),
            (_, tests) => format!(
                "None of {} failing tests is red every time by this pull request's doing: {}{}",
                tests.len(),
                self.counted(),
                not_judged(before)
            ),
        }
    }

    /// `2 flaky, 1 broken on the base`.
    fn counted(&self) -> String {
        let count = |verdict| self.tests.iter().filter(|test| test.verdict == verdict).count();
        let kinds = [
            (Verdict::Flaky, "flaky"),
            (Verdict::BrokenOnBase, "broken before it"),
            (Verdict::Environment, "in need of what this machine does not have"),
        ];
        let counted: Vec<String> = kinds
            .into_iter()
            .filter(|(verdict, _)| count(*verdict) > 0)
            .map(|(verdict, what)| format!("{} {what}", count(verdict)))
            .collect();
        counted.join(", ")
    }
}
