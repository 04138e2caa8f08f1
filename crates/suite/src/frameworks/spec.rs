//! Everything greenlight needs to know about one framework: plain data and functions, one [`Spec`] for each.

use std::path::Path;

use greenlight_anchor::RepoPath;
use greenlight_readers::test_run::{Outcome, TestRun};
use greenlight_readers::{ParsedRun, Printed};
use greenlight_tree::checkout::Checkout;

use crate::discover::directory::Directory;
use crate::discover::javascript::Script;
use crate::framework::{Ecosystem, Framework};
use crate::reporters::Invocation;
use crate::test_command::TestCommand;

/// The kind of problem a framework reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameworkKind {
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
    /// A Node process that stays, with the modules of the project loaded.
    Node,
    /// Test binaries that are built once. Cargo's build uses all cores.
    Cargo,
    /// A test binary of each package that is built once.
    Go,
    /// A process that compiles in memory, and one that loads the classes anew for each run.
    Java,
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
pub(crate) struct CommandLine<'a>(pub(crate) &'a [&'a str]);

impl CommandLine<'_> {
    pub(crate) fn program(&self) -> &str {
        self.0.first().copied().unwrap_or_default()
    }

    pub(crate) fn has(&self, word: &str) -> bool {
        self.0.contains(&word)
    }

    /// The first word after the program that is neither an option nor cargo's toolchain selection.
    pub(crate) fn subcommand(&self) -> &str {
        let mut words = self.0.iter().skip(1);
        words
            .find(|word| !word.starts_with(['-', '+']))
            .copied()
            .unwrap_or_default()
    }
}

/// One framework. Start from [`Spec::NEW`] and fill in what differs.
pub(crate) struct Spec {
    /// Its display name. docs/test-suites.md has a row with this name.
    pub(crate) name: &'static str,
    pub(crate) ecosystem: Ecosystem,
    pub(crate) kind: FrameworkKind,
    /// Whether something is compiled before tests run, so that a fresh copy costs a build.
    pub(crate) is_compiled: bool,
    pub(crate) runtime: Option<Runtime>,
    pub(crate) snapshots: &'static [Snapshots],

    /// The installers that may have work to do for it.
    pub(crate) installers: &'static [&'static str],
    /// The package that contains it. It is installed even if the project does not list it.
    pub(crate) package: Option<&'static str>,
    /// Other ecosystems whose installed packages its commands may use.
    pub(crate) also_uses: &'static [Ecosystem],

    /// What identifies it in a project, shown to people whose tests were not found.
    pub(crate) looks_for: Option<&'static str>,
    /// Files that make a directory a separate module, at any depth.
    pub(crate) modules: &'static [&'static str],
    /// Finds the command that runs the tests of a directory, from the files in it.
    pub(crate) discover: fn(&Directory<'_>) -> Option<TestCommand>,
    /// How the command that `discover` returns begins, if it configures a build. Options may follow.
    pub(crate) configure: Option<&'static str>,
    /// Whether a configured command runs it, judged by the first program. Words have no paths.
    pub(crate) is_program: fn(CommandLine<'_>) -> bool,
    /// Words that identify it anywhere in a configured command.
    pub(crate) words: &'static [&'static str],
    /// Whether a line of a CI step runs tests or checks with it.
    pub(crate) is_check: fn(CommandLine<'_>) -> bool,
    /// How it is found in the scripts of `package.json`, asked for results and filtered.
    pub(crate) script: Option<&'static Script>,

    /// Makes it report results that can be parsed.
    pub(crate) reporter: fn(&TestCommand, Invocation) -> Invocation,
    /// The arguments for the named tests alone. `None` if they cannot be expressed.
    pub(crate) filter: fn(&TestCommand, &[String]) -> Option<Vec<String>>,
    /// The arguments for the parts of the project that these files belong to. `None` if that is the whole project.
    pub(crate) part: fn(&Checkout, &TestCommand, &[RepoPath]) -> Option<Vec<String>>,

    /// Parses its output and its reports.
    pub(crate) parse: fn(&Printed<'_>) -> ParsedRun,
    /// Text that only it prints; one of these must occur.
    pub(crate) marks: &'static [&'static str],
    /// A further condition that its output must meet.
    pub(crate) may_be: fn(&str) -> bool,
    /// Whether it runs the tests of other frameworks and counts them itself.
    pub(crate) runs_others: bool,
    /// Frameworks whose results it repeats.
    pub(crate) repeats: &'static [Framework],
    /// What an exit code means if nothing else explains it.
    pub(crate) exit: fn(i32) -> Option<Outcome>,
    /// The exit code for unreadable settings.
    pub(crate) settings_error: Option<i32>,
    /// The part of the output for people, if that is not all of it.
    pub(crate) readable: fn(&str) -> Option<String>,
    /// Turns names into those that the framework accepts, for the tree at this path.
    pub(crate) rename: fn(&mut TestRun, &Path, &TestCommand),
}

impl Spec {
    /// A framework with nothing set.
    pub(crate) const NEW: Self = Self {
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
        configure: None,
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
