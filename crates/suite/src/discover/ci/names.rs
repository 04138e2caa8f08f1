//! Whether two commands name different tests: folders, packages, projects or scripts.

use std::collections::BTreeSet;

use super::arguments::arguments;
use super::purpose::{packages, paths_of_python};
use crate::discover::step::tool::inline_tests;
use crate::framework::{Ecosystem, Framework};
use crate::test_command::TestCommand;

/// Whether two commands of the same framework name different tests of a directory, as two scripts of `package.json` or
/// two folders do, or code for Python and a module: neither runs what the other runs.
pub(super) fn names_others(one: &TestCommand, other: &TestCommand) -> bool {
    let is_python = |command: &TestCommand| command.framework == Framework::Unittest;
    if is_python(one) && is_python(other) && has_code(one) != has_code(other) {
        return true;
    }
    let ecosystem = one.framework.spec().ecosystem;
    if ecosystem != other.framework.spec().ecosystem {
        return false;
    }
    let (ones, others) = match ecosystem {
        Ecosystem::JavaScript => (named(one), named(other)),
        Ecosystem::Python => (folders(one), folders(other)),
        Ecosystem::Go => (packages(&one.argv).collect(), packages(&other.argv).collect()),
        Ecosystem::Dotnet => (projects(one), projects(other)),
        _ => return false,
    };
    // They name everything.
    let is_all =
        |names: &BTreeSet<&str>| names.is_empty() || names.iter().any(|name| matches!(*name, "" | "." | "./..."));
    // Modules of unittest are separated by dots.
    let separators: &[char] = if ecosystem == Ecosystem::Python {
        &['/', '.']
    } else {
        &['/']
    };
    let name_all = |paths: &BTreeSet<&str>, others| name_all(paths, others, separators);
    !is_all(&ones) && !is_all(&others) && !name_all(&ones, &others) && !name_all(&others, &ones)
}

/// The projects and solutions that `dotnet test` is told: <https://learn.microsoft.com/dotnet/core/tools/dotnet-test>
fn projects(command: &TestCommand) -> BTreeSet<&str> {
    const VALUED: [&str; 20] = [
        "--arch",
        "--collect",
        "--configuration",
        "--diag",
        "--filter",
        "--framework",
        "--logger",
        "--os",
        "--output",
        "--results-directory",
        "--runtime",
        "--settings",
        "--test-adapter-path",
        "--verbosity",
        "-c",
        "-f",
        "-l",
        "-o",
        "-s",
        "-v",
    ];
    let end = command
        .argv
        .iter()
        .position(|word| word == "--")
        .unwrap_or(command.argv.len());
    let is_path = |word: &&str| {
        let is_file = ["proj", ".sln", ".slnx", ".slnf"].iter().any(|end| word.ends_with(end));
        // `/p:Name=value` is an option.
        !word.starts_with('/') && (word.contains(['/', '\\']) || is_file)
    };
    arguments(&command.argv[..end], &VALUED).filter(is_path).collect()
}

/// Whether some paths include all of the others.
fn name_all(paths: &BTreeSet<&str>, others: &BTreeSet<&str>, separators: &[char]) -> bool {
    let is_in = |other: &str, path: &str| {
        let below = other.strip_prefix(path.trim_end_matches("/..."));
        other == path || below.is_some_and(|rest| rest.starts_with(separators))
    };
    others.iter().all(|other| paths.iter().any(|path| is_in(other, path)))
}

/// The folders and files that a command of Python names.
fn folders(command: &TestCommand) -> BTreeSet<&str> {
    paths_of_python(&command.argv)
        .map(|path| path.trim_start_matches("./").trim_end_matches('/'))
        .collect()
}

/// Whether a command of JavaScript names all files that another one of the same framework names, and more.
pub(super) fn names_more(one: &TestCommand, other: &TestCommand) -> bool {
    let is_alike = one.framework == other.framework && one.directory == other.directory;
    let (more, less) = (named(one), named(other));
    let is_file = |word: &&str| word.contains('.');
    is_alike
        && one.framework.spec().ecosystem == Ecosystem::JavaScript
        && !less.is_empty()
        && less.iter().all(is_file)
        && less.len() < more.len()
        && less.is_subset(&more)
}

/// Whether Python is told code on the command line, which loads other tests than a module does.
fn has_code(command: &TestCommand) -> bool {
    inline_tests(command.argv.get(1..).unwrap_or_default()).is_some()
}

/// The words of a command that may be tests: those of its last line that are neither options nor programs.
fn named(command: &TestCommand) -> BTreeSet<&str> {
    let line = match command.argv.as_slice() {
        [shell, flag, script, ..] if shell == "sh" && flag == "-c" => script.as_str(),
        _ => return plain(command.argv.iter().map(String::as_str)),
    };
    plain(line.rsplit("&&").next().unwrap_or(line).split_whitespace())
}

fn plain<'w>(words: impl Iterator<Item = &'w str>) -> BTreeSet<&'w str> {
    const PROGRAMS: [&str; 12] = [
        "npx",
        "node",
        "run",
        "vitest",
        "jest",
        "mocha",
        "ava",
        "tap",
        "nyc",
        "c8",
        "cross-env",
        "exec",
    ];
    let is_program = |word: &str| PROGRAMS.contains(&word) || word.contains("node_modules/") || word.contains("bin/");
    words
        .map(|word| word.trim_matches(['"', '\'']))
        .filter(|word| !word.is_empty() && !word.starts_with(['-', '$']) && !word.contains('=') && !is_program(word))
        .collect()
}
