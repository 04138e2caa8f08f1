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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::read::Report;

    /// Written after Gradle's documentation, not recorded.
    fn read_as(text: &str, reports: &[&str]) -> Reading {
        let reports: Vec<Report> = reports
            .iter()
            .map(|report| Report {
                path: "build/test-results/test/TEST-x.xml".into(),
                bytes: report.as_bytes().to_vec(),
            })
            .collect();
        read(&Printed {
            text,
            reports: &reports,
        })
    }

    #[test]
    fn text_tells_failures_and_sums() {
        let reading = read_as(
            "> Task :test FAILED\n\ncom.example.ShopTest > adds() FAILED\n    org.opentest4j.AssertionFailedError: \
             expected: <3> but was: <-1>\n        at app//com.example.ShopTest.adds(ShopTest.java:7)\n\n\
             com.example.ShopTest > Inner > later() SKIPPED\n\n5 tests completed, 1 failed, 1 skipped\n",
            &[],
        );
        assert_eq!((reading.passed, reading.failed, reading.skipped), (3, 1, 1));
        let failure = &reading.failures[0];
        assert_eq!(failure.name, "com.example.ShopTest.adds");
        assert_eq!(failure.expected.as_deref(), Some("3"));
        assert_eq!(failure.location, location("com/example/ShopTest.java", "7"));
    }

    #[test]
    fn reports_are_believed_more() {
        let report = r#"<testsuite name="com.example.ShopTest"><testcase name="adds()" classname="com.example.ShopTest"/>
            <testcase name="table(int)[1]" classname="com.example.ShopTest"><failure message="m">m
	at com.example.ShopTest.table(ShopTest.java:9)</failure></testcase></testsuite>"#;
        let reading = read_as("2 tests completed, 1 failed\n", &[report]);
        assert_eq!(reading.passed_names, ["com.example.ShopTest.adds"]);
        assert_eq!(reading.failures[0].name, "com.example.ShopTest.table(int)[1]");
        assert_eq!(reading.tally["tests"], 2);
    }

    #[test]
    fn a_build_that_stops_says_why() {
        let compiler = read_as(
            "/x/src/main/java/com/example/Shop.java:5: error: cannot find symbol\n        return a + c;\n  symbol: \
             variable c\n\nFAILURE: Build failed with an exception.\n",
            &[],
        );
        assert_eq!(compiler.diagnostics[0].name, "cannot find symbol");
        let script = read_as(
            "FAILURE: Build failed with an exception.\n\n* Where:\nBuild file '/x/build.gradle' line: 3\n\n* What went \
             wrong:\nCould not find method nope() for arguments [1].\n\n* Try:\n> Run with --info\n",
            &[],
        );
        assert_eq!(script.diagnostics[0].location, location("/x/build.gradle", "3"));
        let offline = read_as("> No cached version of com.x:y:1 available for offline mode.\n", &[]);
        assert_eq!(offline.trouble, Some(Trouble::Environment));
        let gone = read_as("> No tests found for given includes: [a.B](--tests filter)\n", &[]);
        assert_eq!(gone.trouble, Some(Trouble::NotFound));
    }
}
