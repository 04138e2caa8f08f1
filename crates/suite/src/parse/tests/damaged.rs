//! Reports that are damaged in part, or written by a version with other types: nothing is lost in silence, and what the
//! text says fills the gap.

use serde_json::Value;

use super::totals::{framework, printed, recorded};
use super::*;

fn counts(run: &TestRun) -> [u32; 3] {
    [run.passed, run.failed, run.skipped]
}

fn read_reports(framework: Framework, code: i32, text: &str, reports: &[Report]) -> TestRun {
    super::super::read(framework, &exited(code, text.as_bytes()), reports)
}

/// Frameworks whose reports are read as JSON or XML, and whose text has totals.
fn runs_with_totals() -> impl Iterator<Item = (Framework, String, String, Vec<Report>)> {
    recorded().into_iter().filter_map(|run| {
        let totals = printed(&run.folder, &run.text)?;
        let framework = framework(&run.folder);
        let whole = read_reports(framework, 1, &run.text, &run.reports);
        // Maven's text is always read, and a run that ended early has no results to lose.
        let is_plain = totals.iter().all(Option::is_some) && whole.unread.is_empty() && !run.reports.is_empty();
        let has_results = whole.passed + whole.failed > 2 && !whole.outcome.was_ended() && !run.name.ends_with("exit");
        (is_plain && has_results).then_some((framework, run.name, run.text, run.reports))
    })
}

#[test]
fn a_report_that_is_cut_off_is_completed_from_the_text() {
    let mut tried = 0;
    for (framework, name, text, reports) in runs_with_totals() {
        let whole = counts(&read_reports(framework, 1, &text, &reports));
        for (at, report) in reports.iter().enumerate() {
            for tenth in [0, 3, 5, 7, 9] {
                let mut damaged = reports.clone();
                damaged[at].bytes.truncate(report.bytes.len() * tenth / 10);
                for code in [0, 1] {
                    let run = read_reports(framework, code, &text, &damaged);
                    assert!(!run.is_green() && run.outcome != Outcome::NothingRan, "{name} {tenth}");
                    assert!(
                        run.unread.iter().any(|note| note.starts_with(&report.path)),
                        "{name} {tenth}"
                    );
                    assert_eq!(counts(&run), whole, "{name} {tenth}: {:?}", run.unread);
                    tried += 1;
                }
            }
        }
    }
    assert!(tried >= 100, "{tried}");
}

/// Every place of a JSON document where a list has elements that are objects.
fn elements(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Array(list) => {
            for (at, element) in list.iter().enumerate() {
                let path = format!("{path}/{at}");
                if element.is_object() {
                    found.push(path.clone());
                }
                elements(element, &path, found);
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                elements(value, &format!("{path}/{key}"), found);
            }
        }
        _ => {}
    }
}

/// The lists in which the runners keep files and tests.
const LISTS: [&str; 6] = [
    "/testResults/",
    "/assertionResults/",
    "/examples/",
    "/passes/",
    "/failures/",
    "/pending/",
];

#[test]
fn a_test_that_cannot_be_read_is_never_lost() {
    let mut tried = 0;
    for (framework, name, text, reports) in runs_with_totals() {
        let Ok(document) = serde_json::from_slice::<Value>(&reports[0].bytes) else {
            continue;
        };
        let whole = counts(&read_reports(framework, 1, &text, &reports));
        let mut places = Vec::new();
        elements(&document, "", &mut places);
        let is_result = |place: &&String| {
            let list = place.rsplit_once('/').map_or("", |(list, _)| list);
            LISTS.iter().any(|name| format!("{list}/").ends_with(name))
        };
        for place in places.iter().filter(is_result) {
            for strange in [
                Value::Null,
                Value::from(7),
                Value::from("test"),
                serde_json::json!({ "status": "odd" }),
            ] {
                let mut damaged = document.clone();
                *damaged.pointer_mut(place).unwrap() = strange.clone();
                let path = reports[0].path.clone();
                let bytes = damaged.to_string().into_bytes();
                let run = read_reports(framework, 0, &text, &[Report { path, bytes }]);
                assert!(!run.is_green(), "{name} {place} {strange}");
                // RSpec's own reports have such results when the process ends.
                let is_said = !run.unread.is_empty() || run.outcome == Outcome::Crashed;
                assert!(is_said || run.outcome == Outcome::Failed, "{name} {place} {strange}");
                let all = |counts: [u32; 3]| counts.iter().sum::<u32>();
                assert!(
                    all(counts(&run)) >= all(whole),
                    "{name} {place} {strange}: {:?}",
                    counts(&run)
                );
                tried += 1;
            }
        }
    }
    assert!(tried >= 100, "{tried}");
}

/// Changes every text of these fields in a document.
fn change(value: &mut Value, names: &[&str], to: &dyn Fn(&Value) -> Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(|element| change(element, names, to)),
        Value::Object(fields) => {
            for (key, value) in fields {
                if names.contains(&key.as_str()) {
                    *value = to(value);
                } else {
                    change(value, names, to);
                }
            }
        }
        _ => {}
    }
}

