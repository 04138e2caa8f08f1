//! `--only`: finds the tests that a person means, as frameworks do: by their whole name, by its end, by a file, class or
//! suite in it, or by any other part of it. A name that fits no test is an error; nothing else runs instead.

use std::collections::BTreeSet;

use tokio_util::sync::CancellationToken;

use super::super::{Exit, terminal};
use crate::checkout::Checkout;
use crate::domain::test_run::{Outcome, TestRun};
use crate::suite::{self, Suite};

/// How many names are listed.
const MAX_LISTED: usize = 5;
/// How many characters of a name are compared with the typed one, and shown.
const MAX_NAME: usize = 120;

/// Runs the requested tests.
pub(super) async fn run(
    suite: &Suite,
    checkout: &Checkout,
    only: &[String],
    cancel: &CancellationToken,
) -> Result<TestRun, Exit> {
    let first = fresh(suite, checkout, only, cancel).await?;
    if only.is_empty() || cancel.is_cancelled() {
        return Ok(first);
    }
    let is_narrowed = suite::narrows(&suite.command, only);
    if is_narrowed && answers(&first, only) {
        return Ok(first);
    }
    let whole = match is_narrowed {
        true => {
            terminal::mention("note: no test has exactly that name, so all tests run to find their names");
            fresh(suite, checkout, &[], cancel).await?
        }
        false => first,
    };
    if cancel.is_cancelled() || names(&whole).next().is_none() {
        // Nothing ran, and the result says why.
        return Ok(whole);
    }
    let mut meant: BTreeSet<&str> = BTreeSet::new();
    for wanted in only {
        let found = matching(wanted, &whole);
        if found.is_empty() {
            return Err(Exit::Usage(missing(wanted, &whole)));
        }
        if !found.contains(wanted.as_str()) {
            let found: Vec<&str> = found.iter().copied().collect();
            terminal::mention(&format!("note: `{wanted}` is {}", listed(&found)));
        }
        meant.extend(found);
    }
    let meant: Vec<String> = meant.into_iter().map(String::from).collect();
    // In the whole run, other tests ran before them.
    if suite::narrows(&suite.command, &meant) {
        let run = fresh(suite, checkout, &meant, cancel).await?;
        if cancel.is_cancelled() || answers(&run, &meant) {
            return Ok(run);
        }
    }
    Ok(alone(whole, &meant.into_iter().collect()))
}

async fn fresh(
    suite: &Suite,
    checkout: &Checkout,
    only: &[String],
    cancel: &CancellationToken,
) -> Result<TestRun, Exit> {
    suite::run_fresh(suite, checkout, only, cancel)
        .await
        .map_err(|error| Exit::Fault(error.to_string()))
}

fn names(run: &TestRun) -> impl Iterator<Item = &str> {
    let others = run.passed_names.iter().chain(&run.skipped_names);
    run.failing_names().chain(others.map(String::as_str))
}

/// Whether the result of running these tests alone can be used. Tests that failed as expected have no names.
fn answers(run: &TestRun, only: &[String]) -> bool {
    let ran: BTreeSet<&str> = names(run).collect();
    let is_there = |wanted: &String| ran.iter().any(|name| name == wanted || is_case_of(name, wanted));
    match run.outcome {
        Outcome::DidNotCollect | Outcome::MissingModule | Outcome::DidNotStart => false,
        Outcome::Passed | Outcome::Failed | Outcome::NothingRan => {
            only.iter().all(is_there) || (ran.is_empty() && run.expected_failures > 0)
        }
        // It ended before the names were known, for a reason that should be shown.
        _ => true,
    }
}

/// Whether a test is one case of a parametrised test, a subtest, or in a file, module or class.
fn is_case_of(name: &str, wanted: &str) -> bool {
    name.strip_prefix(wanted)
        .is_some_and(|rest| rest.starts_with(['[', '/', ':', '.', '#']))
}

/// The tests that a name refers to.
fn matching<'r>(wanted: &str, run: &'r TestRun) -> BTreeSet<&'r str> {
    let all = |is_meant: &dyn Fn(&str) -> bool| names(run).filter(|name| is_meant(name)).collect::<BTreeSet<_>>();
    let exact = all(&|name| name == wanted || is_case_of(name, wanted));
    if !exact.is_empty() || wanted.is_empty() {
        return exact;
    }
    let ended = all(&|name| is_end_of(wanted, name) || is_end_of(wanted, without_case(name)));
    if !ended.is_empty() {
        // A test comes with its subtests.
        let is_below = |name: &str| {
            let mut tests = name.match_indices('/').filter_map(|(at, _)| name.get(..at));
            tests.any(|test| ended.contains(test))
        };
        return all(&|name| ended.contains(name) || is_below(name));
    }
    let grouped = all(&|name| is_part_of(wanted, name));
    if !grouped.is_empty() {
        return grouped;
    }
    all(&|name| name.contains(wanted))
}

/// Whether a name ends with this as a whole part.
fn is_end_of(wanted: &str, name: &str) -> bool {
    let before = name.strip_suffix(wanted).and_then(|before| before.chars().next_back());
    before.is_some_and(is_between)
}

/// Whether a whole part of a name is this: its file, module, class or suite.
fn is_part_of(wanted: &str, name: &str) -> bool {
    let mut places = name.match_indices(wanted);
    places.any(|(at, _)| {
        let is_end = |c: Option<char>| c.is_none_or(is_between);
        is_end(name[..at].chars().next_back()) && is_end(name[at + wanted.len()..].chars().next())
    })
}

fn is_between(c: char) -> bool {
    !c.is_alphanumeric() && c != '_'
}

