//! The runners of JavaScript and TypeScript.
//!
//! A name is a file, the suites in it and the test (`a.test.js > basket > sums`), or without the file. All of these
//! runners take one pattern over the full name, so every character is taken literally and both ends are tied. Options
//! are one word with their value; files are only named if they are in the tree and cannot be taken for an option.

use std::collections::BTreeSet;

use crate::checkout::Checkout;
use crate::domain::id::RepoPath;
use crate::suite::ask::javascript::{found, runs_several};
use crate::suite::{Framework, TestCommand};

/// What stands between the parts of a name.
const BETWEEN: &str = " > ";
/// The ends of files that have tests.
const ENDS: [&str; 8] = [".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"];

pub(super) fn tests(command: &TestCommand, only: &[String]) -> Option<Vec<String>> {
    let (runner, _) = found(&command.argv)?;
    let names: Vec<Name<'_>> = only.iter().map(|name| Name::of(name)).collect();
    let mut options: Vec<String> = match command.framework {
        // Patterns of Node are held against each suite and each test, and against the whole since version 22.
        Framework::Node => {
            let leaves: BTreeSet<&str> = names.iter().filter_map(|name| name.parts.last().copied()).collect();
            leaves
                .into_iter()
                .map(|leaf| format!("--test-name-pattern=/(^| ){}$/", escaped(leaf)))
                .collect()
        }
        Framework::Jest => vec![format!("--testNamePattern={}", any_of(&names, " "))],
        Framework::Vitest => vec![format!("--testNamePattern={}", any_of(&names, " "))],
        Framework::Mocha => vec![format!("--grep={}", any_of(&names, " "))],
        Framework::Bun => vec![format!("--test-name-pattern={}", any_of(&names, " "))],
        _ => return None,
    };
    // Each of several runners has some of the tests, and none of the others.
    let has_several = command.argv.get(2).is_some_and(|script| runs_several(script));
    if has_several && matches!(command.framework, Framework::Jest | Framework::Vitest) {
        options.push("--passWithNoTests".into());
    }
    let takes_files = matches!(command.framework, Framework::Jest | Framework::Vitest | Framework::Bun);
    let files: Option<BTreeSet<&str>> = names.iter().map(|name| name.file).collect();
    if takes_files && let Some(files) = files {
        if command.framework == Framework::Jest {
            options.push("--runTestsByPath".into());
        }
        options.extend(files.into_iter().map(|file| format!("./{file}")));
        // Vitest holds what it is given against paths without the dot.
        if command.framework == Framework::Vitest {
            for option in &mut options {
                if let Some(file) = option.strip_prefix("./") {
                    *option = file.to_string();
                }
            }
        }
    }
    with_options(command, runner.options, options)
}

/// The command with options for its runner, which stand at this place, or behind a script of the shell.
fn with_options(command: &TestCommand, at: usize, options: Vec<String>) -> Option<Vec<String>> {
    let mut argv = command.argv.clone();
    let in_shell = argv.first().is_some_and(|word| word == "sh");
    let at = if in_shell { argv.len() } else { at };
    (at <= argv.len()).then(|| {
        argv.splice(at..at, options);
        argv
    })
}

/// The test files among those that changed, or all tests where other files did.
pub(super) fn package(checkout: &Checkout, command: &TestCommand, near: &[RepoPath]) -> Option<Vec<String>> {
    let (runner, _) = found(&command.argv)?;
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
    let mut options: Vec<String> = Vec::new();
    match command.framework {
        // It knows which tests need a file.
        Framework::Jest => options.extend(["--findRelatedTests".into(), "--passWithNoTests=false".into()]),
        // A verb of its own, which takes the place of `run`.
        Framework::Vitest | Framework::Bun if files.iter().all(|file| is_test(file)) => {}
        _ => return None,
    }
    options.extend(files.into_iter().map(|file| match command.framework {
        Framework::Vitest => file.to_string(),
        _ => format!("./{file}"),
    }));
    with_options(command, runner.options, options)
}

/// The name of a test, taken apart.
struct Name<'a> {
    file: Option<&'a str>,
    parts: Vec<&'a str>,
}

impl<'a> Name<'a> {
    fn of(name: &'a str) -> Self {
        let (file, rest) = match name.split_once(BETWEEN) {
            Some((file, rest)) if is_plain(file) => (Some(file), rest),
            _ => (None, name),
        };
        Self {
            file,
            parts: rest.split(BETWEEN).collect(),
        }
    }
}

/// Whether this can be nothing but a file of code.
fn is_plain(file: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | '@');
    ENDS.iter().any(|end| file.ends_with(end))
        && file.chars().all(plain)
        && file.parse::<RepoPath>().is_ok()
        && !file.starts_with(['-', '@'])
}

fn is_test(file: &str) -> bool {
    [".test.", ".spec.", "_test.", "_spec."]
        .iter()
        .any(|mark| file.contains(mark))
        || file.contains("__tests__/")
}

/// One pattern that fits these full names and no others.
fn any_of(names: &[Name<'_>], between: &str) -> String {
    let full: BTreeSet<String> = names.iter().map(|name| escaped(&name.parts.join(between))).collect();
    format!("^({})$", full.into_iter().collect::<Vec<_>>().join("|"))
}

/// A text as a pattern of JavaScript that fits it alone.
fn escaped(text: &str) -> String {
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
