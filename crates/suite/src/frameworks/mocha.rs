//! Mocha: reads its JSON, from a report or from the middle of other output, else the text of its `spec` reporter.

use std::sync::LazyLock;

use greenlight_readers::javascript::{
    FRAME, MAX_DEPTH, SUM, blocks, compared, frame, not_loaded, notice_memory, passed_in_tree,
};
use greenlight_readers::lenient::{self, MaybeRead};
use greenlight_readers::{Anomaly, ParsedRun, Printed, documents};
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use super::javascript;
use crate::discover::javascript::Script;
use crate::framework::Ecosystem;
use crate::frameworks::spec::{Runtime, Spec};
use crate::text::{clean, pattern};

pub(super) const SPEC: Spec = Spec {
    name: "Mocha",
    ecosystem: Ecosystem::JavaScript,
    runtime: Some(Runtime::Node),
    installers: javascript::INSTALLERS,
    words: &["mocha"],
    is_check: |line| line.program() == "mocha",
    script: Some(&SCRIPT),
    reporter: javascript::reporter,
    filter: javascript::filter,
    parse,
    marks: &[" passing ("],
    ..Spec::NEW
};

const SCRIPT: Script = Script {
    starts: |line| matches!(line.program(), "mocha" | "_mocha" | "ts-mocha").then_some(line.end),
    words: &["mocha"],
    unwanted: &["--watch", "-w"],
    unwanted_with_value: &["-R", "--reporter"],
    options: |_| &["--reporter=json", "--reporter-options", "output={report}"],
    report: Some(javascript::JSON),
    filter: Some(|names| vec![format!("--grep={}", javascript::any_of(names))]),
    ..Script::NEW
};

/// Maximum number of runs in one output.
const MAX_RUNS: usize = 100;

static TITLE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^  (\d+)\) (.+)$"));

/// The output of the `json` reporter: <https://mochajs.org/reporters/json>.
#[derive(Deserialize)]
struct Results {
    stats: Stats,
    #[serde(default)]
    pending: Option<Vec<MaybeRead<MochaTest>>>,
    #[serde(default)]
    failures: Option<Vec<MaybeRead<MochaTest>>>,
    #[serde(default)]
    passes: Option<Vec<MaybeRead<MochaTest>>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Stats {
    #[serde(deserialize_with = "lenient::number")]
    passes: Option<u32>,
    #[serde(deserialize_with = "lenient::number")]
    pending: Option<u32>,
    #[serde(deserialize_with = "lenient::number")]
    failures: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MochaTest {
    #[serde(default, deserialize_with = "lenient::text")]
    full_title: String,
    #[serde(default)]
    err: Value,
}

fn parse(printed: &Printed<'_>) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    let mut all: Vec<(String, Results)> = documents(printed.reports, &mut parsed);
    if all.is_empty() {
        all.extend(in_text(printed.text).map(|results| ("the output".to_string(), results)));
    }
    read_results(&all, &mut parsed);
    if all.is_empty() || !parsed.unread.is_empty() {
        parsed.complete(read_text(printed.text));
    }
    let has_none = ["Error: No test files found", "Error: No test file(s) found"];
    if !parsed.ran() && has_none.iter().any(|mark| printed.text.contains(mark)) {
        parsed.anomaly = Some(Anomaly::NotFound);
    }
    notice_memory(printed.text, &mut parsed);
    parsed
}

/// Before version 9.2, the results follow the output of the tests.
fn in_text(text: &str) -> impl Iterator<Item = Results> {
    let starts = text.match_indices("{\n  \"stats\": {").take(MAX_RUNS);
    starts.filter_map(|(at, _)| serde_json::Deserializer::from_str(&text[at..]).into_iter().next()?.ok())
}

fn read_results(all: &[(String, Results)], parsed: &mut ParsedRun) {
    let (mut passed, mut failed, mut pending) = (0u32, 0u32, 0u32);
    for (report, results) in all {
        for test in tests(report, results.passes.as_deref(), parsed) {
            parsed.pass(&test.full_title);
        }
        for test in tests(report, results.pending.as_deref(), parsed) {
            parsed.skip_named(&test.full_title);
        }
        for test in tests(report, results.failures.as_deref(), parsed) {
            read_failure(test, parsed);
        }
        let stats = &results.stats;
        let Stats {
            passes: Some(passes),
            pending: Some(skipped),
            failures: Some(failures),
        } = stats
        else {
            parsed.miss(report, "the totals are incomplete");
            continue;
        };
        passed = passed.saturating_add(*passes);
        failed = failed.saturating_add(*failures);
        pending = pending.saturating_add(*skipped);
    }
    if all.is_empty() {
        return;
    }
    let (passed, failed) = (passed.max(parsed.passed), failed.max(parsed.failed));
    let pending = pending.max(parsed.skipped);
    parsed.reconcile_totals(passed, failed, pending);
    for (word, count) in [("passing", passed), ("failing", failed), ("pending", pending)] {
        if count > 0 || word == "passing" {
            parsed.tell(word, count);
        }
    }
}

/// The tests of a list. Those that cannot be read are noted, and so is a list that is missing.
fn tests<'r>(report: &str, list: Option<&'r [MaybeRead<MochaTest>]>, parsed: &mut ParsedRun) -> Vec<&'r MochaTest> {
    let mut tests = Vec::new();
    match list {
        None => parsed.miss(report, "a list of tests is missing"),
        Some(list) => {
            for entry in list {
                match entry {
                    MaybeRead::Read(test) => tests.push(test),
                    MaybeRead::Unread(_) => parsed.miss(report, "a test has an unknown form"),
                }
            }
        }
    }
    tests
}

