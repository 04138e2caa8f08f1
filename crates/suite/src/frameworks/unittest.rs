//! Python's `unittest`: reads its text, which Django's test runner prints as well.

use std::collections::HashSet;
use std::sync::LazyLock;

use greenlight_anchor::RepoPath;
use greenlight_readers::test_run::{Location, Outcome};
use greenlight_readers::{Anomaly, ParsedRun, assertion, location};
use greenlight_tree::checkout::Checkout;
use regex::Regex;

use crate::filter::python::test_files;
use crate::framework::Ecosystem;
use crate::frameworks::pytest::parse::is_foreign;
use crate::frameworks::spec::{Runtime, Spec};
use crate::reporters::Invocation;
use crate::test_command::TestCommand;
use crate::text::pattern;

pub(super) const SPEC: Spec = Spec {
    name: "unittest",
    ecosystem: Ecosystem::Python,
    runtime: Some(Runtime::Python),
    installers: &["python3", "uv"],
    words: &["unittest"],
    is_check: |line| match line.program() {
        "django" | "django-admin" | "manage.py" => line.subcommand() == "test",
        program => program == "unittest",
    },
    reporter,
    filter: |command, only| names(&command.argv, only),
    part,
    parse: |printed| parse(printed.text),
    marks: &[" tests in ", " test in "],
    may_be: |text| text.contains("\nRan "),
    // Since Python 3.12.
    exit: |code| (code == 5).then_some(Outcome::NothingRan),
    ..Spec::NEW
};

fn reporter(_: &TestCommand, mut invocation: Invocation) -> Invocation {
    invocation.after("discover", "-v");
    invocation.after("unittest", "-v");
    if is_django(&invocation.argv) {
        invocation.after("test", "--verbosity=2");
    }
    invocation
}

/// Whether a command runs Django's test runner, which takes labels of tests.
fn is_django(argv: &[String]) -> bool {
    let by_module = argv.windows(2).any(|pair| pair[0] == "-m" && pair[1] == "django");
    by_module || argv.iter().any(|word| word.ends_with("manage.py"))
}

/// The modules of the tests that belong to these files.
fn part(checkout: &Checkout, command: &TestCommand, near: &[RepoPath]) -> Option<Vec<String>> {
    let chosen = test_files(checkout, command, near, false)?;
    // `-k` matches a part of the id, so the module's name is enough.
    let modules = chosen.iter().map(|path| path.rsplit('/').next().unwrap_or(path));
    let modules: Vec<String> = modules.map(|name| name.trim_end_matches(".py").to_string()).collect();
    names(&command.argv, &modules)
}

/// The ids themselves, if they are relative to the directory of the command; otherwise `-k NAME` for each. A name
/// without wildcards then matches any part of an id, and tests added by `load_tests` run as well.
fn names(argv: &[String], only: &[String]) -> Option<Vec<String>> {
    let plain = |name: &String| name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
    let whole = |name: &String| name.contains('.') && !name.starts_with('.') && !name.contains("..");
    // What code on the command line starts has options of another kind.
    if !only.iter().all(plain) || argv.iter().any(|word| word == "-c") && !argv.iter().any(|word| word == "unittest") {
        return None;
    }
    let runner = argv.iter().position(|word| word == "unittest");
    let options = runner.map(|at| &argv[at + 1..]).unwrap_or_default();
    let is_flag = |word: &String| {
        matches!(
            word.as_str(),
            "discover" | "-v" | "--verbose" | "-q" | "-f" | "-b" | "-c"
        )
    };
    if runner.is_some() && options.iter().all(is_flag) && only.iter().all(whole) {
        let mut narrowed: Vec<String> = argv.iter().filter(|word| *word != "discover").cloned().collect();
        narrowed.extend(only.iter().cloned());
        return Some(narrowed);
    }
    let mut narrowed = argv.to_vec();
    if runner.is_none() && is_django(argv) && only.iter().all(whole) {
        narrowed.extend(only.iter().cloned());
    } else {
        narrowed.extend(only.iter().map(|name| format!("-k{name}")));
    }
    Some(narrowed)
}

