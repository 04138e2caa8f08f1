//! Checks that tests written first fail for the right reason: because the code they demand does not exist or does not
//! work yet.
//!
//! Messages are claims of the code under test. They can only send tests back, or let tests pass that the code must
//! then make green without changing them. `guard` reads what the tests contain.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::redact::{bounded, inline};
use super::test_run::{Failure, Outcome, TestRun};

/// Why tests cannot be the first half of a specification.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecTestError {
    #[error("no test is new: write at least one, where the test command finds it")]
    NothingNew,
    #[error("{} without any new code: that does not demand anything new", passing(.0))]
    PassesAtOnce(Vec<String>),
    #[error(
        "{} passed before these tests were written, and no longer does; leave existing code and tests unchanged",
        inline(name, 120)
    )]
    Broke { name: String },
    #[error(
        "{} was written but did not run: put it where the test command finds it",
        inline(name, 120)
    )]
    DidNotRun { name: String },
    #[error("{} fails for the wrong reason: {why}", inline(name, 120))]
    WrongReason { name: String, why: String },
    #[error("the tests did not finish: {why}")]
    NoResult { why: String },
}

fn passing(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| inline(name, 120)).collect();
    let verb = if names.len() == 1 { "passes" } else { "pass" };
    format!("{} {verb}", shown.join(", "))
}

/// What is known about the tests besides their run.
pub struct Written<'a> {
    /// The new tests, as their files name them.
    pub names: &'a [String],
    /// Whether a module with this name belongs to the project, or is asked for by the specification. If it is
    /// missing, that is what the tests demand.
    pub is_own: &'a dyn Fn(&str) -> bool,
    /// Whether a path is a test's.
    pub is_test: &'a dyn Fn(&str) -> bool,
}

/// Compares the run with the new tests to the run before them, and returns the names of those that fail as they
/// should. The caller must excuse, in both runs, tests that failed before.
///
/// # Errors
/// The first thing that is wrong.
pub fn judge(before: &TestRun, red: &TestRun, written: &Written<'_>) -> Result<Vec<String>, SpecTestError> {
    match red.outcome {
        Outcome::Passed | Outcome::Failed => ran(before, red, written),
        Outcome::DidNotBuild | Outcome::DidNotCollect | Outcome::MissingModule => did_not_load(red, written),
        _ => Err(SpecTestError::NoResult { why: red.summary() }),
    }
}

fn ran(before: &TestRun, red: &TestRun, written: &Written<'_>) -> Result<Vec<String>, SpecTestError> {
    let known: HashSet<&str> = before
        .failing_names()
        .chain(before.passed_names.iter().map(String::as_str))
        .chain(before.skipped_names.iter().map(String::as_str))
        .chain(before.excused.iter().map(String::as_str))
        .collect();
    let is_new = |name: &str| !known.contains(name);
    let passing = red.passed_names.iter().filter(|name| is_new(name));
    let passing: Vec<String> = passing.cloned().collect();
    if !passing.is_empty() {
        return Err(SpecTestError::PassesAtOnce(passing));
    }
    let failing: Vec<&Failure> = red.failures.iter().filter(|failure| is_new(&failure.name)).collect();
    // Some frameworks list a file that cannot be loaded among the failures, in place of all its tests.
    let hides_others = failing.iter().any(|failure| is_a_file(failure));
    let now: HashSet<&str> = red.passed_names.iter().map(String::as_str).collect();
    let broke = before.passed_names.iter().find(|name| !now.contains(name.as_str()));
    if let Some(name) = broke.filter(|_| !hides_others && !failing.is_empty()) {
        return Err(SpecTestError::Broke { name: name.clone() });
    }
    if failing.is_empty() {
        return Err(SpecTestError::NothingNew);
    }
    for failure in &failing {
        if let Err(why) = reason(failure, written, hides_others) {
            let name = failure.name.clone();
            return Err(SpecTestError::WrongReason { name, why });
        }
    }
    if hides_others {
        return names_of(written);
    }
    let names: Vec<String> = failing.iter().map(|failure| failure.name.clone()).collect();
    if let Some(name) = written
        .names
        .iter()
        .find(|name| !names.iter().any(|ran| is_called(ran, name)))
    {
        return Err(SpecTestError::DidNotRun { name: name.clone() });
    }
    Ok(names)
}

