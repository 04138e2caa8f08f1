//! Reads Gradle: the reports of its test tasks, what it prints, and what else stops a build.

use std::sync::LazyLock;

use regex::Regex;

use super::{Printed, Reading, Trouble, jvm, location};
use crate::suite::text::pattern;

static SUM: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(\d+) tests? completed(?:, (\d+) failed)?(?:, (\d+) skipped)?"));
/// `com.example.ShopTest > adds() FAILED`, with as many levels as there are.
static RESULT: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(\S.*?) > (.+) (PASSED|FAILED|SKIPPED)(?: \([\d.]+m?s\))?$"));
/// `Build file '/x/build.gradle' line: 3`, and what went wrong there.
static BUILD_FILE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(?:Build|Settings) file '([^']+)' line: (\d+)$"));

pub(super) fn read(printed: &Printed<'_>) -> Reading {
    let text = printed.text;
    let mut reading = Reading::default();
    let counted = jvm::read_reports(printed.reports, &mut reading, named);
    if counted.all() == 0 {
        read_text(text, &mut reading);
    } else {
        reading.tell("tests", counted.all());
        reading.tell("failed", counted.red());
        reading.tell("skipped", counted.skipped);
    }
    jvm::compiler_errors(text, &mut reading);
    if let Some(death) = jvm::death(text) {
        reading.trouble = reading.trouble.or(Some(death));
    } else if reading.diagnostics.is_empty() && reading.trouble.is_none() && !reading.ran() {
        stopped(text, &mut reading);
    }
    reading
}

/// `com.example.ShopTest.adds`, as Gradle takes it back with `--tests`.
fn named(class: &str, test: &str) -> String {
    match (class, test.strip_suffix("()").unwrap_or(test)) {
        (class, "") => class.to_string(),
        ("", test) => test.to_string(),
        (class, test) => format!("{class}.{test}"),
    }
}

fn read_text(text: &str, reading: &mut Reading) {
    let mut open: Option<(String, String, Vec<&str>)> = None;
    let mut sums: Option<(u32, u32, u32)> = None;
    let close = |open: &mut Option<(String, String, Vec<&str>)>, reading: &mut Reading| {
        if let Some((class, name, lines)) = open.take() {
            jvm::fail(reading, &name, &class, &lines.join("\n"));
        }
    };
    for line in text.lines() {
        if let Some(result) = RESULT.as_ref().and_then(|result| result.captures(line)) {
            close(&mut open, reading);
            let name = named(&result[1], &result[2].replace(" > ", "."));
            match &result[3] {
                "PASSED" => reading.pass(&name),
                "SKIPPED" => reading.skip_named(&name),
                _ => open = Some((result[1].to_string(), name, Vec::new())),
            }
        } else if let Some(sum) = SUM.as_ref().and_then(|sum| sum.captures(line)) {
            close(&mut open, reading);
            let number = |index: usize| sum.get(index).and_then(|n| n.as_str().parse::<u32>().ok()).unwrap_or(0);
            let (all, red, skipped) = sums.unwrap_or_default();
            sums = Some((
                all.saturating_add(number(1)),
                red.saturating_add(number(2)),
                skipped.saturating_add(number(3)),
            ));
        } else if line.starts_with("> Task ") || line.starts_with("FAILURE: ") {
            close(&mut open, reading);
        } else if let Some((_, _, lines)) = &mut open
            && lines.len() < 100
        {
            lines.push(line.trim_start_matches("    "));
        }
    }
    close(&mut open, reading);
    if let Some((all, red, skipped)) = sums {
        reading.settle(all.saturating_sub(red).saturating_sub(skipped), red, skipped);
    }
}

/// What stopped a build that says nothing about any test.
fn stopped(text: &str, reading: &mut Reading) {
    if text.contains("No tests found for given includes") {
        reading.trouble = Some(Trouble::NotFound);
        return;
    }
    if jvm::environment(text).is_some() {
        reading.trouble = Some(Trouble::Environment);
        return;
    }
    let Some(wrong) = text.split_once("* What went wrong:\n").map(|(_, rest)| rest) else {
        return;
    };
    let wrong: Vec<&str> = wrong.lines().take_while(|line| !line.starts_with("* ")).collect();
    let place = text.lines().find_map(|line| {
        let file = BUILD_FILE.as_ref()?.captures(line)?;
        location(&file[1], &file[2])
    });
    reading.diagnose(wrong.first().unwrap_or(&"the build"), place, &wrong.join("\n"));
}
