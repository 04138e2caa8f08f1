//! Code shared by the readers of Maven and Gradle: test cases of reports, stack frames, and compiler errors.

use std::sync::LazyLock;

use regex::Regex;

use super::junit::{self, Case, CaseVerdict};
use super::{Anomaly, ParsedRun, Report, compared, location};
use crate::Location;
use crate::text::pattern;

/// Names of Kotlin's methods may have spaces.
static FRAME: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^\s*at (?:\S+/)?([\w.$]+)\.[^.()]+\((\w+\.(?:java|kt|groovy|scala)):(\d+)\)"));
/// `java.lang.AssertionError at CalcTest.java:11`, which is all that Gradle prints about a failure by default.
static SHORT: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^\s*[\w.$]+ at (\w+\.(?:java|kt|groovy|scala)):(\d+)$"));
/// Errors of javac, directly or through Gradle and Maven, and those of Kotlin. Gradle 4 prefixes the name of its
/// task.
static COMPILER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"^(?:\[ERROR\] |e: (?:file://)?|:[\w:.-]+)?(/?[^\s:\[\]]+\.(?:java|kt|kts|groovy|gradle|scala)):(?:\s*[\[(](\d+)(?:, ?\d+)?[\])]:?|(\d+)(?::\d+)?:?) (?:error: )?(.+)$",
    )
});
/// Lines below a diagnostic that belong to it.
static DETAIL: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(?:\[ERROR\] )?\s+(?:symbol|location|required|found|reason) *: "));

/// Packages that never belong to a project, although they appear above its own frames in a stack trace.
const FOREIGN: [&str; 16] = [
    "java.",
    "javax.",
    "jdk.",
    "sun.",
    "com.sun.",
    "kotlin.",
    "groovy.",
    "org.junit.",
    "junit.",
    "org.testng.",
    "org.opentest4j.",
    "org.hamcrest.",
    "org.assertj.",
    "org.mockito.",
    "com.google.common.truth.",
    "org.apache.maven.",
];

/// Messages of Maven and Gradle about something that the machine or the network lacks.
const UNAVAILABLE: [&str; 17] = [
    "Could not resolve dependencies",
    "could not be resolved",
    "Non-resolvable parent POM",
    "Non-resolvable import POM",
    "in offline mode and the artifact",
    "available for offline mode",
    "Could not resolve all ",
    "was not found in any of the following sources",
    "is not in the allowed range",
    "release version",
    "invalid target release",
    "invalid source release",
    "Unsupported class file major version",
    "Cannot find matching toolchain definitions",
    "Cannot find a Java installation",
    "has been compiled by a more recent version of the Java Runtime",
    "No compiler is provided in this environment",
];

/// The numbers of a report's cases by kind.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Cases {
    /// How many passed.
    pub passed: u32,
    /// How many failed on an assertion.
    pub failures: u32,
    /// How many ended with another exception.
    pub errors: u32,
    /// How many were skipped.
    pub skipped: u32,
}

impl Cases {
    /// How many failed in either way.
    pub fn red(self) -> u32 {
        self.failures.saturating_add(self.errors)
    }

    /// How many there are in total.
    pub fn all(self) -> u32 {
        self.passed.saturating_add(self.red()).saturating_add(self.skipped)
    }
}

/// Adds every case of every report to the parsed run, under the name that `named` builds from class and test.
pub fn read_reports(reports: &[Report], parsed: &mut ParsedRun, named: fn(&str, &str) -> String) -> Cases {
    let mut counted = Cases::default();
    for case in junit::read_all(reports, parsed) {
        let name = named(&case.class, &case.name);
        let count = match case.verdict {
            CaseVerdict::Passed => {
                parsed.pass(&name);
                &mut counted.passed
            }
            CaseVerdict::Skipped => {
                parsed.skip_named(&name);
                &mut counted.skipped
            }
            CaseVerdict::Failed => {
                fail(parsed, &name, &case.class, &message(&case));
                &mut counted.failures
            }
            CaseVerdict::Error => {
                fail(parsed, &name, &case.class, &message(&case));
                &mut counted.errors
            }
        };
        *count = count.saturating_add(1);
    }
    counted
}

