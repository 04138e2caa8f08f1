//! ExUnit, as `mix test` runs it: reads its text, which names every test with `--trace`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use greenlight_readers::test_run::Location;
use greenlight_readers::{Anomaly, ParsedRun, Printed, location};
use regex::Regex;

use crate::discover::directory::Directory;
use crate::framework::{Ecosystem, Framework};
use crate::frameworks::spec::Spec;
use crate::reporters::Invocation;
use crate::test_command::TestCommand;
use crate::text::pattern;

pub(super) const SPEC: Spec = Spec {
    name: "ExUnit",
    ecosystem: Ecosystem::Any,
    is_compiled: true,
    looks_for: Some("`mix.exs`"),
    modules: &["mix.exs"],
    discover,
    is_program: |line| line.program() == "mix" && line.has("test"),
    is_check: |line| line.program() == "mix" && line.subcommand() == "test",
    reporter,
    filter,
    parse: |printed: &Printed<'_>| read(printed.text),
    marks: &["\nRandomized with seed ", "\nRunning ExUnit with seed: "],
    may_be: |text| text.contains(" failure"),
    ..Spec::NEW
};

fn discover(place: &Directory<'_>) -> Option<TestCommand> {
    place.has("mix.exs").then_some(())?;
    let is_test = |path: &&str| path.ends_with("_test.exs");
    place.files().find(is_test)?;
    place.command(&["mix", "test"], Framework::Exunit, "mix.exs")
}

/// `--trace` runs one module after the other and ignores the time limits of tests. Those of greenlight remain.
fn reporter(_: &TestCommand, mut invocation: Invocation) -> Invocation {
    invocation.after("test", "--trace");
    // Without it, Erlang cannot print every name.
    invocation.env.insert("ELIXIR_ERL_OPTIONS".into(), "+fnu".into());
    invocation
}

/// `--only "test:test adds"`, which selects by name in all modules.
fn filter(command: &TestCommand, only: &[String]) -> Option<Vec<String>> {
    let argv = &command.argv;
    let at = argv.iter().position(|word| word == "test")? + 1;
    let mut options = Vec::new();
    for name in only {
        let (_, test) = name.split_once(' ')?;
        ["test ", "doctest ", "property "]
            .iter()
            .find(|kind| test.starts_with(**kind))?;
        options.extend(["--only".to_string(), format!("test:{test}")]);
    }
    let mut narrowed = argv.clone();
    narrowed.splice(at..at, options);
    Some(narrowed)
}

/// `ShopTest [test/shop_test.exs]`
static MODULE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(\S+) \[(\S+\.exs)\]$"));
/// `  * test adds (0.5ms) [L#3]`, which follows the same without a time on one line.
static RESULT: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(?:.*\[L#\d+\])? *\* (\S.*?) \((?:(skipped|excluded|invalid)|[\d.]+m?s)\) \[L#\d+\]$"));
/// `  1) test adds (ShopTest)`
static TITLE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^ *\d+\) (\S.*) \((\S+)\)$"));
/// `  6) SetupTest: failure on setup_all callback, all tests have been invalidated`
static INVALID: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^ *\d+\) (\S+): failure on setup_all callback"));
/// `1 doctest, 8 tests, 6 failures, 2 invalid, 1 skipped`
static SUM: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r"^(?:\d+ (?:doctests?|propert(?:y|ies)|features?|tests?), )+\d+ failures?(?:, \d+ [a-z]+)*$")
});
static COUNT: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(\d+) ([a-z]+)"));
static PLACE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^ +((?:[\w.-]+/)*[\w.-]+\.exs?):(\d+)(?:: .*)?$"));
/// `** (SyntaxError) lib/shop.ex:3:1: message`, and since version 1.15 `    └─ lib/shop.ex:3:1`.
static ERROR: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^\*\* \((\w[\w.]*)\) (?:(\S+\.exs?):(\d+)(?::\d+)?: )?(.+)$"));
static ARROW: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^ *└─ (\S+\.exs?):(\d+)"));
/// `== Compilation error in file lib/shop.ex ==`
const BROKEN: &str = "== Compilation error in file ";
/// Maximum number of lines kept of one failure.
const MAX_LINES: usize = 100;

/// Mix's messages about packages that are not installed.
const ENVIRONMENT: [&str; 4] = [
    "** (Mix) Could not find an SCM for dependency",
    "Could not find Hex, which is needed",
    "Unchecked dependencies for environment ",
    "** (Mix) Can't continue due to errors on dependencies",
];

fn read(text: &str) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    let totals = sums(text);
    let failed = failures(text, &mut parsed);
    results(text, &failed, &mut parsed);
    if let Some(totals) = &totals {
        let count = |words: &[&str]| {
            let counts = words.iter().filter_map(|word| totals.get(*word));
            counts.fold(0u32, |sum, count| sum.saturating_add(*count))
        };
        let all = count(&[
            "test",
            "tests",
            "doctest",
            "doctests",
            "property",
            "properties",
            "feature",
            "features",
        ]);
        let red = count(&["failure", "failures", "invalid"]);
        let skipped = count(&["skipped"]);
        let others = count(&["excluded"]).saturating_add(skipped).saturating_add(red);
        parsed.reconcile_totals(all.saturating_sub(others), red, skipped);
        for (word, count) in totals {
            parsed.tell(word, *count);
        }
    }
    if text.contains("no test was executed") {
        parsed.anomaly = Some(Anomaly::NotFound);
    } else if totals.is_none() && ENVIRONMENT.iter().any(|mark| text.contains(mark)) {
        parsed.anomaly = Some(Anomaly::Environment);
    } else if totals.is_none() {
        broken(text, &mut parsed);
    }
    parsed
}

