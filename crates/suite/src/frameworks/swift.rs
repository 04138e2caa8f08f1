//! `swift test`: reads the text of XCTest and of Swift Testing, which one command prints one after the other.
//!
//! Swift was not available, so this is written from both libraries' documentation and sources.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use greenlight_readers::test_run::Location;
use greenlight_readers::{Anomaly, ParsedRun, Printed, location};
use regex::Regex;

use crate::discover::directory::Directory;
use crate::framework::{Ecosystem, Framework};
use crate::frameworks::compiler;
use crate::frameworks::spec::Spec;
use crate::test_command::TestCommand;
use crate::text::pattern;

pub(super) const SPEC: Spec = Spec {
    name: "swift test",
    ecosystem: Ecosystem::Any,
    is_compiled: true,
    looks_for: Some("`Package.swift`"),
    modules: &["Package.swift"],
    discover,
    is_program: |line| line.program() == "swift" && line.has("test"),
    is_check: |line| line.program() == "swift" && line.subcommand() == "test",
    filter,
    parse: |printed: &Printed<'_>| read(printed.text),
    marks: &["\nTest Case '", " Test run started.\n"],
    ..Spec::NEW
};

fn discover(place: &Directory<'_>) -> Option<TestCommand> {
    place.has("Package.swift").then_some(())?;
    let is_test = |path: &&str| path.starts_with("Tests/") && path.ends_with(".swift");
    place.files().find(is_test)?;
    place.command(&["swift", "test"], Framework::Swift, "Package.swift")
}

/// `--filter (^|\.)ShopTests/testAdds$` for XCTest, `--filter /adds\(\)$` for a function of Swift Testing. Titles in
/// quotes cannot be selected.
fn filter(command: &TestCommand, only: &[String]) -> Option<Vec<String>> {
    let argv = &command.argv;
    let at = argv.iter().position(|word| word == "test")? + 1;
    let mut options = Vec::new();
    for name in only {
        let is_plain = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
        let pattern = match name.split_once('(') {
            Some((function, labels)) if is_plain(function) => {
                let labels = labels.strip_suffix(')')?;
                let is_label = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':');
                labels
                    .chars()
                    .all(is_label)
                    .then(|| format!(r"[./]{function}\({labels}\)$"))?
            }
            None => {
                let (class, test) = name.rsplit_once('.')?;
                (is_plain(test) && class.split('.').all(is_plain)).then(|| format!(r"(^|\.){class}/{test}$"))?
            }
            Some(_) => return None,
        };
        options.extend(["--filter".to_string(), pattern]);
    }
    let mut narrowed = argv.clone();
    narrowed.splice(at..at, options);
    Some(narrowed)
}

/// `Test Case 'ShopTests.testAdds' passed (0.001 seconds)`; with Objective-C `Test Case '-[Shop.ShopTests testAdds]' …`.
static XCTEST: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^Test Case '(?:-\[)?(.+?)\]?' (started|passed|failed|skipped)\b"));
/// `/src/Tests/ShopTests.swift:8: error: ShopTests.testAdds : XCTAssertEqual failed: ("-1") is not equal to ("3") - `
static XC_ERROR: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(\S.*?\.swift):(\d+): error: (?:-\[)?(.+?)\]? : (.+)$"));
static XC_COMPARED: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r#"failed: \("(.*)"\) is not equal to \("(.*)"\)"#));
/// `✘ Test adds() failed after 0.001 seconds with 1 issue.`, with any mark before it.
static TESTING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r#"^\S+ +Test (".+?"|\w+\(.*?\)) (?:with \d+ test cases? )?(started|passed|failed|skipped)\b(.*)$"#)
});
/// `✘ Test adds() recorded an issue at ShopTests.swift:9:5: Expectation failed: add(1, 2) == 3`
static ISSUE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r#"^\S+ +Test (".+?"|\w+\(.*?\)) recorded (?:an|a) (?:(?:known|warning) )?issue(?: with .*?)? at (\S+?):(\d+):\d+: (.+)$"#,
    )
});
/// `Expectation failed: (add(1, 2) → -1) == 3`
static COMPARED: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"Expectation failed: \(.* → (.+?)\) == (?:\(.* → (.+?)\)|(.+))$"));
/// `/src/Sources/Shop/Shop.swift:2:12: error: cannot find 'c' in scope`
static COMPILER: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(\S.*?\.swift):(\d+):\d+: error: (.+)$"));
/// Maximum number of lines kept of one failure, and of failures that are read in detail.
const MAX_LINES: usize = 100;
const MAX_OPEN: usize = 10_000;

