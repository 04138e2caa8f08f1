//! Gradle: reads the reports of its test tasks, its output, and other reasons why a build stops.

use std::sync::LazyLock;

use greenlight_anchor::RepoPath;
use greenlight_readers::{Anomaly, ParsedRun, Printed, jvm, location};
use greenlight_tree::checkout::Checkout;
use regex::Regex;

use crate::discover::directory::Directory;
use crate::discover::step::tool;
use crate::framework::{Ecosystem, Framework};
use crate::frameworks::spec::Spec;
use crate::reporters::Invocation;
use crate::test_command::TestCommand;
use crate::text::pattern;
use crate::{discover, filter, reporters};

pub(super) const SPEC: Spec = Spec {
    name: "Gradle",
    ecosystem: Ecosystem::Java,
    is_compiled: true,
    installers: &["gradle"],
    looks_for: Some("`build.gradle`"),
    modules: &["build.gradle", "build.gradle.kts"],
    discover,
    is_program: |line| matches!(line.program(), "gradle" | "gradlew"),
    is_check: |line| {
        let is_task = |word: &&str| tool::is_task(word) || *word == "build";
        matches!(line.program(), "gradle" | "gradlew") && line.0.iter().skip(1).any(is_task)
    },
    reporter,
    filter,
    part,
    parse,
    marks: &["\nBUILD FAILED in ", "\nBUILD SUCCESSFUL in ", "\n> Task :"],
    may_be: |text| text.contains(" FAILED") || text.contains(" PASSED") || text.contains("BUILD "),
    ..Spec::NEW
};

const MANIFESTS: [&str; 4] = [
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
];

fn discover(place: &Directory<'_>) -> Option<TestCommand> {
    // A project that has both is built with Maven.
    if place.has("pom.xml") && !discover::jvm::is_part(place, "pom.xml") {
        return None;
    }
    let file = MANIFESTS.into_iter().find(|name| place.has(name))?;
    let is_part = MANIFESTS.iter().any(|name| discover::jvm::is_part(place, name));
    let gradle = if place.has("gradlew") { "./gradlew" } else { "gradle" };
    if is_part || discover::jvm::is_left_out(place) {
        None
    } else {
        place.command(&[gradle, "test"], Framework::Gradle, file)
    }
}

fn reporter(_: &TestCommand, mut invocation: Invocation) -> Invocation {
    reporters::jvm::without_wrapper(&mut invocation, "gradlew", "gradle");
    for option in [
        "--continue",
        "--no-build-cache",
        "--console=plain",
        "--no-daemon",
        "--offline",
    ] {
        invocation.after("gradle", option);
    }
    invocation.reports.push("**/test-results/**/TEST-*.xml".into());
    invocation
}

/// The test tasks of the modules that contain the files.
fn part(checkout: &Checkout, command: &TestCommand, near: &[RepoPath]) -> Option<Vec<String>> {
    let modules = filter::jvm::modules(checkout, command, near)?;
    let mut argv = command.argv.clone();
    let at = argv.iter().position(|word| word == "test")?;
    let tasks = modules
        .into_iter()
        .map(|module| format!(":{}:test", module.replace('/', ":")));
    argv.splice(at..=at, tasks);
    Some(argv)
}

/// `--tests com.example.ATest.one` after the task that it applies to.
fn filter(command: &TestCommand, only: &[String]) -> Option<Vec<String>> {
    let argv = &command.argv;
    let is_task = |word: &String| word == "test" || word.ends_with(":test");
    let at = argv.iter().position(is_task)? + 1;
    let mut options = Vec::new();
    for name in only {
        let bare = name.find(['(', '[', '{', ' ']).unwrap_or(name.len());
        let class = filter::jvm::class_name(&name[..bare])?;
        options.push("--tests".to_string());
        options.push(if bare < name.len() {
            format!("{class}*")
        } else {
            class.to_string()
        });
    }
    let mut narrowed = argv.clone();
    narrowed.splice(at..at, options);
    Some(narrowed)
}

static SUM: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(\d+) tests? completed(?:, (\d+) failed)?(?:, (\d+) skipped)?"));
/// `com.example.ShopTest > adds() FAILED`, with any number of levels.
static RESULT: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(\S.*?) > (.+) (PASSED|FAILED|SKIPPED)(?: \([\d.]+m?s\))?$"));
/// `Build file '/x/build.gradle' line: 3`; the error follows.
static BUILD_FILE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(?:Build|Settings) file '([^']+)' line: (\d+)$"));

fn parse(printed: &Printed<'_>) -> ParsedRun {
    let text = printed.text;
    let mut parsed = ParsedRun::default();
    let counted = jvm::read_reports(printed.reports, &mut parsed, named);
    if counted.all() == 0 || !parsed.unread.is_empty() {
        let mut from_text = ParsedRun::default();
        read_text(text, &mut from_text);
        parsed.complete(from_text);
    }
    if counted.all() > 0 {
        parsed.tell("tests", counted.all());
        parsed.tell("failed", counted.red());
        parsed.tell("skipped", counted.skipped);
    }
    jvm::compiler_errors(text, &mut parsed);
    if let Some(death) = jvm::death(text) {
        parsed.anomaly = parsed.anomaly.or(Some(death));
    } else if parsed.diagnostics.is_empty() && parsed.anomaly.is_none() && !parsed.ran() {
        stopped(text, &mut parsed);
    }
    parsed
}

