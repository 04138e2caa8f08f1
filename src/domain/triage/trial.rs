//! The trial of a red run: which tests to run next and where, and what that says about each of them.

use std::collections::{BTreeMap, HashSet};

use super::super::id::CommitSha;
use super::super::test_run::{Failure, Outcome, TestRun};
use super::sequential::{Manner, Observations, StoppingRules, Tree};
use super::{Cause, Judged, Rate, Triage, Verdict, environment, of_all};

/// What is to be run next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub tree: Tree,
    /// By name; all of them if the list is empty.
    pub tests: Vec<String>,
}

/// A red run on trial.
#[derive(Debug, Clone)]
pub struct Trial {
    rules: StoppingRules,
    first: TestRun,
    subjects: Vec<Subject>,
    /// How often each tree was asked for: no matter what the answers are, this comes to an end.
    asked: (u32, u32),
}

/// One test on trial, or, with an empty name, the command as a whole.
#[derive(Debug, Clone, Default)]
struct Subject {
    name: String,
    seen: Observations,
    cause: Option<Cause>,
    /// The program that is missing at the head.
    program: Option<String>,
    is_new: bool,
    /// Where and how it failed first.
    looks: Option<Looks>,
}

type Looks = (Option<(String, u32)>, String);

impl Trial {
    /// Begins with the first run of the whole suite at the head.
    pub fn new(first: &TestRun, rules: StoppingRules) -> Self {
        let mut trial = Self {
            rules,
            subjects: subjects(first),
            first: first.clone(),
            asked: (0, 0),
        };
        trial.take(Tree::Head, first);
        trial
    }

    /// What to run next. `None` when every verdict is clear, or nothing more may be run.
    pub fn next(&self) -> Option<Asked> {
        let wants = |tree: Tree| {
            let mut wanting = self
                .subjects
                .iter()
                .filter(|subject| subject.seen.wants(&self.rules) == Some(tree))
                .peekable();
            wanting.peek()?;
            let tests = wanting
                .map(|subject| subject.name.clone())
                .filter(|name| !name.is_empty())
                .collect();
            Some(Asked { tree, tests })
        };
        // One more than a subject may want: a test that went unseen once.
        let most = self.rules.runs + 1;
        let head = (self.asked.0 < most).then(|| wants(Tree::Head)).flatten();
        head.or_else(|| (self.asked.1 < most).then(|| wants(Tree::Base)).flatten())
    }

    /// Learns from what was asked for last, or from a run of all tests.
    pub fn learn(&mut self, tree: Tree, run: &TestRun) {
        match tree {
            Tree::Head => self.asked.0 += 1,
            Tree::Base => self.asked.1 += 1,
        }
        self.take(tree, run);
    }

    /// There is no base to compare with.
    pub fn has_no_base(&mut self) {
        for subject in &mut self.subjects {
            subject.seen.has_no_base |= subject.seen.base.runs == 0;
        }
    }

    /// These tests did not run on the base, where there may be none of that name.
    pub fn did_not_run_on_base(&mut self, names: &[String], are_new: bool) {
        for subject in self.subjects.iter_mut().filter(|subject| names.contains(&subject.name)) {
            subject.seen.has_no_base |= subject.seen.base.runs == 0;
            subject.is_new |= subject.seen.base.runs == 0 && are_new;
        }
    }

    fn take(&mut self, tree: Tree, run: &TestRun) {
        let results = Results::of(run);
        for subject in &mut self.subjects {
            subject.take(tree, (&self.first, run), &results);
        }
    }

    /// Judges by what is known.
    pub fn verdict(&self, base: Option<&CommitSha>) -> Triage {
        let tests: Vec<Judged> = self.subjects.iter().map(Subject::judged).collect();
        let shown = tests.iter().find(|test| test.verdict == Verdict::Deterministic);
        let Rate { red, runs } = shown.or(tests.first()).map_or(
            Rate {
                red: u32::from(self.first.outcome.is_red()),
                runs: 1,
            },
            |test| test.head,
        );
        let verdict = of_all(&tests).unwrap_or(Verdict::Green);
        let was_compared = tests.iter().any(|test| test.base.runs > 0 || test.is_new);
        Triage {
            verdict,
            red_at_head: red,
            runs_at_head: runs,
            base: base.filter(|_| was_compared).cloned(),
            tests,
            weakened: Vec::new(),
            merged: None,
        }
    }
}

