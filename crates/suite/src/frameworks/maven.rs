//! Maven: reads the reports of Surefire and Failsafe, their printed totals, and other reasons why a build stops.
//!
//! The totals are Surefire's own, over all modules and executions. A report covers only the last execution of its
//! class, but has the names and full text of each failure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use greenlight_anchor::RepoPath;
use greenlight_readers::jvm::{self, Cases};
use greenlight_readers::{Anomaly, ParsedRun, Printed, location};
use greenlight_tree::checkout::Checkout;
use regex::Regex;

use crate::discover::directory::Directory;
use crate::framework::{Ecosystem, Framework};
use crate::frameworks::spec::{CommandLine, Runtime, Spec};
use crate::reporters::Invocation;
use crate::test_command::TestCommand;
use crate::text::pattern;
use crate::{discover, filter, reporters};

pub(super) const SPEC: Spec = Spec {
    name: "Maven",
    ecosystem: Ecosystem::Java,
    is_compiled: true,
    runtime: Some(Runtime::Java),
    installers: &["mvn"],
    looks_for: Some("`pom.xml`"),
    modules: &["pom.xml"],
    discover,
    is_program: |line| matches!(line.program(), "mvn" | "mvnw"),
    is_check: |line| matches!(line.program(), "mvn" | "mvnw") && runs_tests(line),
    reporter,
    filter,
    part,
    parse,
    marks: &["Tests run: ", "COMPILATION ERROR"],
    repeats: &[Framework::Gradle],
    ..Spec::NEW
};

fn discover(place: &Directory<'_>) -> Option<TestCommand> {
    let is_whole = place.has("pom.xml") && !discover::jvm::is_part(place, "pom.xml");
    let maven = if place.has("mvnw") { "./mvnw" } else { "mvn" };
    is_whole.then(|| place.command(&[maven, "-B", "test"], Framework::Maven, "pom.xml"))?
}

/// Whether the command includes a phase that runs tests.
fn runs_tests(line: CommandLine<'_>) -> bool {
    let phases = ["test", "verify", "package", "integration-test"];
    let mut words = line.0.iter().skip(1);
    // `-D name=value` is two words.
    let skips = words.clone().any(|word| {
        let word = word.strip_prefix("-D").unwrap_or(word);
        let name = word.split('=').next().unwrap_or(word);
        matches!(name, "skipTests" | "maven.test.skip") && !word.ends_with("=false")
    });
    // `install` without tests only serves projects that build on this one.
    words.any(|word| phases.contains(word) || *word == "install") && !skips
}

fn reporter(_: &TestCommand, mut invocation: Invocation) -> Invocation {
    reporters::jvm::without_wrapper(&mut invocation, "mvnw", "mvn");
    // The modules after one that fails have tests, too.
    invocation.after("mvn", "--fail-at-end");
    invocation.after("mvn", "--offline");
    invocation
        .reports
        .push("**/{surefire,failsafe}-reports/TEST-*.xml".into());
    invocation
}

/// The modules that contain the files, and the modules that they depend on.
fn part(checkout: &Checkout, command: &TestCommand, near: &[RepoPath]) -> Option<Vec<String>> {
    let modules = filter::jvm::modules(checkout, command, near)?;
    let mut argv = command.argv.clone();
    let at = argv.iter().position(|word| is_maven(word))? + 1;
    let list = modules.into_iter().collect::<Vec<_>>().join(",");
    argv.splice(at..at, ["-pl".to_string(), list, "-am".into()]);
    Some(argv)
}

fn is_maven(word: &str) -> bool {
    matches!(word.rsplit('/').next(), Some("mvn" | "mvnw"))
}

/// `-Dtest=com.example.ATest#one+two,com.example.BTest`: <https://maven.apache.org/surefire/maven-surefire-plugin/examples/single-test.html>
fn filter(command: &TestCommand, only: &[String]) -> Option<Vec<String>> {
    let argv = &command.argv;
    let mut classes: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for name in only {
        let (class, test) = name.split_once('#').unwrap_or((name, ""));
        let methods = classes.entry(filter::jvm::class_name(class)?).or_default();
        // Surefire cannot select a single parameter value, so all values of a parameterised test are run.
        let bare = filter::jvm::method_name(test)?;
        methods.insert(if bare.len() < test.len() && !bare.is_empty() {
            format!("{bare}*")
        } else {
            bare.to_string()
        });
    }
    let list = classes.into_iter().map(|(class, methods)| {
        // The class name alone selects all of its methods.
        if methods.contains("") {
            class.to_string()
        } else {
            format!("{class}#{}", methods.into_iter().collect::<Vec<_>>().join("+"))
        }
    });
    let list = list.collect::<Vec<_>>().join(",");
    let at = argv.iter().position(|word| is_maven(word))? + 1;
    let mut narrowed = argv.clone();
    let options = [
        format!("-Dtest={list}"),
        // Other modules have no such test. The second option is its name in Surefire 2.
        "-Dsurefire.failIfNoSpecifiedTests=false".into(),
        "-DfailIfNoTests=false".into(),
    ];
    narrowed.splice(at..at, options);
    Some(narrowed)
}

