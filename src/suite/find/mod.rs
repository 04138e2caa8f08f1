//! Finds the commands that run a project's tests: as configured, else what the failed step of the CI ran, else from the
//! files that projects describe themselves with, nearest to what fails first.
//!
//! Only the tree is read, nothing runs.

mod go;
pub(in crate::suite) mod javascript;
mod jvm;
mod others;
mod parts;
mod python;
mod recipes;
mod rust;
mod step;

use std::borrow::Cow;

pub use self::parts::{Part, parts};
pub(super) use self::python::tox_requirements;
pub use self::rust::has_member;
pub(super) use self::step::runs_tests;
use super::{DEFAULT_TIMEOUT, Framework, Source, TestCommand, TestSettings};
use crate::checkout::Checkout;
pub use crate::domain::ci_step::CiStep;
use crate::domain::id::RepoPath;

/// More directories than this are not looked into.
const MAX_DIRECTORIES: usize = 200;
/// More commands than this are not told.
const MAX_COMMANDS: usize = 20;

/// What is known of a failure before anything ran.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    /// The step of a CI job that failed.
    pub step: Option<CiStep>,
    /// Files that fail, or that were changed: the manifest nearest to them is asked first.
    pub near: Vec<RepoPath>,
}

/// No test command was found; says where one was looked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no tests were found (looked for {}); set `[test] command` in greenlight.toml", looked_for.join(", "))]
pub struct NothingFound {
    pub looked_for: Vec<String>,
}

/// Finds how the tests of a tree are run: the first of [`find_all`].
///
/// # Errors
/// When nothing is configured and the tree does not say either.
pub fn find(checkout: &Checkout, settings: &TestSettings, hints: &Hints) -> Result<TestCommand, NothingFound> {
    let mut all = find_all(checkout, settings, hints).into_iter();
    all.next().ok_or_else(NothingFound::new)
}

/// Finds every command that runs tests of a tree, the most fitting one first. A configured one is the only one.
pub fn find_all(checkout: &Checkout, settings: &TestSettings, hints: &Hints) -> Vec<TestCommand> {
    let line = settings.command.as_deref().map(str::trim);
    let mut commands = match line.filter(|line| !line.is_empty()) {
        Some(line) => vec![configured(checkout, line)],
        None => {
            let step = hints.step.as_ref().and_then(|step| step::command(checkout, step));
            let own = places(checkout, &hints.near);
            step.into_iter().chain(own.iter().flat_map(in_place)).collect()
        }
    };
    commands.truncate(MAX_COMMANDS);
    for command in &mut commands {
        command.timeout = settings.timeout.unwrap_or(DEFAULT_TIMEOUT);
    }
    commands
}

impl NothingFound {
    fn new() -> Self {
        let looked_for = [
            "`Cargo.toml`",
            "Python test files or pytest settings",
            "a `test` script in `package.json`",
            "`go.mod`",
            "`pom.xml`",
            "RSpec or Ruby tests",
            "PHPUnit",
            "projects of .NET tests",
            "CTest",
            "a `test` target of make, just or Task",
            "`build.gradle`",
        ];
        Self {
            looked_for: looked_for.map(ToString::to_string).to_vec(),
        }
    }
}

/// One directory of a tree.
struct Place<'a> {
    checkout: &'a Checkout,
    directory: Option<RepoPath>,
}

impl Place<'_> {
    fn path(&self, name: &str) -> String {
        match &self.directory {
            Some(directory) => format!("{directory}/{name}"),
            None => name.to_string(),
        }
    }

    fn text(&self, name: &str) -> Option<String> {
        self.checkout.read_text(&self.path(name))
    }

    fn has(&self, name: &str) -> bool {
        self.checkout.contains(&self.path(name))
    }

    /// Paths below this directory, relative to it.
    fn files(&self) -> impl Iterator<Item = &str> {
        let prefix = self
            .directory
            .as_ref()
            .map_or(String::new(), |directory| format!("{directory}/"));
        self.checkout
            .paths()
            .into_iter()
            .filter_map(move |path| path.as_str().strip_prefix(prefix.as_str()))
    }

    fn command(&self, argv: &[&str], framework: Framework, file: &str) -> Option<TestCommand> {
        let argv = argv.iter().map(ToString::to_string).collect();
        Some(TestCommand {
            directory: self.directory.clone(),
            ..TestCommand::new(argv, framework, Source::File(self.path(file).parse().ok()?))
        })
    }
}

/// The directories above the files that fail, nearest first; then the root and its sub-directories in order.
fn places<'a>(checkout: &'a Checkout, near: &[RepoPath]) -> Vec<Place<'a>> {
    let mut order: Vec<Option<RepoPath>> = Vec::new();
    for path in near {
        let mut path = path.as_str();
        while let Some((above, _)) = path.rsplit_once('/') {
            order.extend(above.parse().ok().map(Some));
            path = above;
        }
    }
    let mut names: Vec<&str> = checkout
        .paths()
        .into_iter()
        .filter_map(|path| path.as_str().split_once('/'))
        .map(|(directory, _)| directory)
        .filter(|directory| !directory.starts_with('.') && *directory != "node_modules")
        .collect();
    names.dedup();
    order.push(None);
    order.extend(names.into_iter().filter_map(|name| name.parse().ok()).map(Some));
    order.extend(modules(checkout));
    let mut places: Vec<Place<'a>> = Vec::new();
    for directory in order {
        if places.len() < MAX_DIRECTORIES && !places.iter().any(|place| place.directory == directory) {
            places.push(Place { checkout, directory });
        }
    }
    places
}

