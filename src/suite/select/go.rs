//! `go test`.

use crate::checkout::Checkout;
use crate::domain::id::RepoPath;
use crate::suite::TestCommand;

pub(super) fn tests(command: &TestCommand, only: &[String]) -> Option<Vec<String>> {
    go(&command.argv, only)
}

pub(super) fn package(_checkout: &Checkout, _command: &TestCommand, _near: &[RepoPath]) -> Option<Vec<String>> {
    None
}

/// `-run=^(TestA|TestB)$`: with the top-level tests, as subtests of several cannot be said in one pattern.
fn go(argv: &[String], only: &[String]) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for name in only {
        let test = name.rsplit_once(' ').map_or(name.as_str(), |(_, test)| test);
        let top = test.split('/').next()?;
        if top.is_empty() || !top.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return None;
        }
        names.push(top);
    }
    names.sort_unstable();
    names.dedup();
    let at = argv.iter().position(|word| word == "test")? + 1;
    let mut narrowed = argv.to_vec();
    narrowed.insert(at, format!("-run=^({})$", names.join("|")));
    Some(narrowed)
}