/// With the time per class; the total of a module has no time.
static SUM: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(?:\[\w+\] )?Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)(.*)$"));
/// `[ERROR] com.example.CalcTest.adds -- Time elapsed: 0.01 s <<< FAILURE!`, or before Surefire 2.13
/// `adds(com.example.CalcTest)  Time elapsed: …`.
static FAILED: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(?:\[ERROR\] )?\s*(\S.*?) +(?:--? )?Time elapsed: .* <<< (FAILURE|ERROR)!"));
/// Why the build stopped, if not because of a test.
static GOAL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r"^\[ERROR\] Failed to execute goal (\S+?):(\S+?):\S+ (?:\([^)]*\) )?on project [^:]+: (.+)$")
});
/// `[FATAL] Non-parseable POM /x/pom.xml: … @ line 5, column 16`, or `[ERROR] … @ com.example:shop:1, /x/pom.xml, line 5`.
static POM: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^\[(?:ERROR|FATAL)\] (?:\[(?:ERROR|FATAL)\] )?(\S.*?) +@ .*?line (\d+)"));
static POM_FILE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(/\S+\.xml)\b"));

fn parse(printed: &Printed<'_>) -> ParsedRun {
    let text = printed.text;
    let (mut parsed, mut sums, mut failing) = (ParsedRun::default(), None::<Cases>, Vec::new());
    read_text(text, &mut sums, &mut failing);
    let counted = jvm::read_reports(printed.reports, &mut parsed, named);
    let whole = !text.contains(" bytes left out]\n");
    let counts = sums
        .filter(|sums| whole || sums.all() >= counted.all())
        .unwrap_or(counted);
    // If a class ran twice, the report of the first run was overwritten.
    if counts.red() > counted.red() {
        let known: Vec<String> = parsed.failures.iter().map(|failure| failure.name.clone()).collect();
        let unknown = failing
            .iter()
            .filter(|(class, test, _)| !known.contains(&named(class, test)));
        for (class, test, lines) in unknown {
            jvm::fail(&mut parsed, &named(class, test), class, &lines.join("\n"));
        }
    }
    // A test that passed on a rerun counts as passed; its first failure is in the report, or beside it.
    if (counts.red() as usize) < parsed.failures.len() {
        let (failures, passed) = (&mut parsed.failures, &parsed.passed_names);
        let is_said = counts.red() == 0 && text.contains("Flakes: ");
        failures.retain(|failure| !is_said && !passed.contains(&failure.name));
    }
    parsed.reconcile_totals(counts.passed, counts.red(), counts.skipped);
    if counts.all() > 0 {
        parsed.tell("tests run", counts.all());
        parsed.tell("failures", counts.failures);
        parsed.tell("errors", counts.errors);
        parsed.tell("skipped", counts.skipped);
    }
    jvm::compiler_errors(text, &mut parsed);
    if let Some(death) = jvm::death(text) {
        parsed.anomaly = parsed.anomaly.or(Some(death));
        return parsed;
    }
    if parsed.diagnostics.is_empty() && parsed.anomaly.is_none() {
        stopped(text, &mut parsed);
    }
    parsed
}

/// `com.example.ShopTest#adds`, in the form that Maven's `-Dtest` accepts.
fn named(class: &str, test: &str) -> String {
    match (class, test) {
        (class, "") => class.to_string(),
        ("", test) => test.to_string(),
        (class, test) if class == test => class.to_string(),
        (class, test) => format!("{class}#{test}"),
    }
}

type FailingTest<'a> = (String, String, Vec<&'a str>);

/// Reads the totals of the modules, and the failing tests with class, name and output.
fn read_text<'a>(text: &'a str, sums: &mut Option<Cases>, failing: &mut Vec<FailingTest<'a>>) {
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
            is_open = failing.len() < 10_000;
            if is_open {
                failing.push((class, test, Vec::new()));
            }
        } else if line.is_empty() || line.starts_with("[INFO]") {
            is_open = false;
        } else if is_open
            && let Some((_, _, lines)) = failing.last_mut()
            && lines.len() < 100
        {
            lines.push(line);
        }
    }
}

/// Splits `com.example.ShopTest.adds(int)[1]` or `adds(com.example.ShopTest)` into class and test.
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

/// Reads why a build stopped that reports no test.
fn stopped(text: &str, parsed: &mut ParsedRun) {
    if text.contains("No tests matching pattern") || text.contains("No tests were executed!") {
        parsed.anomaly = Some(Anomaly::NotFound);
    } else if jvm::environment(text).is_some() {
        parsed.anomaly = Some(Anomaly::Environment);
    } else {
        for line in text.lines().filter(|line| line.starts_with('[')) {
            if let Some(pom) = POM.as_ref().and_then(|pom| pom.captures(line)) {
                let file = POM_FILE.as_ref().and_then(|file| file.captures(line));
                let path = file
                    .as_ref()
                    .map_or("pom.xml", |file| file.get(1).map_or("", |path| path.as_str()));
                parsed.diagnose(&pom[1], location(path, &pom[2]), line);
            } else if let Some(goal) = GOAL.as_ref().and_then(|goal| goal.captures(line))
                && !matches!(&goal[2], "maven-surefire-plugin" | "maven-failsafe-plugin")
            {
                parsed.diagnose(&format!("{}:{}", &goal[1], &goal[2]), None, &goal[3]);
            }
        }
    }
}
