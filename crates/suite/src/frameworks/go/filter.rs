//! Filters for `go test`.

use std::collections::BTreeSet;

use greenlight_anchor::RepoPath;
use greenlight_tree::checkout::Checkout;

use crate::test_command::TestCommand;

/// `-run=^TestA$/^sub$|^TestB$`, and only the packages of these tests if all of them are known.
///
/// Since Go 1.20, a bar outside of parentheses separates whole patterns.
pub(super) fn tests(command: &TestCommand, only: &[String]) -> Option<Vec<String>> {
    let mut patterns = BTreeSet::new();
    let mut packages = BTreeSet::new();
    let mut is_known = true;
    for name in only {
        let (package, test) = match name.split_once(' ') {
            Some((package, test)) => (Some(package), test),
            None => (None, name.as_str()),
        };
        patterns.insert(pattern(test)?);
        match package {
            Some(package) => drop(packages.insert(path(package)?)),
            None => is_known = false,
        }
    }
    let patterns: Vec<String> = patterns.into_iter().collect();
    let mut narrowed = command.argv.clone();
    let at = narrowed.iter().position(|word| word == "test")? + 1;
    if is_known {
        narrowed = with_packages(&narrowed, at, &packages).unwrap_or(narrowed);
    }
    narrowed.insert(at, format!("-run={}", patterns.join("|")));
    Some(narrowed)
}

/// The packages that contain the files, if the command runs whole modules.
pub(in crate::frameworks) fn package(
    checkout: &Checkout,
    command: &TestCommand,
    near: &[RepoPath],
) -> Option<Vec<String>> {
    let mut packages = BTreeSet::new();
    for file in near {
        let file = match &command.directory {
            Some(directory) => file.as_str().strip_prefix(directory.as_str())?.strip_prefix('/')?,
            None => file.as_str(),
        };
        let mut directory = file.rsplit_once('/').map_or("", |(directory, _)| directory);
        // A file in `testdata` or a similar directory belongs to the package above it.
        while !directory.is_empty() && !has_source(checkout, command, directory) {
            directory = directory.rsplit_once('/').map_or("", |(above, _)| above);
        }
        packages.insert(if directory.is_empty() {
            ".".to_string()
        } else {
            format!("./{directory}")
        });
    }
    let at = command.argv.iter().position(|word| word == "test" || word == "vet")? + 1;
    with_packages(&command.argv, at, &packages)
}

fn has_source(checkout: &Checkout, command: &TestCommand, directory: &str) -> bool {
    let prefix = match &command.directory {
        Some(own) => format!("{own}/{directory}/"),
        None => format!("{directory}/"),
    };
    let is_left_out = directory
        .split('/')
        .any(|part| part == "testdata" || part.starts_with(['_', '.']));
    !is_left_out
        && checkout.paths().into_iter().any(|path| {
            let rest = path.as_str().strip_prefix(&prefix);
            rest.is_some_and(|rest| rest.ends_with(".go") && !rest.contains('/'))
        })
}

/// The same arguments with patterns replaced by these packages. `None` if there is no pattern.
fn with_packages(argv: &[String], from: usize, packages: &BTreeSet<String>) -> Option<Vec<String>> {
    let is_pattern = |word: &str| word == "..." || word.ends_with("/...");
    let end = argv
        .iter()
        .position(|word| word.trim_start_matches('-') == "args")
        .unwrap_or(argv.len());
    let at = (from..end).find(|&index| is_pattern(&argv[index]))?;
    let mut narrowed = Vec::new();
    for (index, word) in argv.iter().enumerate() {
        if index == at {
            narrowed.extend(packages.iter().cloned());
        } else if !(from..end).contains(&index) || !is_pattern(word) {
            narrowed.push(word.clone());
        }
    }
    Some(narrowed)
}

/// A name as a literal pattern; Go matches each level separately.
fn pattern(test: &str) -> Option<String> {
    let top = test.split('/').next()?;
    if top.is_empty() || !top.chars().all(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let levels = test.split('/').map(|level| format!("^{}$", regex::escape(level)));
    Some(levels.collect::<Vec<_>>().join("/"))
}

/// The path of a package. `None` if it may be anything else.
fn path(package: &str) -> Option<String> {
    let is_plain = |c: char| c.is_alphanumeric() || "._-/~+".contains(c);
    let is_path =
        package.chars().all(is_plain) && package.starts_with(char::is_alphanumeric) && !package.contains("..");
    is_path.then(|| package.to_string())
}
