//! The result of a triage in words and numbers. Names are in backticks; the code that shows them bounds their length.

use super::super::test_run::{TestRun, complaint};
use super::setup::{self, Place};
use super::{Judged, Merged, Rate, Triage, Verdict, program};

/// How many tests are named at most.
const SHOWN: usize = 10;

/// The text after `green in 2 runs` for a pull request.
const MERGE_BASE: &str = "on the merge base";

/// A triage, with a name for its base.
#[derive(Debug, Clone, Copy)]
pub struct TriageSummary<'a> {
    triage: &'a Triage,
    /// The text after `green in 2 runs`.
    base: &'a str,
    place: Place,
}

/// Names for the two trees of a comparison.
#[derive(Debug, Clone)]
struct Trees {
    /// The text after `red in 2 of 2 runs`.
    here: String,
    /// The text after `green in 2 runs`.
    there: String,
}

impl Trees {
    fn of(merged: Option<&Merged>, base: &str) -> Self {
        match merged {
            None => Self {
                here: String::new(),
                there: base.into(),
            },
            Some(merged) => Self {
                here: format!(" together with `{}`", merged.branch),
                there: format!("on `{}` alone", merged.branch),
            },
        }
    }
}

impl Judged {
    /// `red in 2 of 5 runs and in 1 of 3 on the merge base: flaky`.
    pub fn numbers(&self) -> String {
        self.numbers_on(&Trees::of(None, MERGE_BASE))
    }

    fn numbers_on(&self, trees: &Trees) -> String {
        let Trees { here, there } = trees;
        let base = match self.base {
            Rate { runs: 0, .. } if self.is_new => format!(", and absent {there}"),
            Rate { runs: 0, .. } => String::new(),
            Rate { red: 0, runs } => format!(" and green in {} {there}", runs_of(runs)),
            Rate { red, runs } => format!(" and in {red} of {runs} {there}"),
        };
        let Rate { red, runs } = self.head;
        let varies = if self.varies {
            ", not always in the same way"
        } else {
            ""
        };
        let what = match self.verdict {
            Verdict::Deterministic if !here.is_empty() => "the two conflict".into(),
            // It failed before, and nothing else is left to work on.
            Verdict::Deterministic if self.base.red > 0 => {
                "broken before these changes; worked on, since they broke nothing else".into()
            }
            Verdict::Deterministic if self.base.runs > 0 => "broken by these changes".into(),
            Verdict::Deterministic => "red every time".into(),
            Verdict::Flaky => "flaky".into(),
            Verdict::BrokenOnBase if !here.is_empty() => "broken there already".into(),
            Verdict::BrokenOnBase => "broken before these changes".into(),
            Verdict::Environment if !self.packages.is_empty() => {
                let packages: Vec<&str> = self.packages.iter().map(String::as_str).collect();
                format!("it {}", setup::lacking(&packages))
            }
            Verdict::Environment => match (&self.program, self.cause) {
                (Some(program), _) => format!("it needs `{program}`, which is missing on this machine"),
                (None, Some(cause)) => cause.description().into(),
                (None, None) => "it cannot be judged on this machine".into(),
            },
            Verdict::Mixed | Verdict::Green => "green".to_string(),
        };
        format!("red in {red} of {}{here}{base}{varies}: {what}", runs_of(runs))
    }
}

fn runs_of(count: u32) -> String {
    format!("{count} run{}", if count == 1 { "" } else { "s" })
}

/// Only some of very many failures are kept, and only those are judged.
fn not_judged(before: &TestRun) -> String {
    match (before.failed as usize).saturating_sub(before.failures.len()) {
        0 => String::new(),
        more => format!(". {more} more failed and were not examined"),
    }
}

impl Triage {
    /// The same triage at a terminal, with a different name for its base, such as `on the last commit`.
    pub fn on<'a>(&'a self, base: &'a str) -> TriageSummary<'a> {
        TriageSummary {
            triage: self,
            base,
            place: Place::Terminal,
        }
    }

