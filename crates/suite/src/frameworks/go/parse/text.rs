//! Reads the plain text of `go test`. Without `-v`, it names only failures and does not say how many tests passed.

use std::sync::LazyLock;

use greenlight_readers::{MAX_MESSAGE, ParsedRun, compared};
use regex::Regex;

use super::{build, cause, is_death, place};
use crate::text::pattern;

static RESULT: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(\s*)--- (PASS|FAIL|SKIP): (\S+) \([\d.]+s\)$"));
static PACKAGE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(?:ok  |FAIL|---|\?   )\t(\S+)(?:\t| |$)"));

/// The output of a package before its result line.
#[derive(Default)]
struct Package {
    passed: Vec<String>,
    skipped: Vec<String>,
    /// Names and messages.
    failing: Vec<(String, String)>,
    death: String,
    has_ended: bool,
    /// Lines that belong to no test.
    other: String,
}

pub(super) fn read(text: &str) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    let mut open = Package::default();
    let mut lines_of_packages = 0u32;
    for line in text.lines() {
        if let Some(package) = PACKAGE.as_ref().and_then(|package| package.captures(line)) {
            lines_of_packages = lines_of_packages.saturating_add(1);
            std::mem::take(&mut open).close(&package[1], line, &mut parsed);
        } else {
            open.take(line);
        }
    }
    let is_all_there_is = lines_of_packages == 0;
    if is_all_there_is {
        build::read(&open.other, &mut parsed);
    }
    open.close("", "", &mut parsed);
    parsed
}

impl Package {
    fn take(&mut self, line: &str) {
        if let Some(result) = RESULT.as_ref().and_then(|result| result.captures(line)) {
            let name = result[3].to_string();
            match &result[2] {
                "PASS" => self.passed.push(name),
                "SKIP" => self.skipped.push(name),
                _ => self.failing.push((name, String::new())),
            }
            return;
        }
        self.has_ended |= matches!(line, "FAIL" | "PASS");
        let keep = |text: &mut String, max: usize| {
            if text.len() < max {
                text.push_str(line);
                text.push('\n');
            }
        };
        if !self.death.is_empty() || is_death(line) {
            keep(&mut self.death, 2 * MAX_MESSAGE);
        } else if let Some((_, message)) = self.failing.last_mut() {
            keep(message, 2 * MAX_MESSAGE);
        } else {
            keep(&mut self.other, super::MAX_BUILD);
        }
    }

    fn close(self, package: &str, line: &str, parsed: &mut ParsedRun) {
        let named = |name: &str| match package {
            "" => name.to_string(),
            package => format!("{package} {name}"),
        };
        if line.contains("[build failed]") || line.contains("[setup failed]") {
            build::read(&self.other, parsed);
        }
        for name in &self.passed {
            parsed.pass(&named(name));
        }
        for name in &self.skipped {
            parsed.skip_named(&named(name));
        }
        let died = !self.death.is_empty() && !self.has_ended && !line.starts_with("ok");
        for (name, message) in &self.failing {
            if !parsed.has_room() {
                parsed.fail(name, None, "");
                continue;
            }
            let message = if message.trim().is_empty() && died {
                &self.death
            } else {
                message
            };
            let is_empty = message.trim().is_empty();
            let message = if is_empty { "a subtest failed" } else { message };
            parsed.fail(&named(name), place(message, package), message);
            if let Some((expected, actual)) = compared::go(message) {
                parsed.compare(&expected, &actual);
            }
        }
        if died {
            parsed.anomaly = parsed.anomaly.or(Some(cause(&self.death)));
            if self.failing.is_empty() {
                let name = running(&self.death).unwrap_or(package);
                parsed.fail(&named(name), place(&self.death, package), &self.death);
            }
        }
        // A package that passed has at least one test; the number is unknown.
        let is_empty = line.contains("[no tests to run]") || line.contains("[no test files]");
        if line.starts_with("ok  ") && !is_empty && self.passed.is_empty() && self.skipped.is_empty() {
            parsed.passed = parsed.passed.saturating_add(1);
        }
    }
}

/// The test that was running last when the time was up.
fn running(death: &str) -> Option<&str> {
    let listed = death.split_once("running tests:\n")?.1;
    let last = listed.lines().take_while(|line| line.starts_with("\t\t")).last()?;
    last.split_whitespace().next()
}