fn did_not_load(red: &TestRun, written: &Written<'_>) -> Result<Vec<String>, SpecTestError> {
    if red.failures.is_empty() {
        let why = red.summary();
        missing(&red.tail, written).map_err(|_| SpecTestError::NoResult { why })?;
    }
    for failure in &red.failures {
        let text = format!("{}\n{}", failure.name, failure.message);
        missing(&text, written).map_err(|why| SpecTestError::NoResult { why })?;
    }
    names_of(written)
}

fn names_of(written: &Written<'_>) -> Result<Vec<String>, SpecTestError> {
    if written.names.is_empty() {
        return Err(SpecTestError::NothingNew);
    }
    Ok(written.names.to_vec())
}

/// Whether a test that ran is the one with this name in its file. Frameworks add files, modules and parameters to the
/// name.
pub fn is_called(ran: &str, name: &str) -> bool {
    let last = name.rsplit(" > ").next().unwrap_or(name);
    // At run time, a value replaces each placeholder in the name of a parametrised test.
    let fixed = last.split(['%', '$', '{', '#']).next().unwrap_or(last).trim();
    ran.contains(fixed)
}

/// `unittest.loader._FailedTest`, or a file that jest or mocha could not load.
fn is_a_file(failure: &Failure) -> bool {
    failure.name.contains("_FailedTest")
        || failure.message.contains("Failed to import test module")
        || failure.message.contains("Test suite failed to run")
        || (failure.name.ends_with(".py") && !failure.name.contains("::"))
}

/// Whether one test fails as it should: on an assertion, or because something it needs is missing.
fn reason(failure: &Failure, written: &Written<'_>, is_file: bool) -> Result<(), String> {
    let text = &failure.message;
    if is_file && is_a_file(failure) {
        return missing(text, written);
    }
    let in_a_test = failure.location.as_ref().is_some_and(|at| (written.is_test)(&at.path));
    if let Some(why) = broken(text, in_a_test) {
        return Err(why);
    }
    match absent_module(text) {
        Some(module) if !(written.is_own)(&module) => Err(not_own(&module)),
        _ => Ok(()),
    }
}

fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

/// Errors in the test itself, and how to describe them.
static BROKEN: LazyLock<Vec<(Option<Regex>, &str)>> = LazyLock::new(|| {
    [
        (
            r"(?m)\b(SyntaxError|IndentationError|TabError)\b",
            "it has a syntax error",
        ),
        (r"fixture '[^']*' not found", "it uses a fixture that does not exist"),
        (
            r"(?i)ScopeMismatch|error at setup of|beforeAll hook|beforeEach hook|\bsetUpClass\b",
            "its setup fails",
        ),
        (
            r"(?i)exceeded timeout of|test timed out|timed out after|timeout of \d+ ?ms exceeded|panic: test timed out",
            "it times out",
        ),
        (
            r"takes \d+ positional arguments? but \d+ (was|were) given.*\btest_\w+|\btest_\w+\(\) missing \d+ required positional",
            "it takes arguments that no test runner passes",
        ),
    ]
    .map(|(text, why)| (pattern(text), why))
    .into()
});
/// A name that a test uses without defining or importing it.
static UNKNOWN_NAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r"NameError: name '(?P<a>[^']+)' is not defined|ReferenceError: (?P<b>\S+) is not defined")
});

const NO_EXPORT: &str = "SyntaxError: The requested module";

