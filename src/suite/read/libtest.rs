//! Reads `cargo test`: the text of Rust's own test harness, over several binaries and doc tests.
//!
//! The machine format of the harness is for nightly compilers only, so this reads the text. What a test prints is
//! captured by the harness and shown among the failures, where no result is looked for.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::{Reading, Trouble, location, rustc};
use crate::domain::test_run::Location;
use crate::suite::text::pattern;

/// More results than this are not read one by one; the sums still are.
const MAX_RESULTS: usize = 200_000;

static BINARY: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^\s+Running (?:unittests )?(\S+) \((?:.*/)?([^/]+?)(?:-[0-9a-f]{16})?(?:\.exe)?\)$"));
static DOC_TESTS: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^\s+Doc-tests (\S+)$"));
static RESULT: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^test (.+?) \.\.\. (ok|FAILED|ignored)(?:, .*| <[\d.]+s>)?$"));
static STARTED: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^test (.+?) \.\.\. "));
static SUMMARY: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored; "));
static FAILURE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^---- (.+) stdout ----$"));
static PANIC: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"panicked at (\S.*?):(\d+):\d+:?$"));
/// Before Rust 1.73 the message stood before the place.
static OLD_PANIC: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"panicked at (?:'|)(?s:(.*?))(?:'|), ([^\s,]+):(\d+):\d+$"));
static OVERFLOW: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^thread '(.+)' (?:\(\d+\) )?has overflowed its stack$"));
static DOC_LINE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(\S+ - ?.*?) ?\(line (\d+)\)$"));

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Passed,
    Failed,
    Ignored,
    Died,
}

/// One line `test … ... …`.
#[derive(Debug)]
struct Test {
    binary: usize,
    printed: String,
    name: String,
    /// Line of a doc test, which is part of its printed name but not of ours: a fix above it would rename it.
    line: Option<u32>,
    verdict: Verdict,
}

#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// What cargo and rustc say.
    Outside,
    /// Between `running N tests` and the end of the results.
    Results,
    /// Under `failures:`, where captured output is shown.
    Failures,
}

#[derive(Debug)]
struct Scan {
    place: Place,
    binaries: Vec<String>,
    tests: Vec<Test>,
    /// What is shown for a failed test, by binary and printed name.
    shown: HashMap<(usize, String), String>,
    current: Option<String>,
    /// Started, and without a result so far.
    pending: Option<String>,
    sums: (u32, u32, u32),
    compiler: rustc::Diagnostics,
    died: Option<String>,
}

pub(super) fn read(text: &str) -> Reading {
    let mut scan = Scan {
        place: Place::Outside,
        binaries: vec![String::new()],
        tests: Vec::new(),
        shown: HashMap::new(),
        current: None,
        pending: None,
        sums: (0, 0, 0),
        compiler: rustc::Diagnostics::default(),
        died: None,
    };
    for line in text.lines() {
        scan.line(line);
    }
    scan.pending_died();
    scan.into_reading(text)
}

impl Scan {
    fn line(&mut self, line: &str) {
        if let Some(label) = new_binary(line) {
            self.pending_died();
            self.begin(label);
            self.place = Place::Outside;
            return;
        }
        if let Some(sums) = SUMMARY.as_ref().and_then(|summary| summary.captures(line)) {
            let number = |index: usize| sums[index].parse::<u32>().unwrap_or(0);
            self.sums.0 = self.sums.0.saturating_add(number(1));
            self.sums.1 = self.sums.1.saturating_add(number(2));
            self.sums.2 = self.sums.2.saturating_add(number(3));
            (self.place, self.current, self.pending) = (Place::Outside, None, None);
            return;
        }
        match self.place {
            Place::Outside if is_start(line) => self.place = Place::Results,
            Place::Outside => self.outside(line),
            Place::Results if line == "failures:" => self.place = Place::Failures,
            Place::Results => self.result(line),
            Place::Failures => self.failure(line),
        }
    }

    /// Packages of a workspace may have binaries of one name; cargo runs them in a fixed order.
    fn begin(&mut self, label: String) {
        let same = self
            .binaries
            .iter()
            .filter(|other| other.split('#').next() == Some(label.as_str()))
            .count();
        self.binaries.push(if same == 0 {
            label
        } else {
            format!("{label}#{}", same + 1)
        });
    }

    fn outside(&mut self, line: &str) {
        self.compiler.line(line);
        if line.contains("process didn't exit successfully") && line.contains("(signal: ") {
            self.died.get_or_insert_with(|| line.trim().to_string());
        }
    }

    fn result(&mut self, line: &str) {
        if let Some(test) = RESULT.as_ref().and_then(|result| result.captures(line)) {
            self.push(&test[1], verdict(&test[2]));
            self.pending = None;
        } else if let Some(test) = STARTED.as_ref().and_then(|started| started.captures(line)) {
            self.pending = Some(test[1].to_string());
        } else if let Some(test) = OVERFLOW.as_ref().and_then(|overflow| overflow.captures(line)) {
            self.pending = Some(test[1].to_string());
            self.died = Some(line.to_string());
        } else if matches!(line, "ok" | "FAILED" | "ignored")
            && let Some(name) = self.pending.take()
        {
            self.push(&name, verdict(line));
        } else if line.starts_with("error: test failed") || line.starts_with("error: doctest failed") {
            self.place = Place::Outside;
        }
        if line.contains("process didn't exit successfully") {
            self.outside(line);
        }
    }

    fn failure(&mut self, line: &str) {
        if let Some(test) = FAILURE.as_ref().and_then(|failure| failure.captures(line)) {
            self.current = Some(test[1].to_string());
        } else if line == "failures:" {
            self.current = None;
        } else if let Some(name) = &self.current {
            let key = (self.binaries.len() - 1, strip_suffix(name).to_string());
            let shown = self.shown.entry(key).or_default();
            // Twice the limit, so that cutting can still keep both ends.
            if shown.len() < 2 * super::MAX_MESSAGE {
                shown.push_str(line);
                shown.push('\n');
            }
        }
    }