/// The counts of all runs: an umbrella project prints one line for each application.
fn sums(text: &str) -> Option<BTreeMap<String, u32>> {
    let mut sums: Option<BTreeMap<String, u32>> = None;
    for line in text
        .lines()
        .filter(|line| SUM.as_ref().is_some_and(|sum| sum.is_match(line)))
    {
        let sums = sums.get_or_insert_default();
        for count in COUNT.iter().flat_map(|count| count.captures_iter(line)).take(20) {
            if sums.len() < 20 || sums.contains_key(&count[2]) {
                let sum = sums.entry(count[2].to_string()).or_default();
                *sum = sum.saturating_add(count[1].parse().unwrap_or(0));
            }
        }
    }
    sums
}

/// Reads the failures, and returns their names and those of modules whose setup failed.
fn failures(text: &str, parsed: &mut ParsedRun) -> Vec<String> {
    let mut failed = Vec::new();
    let mut open: Option<(String, Vec<&str>)> = None;
    for line in text.lines() {
        let title = TITLE.as_ref().and_then(|title| title.captures(line));
        let invalid = INVALID.as_ref().and_then(|invalid| invalid.captures(line));
        let is_result = RESULT.as_ref().is_some_and(|result| result.is_match(line));
        let ends = title.is_some() || invalid.is_some() || is_result || line.starts_with("Finished in ");
        if ends && let Some((name, lines)) = open.take() {
            fail(&name, &lines, parsed);
        }
        let name = title
            .map(|title| format!("{} {}", &title[2], &title[1]))
            .or_else(|| invalid.map(|invalid| invalid[1].to_string()));
        if let Some(name) = name {
            if failed.len() < 100_000 {
                failed.push(name.clone());
            }
            open = Some((name, Vec::new()));
        } else if let Some((_, lines)) = open.as_mut().filter(|(_, lines)| lines.len() < MAX_LINES) {
            lines.push(line);
        }
    }
    if let Some((name, lines)) = open {
        fail(&name, &lines, parsed);
    }
    failed.sort_unstable();
    failed
}

fn fail(name: &str, lines: &[&str], parsed: &mut ParsedRun) {
    let place = |line: &&str| -> Option<Location> {
        let found = PLACE.as_ref()?.captures(line)?;
        location(&found[1], &found[2])
    };
    // The first line is where the test begins, the stack trace has the assertion.
    let in_trace = lines.iter().skip_while(|line| line.trim() != "stacktrace:");
    let found = in_trace.skip(1).find_map(&place);
    let found = found.or_else(|| lines.first().and_then(place));
    let is_place = lines.first().is_some_and(|line| place(line).is_some());
    let lines = lines.iter().skip(usize::from(is_place));
    let message: Vec<&str> = lines.map(|line| line.strip_prefix("     ").unwrap_or(line)).collect();
    parsed.fail(name, found, message.join("\n").trim_end());
    let value = |label: &str| message.iter().find_map(|line| Some(line.strip_prefix(label)?.trim()));
    if let (Some(actual), Some(expected)) = (value("left: "), value("right: ")) {
        parsed.compare(expected, actual);
    }
}

/// Reads the results line by line. A failing test, and one whose module could not be set up, looks like one that passed.
fn results(text: &str, failed: &[String], parsed: &mut ParsedRun) {
    let mut module = "";
    let is_failed = |name: &str| failed.binary_search_by(|other| other.as_str().cmp(name)).is_ok();
    for line in text.lines() {
        if let Some(found) = MODULE.as_ref().and_then(|module| module.captures(line)) {
            module = found.get(1).map_or("", |module| module.as_str());
        } else if let Some(found) = RESULT.as_ref().and_then(|result| result.captures(line)) {
            let name = format!("{module} {}", &found[1]);
            match found.get(2).map(|word| word.as_str()) {
                Some("skipped") => parsed.skip_named(&name),
                Some(_) => {}
                None if is_failed(&name) || is_failed(module) => {}
                None => parsed.pass(&name),
            }
        }
    }
}

/// Reads errors of the compiler, in the code or in a test file.
fn broken(text: &str, parsed: &mut ParsedRun) {
    let Some((_, rest)) = text.split_once(BROKEN) else {
        return;
    };
    let file = rest.split(" ==").next().unwrap_or_default();
    let lines: Vec<&str> = rest.lines().skip(1).take(MAX_LINES).collect();
    let error = lines.iter().find_map(|line| ERROR.as_ref()?.captures(line));
    let arrow = || {
        let found = lines.iter().find_map(|line| ARROW.as_ref()?.captures(line))?;
        location(&found[1], &found[2])
    };
    let place = error
        .as_ref()
        .and_then(|error| location(error.get(2)?.as_str(), error.get(3)?.as_str()));
    let message = lines.join("\n");
    // Errors since version 1.15 are printed before this line.
    let is_missing = text.contains(" is not loaded and could not be found");
    parsed.anomaly = match file.ends_with("_test.exs") {
        _ if is_missing => Some(Anomaly::MissingModule),
        true => Some(Anomaly::NotCollected),
        false => None,
    };
    let name = error
        .as_ref()
        .map_or(file, |error| error.get(4).map_or(file, |said| said.as_str()));
    parsed.diagnose(name, place.or_else(arrow).or_else(|| location(file, "1")), &message);
}