fn read_failure(test: &MochaTest, parsed: &mut ParsedRun) {
    let text = |key: &str| match test.err.get(key) {
        Some(Value::String(text)) => Some(clean(text.as_bytes())),
        Some(Value::Null) | None => None,
        Some(other) => Some(other.to_string()),
    };
    let (message, stack) = (text("message").unwrap_or_default(), text("stack").unwrap_or_default());
    let shown = if stack.contains(&message) {
        stack.clone()
    } else {
        format!("{message}\n{stack}")
    };
    parsed.fail(&test.full_title, frame(&stack, &FRAME), &shown);
    let values = text("expected").zip(text("actual"));
    if let Some((expected, actual)) = values.or_else(|| compared(&message)) {
        parsed.compare(&expected, &actual);
    }
}

fn read_text(text: &str) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    if let Some(at) = text
        .find(" Exception during run: ")
        .or_else(|| text.find("Error: Cannot find module"))
    {
        let body = text[at..].trim();
        not_loaded("the tests could not be loaded", frame(body, &FRAME), body, &mut parsed);
        return parsed;
    }
    let summary = text
        .lines()
        .position(|line| line.trim_start().split_once(" passing (").is_some());
    let lines: Vec<&str> = text.lines().collect();
    let (tree, rest) = lines.split_at(summary.unwrap_or(lines.len()));
    passed_in_tree(&tree.join("\n"), " ", &mut parsed);
    let rest = rest.join("\n");
    let title = |line: &str| TITLE.as_ref()?.captures(line).map(|title| title[2].to_string());
    for (title, body) in blocks(&rest, title) {
        // A title may span several lines; the last ends in a colon.
        let mut names = vec![title.trim_end_matches(':').to_string()];
        let mut lines = body.lines();
        if !title.ends_with(':') {
            for line in lines.by_ref().take(MAX_DEPTH) {
                names.push(line.trim().trim_end_matches(':').to_string());
                if line.ends_with(':') {
                    break;
                }
            }
        }
        let body = lines.collect::<Vec<_>>().join("\n");
        parsed.fail(&names.join(" "), frame(&body, &FRAME), &body);
    }
    // A script may run Mocha several times.
    let sum = |word: &str| {
        let sums = rest.lines().filter(|line| line.starts_with("  ")).filter_map(|line| {
            let sum = SUM.as_ref()?.captures(line.trim())?;
            (&sum[2] == word && line.trim().starts_with(&sum[0])).then(|| sum[1].parse::<u32>().ok())?
        });
        sums.reduce(u32::saturating_add)
    };
    if let Some(passed) = sum("passing") {
        parsed.reconcile_totals(passed, sum("failing").unwrap_or(0), sum("pending").unwrap_or(0));
    }
    parsed
}
