//! Meson: reads the log that it always writes, one JSON document for each test. Its JUnit report is not read: there a
//! test that took too long looks like one that passed.

use std::sync::LazyLock;

use greenlight_readers::{Anomaly, ParsedRun, Printed, Report, lenient};
use regex::Regex;
use serde::Deserialize;

use super::ctest;
use crate::discover::directory::Directory;
use crate::discover::others;
use crate::framework::{Ecosystem, Framework};
use crate::frameworks::compiler;
use crate::frameworks::spec::Spec;
use crate::install;
use crate::reporters::Invocation;
use crate::test_command::TestCommand;
use crate::text::pattern;

pub(super) const SPEC: Spec = Spec {
    name: "Meson",
    ecosystem: Ecosystem::C,
    is_compiled: true,
    installers: install::plan::ALL,
    also_uses: &[Ecosystem::Python],
    looks_for: Some("Meson tests"),
    discover,
    configure: Some("meson setup .greenlight-build"),
    is_program: |line| line.program() == "meson" && line.has("test"),
    is_check: |line| line.program() == "meson" && line.subcommand() == "test",
    reporter,
    filter,
    parse,
    marks: &["\nFull log written to "],
    may_be: |text| text.contains("\nOk: "),
    runs_others: true,
    ..Spec::NEW
};

/// Builds in a separate directory, which greenlight never takes for part of a change.
const COMMAND: &str = "meson setup .greenlight-build && meson test -C .greenlight-build --print-errorlogs";

static HAS_TEST: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?m)^[ \t]*test[ \t]*\("));

fn discover(place: &Directory<'_>) -> Option<TestCommand> {
    let top = place.text("meson.build")?;
    let has_project = others::PROJECT.as_ref()?.is_match(&top);
    let mut all = place
        .files()
        .filter(|path| others::file_name(path) == "meson.build")
        .take(others::MAX_READ);
    let has_test = |path: &&str| {
        let text = place.text(path);
        text.is_some_and(|text| HAS_TEST.as_ref().is_some_and(|test| test.is_match(&text)))
    };
    let file = all.find(has_test).filter(|_| has_project)?;
    place.command(&["sh", "-c", COMMAND], Framework::Meson, file)
}

fn reporter(_: &TestCommand, mut invocation: Invocation) -> Invocation {
    invocation.reports.push("**/meson-logs/testlog*.json".into());
    invocation
}

/// `meson test adds`. Names are patterns, a colon ends the name of a project, and a quote could end a quoted script.
fn filter(command: &TestCommand, only: &[String]) -> Option<Vec<String>> {
    let is_plain = |name: &String| !name.starts_with('-') && !name.contains(['\'', '*', '?', '[', '\\', ':']);
    if !only.iter().all(is_plain) {
        return None;
    }
    let mut narrowed = command.argv.clone();
    if let [shell, flag, script] = narrowed.as_mut_slice()
        && shell == "sh"
        && flag == "-c"
    {
        // Only if it is the last command of the script, so that the names reach it.
        let last = script.rsplit("&&").next().unwrap_or(script).trim_start();
        if !last.starts_with("meson test") || last.contains(['|', ';', '>']) {
            return None;
        }
        for name in only {
            script.push_str(&format!(" '{name}'"));
        }
        return Some(narrowed);
    }
    narrowed.extend(only.iter().cloned());
    Some(narrowed)
}

/// One test in the log.
#[derive(Deserialize)]
struct LoggedTest {
    #[serde(default, deserialize_with = "lenient::text")]
    name: String,
    #[serde(default, deserialize_with = "lenient::text")]
    result: String,
    #[serde(default, deserialize_with = "lenient::text")]
    stdout: String,
    #[serde(default, deserialize_with = "lenient::text")]
    stderr: String,
}

/// `2/8 shop:basket / sums (a|b) 100% FAIL            0.04s   exit status 1`
static RESULT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"^ *\d+/\d+ (.+?) +(OK|FAIL|SKIP|TIMEOUT|ERROR|INTERRUPT|EXPECTEDFAIL|UNEXPECTEDPASS) +[\d.]+ ?s(?: +(\S.*))?$",
    )
});
static SUM: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(Ok|Expected Fail|Fail|Unexpected Pass|Skipped|Timeout): +(\d+) *$"));