fn without_case(name: &str) -> &str {
    let case = name.ends_with(']').then(|| name.find('[')).flatten();
    case.and_then(|at| name.get(..at)).unwrap_or(name)
}

/// The error for a name that fits no test.
fn missing(wanted: &str, run: &TestRun) -> String {
    let wanted: String = wanted.chars().take(MAX_NAME).collect();
    let last = |name: &str| -> String {
        let name = without_case(name);
        let part = name.rsplit([':', '.', '/', ' ', '>']).next().unwrap_or(name);
        part.chars().take(MAX_NAME).collect()
    };
    let distance = |name: &&str| {
        let whole: String = name.chars().take(MAX_NAME).collect();
        strsim::damerau_levenshtein(&whole, &wanted).min(strsim::damerau_levenshtein(&last(name), &wanted))
    };
    let near = names(run)
        .map(|name| (distance(&name), name))
        .min_by_key(|(distance, _)| *distance);
    let near = near.filter(|(distance, _)| *distance <= wanted.chars().count().div_ceil(3));
    let all: Vec<&str> = names(run).collect();
    let meant = match near {
        Some((_, name)) => format!("did you mean `{}`? There", shown(name)),
        None => "there".to_string(),
    };
    format!(
        "--only: there is no test called `{wanted}`; {meant} are: {}",
        listed(&all)
    )
}

fn shown(name: &str) -> String {
    name.chars().take(MAX_NAME).collect()
}

fn listed(names: &[&str]) -> String {
    let mut shown: Vec<String> = names
        .iter()
        .take(MAX_LISTED)
        .map(|name| format!("`{}`", shown(name)))
        .collect();
    if names.len() > MAX_LISTED {
        shown.push(format!("and {} more", names.len() - MAX_LISTED));
    }
    shown.join(", ")
}

/// The same run, as if only these tests had run.
fn alone(mut run: TestRun, meant: &BTreeSet<String>) -> TestRun {
    let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    run.failures.retain(|failure| meant.contains(&failure.name));
    run.passed_names.retain(|name| meant.contains(name));
    run.skipped_names.retain(|name| meant.contains(name));
    (run.failed, run.passed, run.skipped) = (
        count(run.failures.len()),
        count(run.passed_names.len()),
        count(run.skipped_names.len()),
    );
    run.expected_failures = 0;
    run.summary_counts.clear();
    if matches!(run.outcome, Outcome::Passed | Outcome::Failed) {
        run.outcome = match (run.failed, run.passed) {
            (0, 0) => Outcome::NothingRan,
            (0, _) => Outcome::Passed,
            _ => Outcome::Failed,
        };
    }
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(passed: &[&str]) -> TestRun {
        TestRun {
            passed: 1,
            passed_names: passed.iter().map(ToString::to_string).collect(),
            ..TestRun::without_result("t", Outcome::Passed, "")
        }
    }

    #[track_caller]
    fn check(wanted: &str, expected: &[&str]) {
        let run = run(&[
            "tests/test_totals.py::test_vat",
            "tests/test_totals.py::test_vat_of_nothing",
            "tests/test_totals.py::Sums::test_sum[1-2]",
            "tests/test_totals.py::Sums::test_sum[3-4]",
            "sums::adds two",
            "example.com/shop TestTable",
            "example.com/shop TestTable/zero",
        ]);
        let found: Vec<&str> = matching(wanted, &run).into_iter().collect();
        assert_eq!(found, expected, "{wanted}");
    }

    #[test]
    fn a_test_is_meant_by_its_name_or_by_enough_of_it() {
        check("tests/test_totals.py::test_vat", &["tests/test_totals.py::test_vat"]);
        check("test_vat", &["tests/test_totals.py::test_vat"]);
        check("of_nothing", &["tests/test_totals.py::test_vat_of_nothing"]);
        let both = [
            "tests/test_totals.py::Sums::test_sum[1-2]",
            "tests/test_totals.py::Sums::test_sum[3-4]",
        ];
        check("test_sum", &both);
        check("tests/test_totals.py::Sums::test_sum", &both);
        check("adds two", &["sums::adds two"]);
        // As pytest takes files and classes, and most frameworks any part of a name.
        let of_class = "tests/test_totals.py::Sums";
        check(of_class, &both);
        check("Sums", &both);
        check(
            "test_totals.py",
            &[
                "tests/test_totals.py::Sums::test_sum[1-2]",
                "tests/test_totals.py::Sums::test_sum[3-4]",
                "tests/test_totals.py::test_vat",
                "tests/test_totals.py::test_vat_of_nothing",
            ],
        );
        check(
            "test_va",
            &[
                "tests/test_totals.py::test_vat",
                "tests/test_totals.py::test_vat_of_nothing",
            ],
        );
        check("sums", &["sums::adds two"]);
        check(
            "TestTable",
            &["example.com/shop TestTable", "example.com/shop TestTable/zero"],
        );
        check("TestTable/zero", &["example.com/shop TestTable/zero"]);
        check("nonsense", &[]);
        check("", &[]);
    }

    #[test]
    fn an_unknown_name_is_reported_with_the_known_ones() {
        let run = run(&["a.py::test_vat", "a.py::test_sum"]);
        assert_eq!(
            missing("nonsense", &run),
            "--only: there is no test called `nonsense`; there are: `a.py::test_vat`, `a.py::test_sum`"
        );
        assert_eq!(
            missing("test_vta", &run),
            "--only: there is no test called `test_vta`; did you mean `a.py::test_vat`? There are: `a.py::test_vat`, \
             `a.py::test_sum`"
        );
    }
}