/// Every failing test; the command as a whole where its failures are no tests, or it came to no result.
fn subjects(first: &TestRun) -> Vec<Subject> {
    if first.is_green() {
        return Vec::new();
    }
    let is_certain = matches!(
        first.outcome,
        Outcome::Flagged | Outcome::DidNotBuild | Outcome::DidNotCollect | Outcome::MissingModule | Outcome::TimedOut
    );
    let seen = Observations {
        manner: if is_certain { Manner::Certain } else { Manner::Alike },
        ..Observations::default()
    };
    let is_named = matches!(first.outcome, Outcome::Failed | Outcome::Flagged);
    let mut names = HashSet::new();
    let named: Vec<Subject> = first
        .failures
        .iter()
        .filter(|failure| is_named && !failure.name.is_empty() && names.insert(failure.name.as_str()))
        .map(|failure| Subject {
            name: failure.name.clone(),
            seen,
            ..Subject::default()
        })
        .collect();
    if !named.is_empty() {
        return named;
    }
    vec![Subject {
        seen,
        ..Subject::default()
    }]
}

/// The named tests that did not run.
pub fn unseen(run: &TestRun, names: &[String]) -> Vec<String> {
    let results = Results::of(run);
    let is_unseen = |name: &&String| results.of_test(name).is_none();
    names.iter().filter(is_unseen).cloned().collect()
}

/// The named tests that were not red.
pub fn not_red(run: &TestRun, names: &[String]) -> Vec<String> {
    let results = Results::of(run);
    let is_not_red = |name: &&String| results.of_test(name) != Some(true);
    names.iter().filter(is_not_red).cloned().collect()
}

/// The results of a run by name.
struct Results<'a> {
    red: BTreeMap<&'a str, &'a Failure>,
    green: HashSet<&'a str>,
    /// Whether a test that is named nowhere passed: not all names of very large suites are kept.
    others_passed: bool,
}

impl<'a> Results<'a> {
    fn of(run: &'a TestRun) -> Self {
        let is_result = matches!(run.outcome, Outcome::Passed | Outcome::Failed | Outcome::Flagged);
        let is_complete = run.passed as usize <= run.passed_names.len();
        // Otherwise they are diagnostics, no matter what they are called.
        let are_tests = is_result || run.outcome.was_ended();
        let failures = run.failures.iter().filter(|_| are_tests);
        Self {
            red: failures.map(|failure| (failure.name.as_str(), failure)).collect(),
            green: run.passed_names.iter().map(String::as_str).collect(),
            others_passed: is_result && !is_complete && run.failures.len() == run.failed as usize,
        }
    }

    /// Whether a test was red. `None` if it did not run.
    fn of_test(&self, name: &str) -> Option<bool> {
        if self.red.contains_key(name) {
            return Some(true);
        }
        (self.green.contains(name) || self.others_passed).then_some(false)
    }
}

impl Subject {
    fn take(&mut self, tree: Tree, (first, run): (&TestRun, &TestRun), results: &Results<'_>) {
        let is_red = if self.name.is_empty() {
            match whole(tree, first, run) {
                Some(is_red) => is_red,
                None => {
                    self.seen.has_no_base |= tree == Tree::Base && self.seen.base.runs == 0;
                    if tree == Tree::Head && run.outcome == Outcome::DidNotStart {
                        self.cause = self.cause.or_else(|| environment::of_run(run));
                        self.program = self.program.take().or_else(|| environment::program_of_run(run));
                    }
                    return;
                }
            }
        } else {
            match results.of_test(&self.name) {
                Some(is_red) => is_red,
                // A linter that finds nothing names nothing.
                None if first.outcome == Outcome::Flagged
                    && matches!(run.outcome, Outcome::Passed | Outcome::Flagged) =>
                {
                    false
                }
                None => return,
            }
        };
        match tree {
            Tree::Head => self.seen.head.add(is_red),
            Tree::Base => self.seen.base.add(is_red),
        }
        if is_red {
            self.look(tree, run, results.red.get(self.name.as_str()).copied());
        }
    }

