//! Everything greenlight needs to know about one framework: plain data and functions, one [`Spec`] for each.

use std::path::Path;

use super::{Ecosystem, Framework};
use crate::checkout::Checkout;
use crate::domain::id::RepoPath;
use crate::domain::test_run::{Outcome, TestRun};
use crate::suite::TestCommand;
use crate::suite::discover::Directory;
use crate::suite::discover::javascript::Script;
use crate::suite::parse::{ParsedRun, Printed};
use crate::suite::reporters::Invocation;

/// The kind of problem a framework reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::suite) enum FrameworkKind {
    /// It runs tests.
    Tests,
    /// It reports findings in code that may still run.
    Linter,
    /// It reports why code does not compile.
    Compiler,
}

/// The runtime of the tests, if greenlight can rerun them without starting from scratch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runtime {
    /// An interpreter that stays alive, with the project's modules imported.
    Python,
    Node,
    /// Test binaries that are built once. Cargo's build uses all cores.
    Cargo,
    Go,
}

/// How a framework reports that a snapshot differs, and how to make it update snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snapshots {
    /// The message of a test that fails because of a snapshot contains one of these.
    pub marks: &'static [&'static str],
    /// Arguments that make it write snapshots.
    pub adds: &'static [&'static str],
    /// Variables that make it write snapshots.
    pub env: &'static [(&'static str, &'static str)],
    /// Whether a snapshot may be part of the test's own file.
    pub is_inline: bool,
}

/// The words of one command; the first is the program without its path.
#[derive(Debug, Clone, Copy)]
pub(in crate::suite) struct CommandLine<'a>(pub(in crate::suite) &'a [&'a str]);

impl CommandLine<'_> {
    pub(in crate::suite) fn program(&self) -> &str {
        self.0.first().copied().unwrap_or_default()
    }

    pub(in crate::suite) fn has(&self, word: &str) -> bool {
        self.0.contains(&word)
    }

    /// The first word after the program that is neither an option nor cargo's toolchain selection.
    pub(in crate::suite) fn subcommand(&self) -> &str {
        let mut words = self.0.iter().skip(1);
        words
            .find(|word| !word.starts_with(['-', '+']))
            .copied()
            .unwrap_or_default()
    }
}

/// One framework. Start from [`Spec::NEW`] and fill in what differs.
pub(in crate::suite) struct Spec {
    /// Its display name. docs/test-suites.md has a row with this name.
    pub(in crate::suite) name: &'static str,
    pub(in crate::suite) ecosystem: Ecosystem,
    pub(in crate::suite) kind: FrameworkKind,
    /// Whether something is compiled before tests run, so that a fresh copy costs a build.
    pub(in crate::suite) is_compiled: bool,
    pub(in crate::suite) runtime: Option<Runtime>,
    pub(in crate::suite) snapshots: &'static [Snapshots],

    /// The installers that may have work to do for it.
    pub(in crate::suite) installers: &'static [&'static str],
    /// The package that contains it. It is installed even if the project does not list it.
    pub(in crate::suite) package: Option<&'static str>,
    /// Other ecosystems whose installed packages its commands may use.
    pub(in crate::suite) also_uses: &'static [Ecosystem],

    /// What identifies it in a project, shown to people whose tests were not found.
    pub(in crate::suite) looks_for: Option<&'static str>,
    /// Files that make a directory a separate module, at any depth.
    pub(in crate::suite) modules: &'static [&'static str],
    /// Finds the command that runs the tests of a directory, from the files in it.
    pub(in crate::suite) discover: fn(&Directory<'_>) -> Option<TestCommand>,
    /// Whether a configured command runs it, judged by the first program. Words have no paths.
    pub(in crate::suite) is_program: fn(CommandLine<'_>) -> bool,
    /// Words that identify it anywhere in a configured command.
    pub(in crate::suite) words: &'static [&'static str],
    /// Whether a line of a CI step runs tests or checks with it.
    pub(in crate::suite) is_check: fn(CommandLine<'_>) -> bool,
    /// How it is found in the scripts of `package.json`, asked for results and filtered.
    pub(in crate::suite) script: Option<&'static Script>,

    /// Makes it report results that can be parsed.
    pub(in crate::suite) reporter: fn(&TestCommand, Invocation) -> Invocation,
    /// The arguments for the named tests alone. `None` if they cannot be expressed.
    pub(in crate::suite) filter: fn(&TestCommand, &[String]) -> Option<Vec<String>>,
    /// The arguments for the parts of the project that these files belong to. `None` if that is the whole project.
    pub(in crate::suite) part: fn(&Checkout, &TestCommand, &[RepoPath]) -> Option<Vec<String>>,

    /// Parses its output and its reports.
    pub(in crate::suite) parse: fn(&Printed<'_>) -> ParsedRun,
    /// Text that only it prints; one of these must occur.
    pub(in crate::suite) marks: &'static [&'static str],
    /// A further condition that its output must meet.
    pub(in crate::suite) may_be: fn(&str) -> bool,
    /// Whether it runs the tests of other frameworks and counts them itself.
    pub(in crate::suite) runs_others: bool,
    /// Frameworks whose results it repeats.
    pub(in crate::suite) repeats: &'static [Framework],
    /// What an exit code means if nothing else explains it.
    pub(in crate::suite) exit: fn(i32) -> Option<Outcome>,
    /// The exit code for unreadable settings.
    pub(in crate::suite) settings_error: Option<i32>,
    /// The part of the output for people, if that is not all of it.
    pub(in crate::suite) readable: fn(&str) -> Option<String>,
    /// Turns names into those that the framework accepts, for the tree at this path.
    pub(in crate::suite) rename: fn(&mut TestRun, &Path, &TestCommand),
}

impl Spec {
    /// A framework with nothing set.
    pub(in crate::suite) const NEW: Self = Self {
        name: "",
        ecosystem: Ecosystem::Any,
        kind: FrameworkKind::Tests,
        is_compiled: false,
        runtime: None,
        snapshots: &[],
        installers: &[],
        package: None,
        also_uses: &[],
        looks_for: None,
        modules: &[],
        discover: |_| None,
        is_program: |_| false,
        words: &[],
        is_check: |_| false,
        script: None,
        reporter: |_, invocation| invocation,
        filter: |_, _| None,
        part: |_, _, _| None,
        parse: |_| ParsedRun::default(),
        marks: &[],
        may_be: |_| true,
        runs_others: false,
        repeats: &[],
        exit: |_| None,
        settings_error: None,
        readable: |_| None,
        rename: |_, _, _| {},
    };
}