/// Until Python 3.11 the parentheses held only the class, since then the whole id.
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(\S+) \(([^()\s]+)\)( \.\.\. |$)"));
static HEADER: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(ERROR|FAIL): (.+)$"));
/// A test, class or module, and the arguments of `subTest`.
static TITLE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(\S+) \(([^()\s]+)\)"));
static RAN: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^Ran (\d+) tests? in "));
static SUM: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(failures|errors|skipped|expected failures|unexpected successes)=(\d+)"));
static FRAME: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r#"^\s*File "([^"<>]+)", line (\d+)"#));

/// The line above each failure.
const RULE: &str = "======================================================================";
/// Fixtures that fail every test below them.
const FIXTURES: [&str; 4] = ["setUpClass", "tearDownClass", "setUpModule", "tearDownModule"];

fn parse(text: &str) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    let PrintedResults { passed, unexpected } = results(text, &mut parsed);
    let failed = sections(text, &mut parsed);
    // A test may print what looks like its result.
    for name in passed.iter().filter(|name| !failed.contains(*name)) {
        parsed.pass(name);
    }
    for name in unexpected {
        parsed.fail(&name, None, "unexpected success");
    }
    sums(text, &mut parsed);
    let is_missing = |message: &str| message.contains("\nModuleNotFoundError: ");
    if parsed.anomaly.is_none() && !parsed.diagnostics.is_empty() {
        let all = parsed
            .diagnostics
            .iter()
            .all(|diagnostic| is_missing(&diagnostic.message));
        parsed.anomaly = Some(if all {
            Anomaly::MissingModule
        } else {
            Anomaly::NotCollected
        });
    }
    parsed
}

/// The results of tests that print no section.
#[derive(Default)]
struct PrintedResults {
    passed: Vec<String>,
    /// Tests that passed although they are marked to fail. Since Python 3.12 these have a section.
    unexpected: Vec<String>,
}

/// Reads `test_a (tests.test_x.TestX.test_a) ... ok`; the result may come lines later, after the test's output.
fn results(text: &str, parsed: &mut ParsedRun) -> PrintedResults {
    let mut pending: Option<String> = None;
    let mut results = PrintedResults::default();
    for line in text.lines().take_while(|line| *line != RULE) {
        // If a test with subtests failed, older versions continue on the same line.
        let named = NAMED.as_ref().and_then(|named| named.captures_iter(line).last());
        // A subtest prints its result on a line below its test, which then has no result.
        let is_subtest = line.starts_with("  ");
        // `FAILED (failures=7)` is the output of a test.
        if let Some(named) = named.filter(|named| is_subtest || !named[2].contains('=')) {
            pending = (!is_subtest).then(|| id(&named[1], &named[2]));
        }
        let Some(name) = &pending else { continue };
        let word = line.rsplit_once(" ... ").map_or(line, |(_, word)| word).trim();
        match word {
            "expected failure" => parsed.fail_as_expected(),
            // These are counted from their sections.
            "FAIL" | "ERROR" => {}
            "unexpected success" => results.unexpected.push(name.clone()),
            _ if word.starts_with("skipped ") => parsed.skip_named(name),
            // Text that a test prints without a newline precedes its result.
            _ if word.ends_with("ok") && (word == "ok" || line.contains(" ... ")) => {
                results.passed.push(name.clone());
            }
            _ => continue,
        }
        pending = None;
    }
    if let Some(name) = pending
        && !text.contains("\nRan ")
    {
        parsed.crash(&name, "the test process ended early");
    }
    results
}

fn id(method: &str, parentheses: &str) -> String {
    if parentheses.ends_with(&format!(".{method}")) || FIXTURES.contains(&method) {
        parentheses.to_string()
    } else {
        format!("{parentheses}.{method}")
    }
}

