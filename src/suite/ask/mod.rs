//! Asks a framework for results that can be read: a machine format where it has one, a report file, no caches.
//!
//! Nothing that is added changes what is tested. Everything stays in arguments and variables, never in files of the
//! tree.

mod go;
pub(in crate::suite) mod javascript;
pub(super) mod jvm;
mod others;
mod python;
mod rust;

use std::collections::BTreeMap;

use super::TestCommand;
use super::framework::Ecosystem;

/// What is run instead of the bare command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) argv: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    /// Where the reports will lie: patterns relative to where the command runs, as [`globset`] reads them.
    pub(super) reports: Vec<String>,
}

/// Adds to the arguments, which may be narrowed already, what makes the result readable.
pub(super) fn ask(command: &TestCommand, argv: Vec<String>) -> Asked {
    let asked = Asked {
        argv,
        ..Asked::default()
    };
    match command.framework.ecosystem() {
        Ecosystem::Rust => rust::ask(command, asked),
        Ecosystem::Python => python::ask(command, asked),
        Ecosystem::JavaScript => javascript::ask(asked),
        Ecosystem::Go => go::ask(command, asked),
        Ecosystem::Java => jvm::ask(command, asked),
        Ecosystem::NotInstalled | Ecosystem::Any => others::ask(command, asked),
    }
}

impl Asked {
    /// Puts an option behind a word, if it is not there yet.
    fn after(&mut self, word: &str, option: &str) {
        if let Some(at) = self.argv.iter().position(|other| other == word)
            && !self.argv.iter().any(|other| other == option)
        {
            self.argv.insert(at + 1, option.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{Framework, Source};

    #[test]
    fn readable_results_are_asked_for_once() {
        #[track_caller]
        fn check(framework: Framework, command: &str, expected: &str) {
            let argv = shlex::split(command).unwrap();
            let command = TestCommand::new(argv.clone(), framework, Source::Settings);
            assert_eq!(ask(&command, argv).argv.join(" "), expected);
        }
        check(Framework::Cargo, "cargo test -p a", "cargo test --no-fail-fast -p a");
        check(
            Framework::Cargo,
            "cargo test --no-fail-fast",
            "cargo test --no-fail-fast",
        );
        check(Framework::Go, "go test ./...", "go test -count=1 -json ./...");
        check(
            Framework::Node,
            "node --test a.js",
            "node --test --test-reporter=tap a.js",
        );
        check(
            Framework::Unittest,
            "python3 -m unittest discover -s tests",
            "python3 -m unittest discover -v -s tests",
        );
        check(Framework::Unittest, "python3 -m unittest", "python3 -m unittest -v");
        check(
            Framework::Pytest,
            "uv run pytest -q",
            "uv run pytest --color=no -ocache_dir=/tmp/pytest_cache --junitxml=.greenlight-report.xml -ojunit_family=xunit1 -q",
        );
        check(Framework::Other, "make check", "make check");
    }
}
