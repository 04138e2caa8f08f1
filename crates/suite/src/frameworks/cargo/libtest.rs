//! Reads the text output of `cargo test` with Rust's standard test harness, for several binaries and doc tests.
//!
//! Only nightly compilers have the machine-readable format of the harness, so this reads the text. The harness
//! captures what a test prints and shows it among the failures, where no results are searched for.

mod lines;
mod panic_message;

use std::collections::HashMap;
use std::sync::LazyLock;

use greenlight_readers::test_run::Location;
use greenlight_readers::{Anomaly, ParsedRun};
use lines::{is_start, new_binary, strip_suffix};
pub(in crate::frameworks) use panic_message::{panicked, sides};
use regex::Regex;

use crate::frameworks::rustc;
use crate::text::pattern;

/// Maximum number of results that are read one by one; the summary is always read.
const MAX_RESULTS: usize = 200_000;

static RESULT: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^test (.+?) \.\.\. (ok|FAILED|ignored)(?:, .*| <[\d.]+s>)?$"));
static STARTED: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^test (.+?) \.\.\. "));
static SUMMARY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored; (?:(\d+) measured; (\d+) filtered out)?")
});
/// The options with which cargo reruns a failed target.
static RERUN: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^error: (?:doc)?test failed, to rerun pass `([^`]+)`"));
static FAILURE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^---- (.+) stdout ----$"));
static OVERFLOW: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^thread '(.+)' (?:\(\d+\) )?has overflowed its stack$"));
static DOC_LINE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(\S+ - ?.*?) ?\(line (\d+)\)$"));

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TestOutcome {
    Passed,
    Failed,
    Ignored,
    Died,
}

/// One line `test … ... …`.
#[derive(Debug)]
struct TestLine {
    binary: usize,
    printed: String,
    name: String,
    /// Line of a doc test. Our names leave it out, so that a fix above it does not rename the test.
    line: Option<u32>,
    verdict: TestOutcome,
    /// Whether the harness printed a summary, which then counts instead of this line.
    is_summed: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Directory {
    /// Output of cargo and rustc.
    #[default]
    Outside,
    /// Between `running N tests` and the end of the results.
    Results,
    /// Under `failures:`, where captured output is shown.
    Failures,
}

/// The totals of all test harnesses.
#[derive(Debug, Default)]
struct Sums {
    passed: u32,
    failed: u32,
    ignored: u32,
    measured: u32,
    filtered_out: u32,
}

#[derive(Debug, Default)]
struct Scan {
    place: Directory,
    binaries: Vec<String>,
    /// How many binaries have the same label.
    labels: HashMap<String, usize>,
    tests: Vec<TestLine>,
    /// The output shown for a failed test, by binary and printed name.
    shown: HashMap<(usize, String), String>,
    current: Option<String>,
    /// A test that started and has no result so far.
    pending: Option<String>,
    sums: Sums,
    /// Index of the first test of the results that are being read.
    block: usize,
    /// The output of a binary with a custom harness, until it turns out to be the standard one.
    own: Option<String>,
    /// Binaries with a custom harness that did not fail.
    silent: Vec<String>,
    compiler: rustc::Diagnostics,
    died: Option<String>,
    /// Whether a binary announced tests and ended without any result. A test may have ended its process.
    is_cut: bool,
}

pub(super) fn parse(text: &str) -> ParsedRun {
    let mut scan = Scan {
        binaries: vec![String::new()],
        ..Scan::default()
    };
    for line in text.lines() {
        scan.line(line);
    }
    scan.end();
    scan.into_reading(text)
}

impl Scan {
    fn line(&mut self, line: &str) {
        if let Some(label) = new_binary(line) {
            self.end();
            self.own = (!label.ends_with(":doc")).then(String::new);
            self.begin(label);
            self.place = Directory::Outside;
            return;
        }
        if let Some(sums) = SUMMARY.as_ref().and_then(|summary| summary.captures(line)) {
            let number = |index: usize| {
                sums.get(index)
                    .and_then(|sum| sum.as_str().parse::<u32>().ok())
                    .unwrap_or(0)
            };
            self.finish_block([1, 2, 3, 4, 5].map(number));
            (self.place, self.current, self.pending) = (Directory::Outside, None, None);
            return;
        }
        match self.place {
            Directory::Outside if is_start(line) => {
                (self.place, self.block, self.own) = (Directory::Results, self.tests.len(), None);
            }
            Directory::Outside => self.outside(line),
            Directory::Results if line == "failures:" => self.place = Directory::Failures,
            Directory::Results => self.result(line),
            Directory::Failures => self.failure(line),
        }
    }

    /// Packages of a workspace may have binaries with the same name; cargo runs them in a fixed order.
    fn begin(&mut self, label: String) {
        let same = self.labels.entry(label.clone()).or_default();
        *same += 1;
        self.binaries
            .push(if *same == 1 { label } else { format!("{label}#{same}") });
    }

    /// Prefers the harness's summary to the lines that were counted. Harnesses inside of tests, such as trybuild's,
    /// print results for files in the same format, which the summary does not count.
    fn finish_block(&mut self, [passed, failed, ignored, measured, filtered_out]: [u32; 5]) {
        let counted = self.tests.len() - self.block.min(self.tests.len());
        if counted as u64 > u64::from(passed) + u64::from(failed) + u64::from(ignored) {
            // Only tests of the block are examined: there may be many blocks.
            let block = self.tests.split_off(self.block.min(self.tests.len()));
            let is_own = |test: &TestLine| test.line.is_some() || !test.printed.contains(".rs");
            self.tests.extend(block.into_iter().filter(is_own));
        }
        for test in self.tests.iter_mut().skip(self.block) {
            test.is_summed = true;
        }
        let sums = &mut self.sums;
        sums.passed = sums.passed.saturating_add(passed);
        sums.failed = sums.failed.saturating_add(failed);
        sums.ignored = sums.ignored.saturating_add(ignored);
        sums.measured = sums.measured.saturating_add(measured);
        sums.filtered_out = sums.filtered_out.saturating_add(filtered_out);
        self.block = self.tests.len();
    }

    /// Ends a binary.
    fn end(&mut self) {
        self.pending_died();
        self.is_cut |= self.place == Directory::Results && self.block == self.tests.len();
        if self.own.take().is_some()
            && let Some(label) = self.binaries.last()
        {
            self.silent.push(label.clone());
        }
    }

    fn outside(&mut self, line: &str) {
        if let Some(rerun) = RERUN.as_ref().and_then(|rerun| rerun.captures(line)) {
            // A target that reports no tests is named only by cargo's options for rerunning it.
            if let Some(printed) = self.own.take() {
                self.shown
                    .insert((self.binaries.len() - 1, rerun[1].to_string()), printed);
                self.push(&rerun[1], TestOutcome::Failed);
            }
        } else if let Some(own) = self
            .own
            .as_mut()
            .filter(|own| own.len() < 2 * greenlight_readers::MAX_MESSAGE)
        {
            own.push_str(line);
            own.push('\n');
        }
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
            self.place = Directory::Outside;
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
            // Twice the limit, so that truncation can still keep both ends.
            if shown.len() < 2 * greenlight_readers::MAX_MESSAGE {
                shown.push_str(line);
                shown.push('\n');
            }
        }
    }

    fn push(&mut self, printed: &str, verdict: TestOutcome) {
        if self.tests.len() >= MAX_RESULTS {
            return;
        }
        let printed = strip_suffix(printed);
        let doc = DOC_LINE.as_ref().and_then(|doc| doc.captures(printed));
        let (name, line) = match &doc {
            Some(doc) => (doc[1].trim_end().to_string(), doc[2].parse().ok()),
            None => (printed.to_string(), None),
        };
        self.tests.push(TestLine {
            binary: self.binaries.len() - 1,
            printed: printed.to_string(),
            name,
            line,
            verdict,
            is_summed: false,
        });
    }

    /// A test without a result was running when its process died.
    fn pending_died(&mut self) {
        if let Some(name) = self.pending.take() {
            self.push(&name, TestOutcome::Died);
        }
    }

    fn into_reading(mut self, text: &str) -> ParsedRun {
        let mut parsed = ParsedRun::default();
        self.number_doc_tests();
        let ambiguous = self.ambiguous();
        for test in &self.tests {
            let name = if ambiguous.contains_key(test.name.as_str()) {
                format!("{} {}", self.binaries[test.binary], test.name)
            } else {
                test.name.clone()
            };
            match test.verdict {
                TestOutcome::Passed => parsed.pass(&name),
                TestOutcome::Ignored => parsed.skip_named(&name),
                TestOutcome::Failed if !parsed.has_room() => parsed.fail(&name, None, ""),
                TestOutcome::Failed => {
                    let shown = self.shown.get(&(test.binary, test.printed.clone()));
                    let (location, message) = explained(test, shown.map_or("", String::as_str));
                    parsed.fail(&name, location, &message);
                    if let Some((expected, actual)) = sides(&message) {
                        parsed.compare(expected, actual);
                    }
                }
                TestOutcome::Died => {
                    parsed.crash(&name, self.died.as_deref().unwrap_or("the test process ended early"));
                }
            }
        }
        self.settle(&mut parsed);
        // With other results, it may be a harness that prints its own in another way.
        if self.died.is_some() || self.is_cut && !parsed.ran() {
            parsed.anomaly = Some(Anomaly::Crash);
        }
        self.compiler.finish(&mut parsed, text);
        parsed
    }

    fn settle(&self, parsed: &mut ParsedRun) {
        let sums = &self.sums;
        let unsummed = |verdicts: &[TestOutcome]| {
            let tests = self
                .tests
                .iter()
                .filter(|test| !test.is_summed && verdicts.contains(&test.verdict));
            u32::try_from(tests.count()).unwrap_or(u32::MAX)
        };
        parsed.reconcile_totals(
            sums.passed.saturating_add(unsummed(&[TestOutcome::Passed])),
            sums.failed
                .saturating_add(unsummed(&[TestOutcome::Failed, TestOutcome::Died]))
                .max(parsed.failed),
            sums.ignored.saturating_add(unsummed(&[TestOutcome::Ignored])),
        );
        let counts = [
            ("passed", sums.passed),
            ("failed", sums.failed),
            ("ignored", sums.ignored),
            ("measured", sums.measured),
            ("filtered out", sums.filtered_out),
        ];
        for (word, sum) in counts.into_iter().filter(|(_, sum)| *sum > 0) {
            parsed.tell(word, sum);
        }
        if !parsed.ran() && self.died.is_none() && !self.is_cut {
            // Without any test, each target that ends well counts as a passed test.
            for label in &self.silent {
                parsed.pass(label);
            }
        }
    }

    /// Numbers the doc tests of one item in the order of their lines: `src/lib.rs - add #2`.
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

    /// Names that more than one binary uses.
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

fn verdict(word: &str) -> TestOutcome {
    match word {
        "ok" => TestOutcome::Passed,
        "FAILED" => TestOutcome::Failed,
        _ => TestOutcome::Ignored,
    }
}

/// The location and message of a failed test, from the output that the harness shows for it.
fn explained(test: &TestLine, shown: &str) -> (Option<Location>, String) {
    let (mut place, message) = panicked(shown);
    if let Some(line) = test.line {
        // The code of a doc test runs from a generated file, so its item is the more useful location.
        let path = test.name.split(" - ").next().unwrap_or_default().trim_end_matches(" -");
        place = Some(Location {
            path: path.to_string(),
            line,
        });
    }
    (place, message)
}