/// Reads the sections below `FAIL: …` and `ERROR: …`. Returns the names of the failing tests.
fn sections(text: &str, parsed: &mut ParsedRun) -> HashSet<String> {
    let mut seen: HashSet<String> = HashSet::new();
    let rule = format!("\n{RULE}\n");
    for part in text.split(rule.as_str()).skip(1) {
        let (header, body) = part.split_once('\n').unwrap_or((part, ""));
        let Some(header) = HEADER.as_ref().and_then(|pattern| pattern.captures(header)) else {
            continue;
        };
        let body = body
            .split("\n----------------------------------------------------------------------\nRan ")
            .next();
        let body = body.unwrap_or_default();
        let traceback = body
            .find("Traceback (most recent call last):")
            .map_or(body, |at| &body[at..]);
        let place = last_place(traceback);
        let title = TITLE.as_ref().and_then(|title| title.captures(&header[2]));
        let name = title.map_or_else(|| header[2].to_string(), |title| id(&title[1], &title[2]));
        if name.contains("unittest.loader._FailedTest") {
            let module = name.rsplit("_FailedTest.").next().unwrap_or(&name);
            parsed.diagnose(module, place, body.trim_start_matches(['-', '\n']));
        } else if !seen.contains(&name) {
            // Several failing subtests count as one failing test.
            parsed.fail(&name, place, traceback);
            if let Some((expected, actual)) = error(traceback).and_then(assertion::compared) {
                parsed.compare(&expected, &actual);
            }
            seen.insert(name);
        }
    }
    seen
}

/// The text below the frames.
fn error(traceback: &str) -> Option<&str> {
    let start = traceback.find("\nAssertionError: ")?;
    Some(&traceback[start + 1..])
}

fn last_place(traceback: &str) -> Option<Location> {
    let mut places = traceback.lines().filter_map(|line| {
        let frame = FRAME.as_ref()?.captures(line)?;
        location(&frame[1], &frame[2])
    });
    places.rfind(|place| !is_foreign(&place.path))
}

/// Reads `Ran 8 tests` and the line after it, which has the counts.
fn sums(text: &str, parsed: &mut ParsedRun) {
    let number = |line: &str| RAN.as_ref()?.captures(line)?[1].parse::<u32>().ok();
    // A test may print such a line, too. The runner's comes last.
    let lines: Vec<&str> = text.lines().collect();
    let found = lines.iter().enumerate().rev();
    let Some((at, ran)) = found.into_iter().find_map(|(at, line)| Some((at, number(line)?))) else {
        return;
    };
    let mut lines = lines.into_iter().skip(at + 1);
    let verdict = lines
        .find(|line| line.starts_with("OK") || line.starts_with("FAILED") || line.starts_with("NO TESTS RAN"))
        .unwrap_or_default();
    parsed.tell("run", ran);
    let mut red = 0u32;
    let (mut skipped, mut expected) = (0, 0);
    for sum in SUM.as_ref().map(|sum| sum.captures_iter(verdict)).into_iter().flatten() {
        let number = sum[2].parse().unwrap_or(0);
        parsed.tell(&sum[1], number);
        match &sum[1] {
            "skipped" => skipped = number,
            "expected failures" => expected = number,
            _ => red = red.saturating_add(number),
        }
    }
    parsed.settle_expected(expected);
    let broken = u32::try_from(parsed.diagnostics.len()).unwrap_or(0);
    // A test with several failing subtests runs once and fails several times. A class whose setup fails fails without
    // running any of its tests. The names tell how many tests passed, where they are known.
    let tests = red.saturating_sub(broken).max(parsed.failed);
    let green = ran
        .saturating_sub(red.max(parsed.failed))
        .saturating_sub(skipped)
        .saturating_sub(expected);
    parsed.reconcile_totals(green.max(parsed.passed), tests, skipped);
}
