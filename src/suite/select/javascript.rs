//! The runners of JavaScript and TypeScript.

use crate::checkout::Checkout;
use crate::domain::id::RepoPath;
use crate::suite::{Framework, TestCommand};

pub(super) fn tests(command: &TestCommand, only: &[String]) -> Option<Vec<String>> {
    match command.framework {
        Framework::Node => node(&command.argv, only),
        Framework::Jest | Framework::Vitest => npm(&command.argv, only, "--testNamePattern"),
        Framework::Mocha => npm(&command.argv, only, "--grep"),
        _ => None,
    }
}

pub(super) fn package(_checkout: &Checkout, _command: &TestCommand, _near: &[RepoPath]) -> Option<Vec<String>> {
    None
}

/// `--test-name-pattern=^NAME$` for each, in front of the files.
fn node(argv: &[String], only: &[String]) -> Option<Vec<String>> {
    let at = argv.iter().position(|word| word == "--test")? + 1;
    let mut narrowed = argv.to_vec();
    for name in only {
        let leaf = name.rsplit(" > ").next()?;
        narrowed.insert(at, format!("--test-name-pattern=^{}$", regex::escape(leaf)));
    }
    Some(narrowed)
}

/// One pattern over full names, through npm. Only names without any character that is special to a shell or a
/// pattern: how npm quotes has changed between its versions.
fn npm(argv: &[String], only: &[String], option: &str) -> Option<Vec<String>> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | ',' | '-' | ':');
    let mut names = Vec::new();
    for name in only {
        let full = name.replace(" > ", " ");
        if !full.chars().all(plain) {
            return None;
        }
        names.push(full);
    }
    let mut narrowed = argv.to_vec();
    if !narrowed.iter().any(|word| word == "--") {
        narrowed.push("--".into());
    }
    // Several names would need `|`, so only one is selected.
    (names.len() == 1).then(|| {
        narrowed.push(format!("{option}={}", names[0]));
        narrowed
    })
}