    fn push(&mut self, printed: &str, verdict: Verdict) {
        if self.tests.len() >= MAX_RESULTS {
            return;
        }
        let printed = strip_suffix(printed);
        let doc = DOC_LINE.as_ref().and_then(|doc| doc.captures(printed));
        let (name, line) = match &doc {
            Some(doc) => (doc[1].trim_end().to_string(), doc[2].parse().ok()),
            None => (printed.to_string(), None),
        };
        self.tests.push(Test {
            binary: self.binaries.len() - 1,
            printed: printed.to_string(),
            name,
            line,
            verdict,
        });
    }

    /// A test without a result was running when its process died.
    fn pending_died(&mut self) {
        if let Some(name) = self.pending.take() {
            self.push(&name, Verdict::Died);
        }
    }

    fn into_reading(mut self, text: &str) -> Reading {
        let mut reading = Reading::default();
        self.number_doc_tests();
        let ambiguous = self.ambiguous();
        for test in &self.tests {
            let name = if ambiguous.contains_key(test.name.as_str()) {
                format!("{} {}", self.binaries[test.binary], test.name)
            } else {
                test.name.clone()
            };
            match test.verdict {
                Verdict::Passed => reading.pass(&name),
                Verdict::Ignored => reading.skip(),
                Verdict::Failed => {
                    let shown = self.shown.get(&(test.binary, test.printed.clone()));
                    let (location, message) = explained(test, shown.map_or("", String::as_str));
                    reading.fail(&name, location, &message);
                }
                Verdict::Died => reading.crash(&name, self.died.as_deref().unwrap_or("the test process ended early")),
            }
        }
        let (passed, failed, skipped) = self.sums;
        reading.settle(
            passed.max(reading.passed),
            failed.max(reading.failed),
            skipped.max(reading.skipped),
        );
        if self.died.is_some() {
            reading.trouble = Some(Trouble::Crash);
        }
        self.compiler.finish(&mut reading, text);
        reading
    }

    /// Gives doc tests of one item numbers in the order of their lines: `src/lib.rs - add #2`.
    fn number_doc_tests(&mut self) {
        let mut order: Vec<usize> = (0..self.tests.len())
            .filter(|&i| self.tests[i].line.is_some())
            .collect();
        order.sort_by_key(|&i| (self.tests[i].binary, self.tests[i].line));
        let mut seen: HashMap<(usize, String), u32> = HashMap::new();
        for i in order {
            let test = &mut self.tests[i];
            let count = seen.entry((test.binary, test.name.clone())).or_default();
            *count += 1;
            if *count > 1 {
                test.name = format!("{} #{count}", test.name);
            }
        }
    }

    /// Names that more than one binary has.
    fn ambiguous(&self) -> HashMap<&str, usize> {
        let mut first: HashMap<&str, usize> = HashMap::new();
        let mut ambiguous = HashMap::new();
        for test in &self.tests {
            if *first.entry(&test.name).or_insert(test.binary) != test.binary {
                ambiguous.insert(test.name.as_str(), test.binary);
            }
        }
        ambiguous
    }
}

/// A name for the binary that is about to run: its source file tells `src/lib.rs` from `src/main.rs`, its own name
/// tells the packages of a workspace apart.
fn new_binary(line: &str) -> Option<String> {
    if let Some(doc) = DOC_TESTS.as_ref().and_then(|doc| doc.captures(line)) {
        return Some(format!("{}:doc", &doc[1]));
    }
    let binary = BINARY.as_ref()?.captures(line)?;
    Some(format!("{}:{}", &binary[2], &binary[1]))
}

fn is_start(line: &str) -> bool {
    line.strip_prefix("running ")
        .and_then(|rest| rest.strip_suffix(" tests").or_else(|| rest.strip_suffix(" test")))
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

fn verdict(word: &str) -> Verdict {
    match word {
        "ok" => Verdict::Passed,
        "FAILED" => Verdict::Failed,
        _ => Verdict::Ignored,
    }
}

/// What the harness adds to a name to say how it is run.
fn strip_suffix(name: &str) -> &str {
    [" - should panic", " - compile fail", " - compile"]
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix))
        .unwrap_or(name)
}

/// Where a test failed and why, from what the harness shows for it.
fn explained(test: &Test, shown: &str) -> (Option<Location>, String) {
    let mut lines = shown.lines();
    let mut place = None;
    let mut message = Vec::new();
    for line in lines.by_ref() {
        let panic = PANIC.as_ref().and_then(|panic| panic.captures(line));
        if let Some(panic) = panic {
            place = location(&panic[1], &panic[2]);
            break;
        }
        if let Some(panic) = OLD_PANIC.as_ref().and_then(|panic| panic.captures(line)) {
            place = location(&panic[2], &panic[3]);
            message.push(panic[1].to_string());
            break;
        }
    }
    if place.is_some() {
        let rest =
            lines.take_while(|line| !line.starts_with("note: run with") && !line.starts_with("stack backtrace:"));
        message.extend(rest.map(ToString::to_string));
    }
    if let Some(line) = test.line {
        // The code of a doc test runs from a file of its own, so its item is the place that helps.
        let path = test.name.split(" - ").next().unwrap_or_default().trim_end_matches(" -");
        place = Some(Location {
            path: path.to_string(),
            line,
        });
    }
    let message = message.join("\n");
    if message.trim().is_empty() {
        (place, shown.trim().to_string())
    } else {
        (place, message.trim_end().to_string())
    }
}
