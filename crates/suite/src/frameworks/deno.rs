//! `deno test`: reads its JUnit report if there is one, else its text.
//!
//! A test and each of its steps count as separate tests. A test that fails only because of its steps is not reported
//! again.

use std::collections::HashMap;
use std::sync::LazyLock;

use greenlight_readers::javascript::{BETWEEN, MAX_DEPTH, blocks, compared, joined, not_loaded, notice_memory};
use greenlight_readers::junit::{self, Case, CaseVerdict};
use greenlight_readers::test_run::{Location, TestRun};
use greenlight_readers::{Anomaly, ParsedRun, Printed, location};
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use super::javascript;
use crate::discover::directory::Directory;
use crate::discover::javascript::{Name, Script, TestFiles};
use crate::discover::words::needs_shell;
use crate::framework::{Ecosystem, Framework};
use crate::frameworks::spec::Spec;
use crate::test_command::TestCommand;
use crate::text::pattern;

pub(super) const SPEC: Spec = Spec {
    name: "deno test",
    ecosystem: Ecosystem::JavaScript,
    looks_for: Some("`deno.json`"),
    discover,
    is_program: |line| line.program() == "deno" && line.has("test"),
    is_check: |line| line.program() == "deno" && line.subcommand() == "test",
    script: Some(&SCRIPT),
    reporter: javascript::reporter,
    filter: javascript::filter,
    part: javascript::part,
    parse,
    marks: &[
        "\nok | ",
        "\nFAILED | ",
        "\nerror: Type checking failed.",
        "\nerror: No test modules found",
        "\nerror: JSR package manifest for ",
    ],
    ..Spec::NEW
};

const SCRIPT: Script = Script {
    searches_below: true,
    programs: &["deno"],
    starts: |line| (line.program() == "deno" && line.next() == Some("test")).then_some(line.at + 2),
    options: |_| &["--junit-path={report}"],
    report: Some(javascript::XML),
    env: &[("DENO_NO_UPDATE_CHECK", "1")],
    filter: Some(|names| vec![pattern_of(names)]),
    files: Some(TestFiles {
        option: None,
        prefix: "./",
        related: None,
    }),
    ..Script::NEW
};

