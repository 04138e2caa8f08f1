//! Directories beside the project itself: examples, tools, data of tests, and what CI never mentions.

use std::collections::BTreeSet;

use greenlight_anchor::RepoPath;
use greenlight_tree::checkout::Checkout;

use crate::test_command::{Source, TestCommand};

/// The folder of workflows, and the maximum size of one that is looked through for names of folders, in bytes.
const WORKFLOWS: &str = ".github/workflows/";
const MAX_WORKFLOW: usize = 256 << 10;

/// Directories whose tests only run after changes to them: they are rarely part of the project's own CI.
const ASIDE: [&str; 27] = [
    "bench",
    "benches",
    "benchmark",
    "benchmarks",
    "buildSrc",
    "compliance",
    "contrib",
    "demo",
    "demos",
    "docs",
    "documentation",
    "example",
    "examples",
    "fixtures",
    "fuzz",
    "playground",
    "sample",
    "samples",
    "scripts",
    "support",
    "templates",
    "testdata",
    "third_party",
    "tools",
    "tutorial",
    "tutorials",
    "vendor",
];

/// Where CI runs the tests of a folder that is named after tests, those are the tests.
pub(super) fn is_aside_command(command: &TestCommand) -> bool {
    let directory = command.directory.as_ref().map_or("", |directory| directory.as_str());
    match command.source {
        Source::Ci { .. } => directory.split('/').any(is_beside),
        _ => is_aside(directory),
    }
}

/// Whether the name of a directory says that it holds examples, tools or tests.
pub(in crate::discover) fn is_aside(directory: &str) -> bool {
    directory
        .split('/')
        .any(|part| is_beside(part) || matches!(part, "test" | "tests" | "spec"))
}

/// The indices of commands that only files suggest, for folders that no workflow mentions though CI has commands
/// for other tests.
pub(super) fn unknown_to_ci(checkout: &Checkout, commands: &[TestCommand]) -> BTreeSet<usize> {
    let is_of_ci = |command: &TestCommand| matches!(command.source, Source::Ci { .. });
    let paths = checkout.paths().into_iter().map(RepoPath::as_str);
    let workflows = paths.filter(|path| path.starts_with(WORKFLOWS));
    let texts: Vec<String> = workflows
        .filter_map(|path| checkout.read_text(path))
        .filter(|text| text.len() <= MAX_WORKFLOW)
        .collect();
    if texts.is_empty() || !commands.iter().any(is_of_ci) {
        return BTreeSet::new();
    }
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let words: BTreeSet<&str> = texts.iter().flat_map(|text| text.split(|c| !is_name(c))).collect();
    let is_unknown = |command: &TestCommand| {
        let name = command
            .directory
            .as_ref()
            .and_then(|path| path.as_str().rsplit('/').next());
        !is_of_ci(command) && name.is_some_and(|name| !words.contains(name))
    };
    let all = commands.iter().enumerate();
    all.filter(|(_, command)| is_unknown(command))
        .map(|(at, _)| at)
        .collect()
}

fn is_beside(part: &str) -> bool {
    part.starts_with("fuzz-") || ASIDE.iter().any(|aside| part.eq_ignore_ascii_case(aside))
}