fn parse(printed: &Printed<'_>) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    printed.reports.iter().for_each(|report| read_log(report, &mut parsed));
    if printed.reports.is_empty() || !parsed.unread.is_empty() {
        parsed.complete(read_text(printed.text));
    }
    sums(printed.text, &mut parsed);
    if !parsed.ran() {
        compiler::diagnostics(printed.text, &mut parsed);
    }
    if !parsed.ran() && parsed.diagnostics.is_empty() {
        stopped(printed.text, &mut parsed);
    }
    parsed
}

fn read_log(report: &Report, parsed: &mut ParsedRun) {
    let entries = serde_json::Deserializer::from_slice(&report.bytes).into_iter::<LoggedTest>();
    let mut count = 0u32;
    for entry in entries {
        match entry {
            Ok(entry) => {
                count += 1;
                let message = format!("{}\n{}\n{}", entry.result, entry.stderr.trim(), entry.stdout.trim());
                if !take(parsed, &entry.name, &entry.result, message.trim_end()) {
                    let why = format!("{} has the unknown result `{}`", entry.name, entry.result);
                    parsed.miss(&report.path, &why);
                }
            }
            Err(error) => {
                parsed.miss(&report.path, &error.to_string());
                return;
            }
        }
    }
    if count == 0 {
        parsed.miss(&report.path, "it has no tests");
    }
}

/// Records a result; false if it has an unknown form.
fn take(parsed: &mut ParsedRun, name: &str, result: &str, message: &str) -> bool {
    let name = named(name);
    match result {
        "OK" => parsed.pass(name),
        "SKIP" => parsed.skip_named(name),
        "EXPECTEDFAIL" => parsed.fail_as_expected(),
        "FAIL" | "ERROR" | "TIMEOUT" | "INTERRUPT" | "UNEXPECTEDPASS" => ctest::fail(parsed, name, message),
        _ => return false,
    }
    true
}

/// The name without its suites, which are only printed if there are several: `shop:basket / adds` is `adds`.
fn named(printed: &str) -> &str {
    printed.split_once(" / ").map_or(printed, |(_, name)| name)
}

fn read_text(text: &str) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    for line in text.lines() {
        if let Some(found) = RESULT.as_ref().and_then(|result| result.captures(line)) {
            let detail = found.get(3).map_or("", |detail| detail.as_str());
            take(&mut parsed, &found[1], &found[2], &format!("{} {detail}", &found[2]));
        }
    }
    parsed
}

/// The totals at the end.
fn sums(text: &str, parsed: &mut ParsedRun) {
    for found in text.lines().filter_map(|line| SUM.as_ref()?.captures(line)) {
        let count = found[2].parse().unwrap_or(0);
        if count > 0 || &found[1] == "Ok" {
            parsed.tell(&found[1], count);
        }
    }
}

/// Reads why no test ran.
fn stopped(text: &str, parsed: &mut ParsedRun) {
    for line in text.lines() {
        // `meson.build:3:0: ERROR: Dependency "foo" not found, tried pkgconfig and cmake`
        if let Some((place, message)) = line.split_once(": ERROR: ") {
            let is_missing = message.contains(" not found") || message.contains("Unknown compiler");
            if is_missing {
                parsed.anomaly = Some(Anomaly::Environment);
                return;
            }
            let mut parts = place.rsplitn(3, ':');
            let (_column, number, path) = (parts.next(), parts.next(), parts.next());
            let place = path
                .zip(number)
                .and_then(|(path, number)| greenlight_readers::location(path, number));
            parsed.diagnose(message, place, line);
        } else if line.contains("No tests defined.") || line.starts_with("No suitable tests defined.") {
            parsed.anomaly = Some(Anomaly::NotFound);
        }
    }
}