/// `com.example.ShopTest.adds`, in the form that Gradle's `--tests` accepts.
fn named(class: &str, test: &str) -> String {
    match (class, test.strip_suffix("()").unwrap_or(test)) {
        (class, "") => class.to_string(),
        ("", test) => test.to_string(),
        (class, test) => format!("{class}.{test}"),
    }
}

fn read_text(text: &str, parsed: &mut ParsedRun) {
    let mut open: Option<(String, String, Vec<&str>)> = None;
    let mut sums: Option<(u32, u32, u32)> = None;
    let close = |open: &mut Option<(String, String, Vec<&str>)>, parsed: &mut ParsedRun| {
        if let Some((class, name, lines)) = open.take() {
            jvm::fail(parsed, &name, &class, &lines.join("\n"));
        }
    };
    for line in text.lines() {
        if let Some(result) = RESULT.as_ref().and_then(|result| result.captures(line)) {
            close(&mut open, parsed);
            let name = named(&result[1], &result[2].replace(" > ", "."));
            match &result[3] {
                "PASSED" => parsed.pass(&name),
                "SKIPPED" => parsed.skip_named(&name),
                _ => open = Some((result[1].to_string(), name, Vec::new())),
            }
        } else if let Some(sum) = SUM.as_ref().and_then(|sum| sum.captures(line)) {
            close(&mut open, parsed);
            let number = |index: usize| sum.get(index).and_then(|n| n.as_str().parse::<u32>().ok()).unwrap_or(0);
            let (all, red, skipped) = sums.unwrap_or_default();
            sums = Some((
                all.saturating_add(number(1)),
                red.saturating_add(number(2)),
                skipped.saturating_add(number(3)),
            ));
        } else if line.starts_with("> Task ") || line.starts_with("FAILURE: ") {
            close(&mut open, parsed);
        } else if let Some((_, _, lines)) = &mut open
            && lines.len() < 100
        {
            lines.push(line.trim_start_matches("    "));
        }
    }
    close(&mut open, parsed);
    if let Some((all, red, skipped)) = sums {
        parsed.reconcile_totals(all.saturating_sub(red).saturating_sub(skipped), red, skipped);
    }
}

/// Reads why a build stopped that reports no test.
fn stopped(text: &str, parsed: &mut ParsedRun) {
    if text.contains("No tests found for given includes") {
        parsed.anomaly = Some(Anomaly::NotFound);
        return;
    }
    if jvm::environment(text).is_some() {
        parsed.anomaly = Some(Anomaly::Environment);
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
    parsed.diagnose(wrong.first().unwrap_or(&"the build"), place, &wrong.join("\n"));
}

#[cfg(test)]
mod tests {
    use greenlight_readers::Report;

    use super::*;

    /// Written from Gradle's documentation, not recorded.
    fn read_as(text: &str, reports: &[&str]) -> ParsedRun {
        let reports: Vec<Report> = reports
            .iter()
            .map(|report| Report {
                path: "build/test-results/test/TEST-x.xml".into(),
                bytes: report.as_bytes().to_vec(),
            })
            .collect();
        parse(&Printed {
            text,
            reports: &reports,
        })
    }

    #[test]
    fn text_tells_failures_and_sums() {
        let parsed = read_as(
            "> Task :test FAILED\n\ncom.example.ShopTest > adds() FAILED\n    org.opentest4j.AssertionFailedError: \
             expected: <3> but was: <-1>\n        at app//com.example.ShopTest.adds(ShopTest.java:7)\n\n\
             com.example.ShopTest > Inner > later() SKIPPED\n\n5 tests completed, 1 failed, 1 skipped\n",
            &[],
        );
        assert_eq!((parsed.passed, parsed.failed, parsed.skipped), (3, 1, 1));
        let failure = &parsed.failures[0];
        assert_eq!(failure.name, "com.example.ShopTest.adds");
        assert_eq!(failure.expected.as_deref(), Some("3"));
        assert_eq!(failure.location, location("com/example/ShopTest.java", "7"));
    }

    #[test]
    fn reports_are_believed_more() {
        let report = r#"<testsuite name="com.example.ShopTest"><testcase name="adds()" classname="com.example.ShopTest"/>
            <testcase name="table(int)[1]" classname="com.example.ShopTest"><failure message="m">m
	at com.example.ShopTest.table(ShopTest.java:9)</failure></testcase></testsuite>"#;
        let parsed = read_as("2 tests completed, 1 failed\n", &[report]);
        assert_eq!(parsed.passed_names, ["com.example.ShopTest.adds"]);
        assert_eq!(parsed.failures[0].name, "com.example.ShopTest.table(int)[1]");
        assert_eq!(parsed.summary_counts["tests"], 2);
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
        assert_eq!(offline.anomaly, Some(Anomaly::Environment));
        let gone = read_as("> No tests found for given includes: [a.B](--tests filter)\n", &[]);
        assert_eq!(gone.anomaly, Some(Anomaly::NotFound));
    }
}