/// What is known of a test that has not ended yet.
#[derive(Default)]
struct StartedTest {
    place: Option<Location>,
    lines: Vec<String>,
}

fn read(text: &str) -> ParsedRun {
    let mut reader = Tests::default();
    text.lines().for_each(|line| reader.line(line));
    let mut parsed = reader.parsed;
    let died = ["error: Exited with", "Fatal error: ", "unexpected signal code"];
    if died.iter().any(|mark| text.contains(mark)) && !reader.open.is_empty() {
        for name in reader.open.keys() {
            parsed.crash(name, "the process ended in this test");
        }
    } else {
        reader.open.keys().for_each(|name| parsed.begin(name));
    }
    if !parsed.ran() {
        stopped(text, &mut parsed);
    }
    parsed
}

#[derive(Default)]
struct Tests {
    parsed: ParsedRun,
    /// Tests of Swift Testing run side by side.
    open: BTreeMap<String, StartedTest>,
    /// The test whose output the following lines are.
    last: String,
}

impl Tests {
    fn line(&mut self, line: &str) {
        if let Some(found) = XC_ERROR.as_ref().and_then(|error| error.captures(line)) {
            let name = found[3].replace(' ', ".");
            self.note(&name, location(&found[1], &found[2]), &found[4]);
        } else if let Some(found) = ISSUE.as_ref().and_then(|issue| issue.captures(line)) {
            self.note(&found[1], location(&found[2], &found[3]), &found[4]);
        } else if let Some(found) = XCTEST.as_ref().and_then(|result| result.captures(line)) {
            // Objective-C puts a space between class and method.
            let name = found[1].replace(' ', ".");
            self.result(&name, &found[2]);
        } else if let Some(found) = TESTING.as_ref().and_then(|result| result.captures(line)) {
            // A single case of a test is counted with it.
            if !found[3].starts_with(" case") {
                self.result(&found[1], &found[2]);
            }
        } else if line.trim_start().starts_with('↳') {
            let last = std::mem::take(&mut self.last);
            self.note(&last, None, line);
            self.last = last;
        }
    }

    fn note(&mut self, name: &str, place: Option<Location>, line: &str) {
        self.last = name.to_string();
        if let Some(open) = self.open.get_mut(name) {
            open.place = open.place.take().or(place);
            if open.lines.len() < MAX_LINES {
                open.lines.push(line.to_string());
            }
        }
    }

    fn result(&mut self, name: &str, word: &str) {
        if word == "started" {
            if self.open.len() < MAX_OPEN {
                self.open.insert(name.to_string(), StartedTest::default());
            }
            return;
        }
        let open = self.open.remove(name).unwrap_or_default();
        match word {
            "passed" => self.parsed.pass(name),
            "skipped" => self.parsed.skip_named(name),
            _ => {
                let message = open.lines.join("\n");
                self.parsed.fail(name, open.place, &message);
                if let Some((expected, actual)) = compared(&message) {
                    self.parsed.compare(&expected, &actual);
                }
            }
        }
    }
}

fn compared(message: &str) -> Option<(String, String)> {
    let first = message.lines().next()?;
    if let Some(found) = XC_COMPARED.as_ref().and_then(|compared| compared.captures(first)) {
        return Some((found[2].to_string(), found[1].to_string()));
    }
    let found = COMPARED.as_ref()?.captures(first)?;
    let expected = found.get(2).or_else(|| found.get(3))?;
    Some((expected.as_str().to_string(), found[1].to_string()))
}

/// Reads why no test ran.
fn stopped(text: &str, parsed: &mut ParsedRun) {
    let says = |mark: &str| text.contains(mark);
    if says("error: no tests found") || says("No matching test cases were run") {
        parsed.anomaly = Some(Anomaly::NotFound);
        return;
    }
    if says("Failed to clone repository") || says("error: Dependencies could not be resolved") {
        parsed.anomaly = Some(Anomaly::Environment);
        return;
    }
    for line in text.lines() {
        if let Some(found) = COMPILER.as_ref().and_then(|error| error.captures(line)) {
            if found[3].starts_with("no such module ") {
                parsed.anomaly = Some(Anomaly::MissingModule);
            }
            parsed.diagnose(&found[3], location(&found[1], &found[2]), line);
        }
    }
    if parsed.diagnostics.is_empty() {
        compiler::diagnostics(text, parsed);
    }
}
