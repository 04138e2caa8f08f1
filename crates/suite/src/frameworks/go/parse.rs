//! Reads `go test`: its JSON events (`go test -json` or `go tool test2json`) if there are any, else its text.
//!
//! Every test and every subtest counts once, as each ends with one event. Names include the package, because two
//! packages may have tests of the same name.

mod build;
mod text;

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use greenlight_readers::test_run::Location;
use greenlight_readers::{Anomaly, MAX_MESSAGE, ParsedRun, compared, lenient, location};
use regex::Regex;
use serde::Deserialize;

use crate::text::{clean, pattern};

/// Maximum number of tests that are read.
const MAX_TESTS: usize = 200_000;
/// Maximum size of compiler output that is kept, in bytes.
const MAX_BUILD: usize = 1 << 20;

/// `shop_test.go:7: `, as `t.Error` starts its lines; and the first line of testify's trace.
static PLACE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^\s*(?:Error Trace:\s+)?(\S+\.go):(\d+)(?::\d+)?(?:: |:?$)"));
/// A frame of a panic or of a race report.
static FRAME: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(?:\t| {6})(\S+\.go):(\d+)(?: \+0x[0-9a-f]+)?$"));

/// One event; <https://pkg.go.dev/cmd/test2json#hdr-Output_Format>
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", default)]
#[derive(Default)]
struct Event {
    #[serde(deserialize_with = "lenient::text")]
    action: String,
    #[serde(deserialize_with = "lenient::text")]
    package: String,
    #[serde(deserialize_with = "lenient::text")]
    test: String,
    #[serde(deserialize_with = "lenient::text")]
    output: String,
    #[serde(deserialize_with = "lenient::text")]
    import_path: String,
    #[serde(deserialize_with = "lenient::text")]
    failed_build: String,
}

#[derive(Debug, Default)]
struct GoTest {
    /// The last action of the test: `pass`, `fail` and `skip` are final.
    action: String,
    output: String,
}

#[derive(Debug, Default)]
struct Package {
    /// `pass`, `skip` or `fail`; empty if the package could not be built.
    action: String,
    /// Whether its tests ran to the end: then the last line that they print says so.
    has_ended: bool,
    /// What it printed when it died, and the test that was running according to Go.
    death: Option<(String, String)>,
    output: String,
}

pub(super) fn parse(text: &str) -> ParsedRun {
    let events: Vec<Event> = text.lines().filter_map(event).collect();
    if events.is_empty() {
        return text::read(text);
    }
    let mut parsed = read_events(&events, text);
    // The events are the only report: nothing else has totals with which what was lost could be completed.
    if text.lines().any(is_damaged) {
        parsed.miss("the output of go test", "an event cannot be read");
    }
    if text
        .lines()
        .any(|line| line.starts_with('[') && line.ends_with(" bytes left out]"))
    {
        parsed.miss("the output of go test", "it is too long to be kept as a whole");
    }
    parsed
}

/// Whether a line is a part of an event.
fn is_damaged(line: &str) -> bool {
    let starts = ["{\"Time\":", "{\"Action\":", "{\"ImportPath\":"];
    starts.iter().any(|start| line.starts_with(start)) && event(line).is_none()
}

/// Reads errors about packages that `go` cannot build, load or vet.
pub(in crate::frameworks) fn read_build(text: &str, parsed: &mut ParsedRun) {
    build::read(text, parsed);
}

/// The output of the tests, extracted from the events. `None` if there are no events.
pub(super) fn without_events(text: &str) -> Option<String> {
    let mut printed = String::new();
    let mut found = false;
    for line in text.lines() {
        match event(line) {
            Some(event) => {
                found = true;
                printed.push_str(&event.output);
            }
            None => {
                printed.push_str(line);
                printed.push('\n');
            }
        }
    }
    found.then(|| clean(printed.as_bytes()))
}

fn event(line: &str) -> Option<Event> {
    let event: Event = line.starts_with('{').then(|| serde_json::from_str(line).ok())??;
    (!event.action.is_empty()).then_some(event)
}

