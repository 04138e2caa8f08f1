//! Reads Maven: the reports of Surefire and Failsafe, the sums that they print, and what else stops a build.
//!
//! The sums are Surefire's own, over all modules and executions; a report has only the last execution of its class, but
//! the names and the whole of each failure.

use std::sync::LazyLock;

use regex::Regex;

use super::jvm::{self, Cases};
use super::{Printed, Reading, Trouble, location};
use crate::suite::text::pattern;

/// With the time per class, without it the sum of a module.
static SUM: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(?:\[\w+\] )?Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)(.*)$"));
/// `[ERROR] com.example.CalcTest.adds -- Time elapsed: 0.01 s <<< FAILURE!`, or before Surefire 2.13
/// `adds(com.example.CalcTest)  Time elapsed: …`.
static FAILED: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(?:\[ERROR\] )?\s*(\S.*?) +(?:--? )?Time elapsed: .* <<< (FAILURE|ERROR)!"));
/// What stopped the build, where it was not a test.
static GOAL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r"^\[ERROR\] Failed to execute goal (\S+?):(\S+?):\S+ (?:\([^)]*\) )?on project [^:]+: (.+)$")
});
/// `[FATAL] Non-parseable POM /x/pom.xml: … @ line 5, column 16`, or `[ERROR] … @ com.example:shop:1, /x/pom.xml, line 5`.
static POM: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^\[(?:ERROR|FATAL)\] (?:\[(?:ERROR|FATAL)\] )?(\S.*?) +@ .*?line (\d+)"));
static POM_FILE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(/\S+\.xml)\b"));

pub(super) fn read(printed: &Printed<'_>) -> Reading {
    let text = printed.text;
    let (mut reading, mut sums, mut told) = (Reading::default(), None::<Cases>, Vec::new());
    read_text(text, &mut sums, &mut told);
    let counted = jvm::read_reports(printed.reports, &mut reading, named);
    let whole = !text.contains(" bytes left out]\n");
    let counts = sums
        .filter(|sums| whole || sums.all() >= counted.all())
        .unwrap_or(counted);
    // Where a class ran twice, the report of the first time is gone.
    if counts.red() > counted.red() {
        let known: Vec<String> = reading.failures.iter().map(|failure| failure.name.clone()).collect();
        let unknown = told
            .iter()
            .filter(|(class, test, _)| !known.contains(&named(class, test)));
        for (class, test, lines) in unknown {
            jvm::fail(&mut reading, &named(class, test), class, &lines.join("\n"));
        }
    }
    // A test that passed when it was run again counts as passed; its first failure stands in the report, or beside it.
    if (counts.red() as usize) < reading.failures.len() {
        let (failures, passed) = (&mut reading.failures, &reading.passed_names);
        let is_said = counts.red() == 0 && text.contains("Flakes: ");
        failures.retain(|failure| !is_said && !passed.contains(&failure.name));
    }
    reading.settle(counts.passed, counts.red(), counts.skipped);
    if counts.all() > 0 {
        reading.tell("tests run", counts.all());
        reading.tell("failures", counts.failures);
        reading.tell("errors", counts.errors);
        reading.tell("skipped", counts.skipped);
    }
    jvm::compiler_errors(text, &mut reading);
    if let Some(death) = jvm::death(text) {
        reading.trouble = reading.trouble.or(Some(death));
        return reading;
    }
    if reading.diagnostics.is_empty() && reading.trouble.is_none() {
        stopped(text, &mut reading);
    }
    reading
}

/// `com.example.ShopTest#adds`, as Maven takes it back with `-Dtest`.
fn named(class: &str, test: &str) -> String {
    match (class, test) {
        (class, "") => class.to_string(),
        ("", test) => test.to_string(),
        (class, test) if class == test => class.to_string(),
        (class, test) => format!("{class}#{test}"),
    }
}

type Told<'a> = (String, String, Vec<&'a str>);

/// The sums of the modules, and the failing tests with class, name and what is printed of them.
fn read_text<'a>(text: &'a str, sums: &mut Option<Cases>, told: &mut Vec<Told<'a>>) {
    let mut is_open = false;
    for line in text.lines() {
        if let Some(sum) = SUM.as_ref().and_then(|sum| sum.captures(line)) {
            is_open = false;
            if !sum[5].contains("Time elapsed") {
                let number = |index: usize| sum[index].parse::<u32>().unwrap_or(0);
                let sums = sums.get_or_insert_default();
                let red = number(2).saturating_add(number(3)).saturating_add(number(4));
                sums.passed = sums.passed.saturating_add(number(1).saturating_sub(red));
                sums.failures = sums.failures.saturating_add(number(2));
                sums.errors = sums.errors.saturating_add(number(3));
                sums.skipped = sums.skipped.saturating_add(number(4));
            }
        } else if let Some(failed) = FAILED.as_ref().and_then(|failed| failed.captures(line)) {
            let (class, test) = split(&failed[1]);
            is_open = told.len() < 10_000;
            if is_open {
                told.push((class, test, Vec::new()));
            }
        } else if line.is_empty() || line.starts_with("[INFO]") {
            is_open = false;
        } else if is_open
            && let Some((_, _, lines)) = told.last_mut()
            && lines.len() < 100
        {
            lines.push(line);
        }
    }
}

/// Class and test of `com.example.ShopTest.adds(int)[1]` or `adds(com.example.ShopTest)`.
fn split(printed: &str) -> (String, String) {
    let bare = printed.find(['(', '[', '{', ' ']).unwrap_or(printed.len());
    match printed[..bare].rsplit_once('.') {
        Some((class, _)) => (class.to_string(), printed[class.len() + 1..].to_string()),
        None => match printed.strip_suffix(')').and_then(|rest| rest.rsplit_once('(')) {
            Some((test, class)) => (class.to_string(), test.to_string()),
            None => (printed.to_string(), String::new()),
        },
    }
}

/// What stopped a build that says nothing about any test.
fn stopped(text: &str, reading: &mut Reading) {
    if text.contains("No tests matching pattern") || text.contains("No tests were executed!") {
        reading.trouble = Some(Trouble::NotFound);
    } else if jvm::environment(text).is_some() {
        reading.trouble = Some(Trouble::Environment);
    } else {
        for line in text.lines().filter(|line| line.starts_with('[')) {
            if let Some(pom) = POM.as_ref().and_then(|pom| pom.captures(line)) {
                let file = POM_FILE.as_ref().and_then(|file| file.captures(line));
                let path = file
                    .as_ref()
                    .map_or("pom.xml", |file| file.get(1).map_or("", |path| path.as_str()));
                reading.diagnose(&pom[1], location(path, &pom[2]), line);
            } else if let Some(goal) = GOAL.as_ref().and_then(|goal| goal.captures(line))
                && !matches!(&goal[2], "maven-surefire-plugin" | "maven-failsafe-plugin")
            {
                reading.diagnose(&format!("{}:{}", &goal[1], &goal[2]), None, &goal[3]);
            }
        }
    }
}