/// `adds ... ok (661µs)`, `basket ... FAILED (due to 1 failed step) (14ms)`.
static RESULT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r"^( *)(\S.*?) \.\.\. (ok|FAILED|ignored)(?: \((due to \d+ failed steps?)\))?(?: \([\dhms.µn]+\))?$")
});
/// A test that is followed by its steps.
static PARENT: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^( *)(\S.*?) \.\.\.$"));
static FILE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^running \d+ tests? from (\S+)$"));
/// `ok | 6 passed (3 steps) | 0 failed | 1 ignored (568ms)`.
static SUM: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(\d+) (passed|failed|ignored|measured|filtered out)\b"));
/// `basket ... sums => ./shop_test.ts:17:11`.
static TITLE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(\S.*) => ((?:\./|ext:|file://)\S+?):(\d+):\d+$"));
static FRAME: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^\s+at (?:.* \()?file://([^()\s]+?):(\d+):\d+\)?$"));
/// `TS2322 [ERROR]: message`.
static ERROR: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(TS\d+) \[ERROR\]: (.+)$"));

/// The headings of the failures' messages, and of the list that repeats their names.
const ERRORS: &str = "\n ERRORS \n";
const FAILURES: &str = "\n FAILURES \n";

/// Errors for something missing outside of the project, most often because there is no network.
const ENVIRONMENT: [&str; 4] = [
    "JSR package manifest for ",
    "error: Import 'http",
    "error: Failed loading https://registry.npmjs.org",
    "error sending request for url",
];

#[derive(Deserialize, Default)]
struct Settings {
    #[serde(default)]
    tasks: HashMap<String, Value>,
}

/// The `test` task, which sets the tests' permissions, else all tests without any permission.
fn discover(directory: &Directory<'_>) -> Option<TestCommand> {
    let file = ["deno.json", "deno.jsonc"]
        .into_iter()
        .find(|file| directory.has(file))?;
    // A file with comments is not parsed.
    let settings: Settings = serde_json::from_str(&directory.text(file)?).unwrap_or_default();
    let task = settings.tasks.get("test");
    let line = task.and_then(|task| task.as_str().or_else(|| task.get("command")?.as_str()));
    let words = line.filter(|line| !needs_shell(line)).and_then(shlex::split);
    let words = words.filter(|words| words.starts_with(&["deno".into(), "test".into()]));
    match (line, words) {
        (_, Some(words)) => {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            directory.command(&words, Framework::Deno, file)
        }
        (Some(_), None) => directory.command(&["deno", "task", "test"], Framework::Deno, file),
        (None, None) => {
            directory.files().find(|path| is_test(path))?;
            directory.command(&["deno", "test"], Framework::Deno, file)
        }
    }
}

/// <https://docs.deno.com/runtime/fundamentals/testing/#running-tests>
fn is_test(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ends = [".ts", ".tsx", ".mts", ".js", ".mjs", ".jsx"];
    let stem = ends.iter().find_map(|end| name.strip_suffix(end));
    let is_foreign = path.split('/').any(|part| part == "node_modules");
    stem.is_some_and(|stem| stem == "test" || stem.ends_with(".test") || stem.ends_with("_test")) && !is_foreign
}

/// Steps cannot be selected, only the tests that contain them. Any prefix of a name may be the name of such a test.
fn pattern_of(names: &[Name<'_>]) -> String {
    let mut all: Vec<String> = Vec::new();
    for name in names {
        let parts = (1..=name.parts.len()).map(|end| name.parts[..end].join(BETWEEN));
        all.extend(parts.map(|part| javascript::escaped(&part)));
    }
    all.sort_unstable();
    all.dedup();
    format!("--filter=/^({})$/", all.join("|"))
}

fn parse(printed: &Printed<'_>) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    let cases: Vec<Case> = junit::read_all(printed.reports, &mut parsed);
    let files: HashMap<&str, &str> = cases
        .iter()
        .filter_map(|case| Some((case.name.as_str(), case.class.strip_prefix("./")?)))
        .collect();
    cases.iter().for_each(|case| read_case(case, &files, &mut parsed));
    // A report without a failure may be left over from another run, so failures in the text take precedence.
    if !parsed.unread.is_empty() {
        parsed.complete(read_text(printed.text));
    } else if !parsed.shows_a_failure() {
        let from_text = read_text(printed.text);
        if !parsed.ran() || from_text.failed > 0 {
            parsed = from_text;
        }
    }
    read_uncaught(printed.text, &mut parsed);
    read_errors(printed.text, &mut parsed);
    let says = |mark: &str| printed.text.contains(mark);
    if !parsed.ran() && parsed.diagnostics.is_empty() && says("error: No test modules found") {
        parsed.anomaly = Some(Anomaly::NotFound);
    } else if !parsed.ran() && ENVIRONMENT.iter().any(|mark| says(mark)) {
        parsed.anomaly = Some(Anomaly::Environment);
    }
    let sums = printed
        .text
        .lines()
        .rev()
        .find(|line| line.starts_with("ok | ") || line.starts_with("FAILED | "));
    if let Some((sums, pattern)) = sums.zip(SUM.as_ref()) {
        for sum in pattern.captures_iter(sums) {
            parsed.tell(&sum[2], sum[1].parse().unwrap_or(0));
        }
    }
    notice_memory(printed.text, &mut parsed);
    parsed
}

/// `files` maps the names of tests to their files. It is needed for `node:test`, whose steps Deno locates in its own
/// code.
fn read_case(case: &Case, files: &HashMap<&str, &str>, parsed: &mut ParsedRun) {
    let ends = case.name.match_indices(BETWEEN).take(MAX_DEPTH);
    let mut tests = ends.map(|(end, _)| &case.name[..end]);
    let own = case.class.strip_prefix("./");
    let file = own.or_else(|| tests.find_map(|test| files.get(test).copied()));
    let name = joined(file.into_iter().chain([case.name.as_str()]), BETWEEN);
    match case.verdict {
        CaseVerdict::Passed => parsed.pass(&name),
        CaseVerdict::Skipped => parsed.skip_named(&name),
        CaseVerdict::Failed | CaseVerdict::Error if is_of_steps(&case.message) => {}
        CaseVerdict::Failed | CaseVerdict::Error => {
            let text = case.complaint();
            let defined = own.zip(case.line).map(|(path, line)| Location {
                path: path.to_string(),
                line,
            });
            fail(&name, defined, text, parsed);
        }
    }
}

/// `2 test steps failed`
fn is_of_steps(message: &str) -> bool {
    message.ends_with(" test step failed") || message.ends_with(" test steps failed")
}

fn fail(name: &str, defined: Option<Location>, text: &str, parsed: &mut ParsedRun) {
    parsed.fail(name, frame(text).or(defined), text);
    if let Some((expected, actual)) = compared(text).or_else(|| strictly(text)) {
        parsed.compare(&expected, &actual);
    }
}

/// `-1 !== 3`, as `node:assert` prints short values.
fn strictly(text: &str) -> Option<(String, String)> {
    let line = text.lines().find(|line| line.contains(" !== "))?;
    let (actual, expected) = line.split_once(" !== ")?;
    let is_shown = text.contains("Expected values to be strictly equal");
    is_shown.then(|| (expected.trim().to_string(), actual.trim().to_string()))
}

/// Reads the results line by line, and the failures' messages below them.
fn read_text(text: &str) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    let (results, errors) = text.split_once(ERRORS).unwrap_or((text, ""));
    let errors = errors.split(FAILURES).next().unwrap_or(errors);
    let messages: HashMap<String, (Option<Location>, String)> = blocks(errors, |line| {
        TITLE
            .as_ref()
            .filter(|title| title.is_match(line))
            .map(|_| line.to_string())
    })
    .into_iter()
    .filter_map(|(title, body)| {
        let found = TITLE.as_ref()?.captures(&title)?;
        let file = found[2].strip_prefix("./");
        let defined = file.and_then(|file| location(file, &found[3]));
        Some((found[1].replace(" ... ", BETWEEN), (defined, body)))
    })
    .collect();
    let mut file: Option<String> = None;
    let mut parents: Vec<String> = Vec::new();
    for line in results.lines() {
        if let Some(found) = FILE.as_ref().and_then(|pattern| pattern.captures(line)) {
            file = Some(found[1].trim_start_matches("./").to_string());
            parents.clear();
        } else if let Some(found) = RESULT.as_ref().and_then(|pattern| pattern.captures(line)) {
            parents.truncate(found[1].len() / 2);
            let own = parents.iter().map(String::as_str).chain([&found[2]]);
            let own = joined(own, BETWEEN);
            let name = joined(file.as_deref().into_iter().chain([own.as_str()]), BETWEEN);
            match &found[3] {
                "ok" => parsed.pass(&name),
                "ignored" => parsed.skip_named(&name),
                _ if found.get(4).is_some() => {}
                _ => {
                    let (defined, message) = messages.get(&own).cloned().unwrap_or_default();
                    fail(&name, defined, &message, &mut parsed);
                }
            }
        } else if let Some(found) = PARENT.as_ref().and_then(|pattern| pattern.captures(line)) {
            parents.truncate(found[1].len() / 2);
            if parents.len() < MAX_DEPTH {
                parents.push(found[2].to_string());
            }
        }
    }
    parsed
}

/// Reads errors thrown while a file is loaded, or by code that no test awaits. No report has them.
fn read_uncaught(text: &str, parsed: &mut ParsedRun) {
    let Some((_, errors)) = text.split_once(ERRORS) else {
        return;
    };
    let errors = errors.split(FAILURES).next().unwrap_or(errors);
    let title = |line: &str| {
        let file = line
            .strip_suffix(" (uncaught error)")
            .map(|file| file.trim_start_matches("./").to_string());
        // A test's title ends the section of a file.
        file.or_else(|| {
            TITLE
                .as_ref()
                .filter(|title| title.is_match(line))
                .map(|_| String::new())
        })
    };
    for (file, body) in blocks(errors, title) {
        if !file.is_empty() {
            not_loaded(&file, frame(&body), &body, parsed);
        }
    }
}

/// Reads errors of the type checker, and of the steps before it.
fn read_errors(text: &str, parsed: &mut ParsedRun) {
    let (mut missing, mut all) = (0u32, 0u32);
    let found = |line: &str| {
        ERROR
            .as_ref()
            .filter(|pattern| pattern.is_match(line))
            .map(|_| line.to_string())
    };
    for (title, body) in blocks(text, found) {
        let Some((code, message)) = title.split_once(" [ERROR]: ") else {
            continue;
        };
        let end = body
            .find("\n\nerror: ")
            .or_else(|| body.find("\n\n"))
            .unwrap_or(body.len());
        let body = &body[..end];
        all = all.saturating_add(1);
        missing = missing.saturating_add(u32::from(matches!(code, "TS2307" | "TS2792")));
        if parsed.diagnostics.len() < TestRun::MAX_FAILURES {
            parsed.diagnose(code, frame(body), &format!("{message}\n{body}"));
        }
    }
    if all > 0 && missing == all {
        parsed.anomaly = Some(Anomaly::MissingModule);
    }
    let before = text
        .find("error: SyntaxError: ")
        .or_else(|| text.find("error: Module not found "));
    if let Some(start) = before.filter(|_| !parsed.ran() && all == 0) {
        let message = &text[start..];
        if message.starts_with("error: Module") {
            parsed.anomaly = Some(Anomaly::MissingModule);
        }
        parsed.diagnose("the tests could not be loaded", frame(message), message);
    }
}

/// The first frame in the project's own code.
fn frame(text: &str) -> Option<Location> {
    let mut frames = text.lines().filter_map(|line| {
        let frame = FRAME.as_ref()?.captures(line)?;
        location(&frame[1], &frame[2])
    });
    frames.find(|frame| !frame.path.contains("node_modules/"))
}
