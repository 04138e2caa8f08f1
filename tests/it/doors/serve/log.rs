//! The log of `greenlight serve` as its operator reads it.

use std::path::Path;

use github_double::MAINTAINER;
use serde_json::Value;

/// The log contains what an operator needs to know.
pub(super) fn says_what_it_does(log: &str, data: &Path) {
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let fields_of = |message: &str| {
        let line = lines.iter().find(|line| line["fields"]["message"] == message);
        line.unwrap_or_else(|| panic!("nothing says {message:?}: {log}"))["fields"].clone()
    };
    let started = fields_of("greenlight starts");
    assert_eq!(started["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(started["account"], "greenlight[bot]");
    assert_eq!(started["data_folder"], data.to_str().unwrap());
    assert!(started["model"].as_str().unwrap().contains("built-in"), "{started}");
    let accepted = lines.iter().filter(|line| line["fields"]["message"] == "accepted");
    let accepted: Vec<String> = accepted
        .map(|line| {
            let word = |name: &str| line["fields"][name].as_str().unwrap_or_default().to_string();
            format!("{} {} {}", word("event"), word("action"), word("repository"))
        })
        .collect();
    for one in ["workflow_run completed acme/", "issue_comment created acme/"] {
        assert!(accepted.iter().any(|line| line.starts_with(one)), "{accepted:?}");
    }
    fields_of("a run begins");
    fields_of("suggestions were posted");
    assert_eq!(fields_of("a request was approved")["login"], MAINTAINER);
    fields_of("a commit landed");
    assert_eq!(fields_of("a run ended")["end"], "landed");
    every_line_of_work_names_it(&lines);
    assert!(
        !log.contains("Enforced"),
        "a value in Rust's own notation is in the log"
    );
}

/// Lines about work have the repository and the delivery, and from the beginning of a run on also that.
fn every_line_of_work_names_it(lines: &[Value]) {
    let messages = [
        "suggestions were posted",
        "a request waits for an approval",
        "a commit landed",
        "a run ended",
    ];
    for message in messages {
        let line = lines.iter().find(|line| line["fields"]["message"] == message).unwrap();
        assert_eq!(line["span"]["run.id"], line["fields"]["run.id"], "{line}");
    }
    let is_of_work = |line: &&Value| {
        let target = line["target"].as_str().unwrap_or_default();
        ["greenlight::engine", "greenlight::git", "greenlight::openai"]
            .iter()
            .any(|room| target.starts_with(room))
            && line["span"]["name"] == "work"
    };
    let of_work: Vec<&Value> = lines.iter().filter(is_of_work).collect();
    assert!(of_work.len() > 10, "{} lines", of_work.len());
    for line in of_work {
        let span = &line["span"];
        assert!(
            span["repository"].as_str().unwrap_or_default().starts_with("acme/"),
            "{line}"
        );
        assert!(!span["delivery.id"].as_str().unwrap_or_default().is_empty(), "{line}");
    }
}
