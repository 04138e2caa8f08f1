//! Cargo and its test runners.

use crate::checkout::Checkout;
use crate::domain::id::RepoPath;
use crate::suite::{Framework, TestCommand};

pub(super) fn tests(command: &TestCommand, only: &[String]) -> Option<Vec<String>> {
    match command.framework {
        Framework::Cargo => cargo(&command.argv, only),
        _ => None,
    }
}

pub(super) fn package(_checkout: &Checkout, _command: &TestCommand, _near: &[RepoPath]) -> Option<Vec<String>> {
    None
}

/// `cargo test … --tests -- --exact -- NAMES`. The test harness takes everything after the last `--` as a name.
fn cargo(argv: &[String], only: &[String]) -> Option<Vec<String>> {
    let is_doc = |name: &&String| name.split_whitespace().nth(1) == Some("-");
    let (docs, units): (Vec<&String>, Vec<&String>) = only.iter().partition(is_doc);
    let mut names = Vec::new();
    for name in &units {
        // `binary:src/lib.rs module::test` where the name alone is ambiguous.
        let test = name.rsplit(' ').next()?;
        names.push(test.to_string());
    }
    for name in &docs {
        // rustdoc splits its arguments at white space, so only the file can be named.
        names.push(name.split_whitespace().next()?.to_string());
    }
    let at = argv.iter().position(|word| word == "--").unwrap_or(argv.len());
    let (own, harness) = argv.split_at(at);
    let mut narrowed = own.to_vec();
    const TARGETS: [&str; 8] = [
        "--lib",
        "--bins",
        "--bin",
        "--tests",
        "--test",
        "--doc",
        "--all-targets",
        "--examples",
    ];
    if !own
        .iter()
        .any(|word| TARGETS.contains(&word.split('=').next().unwrap_or(word)))
    {
        match (docs.is_empty(), units.is_empty()) {
            (true, _) => narrowed.push("--tests".into()),
            (_, true) => narrowed.push("--doc".into()),
            _ => {}
        }
    }
    narrowed.push("--".into());
    narrowed.extend(harness.iter().skip(1).filter(|word| *word != "--").cloned());
    if docs.is_empty() {
        narrowed.push("--exact".into());
    }
    narrowed.push("--".into());
    names.sort_unstable();
    names.dedup();
    narrowed.extend(names);
    Some(narrowed)
}