fn broken(text: &str, in_a_test: bool) -> Option<String> {
    // JavaScript reports a missing export of a module as a syntax error.
    let text = text.replace(NO_EXPORT, "");
    let text = text.as_str();
    let found = BROKEN
        .iter()
        .find(|(pattern, _)| pattern.as_ref().is_some_and(|pattern| pattern.is_match(text)));
    if let Some((_, why)) = found {
        return Some((*why).into());
    }
    let unknown = UNKNOWN_NAME.as_ref().filter(|_| in_a_test)?.captures(text)?;
    let name = unknown.name("a").or_else(|| unknown.name("b"))?.as_str();
    Some(format!(
        "it uses {}, which it neither defines nor imports",
        inline(name, 80)
    ))
}

/// The top-level name of a missing module. `None` for paths within the project.
static MODULE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r#"(?x) No\ module\ named\ '?(?P<a>[\w]+)
        | Cannot\ find\ (?:module|package)\ '(?P<b>[^'./][^']*)'
        | Failed\ to\ resolve\ (?:entry|import)\ .*?"(?P<c>[^"./][^"]*)"
        | unresolved\ import\ `(?P<d>\w+)
        | (?:unlinked\ crate|undeclared\ (?:crate\ or\ )?module|undeclared\ type\ or\ module|crate\ or\ module|can't\ find\ crate\ for)\ `(?P<e>\w+)
        | package\ (?P<f>[\w.]+)\ does\ not\ exist
        | (?:provides|providing)\ package\ (?P<g>\S+?);?(?:\s|$)
        | package\ (?P<h>\S+)\ is\ not\ in\ (?:std|GOROOT)"#,
    )
});

fn absent_module(text: &str) -> Option<String> {
    let found = MODULE.as_ref()?.captures(text)?;
    let name = found.iter().skip(1).flatten().next()?.as_str();
    Some(bounded(name, 120))
}

fn not_own(module: &str) -> String {
    let module = inline(module, 120);
    format!("{module} is missing; it is neither part of this project nor named in the specification")
}

/// How compilers and loaders report that something is missing.
/// rustc: <https://doc.rust-lang.org/error_codes/error-index.html>, tsc: `diagnosticMessages.json` of TypeScript.
static MISSING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"(?x) cannot\ import\ name | has\ no\ attribute | No\ module\ named
        | error\[E0(?:425|412|432|433|599|609|560|061|405|407|422|423|531|583|107|026|574|573|576|437|438|050|063|027|400)\]
        | \b(?:cannot\ find|no\ method\ named|no\ function\ or\ associated\ item|unresolved\ import|no\ field)\b
        | \bundefined:\ | undefined\ \((?:type|no) | has\ no\ field\ or\ method | unknown\ field\b
        | (?:too\ many|not\ enough)\ arguments\ in\ call | provid(?:es|ing)\ package | is\ not\ in\ (?:std|GOROOT)
        | cannot\ find\ symbol | package\ [\w.]+\ does\ not\ exist | cannot\ be\ applied\ to
        | does\ not\ provide\ an\ export\ named | Cannot\ find\ (?:module|package|name) | Failed\ to\ resolve\ (?:import|entry)
        | error\ TS(?:2305|2339|2304|2307|2551|2554|2724|2353)\b | is\ not\ a\ (?:function|constructor)
        | not\ (?:yet\ )?implemented | NotImplementedError | ImportError | ModuleNotFoundError | ERR_MODULE_NOT_FOUND",
    )
});

/// Whether the tests could not be loaded only because something is missing.
fn missing(text: &str, written: &Written<'_>) -> Result<(), String> {
    if let Some(why) = broken(text, false) {
        return Err(format!("{why}: {}", first_line(text)));
    }
    if let Some(module) = absent_module(text).filter(|module| !(written.is_own)(module)) {
        return Err(not_own(&module));
    }
    if MISSING.as_ref().is_some_and(|missing| missing.is_match(text)) {
        return Ok(());
    }
    Err(first_line(text))
}