fn message(case: &Case) -> String {
    let starts_alike = case
        .text
        .contains(case.message.lines().next().unwrap_or_default().trim());
    if case.message.is_empty() || (starts_alike && !case.text.is_empty()) {
        case.text.clone()
    } else {
        format!("{}\n{}", case.message, case.text)
    }
}

/// Records a failing test: its location, the compared values, and whether memory ran out.
pub fn fail(parsed: &mut ParsedRun, name: &str, class: &str, message: &str) {
    let lines: Vec<&str> = message.lines().collect();
    parsed.fail(name, place(class, &lines), message);
    if let Some((expected, actual)) = compared::java(message) {
        parsed.compare(&expected, &actual);
    }
    if lines
        .iter()
        .any(|line| line.trim_start().starts_with("java.lang.OutOfMemoryError"))
    {
        parsed.anomaly = Some(Anomaly::OutOfMemory);
    }
}

/// The frame in the test's own class, or else the first one in the project. A frame has no directory, so the package
/// replaces it.
fn place(class: &str, lines: &[&str]) -> Option<Location> {
    let frames = || {
        lines.iter().filter_map(|line| {
            let frame = FRAME.as_ref()?.captures(line)?;
            Some((frame.get(1)?.as_str(), frame.get(2)?.as_str(), frame.get(3)?.as_str()))
        })
    };
    let outer = class.split('$').next().unwrap_or(class);
    let is_own = |frame: &str| frame == outer || frame.strip_prefix(outer).is_some_and(|rest| rest.starts_with('$'));
    let is_of_the_project = |frame: &str| !FOREIGN.iter().any(|foreign| frame.starts_with(foreign));
    // Without a frame, the file is assumed to be in the test's package.
    let short = || {
        let short = lines.iter().find_map(|line| SHORT.as_ref()?.captures(line))?;
        Some((class, short.get(1)?.as_str(), short.get(2)?.as_str()))
    };
    let (found, file, line) = frames()
        .find(|(frame, ..)| is_own(frame))
        .or_else(|| frames().find(|(frame, ..)| is_of_the_project(frame)))
        .or_else(short)?;
    let package = found
        .rsplit_once('.')
        .map(|(package, _)| package.replace('.', "/") + "/");
    location(&format!("{}{file}", package.unwrap_or_default()), line)
}

/// Records compiler errors, and whether one reports a missing package.
pub fn compiler_errors(text: &str, parsed: &mut ParsedRun) {
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(error) = COMPILER.as_ref().and_then(|compiler| compiler.captures(line)) else {
            continue;
        };
        let said = error.get(4).map_or("", |said| said.as_str());
        let number = error
            .get(2)
            .or_else(|| error.get(3))
            .map_or("", |number| number.as_str());
        if said.starts_with("warning: ") || said.starts_with("note: ") {
            continue;
        }
        let mut whole = line.trim_start_matches("[ERROR] ").to_string();
        while let Some(more) = lines.next_if(|more| DETAIL.as_ref().is_some_and(|detail| detail.is_match(more))) {
            whole.push('\n');
            whole.push_str(more.trim_start_matches("[ERROR] "));
        }
        let is_missing = (said.starts_with("package ") && said.ends_with(" does not exist"))
            || said.starts_with("module not found: ");
        if is_missing {
            parsed.anomaly = Some(Anomaly::MissingModule);
        }
        parsed.diagnose(said, location(&error[1], number), &whole);
    }
}

/// The first line about something missing that no code change can provide.
pub fn environment(text: &str) -> Option<&str> {
    text.lines()
        .find(|line| UNAVAILABLE.iter().any(|mark| line.contains(mark)))
}

/// Whether the test process died, and how.
pub fn death(text: &str) -> Option<Anomaly> {
    const DIED: [&str; 4] = [
        "There was an error in the forked process",
        "The forked VM terminated without",
        "VM crash or System.exit called",
        "finished with non-zero exit value",
    ];
    let died = DIED.iter().any(|mark| text.contains(mark));
    let memory = [
        "java.lang.OutOfMemoryError",
        "Java heap space",
        "There is insufficient memory for the Java Runtime",
    ];
    if died && memory.iter().any(|mark| text.contains(mark)) {
        return Some(Anomaly::OutOfMemory);
    }
    if text.contains("There was a timeout in the fork") || text.contains("Timeout has been exceeded") {
        return Some(Anomaly::TimedOut);
    }
    died.then_some(Anomaly::Crash)
}