    /// Notes how it failed.
    fn look(&mut self, tree: Tree, run: &TestRun, failure: Option<&Failure>) {
        let cause = match failure {
            Some(failure) => environment::claimed(&failure.message),
            None => environment::of_run(run),
        };
        match tree {
            Tree::Head => {
                self.program = self.program.take().or_else(|| match failure {
                    Some(failure) => environment::program(&failure.message),
                    None => environment::program_of_run(run),
                });
                let looks = failure.map(looks);
                let differs = self.looks.is_some() && looks.is_some() && self.looks != looks;
                if differs && self.seen.manner == Manner::Alike {
                    self.seen.manner = Manner::Varying;
                }
                self.looks = self.looks.take().or(looks);
                // Running out of memory is a bug as often as not, so the base has to say so, too.
                if run.outcome != Outcome::OutOfMemory {
                    self.cause = self.cause.or(cause);
                }
            }
            Tree::Base => {
                let lacks = match run.outcome {
                    Outcome::MissingModule => Some(Cause::MissingModule),
                    Outcome::OutOfMemory => Some(Cause::Memory),
                    _ => None,
                };
                self.cause = self.cause.or(lacks.filter(|_| self.name.is_empty()));
            }
        }
        self.seen.blames_machine = self.cause.is_some();
    }

    fn judged(&self) -> Judged {
        let seen = &self.seen;
        // A run that was neither red nor green says nothing of the code.
        let verdict = if seen.head.runs == 0 {
            Verdict::Environment
        } else {
            seen.verdict()
        };
        Judged {
            name: self.name.clone(),
            verdict,
            head: seen.head,
            base: seen.base,
            is_new: self.is_new,
            varies: seen.manner == Manner::Varying,
            cause: self.cause.filter(|_| verdict == Verdict::Environment),
            program: self.program.clone().filter(|_| verdict == Verdict::Environment),
        }
    }
}

/// Whether a run as a whole is red. `None` if it says nothing. On the base, only the same kind of red counts, and of
/// what a compiler says only the same findings: another fault there cannot be compared with.
fn whole(tree: Tree, first: &TestRun, run: &TestRun) -> Option<bool> {
    if run.is_green() {
        return Some(false);
    }
    if !run.outcome.is_red() {
        return None;
    }
    if tree == Tree::Head {
        return Some(true);
    }
    if run.outcome != first.outcome {
        // Tests that merely fail on the base came further than a tree that does not even build.
        return (run.outcome == Outcome::Failed).then_some(false);
    }
    let findings = |run: &TestRun| -> HashSet<(String, String)> {
        let finding = |failure: &Failure| {
            let path = failure.location.as_ref().map(|at| at.path.clone());
            (path.unwrap_or_default(), without_numbers(&failure.message))
        };
        run.failures.iter().map(finding).collect()
    };
    let (at_head, at_base) = (findings(first), findings(run));
    if at_head.is_subset(&at_base) {
        Some(true)
    } else {
        // It has its own faults, of which none is the pull request's.
        Some(!at_head.is_disjoint(&at_base) && first.outcome == Outcome::MissingModule)
    }
}

fn looks(failure: &Failure) -> Looks {
    let place = failure.location.as_ref().map(|at| (at.path.clone(), at.line));
    (place, without_numbers(&failure.message))
}

/// Times, addresses and process ids differ in the same failure.
fn without_numbers(message: &str) -> String {
    let mut text = String::new();
    for word in message
        .chars()
        .take(2_000)
        .collect::<String>()
        .split(|c: char| !c.is_alphanumeric())
    {
        if !word.is_empty() && !word.chars().any(|c| c.is_ascii_digit()) {
            text += word;
            text.push(' ');
        }
    }
    text
}