/// The first line that a loader or compiler printed; the run has all of it.
fn first_line(text: &str) -> String {
    inline(text.trim().lines().next().unwrap_or_default(), 160)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::test_run::Location;

    fn run(outcome: Outcome, passed: &[&str], failed: &[(&str, &str)]) -> TestRun {
        let failure = |(name, message): &(&str, &str)| Failure {
            name: (*name).into(),
            message: (*message).into(),
            location: Some(Location {
                path: "tests/test_a.py".into(),
                line: 3,
            }),
            ..Failure::default()
        };
        TestRun {
            passed: u32::try_from(passed.len()).unwrap(),
            passed_names: passed.iter().map(ToString::to_string).collect(),
            failures: failed.iter().map(failure).collect(),
            ..TestRun::without_result("t", outcome, "")
        }
    }

    fn judged(red: &TestRun) -> Result<Vec<String>, SpecTestError> {
        let before = run(Outcome::Passed, &["old"], &[]);
        let names = ["test_new".to_string()];
        let written = Written {
            names: &names,
            is_own: &|module| matches!(module, "fare" | "crate"),
            is_test: &|path| path.starts_with("tests/"),
        };
        judge(&before, red, &written)
    }

    #[test]
    fn an_assertion_or_something_missing_is_the_right_reason() {
        for message in [
            "AssertionError: 800 != 200",
            "AttributeError: module 'fare' has no attribute 'refund'",
            "ImportError: cannot import name 'refund' from 'fare'",
            "ModuleNotFoundError: No module named 'fare.zones'; 'fare' is not a package",
            "thread 'a' panicked at src/lib.rs:3:5:\nnot yet implemented",
            "NotImplementedError",
            "IndexError: list index out of range",
            "expected 3 to be 4",
        ] {
            let red = run(Outcome::Failed, &["old"], &[("a.py::test_new", message)]);
            assert_eq!(judged(&red), Ok(vec!["a.py::test_new".into()]), "{message}");
        }
        for message in [
            "error[E0425]: cannot find function `refund` in this scope",
            "./fare_test.go:9:7: undefined: Refund",
            "error: cannot find symbol\n  symbol: method refund(int)",
            "ImportError: cannot import name 'refund' from 'fare' (/x/fare.py)",
        ] {
            let red = run(Outcome::DidNotBuild, &[], &[(message, message)]);
            assert_eq!(judged(&red), Ok(vec!["test_new".into()]), "{message}");
        }
    }

    #[test]
    fn what_the_test_itself_has_wrong_is_not() {
        for (message, part) in [
            ("SyntaxError: invalid syntax", "syntax error"),
            ("fixture 'zoo' not found", "fixture"),
            (
                "ModuleNotFoundError: No module named 'requests'",
                "`requests` is missing",
            ),
            ("NameError: name 'refund' is not defined", "neither defines nor imports"),
            ("Exceeded timeout of 5000 ms for a test", "it times out"),
        ] {
            let red = run(Outcome::Failed, &["old"], &[("a.py::test_new", message)]);
            let why = judged(&red).unwrap_err().to_string();
            assert!(why.contains(part), "{message}: {why}");
        }
        for message in ["error: expected `;`, found `}`", "error[E0308]: mismatched types"] {
            let red = run(Outcome::DidNotBuild, &[], &[(message, message)]);
            assert!(matches!(judged(&red), Err(SpecTestError::NoResult { .. })), "{message}");
        }
    }

    #[test]
    fn what_is_not_new_or_passes_or_breaks_others_is_sent_back() {
        let red = run(Outcome::Passed, &["old", "test_new"], &[]);
        assert_eq!(judged(&red), Err(SpecTestError::PassesAtOnce(vec!["test_new".into()])));
        assert_eq!(
            judged(&run(Outcome::Passed, &["old"], &[])),
            Err(SpecTestError::NothingNew)
        );
        let red = run(Outcome::Failed, &[], &[("test_new", "AssertionError")]);
        assert_eq!(judged(&red), Err(SpecTestError::Broke { name: "old".into() }));
        let red = run(Outcome::Failed, &["old"], &[("test_other", "AssertionError")]);
        assert_eq!(
            judged(&red),
            Err(SpecTestError::DidNotRun {
                name: "test_new".into()
            })
        );
        let red = run(Outcome::TimedOut, &["old"], &[]);
        assert!(matches!(judged(&red), Err(SpecTestError::NoResult { .. })));
    }
}