/// Some projects have titles that are no texts, and some versions other types for numbers.
#[test]
fn fields_of_other_types_lose_no_test() {
    const FIELDS: [&str; 12] = [
        "title",
        "fullTitle",
        "ancestorTitles",
        "location",
        "line",
        "failureDetails",
        "full_description",
        "line_number",
        "file_path",
        "backtrace",
        "duration",
        "class",
    ];
    let mut tried = 0;
    for (framework, name, text, reports) in runs_with_totals() {
        let Ok(document) = serde_json::from_slice::<Value>(&reports[0].bytes) else {
            continue;
        };
        let whole = read_reports(framework, 0, &text, &reports);
        let others: [&dyn Fn(&Value) -> Value; 5] = [
            &|_| Value::Null,
            &|_| Value::from(7),
            &|own| Value::from(vec![own.clone(), Value::from(2010), Value::Null]),
            &|own| Value::from(own.to_string()),
            &|own| serde_json::json!({ "own": own }),
        ];
        for other in others {
            let mut changed = document.clone();
            change(&mut changed, &FIELDS, other);
            let path = reports[0].path.clone();
            let bytes = changed.to_string().into_bytes();
            let run = read_reports(framework, 0, &text, &[Report { path, bytes }]);
            assert_eq!((run.outcome, counts(&run)), (whole.outcome, counts(&whole)), "{name}");
            assert!(run.unread.is_empty(), "{name}: {:?}", run.unread);
            tried += 1;
        }
    }
    assert!(tried >= 30, "{tried}");
}

/// Jest writes titles as they are in the code, and a project of more than 700 tests has some that are lists.
#[test]
fn titles_that_are_lists_are_names() {
    let tests: Vec<Value> = (0..743)
        .map(|day| serde_json::json!({ "ancestorTitles": [[1, "a"]], "title": [2010, 1, day], "status": "passed" }))
        .collect();
    let report =
        serde_json::json!({ "testResults": [{ "name": "a.test.js", "status": "passed", "assertionResults": tests }] });
    let run = read_with_report(
        Framework::Jest,
        &exited(0, b"Tests:       743 passed, 743 total\n"),
        report.to_string().as_bytes(),
    );
    assert_eq!((run.outcome, run.passed), (Outcome::Passed, 743));
    assert_eq!(run.passed_names[0], "a.test.js > 1,a > 2010,1,0");
}

/// A report of another format, such as one that a file of the tree overwrote.
#[test]
fn a_report_of_another_kind_is_said_to_be_unread() {
    use Framework::{Bun, Ctest, Deno, Dotnet, Eslint, Gradle, Jest, Maven, Mocha, Phpunit, Pytest, Rspec, Vitest};
    for framework in [
        Bun, Ctest, Deno, Dotnet, Eslint, Gradle, Jest, Maven, Mocha, Phpunit, Pytest, Rspec, Vitest,
    ] {
        for foreign in [
            "{}",
            "[3]",
            "hello",
            "<html><p/></html>",
            "{\"testResults\":3}",
            "<testsuite",
        ] {
            let run = read_with_report(framework, &exited(0, b""), foreign.as_bytes());
            assert!(!run.is_green(), "{framework} {foreign}");
        }
    }
    let text = "Tests:       5 passed, 5 total\n";
    let run = read_with_report(Framework::Jest, &exited(0, text.as_bytes()), b"{}");
    assert_eq!((run.outcome, run.passed), (Outcome::Crashed, 5));
    assert_eq!(run.failures[0].name, "report");
    assert!(
        run.failures[0].message.contains("part of this report cannot be read"),
        "{:?}",
        run.failures
    );
}

/// A red run says so too, and excusing its failures does not make it green.
#[test]
fn a_red_run_with_an_unread_part_says_so() {
    let report = br#"{"testResults":[{"name":"a.js","status":"failed","assertionResults":[{"title":"a","status":"failed"},3]}]}"#;
    let run = read_with_report(
        Framework::Jest,
        &exited(1, b"Tests:       1 failed, 1 passed, 2 total\n"),
        report,
    );
    assert_eq!((run.outcome, counts(&run)), (Outcome::Failed, [1, 1, 0]));
    assert_eq!(
        run.summary(),
        "1 failed, 1 passed, and part of the report cannot be read"
    );
    assert_eq!(run.unread, ["report: a test of a.js has an unknown form"]);
    assert!(!run.excusing(&["a.js > a".into()]).is_green());
}

/// The events of `go test` are its report. Nothing else tells how many there should be.
#[test]
fn an_event_that_cannot_be_read_is_said() {
    let text = String::from_utf8(fixture("go/v1.24_pass.txt")).unwrap();
    let read = |text: &str| read(Framework::Go, &exited(0, text.as_bytes()));
    assert!(read(&text).is_green());
    let line = text.lines().find(|line| line.contains("\"Action\":\"pass\"")).unwrap();
    for damaged in [&line[..line.len() - 5], &line[..30]] {
        let run = read(&text.replace(line, damaged));
        assert_eq!(run.outcome, Outcome::Crashed);
        assert_eq!(run.unread, ["the output of go test: an event cannot be read"]);
    }
    let run = read(&text.replace(line, "[5000 bytes left out]"));
    assert_eq!(run.outcome, Outcome::Crashed);
    let run = read(&text.replace("\"Action\":\"pass\"", "\"Action\":\"pass\",\"Output\":null,\"New\":[1]"));
    assert_eq!((run.is_green(), run.passed), (true, 4));
}