fn read_events(events: &[Event], text: &str) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    let mut order: Vec<(&str, &str)> = Vec::new();
    let mut tests: HashMap<(&str, &str), GoTest> = HashMap::new();
    let mut packages: HashMap<&str, Package> = HashMap::new();
    let mut built = String::new();
    for event in events {
        if event.action == "build-output" && built.len() < MAX_BUILD {
            built.push_str(&event.output);
        }
        if event.package.is_empty() {
            continue;
        }
        packages.entry(&event.package).or_default().take(event);
        // Benchmarks are not tests.
        if event.test.is_empty() || order.len() >= MAX_TESTS || event.test.starts_with("Benchmark") {
            continue;
        }
        let key = (event.package.as_str(), event.test.as_str());
        let test = tests.entry(key).or_insert_with(|| {
            order.push(key);
            GoTest::default()
        });
        match event.action.as_str() {
            "output" if test.output.len() < 2 * MAX_MESSAGE => test.output.push_str(&event.output),
            "output" => {}
            action => test.action = action.to_string(),
        }
    }
    // Since Go 1.24 the compiler's output is part of the events; earlier versions print it between them.
    for line in text.lines().filter(|line| !line.starts_with('{')).take(100_000) {
        built.push_str(line);
        built.push('\n');
    }
    // The compiler also prints warnings when it succeeds.
    let was_built = events
        .iter()
        .all(|event| event.action != "build-fail" && event.failed_build.is_empty())
        && packages.values().all(Package::was_built);
    if !was_built || order.is_empty() {
        build::read(&built, &mut parsed);
    }
    if parsed.diagnostics.is_empty()
        && parsed.anomaly.is_none()
        && let Some(event) = events.iter().find(|event| event.action == "build-fail")
    {
        parsed.diagnose(&event.import_path, None, &built);
    }
    for key in &order {
        tell(&mut parsed, *key, &tests[key], &packages);
    }
    let dead: Vec<(&&str, &Package)> = packages.iter().filter(|(_, package)| package.is_dead()).collect();
    let blamed: HashSet<&str> = order
        .iter()
        .filter(|key| {
            let package = packages.get(key.0).filter(|package| package.is_dead());
            package.is_some_and(|package| tests[key].action == "fail" || is_under_way(&tests[key], package))
        })
        .map(|key| key.0)
        .collect();
    for (name, package) in dead {
        let output = package.death.as_ref().map_or("", |(_, text)| text.as_str());
        parsed.anomaly = parsed.anomaly.or(Some(cause(output)));
        if !blamed.contains(*name) {
            let message = if output.is_empty() { &package.output } else { output };
            parsed.note(name, place(message, name), message);
        }
    }
    if parsed.ran() {
        let failed = parsed.failed.saturating_add(parsed.expected_failures);
        let counts = [("pass", parsed.passed), ("fail", failed), ("skip", parsed.skipped)];
        for (word, count) in counts {
            parsed.tell(word, count);
        }
    }
    parsed
}

/// Records the result of one test.
fn tell(parsed: &mut ParsedRun, (package, name): (&str, &str), test: &GoTest, packages: &HashMap<&str, Package>) {
    let name = format!("{package} {name}");
    let state = packages.get(package).filter(|package| package.is_dead());
    if test.action == "fail" && !parsed.has_room() && packages.get(package).is_none_or(|own| own.action != "pass") {
        return parsed.fail(&name, None, "");
    }
    let mut message = shown(&test.output);
    if message.trim().is_empty()
        && let Some((_, death)) = state.and_then(|state| state.death.as_ref())
    {
        message.clone_from(death);
    }
    match test.action.as_str() {
        "pass" => parsed.pass(&name),
        "skip" => parsed.skip_named(&name),
        // The package passed, so this is a test run inside a test that is meant to fail.
        "fail" if packages.get(package).is_some_and(|package| package.action == "pass") => parsed.fail_as_expected(),
        "fail" if message.trim().is_empty() => parsed.fail(&name, None, "a subtest failed"),
        "fail" => {
            parsed.fail(&name, place(&message, package), &message);
            if let Some((expected, actual)) = compared::go(&message) {
                parsed.compare(&expected, &actual);
            }
        }
        _ => match (state, packages.get(package)) {
            (Some(state), _) if is_under_way(test, state) => parsed.fail(&name, place(&message, package), &message),
            (None, Some(package)) if package.action.is_empty() && is_under_way(test, package) => parsed.begin(&name),
            _ => {}
        },
    }
}