/// Modules of Go and Java further down, but not those that are the input of tests.
fn modules(checkout: &Checkout) -> impl Iterator<Item = Option<RepoPath>> {
    let paths = checkout.paths().into_iter().map(RepoPath::as_str);
    let directories = paths.filter_map(|path| {
        let (directory, name) = path.rsplit_once('/')?;
        let is_input = |part: &str| matches!(part, "src" | "testdata" | "vendor" | "node_modules");
        let is_manifest = matches!(name, "go.mod" | "pom.xml" | "build.gradle" | "build.gradle.kts");
        (is_manifest && !directory.split('/').any(is_input)).then_some(directory)
    });
    directories.filter_map(|directory| directory.parse().ok()).map(Some)
}

/// The commands that the files of one directory tell.
fn in_place(place: &Place<'_>) -> Vec<TestCommand> {
    [
        rust::find(place),
        python::find(place),
        javascript::find(place),
        go::find(place),
        jvm::find(place),
        others::find(place),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What a person wrote: taken apart into words where that is all it needs, else given to a shell.
fn configured(checkout: &Checkout, line: &str) -> TestCommand {
    let root = Place {
        checkout,
        directory: None,
    };
    let words = if needs_shell(line) { None } else { shlex::split(line) };
    let (argv, framework) = match words {
        Some(words) if !words.is_empty() => javascript::taken_apart(&root, &words).unwrap_or_else(|| {
            let framework = framework_of(&root, &words);
            (words, framework)
        }),
        _ => (vec!["sh".into(), "-c".into(), line.into()], Framework::Other),
    };
    TestCommand {
        import_root: python::import_root(&root),
        ..TestCommand::new(argv, framework, Source::Settings)
    }
}

/// Whether a line means more to a shell than its words.
fn needs_shell(line: &str) -> bool {
    let assigns = line.split_whitespace().next().is_some_and(|word| word.contains('='));
    let builtin = matches!(
        line.split_whitespace().next(),
        Some(
            "!" | "cd"
                | "source"
                | "."
                | "export"
                | "set"
                | "unset"
                | "if"
                | "for"
                | "while"
                | "until"
                | "case"
                | "exec"
                | "eval"
                | "command"
                | "time"
                | "trap"
                | "ulimit"
                | "umask"
        )
    );
    assigns || builtin || has_meaning(line)
}

/// Whether a character of the line, as it is quoted, is more than itself to a shell.
fn has_meaning(line: &str) -> bool {
    let mut characters = line.chars();
    let mut quote = None;
    while let Some(character) = characters.next() {
        let means = match (quote, character) {
            (None, '\'') | (None | Some('"'), '"') => {
                quote = quote.is_none().then_some(character);
                false
            }
            (Some('\''), _) => {
                quote = quote.filter(|_| character != '\'');
                false
            }
            (_, '\\') => characters.next() == Some('\n'),
            (Some(_), _) => matches!(character, '$' | '`'),
            (None, _) => "|&;<>()$`*?[#~{\n".contains(character),
        };
        if means {
            return true;
        }
    }
    false
}

/// What a command without shell syntax runs.
fn framework_of(root: &Place<'_>, words: &[String]) -> Framework {
    let base = |word: &String| word.rsplit('/').next().unwrap_or(word).to_string();
    let names: Vec<String> = words.iter().map(base).collect();
    let has = |name: &str| names.iter().any(|word| word == name);
    match names.first().map(String::as_str) {
        Some("cargo")
            if names
                .iter()
                .skip(1)
                .find(|word| !word.starts_with('+'))
                .is_some_and(|word| word == "test" || word == "t") =>
        {
            Framework::Cargo
        }
        Some("cargo") if has("nextest") => Framework::Nextest,
        Some("cargo") if has("check") || has("clippy") || has("build") => Framework::Rustc,
        Some("go") if has("test") => Framework::Go,
        Some("go") if has("vet") => Framework::GoVet,
        Some("node") if has("--test") => Framework::Node,
        Some("mvn" | "mvnw") => Framework::Maven,
        Some("gradle" | "gradlew") => Framework::Gradle,
        Some("npm" | "yarn" | "pnpm" | "bun") if has("test") || has("t") => javascript::script_framework(root),
        Some("ctest") => Framework::Ctest,
        Some("dotnet") if has("test") => Framework::Dotnet,
        Some("bats" | "prove") => Framework::Tap,
        Some("gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" | "javac") => Framework::Compiler,
        _ if has("rspec") => Framework::Rspec,
        _ if has("phpunit") || has("pest") => Framework::Phpunit,
        Some("rake" | "bundle" | "rails") if has("test") => Framework::Minitest,
        _ if has("pytest") || has("py.test") => Framework::Pytest,
        _ if has("unittest") => Framework::Unittest,
        _ if has("ruff") => Framework::Ruff,
        _ if has("mypy") => Framework::Mypy,
        _ if has("jest") => Framework::Jest,
        _ if has("vitest") => Framework::Vitest,
        _ if has("mocha") => Framework::Mocha,
        _ => Framework::Other,
    }
}

/// A word as it would be typed.
pub(super) fn quoted(word: &str) -> Cow<'_, str> {
    shlex::try_quote(word).unwrap_or(Cow::Borrowed("…"))
}

#[cfg(test)]
mod tests;
