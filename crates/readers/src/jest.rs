//! The output of Jest's `--json` and Vitest's reporter `json`: <https://jestjs.io/docs/cli#--json>.

use serde::Deserialize;
use serde_json::Value;

use super::javascript::{BETWEEN, FRAME, compared, frame, not_loaded};
use super::lenient::{self, MaybeRead, as_number};
use super::{Location, ParsedRun, Report, documents};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Results {
    test_results: Vec<MaybeRead<FileResult>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileResult {
    #[serde(default, deserialize_with = "lenient::text")]
    name: String,
    #[serde(default, deserialize_with = "lenient::text")]
    status: String,
    #[serde(default, deserialize_with = "lenient::text")]
    message: String,
    #[serde(default)]
    assertion_results: Option<Vec<MaybeRead<TestResult>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TestResult {
    #[serde(default, deserialize_with = "lenient::texts")]
    ancestor_titles: Vec<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    title: String,
    #[serde(default, deserialize_with = "lenient::text")]
    status: String,
    #[serde(default, deserialize_with = "lenient::texts")]
    failure_messages: Vec<String>,
    #[serde(default)]
    failure_details: Value,
    #[serde(default)]
    location: Value,
}

/// Parses the JSON of Jest and Vitest, one report for each package; false if there is none. What cannot be read of it
/// is noted.
pub fn read_results(reports: &[Report], parsed: &mut ParsedRun) -> bool {
    let documents: Vec<(String, Results)> = documents(reports, parsed);
    let mut todo = 0;
    for (report, results) in &documents {
        for file in &results.test_results {
            match file {
                MaybeRead::Read(file) => read_file(report, file, &mut todo, parsed),
                MaybeRead::Unread(_) => parsed.miss(report, "the results of a file have an unknown form"),
            }
        }
    }
    let counts = [
        ("passed", parsed.passed),
        ("failed", parsed.failed),
        ("skipped", parsed.skipped.saturating_sub(todo)),
        ("todo", todo),
    ];
    for (word, count) in counts {
        if count > 0 {
            parsed.tell(word, count);
        }
    }
    !documents.is_empty()
}

fn read_file(report: &str, file: &FileResult, todo: &mut u32, parsed: &mut ParsedRun) {
    let tests = file.assertion_results.as_deref().unwrap_or_default();
    let before = parsed.failed;
    for test in tests {
        match test {
            MaybeRead::Read(test) => {
                *todo = todo.saturating_add(u32::from(test.status == "todo"));
                read_test(report, &file.name, test, parsed);
            }
            MaybeRead::Unread(_) => parsed.miss(report, &format!("a test of {} has an unknown form", file.name)),
        }
    }
    match file.status.as_str() {
        // A failure outside of any test: while loading, or in a hook around all tests.
        "failed" if parsed.failed == before => {
            not_loaded(&file.name, frame(&file.message, &FRAME), &file.message, parsed);
        }
        "failed" | "passed" | "skipped" | "pending" | "focused" => {}
        "" if !tests.is_empty() => {}
        status => parsed.miss(report, &format!("{} has the unknown status `{status}`", file.name)),
    }
    if file.assertion_results.is_none() && file.status != "failed" {
        parsed.miss(report, &format!("{} has no list of tests", file.name));
    }
}

fn read_test(report: &str, file: &str, test: &TestResult, parsed: &mut ParsedRun) {
    let titles = test.ancestor_titles.iter().filter(|title| !title.is_empty());
    let parts: Vec<&str> = [file]
        .into_iter()
        .chain(titles.map(String::as_str))
        .chain([test.title.as_str()])
        .collect();
    let name = parts.join(BETWEEN);
    match test.status.as_str() {
        "passed" => parsed.pass(&name),
        "skipped" | "pending" | "todo" | "disabled" => parsed.skip_named(&name),
        "failed" => fail(file, &name, test, parsed),
        _ if !test.failure_messages.is_empty() => fail(file, &name, test, parsed),
        status => parsed.miss(report, &format!("{name} has the unknown status `{status}`")),
    }
}

fn fail(file: &str, name: &str, test: &TestResult, parsed: &mut ParsedRun) {
    let message = crate::text::clean(test.failure_messages.join("\n\n").as_bytes());
    let line = test.location.get("line").and_then(as_number);
    let defined = line.map(|line| Location {
        path: file.to_string(),
        line,
    });
    parsed.fail(name, frame(&message, &FRAME).or(defined), &message);
    let details = test
        .failure_details
        .as_array()
        .into_iter()
        .flatten()
        .find_map(|detail| {
            let result = detail.get("matcherResult").unwrap_or(detail);
            Some((shown(result.get("expected")?), shown(result.get("actual")?)))
        });
    if let Some((expected, actual)) = details.or_else(|| compared(&message)) {
        parsed.compare(&expected, &actual);
    }
}

/// A compared value as it is written in code.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