    fn on_github(&self) -> TriageSummary<'_> {
        TriageSummary {
            place: Place::GitHub,
            ..self.on(MERGE_BASE)
        }
    }

    /// One line for each test, at most [`SHOWN`].
    pub fn lines<'a>(&'a self, tests: impl Iterator<Item = &'a Judged>) -> Vec<(&'a str, String)> {
        self.on_github().lines(tests)
    }

    /// The numbers of one of its tests.
    pub fn numbers(&self, test: &Judged) -> String {
        self.on_github().numbers(test)
    }

    /// Why a failing check is not worked on, in sentences with numbers.
    pub fn why_not(&self, before: &TestRun) -> String {
        self.on_github().why_not(before)
    }
}

impl<'a> TriageSummary<'a> {
    /// One line for each test, at most [`SHOWN`].
    pub fn lines(self, tests: impl Iterator<Item = &'a Judged>) -> Vec<(&'a str, String)> {
        tests
            .take(SHOWN)
            .map(|test| (test.name.as_str(), self.numbers(test)))
            .collect()
    }

    /// The numbers of one of its tests.
    pub fn numbers(self, test: &Judged) -> String {
        test.numbers_on(&Trees::of(self.triage.red_merge(), self.base))
    }

    /// Why a failing check is not worked on, in sentences with numbers.
    pub fn why_not(self, before: &TestRun) -> String {
        let triage = self.triage;
        let why = self.why(before);
        let merged = triage.merged.as_ref().map(|merged| match triage.verdict {
            Verdict::BrokenOnBase if merged.is_red() => {
                format!("That is {}, without this pull request.", merged.tip_said())
            }
            _ => merged.description(),
        });
        match merged {
            Some(merged) => format!("{why}. {merged}"),
            None => why,
        }
    }

    fn why(self, before: &TestRun) -> String {
        let command = &before.command;
        let triage = self.triage;
        match (triage.verdict, triage.tests.as_slice()) {
            (Verdict::Green, _) => format!("`{command}` is green here: {}", before.summary()),
            (_, tests) if triage.is_not_judged() && !setup::packages(tests).is_empty() => format!(
                "`{command}` {}, so it says nothing about the code. {}",
                setup::lacking(&setup::packages(tests)),
                setup::remedy(triage.setup.as_ref(), self.place)
            ),
            (
                Verdict::Environment,
                [
                    Judged {
                        program: Some(program), ..
                    },
                    ..,
                ],
            ) => format!(
                "`{command}` needs `{program}`, which is missing on this machine, so it says nothing about the code. \
                 {}",
                program::advice(program, self.place)
            ),
            (Verdict::Environment, [one]) if one.name.is_empty() => {
                let cause = one
                    .cause
                    .map_or_else(String::new, |cause| format!(" ({})", cause.description()));
                let said = complaint(&before.tail, 1);
                let said = Some(said.trim()).filter(|said| !said.is_empty());
                let said = said.map_or_else(String::new, |said| format!(". {said}"));
                format!(
                    "`{command}` could not be judged here{cause}: {}{said}",
                    before.summary()
                )
            }
            (_, [one]) if one.name.is_empty() => format!("`{command}` is {}", self.numbers(one)),
            (_, [one]) => format!("`{}` is {}", one.name, self.numbers(one)),
            (Verdict::Flaky, []) => format!(
                "`{command}` was red in {} of {} runs on the same commit: the test is flaky",
                triage.red_at_head, triage.runs_at_head
            ),
            (Verdict::BrokenOnBase, []) => format!("`{command}` is red on the base branch too"),
            (_, []) => format!("`{command}` could not be judged here: {}", before.summary()),
            (_, tests) => format!(
                "None of {} failing tests is red every time because of these changes: {}{}",
                tests.len(),
                triage.counted(),
                not_judged(before)
            ),
        }
    }
}

impl Triage {
    /// `2 flaky, 1 broken on the base`.
    fn counted(&self) -> String {
        let count = |verdict| self.tests.iter().filter(|test| test.verdict == verdict).count();
        let kinds = [
            (Verdict::Flaky, "flaky"),
            (Verdict::BrokenOnBase, "broken before it"),
            (Verdict::Environment, "in need of something this machine does not have"),
        ];
        let counted: Vec<String> = kinds
            .into_iter()
            .filter(|(verdict, _)| count(*verdict) > 0)
            .map(|(verdict, what)| format!("{} {what}", count(verdict)))
            .collect();
        counted.join(", ")
    }
}