impl Package {
    fn take(&mut self, event: &Event) {
        match event.action.as_str() {
            "fail" if !event.failed_build.is_empty() => {}
            "pass" | "skip" | "fail" if event.test.is_empty() => self.action.clone_from(&event.action),
            "output" => {
                let line = event.output.as_str();
                if let Some((_, output)) = &mut self.death {
                    if output.len() < 2 * MAX_MESSAGE {
                        output.push_str(line);
                    }
                } else if is_death(line) {
                    self.death = Some((event.test.clone(), line.to_string()));
                }
                if event.test.is_empty() {
                    self.has_ended |= matches!(line.trim_end(), "FAIL" | "PASS");
                    if self.output.len() < 2 * MAX_MESSAGE {
                        self.output.push_str(line);
                    }
                }
            }
            _ => {}
        }
    }

    fn is_dead(&self) -> bool {
        self.action == "fail" && self.was_built() && !self.has_ended
    }

    fn was_built(&self) -> bool {
        !self.output.contains("[build failed]") && !self.output.contains("[setup failed]")
    }
}

/// Whether a test was running when its package died. If another test is known to have panicked, the tests that ran
/// beside it are not to blame.
fn is_under_way(test: &GoTest, package: &Package) -> bool {
    let is_open = matches!(test.action.as_str(), "run" | "cont" | "output" | "");
    let panicked =
        matches!(&package.death, Some((_, output)) if output.contains("repanicked]") || output.contains("[recovered]"));
    is_open && !panicked
}

/// Whether a line starts the output of a dying test process.
fn is_death(line: &str) -> bool {
    ["panic: ", "fatal error: ", "signal: ", "runtime: out of memory"]
        .iter()
        .any(|start| line.starts_with(start))
}

/// Why a package died, from what it printed then.
fn cause(output: &str) -> Anomaly {
    let first = output.lines().next().unwrap_or_default();
    if first.starts_with("panic: test timed out after") {
        Anomaly::TimedOut
    } else if first.contains("out of memory") || first.contains("cannot allocate memory") {
        Anomaly::OutOfMemory
    } else if first.starts_with("panic: ") || (first.starts_with("fatal error: ") && !first.contains("signal")) {
        Anomaly::Panic
    } else {
        Anomaly::Crash
    }
}

/// The output of a test without the lines that Go puts around it, and without the downloads of a `go` that the test starts.
fn shown(output: &str) -> String {
    let is_own = |line: &str| {
        !line.starts_with("===")
            && !line.trim_start().starts_with("--- ")
            && !line.trim_start().starts_with("go: downloading ")
    };
    let lines = output.lines().filter(|line| is_own(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// Where a test failed: a line printed by the test itself, else a frame of a panic. A file without a directory is in
/// the directory of its package.
fn place(message: &str, package: &str) -> Option<Location> {
    let found = |(path, line): (&str, &str)| {
        let is_bare = !path.contains('/') && !package.is_empty();
        let path = if is_bare {
            format!("{package}/{path}")
        } else {
            path.to_string()
        };
        location(&path, line)
    };
    let lines = || {
        message.lines().filter_map(|line| {
            let place = PLACE.as_ref()?.captures(line)?;
            let (path, number) = (place.get(1)?.as_str(), place.get(2)?.as_str());
            (path != "testing.go").then_some((path, number))
        })
    };
    let frames = || {
        message.lines().filter_map(|line| {
            let frame = FRAME.as_ref()?.captures(line)?;
            let (path, number) = (frame.get(1)?.as_str(), frame.get(2)?.as_str());
            is_own(path).then_some((path, number))
        })
    };
    let of_a_test = |&(path, _): &(&str, &str)| path.ends_with("_test.go");
    let is_death = message.lines().any(is_death);
    let by_line = lines().find(of_a_test).or_else(|| lines().next());
    let by_frame = frames().next();
    if is_death {
        by_frame.or(by_line)
    } else {
        by_line.or(by_frame)
    }
    .and_then(found)
}

/// Whether a path is neither in Go's own code nor in a dependency.
fn is_own(path: &str) -> bool {
    let of_go = path.split_once("/go/src/").is_some_and(|(_, rest)| {
        // Below `GOPATH/src` the first directory is a host.
        !rest.split('/').next().unwrap_or_default().contains('.')
    });
    let built_in = [
        "/src/testing/",
        "/src/runtime/",
        "/pkg/mod/",
        "_testmain.go",
        "/vendor/",
    ];
    !of_go && !built_in.iter().any(|part| path.contains(part))
}
