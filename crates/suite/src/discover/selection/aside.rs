//! Directories beside the project itself: examples, tools, data of tests.

use crate::test_command::{Source, TestCommand};

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

fn is_beside(part: &str) -> bool {
    part.starts_with("fuzz-") || ASIDE.iter().any(|aside| part.eq_ignore_ascii_case(aside))
}
