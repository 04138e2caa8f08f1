//! Filters for the test runners of JavaScript and TypeScript.
//!
//! A name consists of a file, the suites in it and the test (`a.test.js > basket > sums`), or lacks the file. All of
//! these runners take one pattern for the full name, so every character is escaped and both ends are anchored. An
//! option and its value are one word. Files are only named if they are in the tree and cannot be taken for an option.

use std::collections::BTreeSet;

use greenlight_anchor::RepoPath;
use greenlight_tree::checkout::Checkout;

use crate::discover::javascript::{Name, is_plain};
use crate::reporters::javascript::{found, runs_several};
use crate::test_command::TestCommand;

pub(crate) fn filter(command: &TestCommand, only: &[String]) -> Option<Vec<String>> {
    let (runner, _) = found(&command.argv)?;
    let script = command.framework.spec().script?;
    let names: Vec<Name<'_>> = only.iter().map(|name| Name::of(name)).collect();
    let mut options: Vec<String> = (script.filter?)(&names);
    // With several runners, each has only some of the tests.
    let has_several = command.argv.get(2).is_some_and(|script| runs_several(script));
    if has_several {
        options.extend(script.without_tests.map(String::from));
    }
    let listed: Option<BTreeSet<&str>> = names.iter().map(|name| name.file).collect();
    if let Some((files, listed)) = script.files.zip(listed) {
        options.extend(files.option.map(String::from));
        options.extend(listed.into_iter().map(|file| format!("{}{file}", files.prefix)));
    }
    with_options(command, runner.options, options)
}

/// The command with options for its runner, inserted at this index, or appended to the arguments of a shell script.
fn with_options(command: &TestCommand, at: usize, options: Vec<String>) -> Option<Vec<String>> {
    let mut argv = command.argv.clone();
    let in_shell = argv.first().is_some_and(|word| word == "sh");
    let at = if in_shell { argv.len() } else { at };
    (at <= argv.len()).then(|| {
        argv.splice(at..at, options);
        argv
    })
}

/// The test files among those that changed, or the related tests if other files changed too.
pub(crate) fn part(checkout: &Checkout, command: &TestCommand, near: &[RepoPath]) -> Option<Vec<String>> {
    let (runner, _) = found(&command.argv)?;
    let takes = command.framework.spec().script?.files?;
    let below = command
        .directory
        .as_ref()
        .map_or(String::new(), |path| format!("{path}/"));
    let files: Option<BTreeSet<&str>> = near
        .iter()
        .map(|path| {
            path.as_str()
                .strip_prefix(&below)
                .filter(|_| checkout.contains(path.as_str()))
        })
        .collect();
    let files = files?;
    if files.is_empty() || !files.iter().all(|file| is_plain(file)) {
        return None;
    }
    let options = match takes.related {
        Some(options) => options,
        None if files.iter().all(|file| is_test(file)) => &[],
        None => return None,
    };
    let files = files.into_iter().map(|file| format!("{}{file}", takes.prefix));
    let options = options.iter().map(ToString::to_string).chain(files).collect();
    with_options(command, runner.options, options)
}

fn is_test(file: &str) -> bool {
    [".test.", ".spec.", "_test.", "_spec."]
        .iter()
        .any(|mark| file.contains(mark))
        || file.contains("__tests__/")
}

/// One pattern that matches exactly these full names.
pub(crate) fn any_of(names: &[Name<'_>]) -> String {
    let full: BTreeSet<String> = names.iter().map(|name| escaped(&name.parts.join(" "))).collect();
    format!("^({})$", full.into_iter().collect::<Vec<_>>().join("|"))
}

/// A JavaScript pattern that matches exactly this text.
pub(crate) fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(
            c,
            '\\' | '^' | '$' | '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | '/'
        ) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}
