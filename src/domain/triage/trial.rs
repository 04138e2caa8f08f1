//! The trial of a failing run: which tests to run next and where, and what the results say about each of them.

mod lacks;

use std::collections::{BTreeMap, HashSet};

use super::super::id::CommitSha;
use super::super::test_run::{Failure, Outcome, TestRun};
use super::sequential::{Manner, Observations, StoppingRules, Tree};
use super::{Cause, Judged, Rate, Triage, Verdict, environment, of_all};

/// What to run next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub tree: Tree,
    /// By name; all tests if the list is empty.
    pub tests: Vec<String>,
}

/// A failing run on trial.
#[derive(Debug, Clone)]
pub struct Trial {
    rules: StoppingRules,
    first: TestRun,
    subjects: Vec<Subject>,
    /// How often each tree was requested. This bounds the trial, no matter what the results are.
    asked: (u32, u32),
    /// How long the repeated runs at the head and those on the base took, in milliseconds.
    took: (u64, u64),
}

/// One test on trial, or the command as a whole if the name is empty.
#[derive(Debug, Clone, Default)]
struct Subject {
    name: String,
    seen: Observations,
    cause: Option<Cause>,
    /// The program that is missing at the head.
    program: Option<String>,
    /// The packages that are missing at the head.
    packages: Vec<String>,
    is_new: bool,
    /// Where and how it failed first.
    looks: Option<Looks>,
}

type Looks = (Option<(String, u32)>, String);

impl Trial {
    /// Starts with the first run of the whole suite at the head.
    pub fn new(first: &TestRun, rules: StoppingRules) -> Self {
        let mut trial = Self {
            rules,
            subjects: subjects(first),
            first: first.clone(),
            asked: (0, 0),
            took: (0, 0),
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
        // One more than a subject may want, because a test may once have been missing from a run.
        let most = self.rules.runs + 1;
        let head = (self.asked.0 < most).then(|| wants(Tree::Head)).flatten();
        head.or_else(|| (self.asked.1 < most).then(|| wants(Tree::Base)).flatten())
    }

    /// What to run next, at most this many requests at the same time: those after the first are what is wanted if its
    /// tests fail at the head and pass on the base, as those of a deterministic failure do.
    pub fn next_at_once(&self, most: u32) -> Vec<Asked> {
        let mut later = self.clone();
        let mut expected = || {
            let asked = later.next()?;
            later.expect(&asked);
            Some(asked)
        };
        (0..most).map_while(|_| expected()).collect()
    }

    /// Takes in what a deterministic failure would show.
    fn expect(&mut self, asked: &Asked) {
        let is_asked = |subject: &&mut Subject| asked.tests.is_empty() || asked.tests.contains(&subject.name);
        for subject in self.subjects.iter_mut().filter(is_asked) {
            subject.seen.add(asked.tree, asked.tree == Tree::Head);
        }
        self.count(asked.tree);
    }

    fn count(&mut self, tree: Tree) {
        match tree {
            Tree::Head => self.asked.0 += 1,
            Tree::Base => self.asked.1 += 1,
        }
    }

    /// Takes in the results of the last request, or of a run of all tests.
    pub fn learn(&mut self, tree: Tree, run: &TestRun) {
        self.count(tree);
        match tree {
            Tree::Head => self.took.0 += run.duration_ms,
            Tree::Base => self.took.1 += run.duration_ms,
        }
        self.take(tree, run);
    }

    /// Records that there is no base to compare with.
    pub fn has_no_base(&mut self) {
        for subject in &mut self.subjects {
            subject.seen.has_no_base |= subject.seen.base.runs == 0;
        }
    }

    /// Records that these tests did not run on the base, which may not have them.
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

    /// Gives the verdict on what is known.
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
            setup: None,
            repeats_ms: self.took.0,
            base_ms: self.took.1,
        }
    }
}

/// Every failing test. If the failures are not tests, or the run had no result, the command as a whole.
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

/// The named tests that did not fail.
pub fn not_red(run: &TestRun, names: &[String]) -> Vec<String> {
    let results = Results::of(run);
    let is_not_red = |name: &&String| results.of_test(name) != Some(true);
    names.iter().filter(is_not_red).cloned().collect()
}

/// The results of a run by name.
struct Results<'a> {
    red: BTreeMap<&'a str, &'a Failure>,
    green: HashSet<&'a str>,
    /// Whether a test without an entry passed: very large suites keep only some of the names.
    others_passed: bool,
}

impl<'a> Results<'a> {
    fn of(run: &'a TestRun) -> Self {
        let is_result = matches!(run.outcome, Outcome::Passed | Outcome::Failed | Outcome::Flagged);
        let is_complete = run.passed as usize <= run.passed_names.len();
        // Otherwise failures are diagnostics, no matter what they are called.
        let are_tests = is_result || run.outcome.was_ended();
        let failures = run.failures.iter().filter(|_| are_tests);
        Self {
            red: failures.map(|failure| (failure.name.as_str(), failure)).collect(),
            green: run.passed_names.iter().map(String::as_str).collect(),
            others_passed: is_result && !is_complete && run.failures.len() == run.failed as usize,
        }
    }

    /// Whether a test failed. `None` if it did not run.
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
                // A linter without findings names no file.
                None if first.outcome == Outcome::Flagged
                    && matches!(run.outcome, Outcome::Passed | Outcome::Flagged) =>
                {
                    false
                }
                None => return,
            }
        };
        self.seen.add(tree, is_red);
        if is_red {
            self.note_failure(tree, run, results.red.get(self.name.as_str()).copied());
        }
    }

    /// Records how it failed.
    fn note_failure(&mut self, tree: Tree, run: &TestRun, failure: Option<&Failure>) {
        let cause = match failure {
            Some(failure) => environment::claimed(&failure.message),
            None => environment::of_run(run),
        };
        match tree {
            Tree::Head => {
                if self.packages.is_empty() {
                    self.program = self.program.take().or_else(|| match failure {
                        Some(failure) => environment::program(&failure.message),
                        None => environment::program_of_run(run),
                    });
                }
                let looks = failure.map(looks);
                let differs = self.looks.is_some() && looks.is_some() && self.looks != looks;
                if differs && self.seen.manner == Manner::Alike {
                    self.seen.manner = Manner::Varying;
                }
                self.looks = self.looks.take().or(looks);
                // Running out of memory is often a bug, so the base must report it, too.
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
        // Runs that were neither red nor green say nothing about the code.
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
            packages: match verdict {
                Verdict::Environment => self.packages.clone(),
                _ => Vec::new(),
            },
        }
    }
}

/// Whether a run as a whole failed. `None` if it says nothing. On the base, only the same kind of failure counts, and
/// for a compiler only the same findings, because other faults there cannot be compared.
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
        // Tests that merely fail on the base got further than a tree that does not build.
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
        // The head has findings that the base lacks. Of missing modules, one that both trees lack is enough.
        Some(!at_head.is_disjoint(&at_base) && first.outcome == Outcome::MissingModule)
    }
}

fn looks(failure: &Failure) -> Looks {
    let place = failure.location.as_ref().map(|at| (at.path.clone(), at.line));
    (place, without_numbers(&failure.message))
}

/// The message without numbers: times, addresses and process ids differ between runs of the same failure.
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
