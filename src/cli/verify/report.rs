//! The output of `greenlight verify`: text for people, one JSON document for scripts.

use serde_json::{Value, json};

use super::super::{Exit, terminal};
use super::Recomputed;
use crate::domain::clock::millis_in_words;
use crate::domain::id::RepoPath;
use crate::domain::patch::FileChange;
use crate::guard::touches_tests;

/// How many changed files are named.
const MAX_NAMED: usize = 10;

/// A changed file, with a mark if it contains tests: greenlight proposes no such changes.
fn changed(path: &RepoPath, change: &FileChange) -> String {
    if touches_tests(path, change) {
        format!("{path} (tests)")
    } else {
        path.to_string()
    }
}

pub(super) fn show(found: &Recomputed) {
    let Recomputed {
        head,
        patch,
        before,
        after,
        ..
    } = found;
    let changes: Vec<String> = patch
        .files()
        .take(MAX_NAMED)
        .map(|(path, change)| changed(path, change))
        .collect();
    let more = match patch.files().count().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let worse = found.worse();
    let new = match (worse.new_failures.as_slice(), worse.missing.as_slice()) {
        ([], []) => "none".to_string(),
        ([], missing) => format!("none; gone or skipped: {}", listed(missing)),
        (new, []) => listed(new),
        (new, missing) => format!("{}; gone or skipped: {}", listed(new), listed(missing)),
    };
    let parts = [
        ("head", head.to_string()),
        (
            "merged with",
            found.merged_with.as_ref().map(ToString::to_string).unwrap_or_default(),
        ),
        ("patch", patch.digest()),
        ("changes", changes.join(", ") + &more),
        ("command", after.command.clone()),
        (
            "before",
            format!("{} ({})", before.summary(), millis_in_words(before.duration_ms)),
        ),
        (
            "after",
            format!("{} ({})", after.summary(), millis_in_words(after.duration_ms)),
        ),
        ("new failures", new),
        ("digest", found.digest()),
    ];
    for (name, value) in parts.into_iter().filter(|(_, value)| !value.is_empty()) {
        terminal::show(&format!(
            "{:<14}{}",
            format!("{name}:"),
            value.replace(['\n', '\t'], " ")
        ));
    }
}

/// The names if there are few, otherwise their number.
fn listed(names: &[String]) -> String {
    match names {
        [] => "none".into(),
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}

/// The document of `--json`.
pub(super) fn document(found: Option<&Recomputed>, expected: Option<&str>, exit: &Exit) -> Value {
    let (outcome, message) = match exit {
        Exit::Done => ("proven", None),
        Exit::NoFix(text) => ("not_proven", Some(text)),
        Exit::Usage(text) => ("usage", Some(text)),
        Exit::Refused(text) => ("refused", Some(text)),
        Exit::Limit(text) => ("limit", Some(text)),
        Exit::Environment(text) => ("environment", Some(text)),
        Exit::Fault(text) => ("fault", Some(text)),
        Exit::Stopped => ("stopped", None),
    };
    json!({
        "outcome": outcome,
        "message": message,
        "head": found.map(|found| &found.head),
        "merged_with": found.and_then(|found| found.merged_with.as_ref()),
        "patch_digest": found.map(|found| found.patch.digest()),
        "files": found.map(|found| found.patch.paths().map(ToString::to_string).collect::<Vec<_>>()),
        "test_command": found.map(|found| &found.after.command),
        "before": found.map(|found| &found.before),
        "after": found.map(|found| &found.after),
        "worse": found.map(Recomputed::worse),
        "weakens": found.map(|found| found.weakens.iter().map(ToString::to_string).collect::<Vec<_>>()),
        "digest": found.map(Recomputed::digest),
        "expected": expected,
        "same": found.and_then(|found| Some(expected? == found.digest())),
    })
}
