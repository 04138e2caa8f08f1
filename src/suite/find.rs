//! Finds the command that runs a project's tests: as configured, else from the files that projects describe
//! themselves with, at the root first and then one directory down.
//!
//! Only the tree is read, nothing runs. Not here yet: what the failed job of the CI itself ran.

mod javascript;
mod python;

use std::borrow::Cow;

use super::{DEFAULT_TIMEOUT, Framework, Source, TestCommand, TestSettings};
use crate::checkout::Checkout;
use crate::domain::id::RepoPath;

/// More directories than this are not looked into.
const MAX_DIRECTORIES: usize = 200;

/// No test command was found; says where one was looked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no tests were found (looked for {}); set `[test] command` in greenlight.toml", looked_for.join(", "))]
pub struct NothingFound {
    pub looked_for: Vec<String>,
}

/// Finds how the tests of a tree are run.
///
/// # Errors
/// When nothing is configured and the tree does not say either.
pub fn find(checkout: &Checkout, settings: &TestSettings) -> Result<TestCommand, NothingFound> {
    let mut command = match settings
        .command
        .as_deref()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        Some(line) => configured(checkout, line),
        None => directories(checkout)
            .iter()
            .find_map(|place| in_directory(place))
            .ok_or_else(NothingFound::new)?,
    };
    command.timeout = settings.timeout.unwrap_or(DEFAULT_TIMEOUT);
    Ok(command)
}

impl NothingFound {
    fn new() -> Self {
        let looked_for = [
            "`Cargo.toml`",
            "Python test files or pytest settings",
            "a `test` script in `package.json`",
            "`go.mod`",
            "`pom.xml`",
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
        Some(TestCommand {
            argv: argv.iter().map(ToString::to_string).collect(),
            directory: self.directory.clone(),
            framework,
            source: Source::File(self.path(file).parse().ok()?),
            timeout: DEFAULT_TIMEOUT,
            import_root: None,
        })
    }
}

/// The root, then its sub-directories in order.
fn directories(checkout: &Checkout) -> Vec<Place<'_>> {
    let mut names: Vec<&str> = checkout
        .paths()
        .into_iter()
        .filter_map(|path| path.as_str().split_once('/'))
        .map(|(directory, _)| directory)
        .filter(|directory| !directory.starts_with('.') && *directory != "node_modules")
        .collect();
    names.dedup();
    let below = names
        .into_iter()
        .take(MAX_DIRECTORIES)
        .filter_map(|name| name.parse().ok())
        .map(Some);
    std::iter::once(None)
        .chain(below)
        .map(|directory| Place { checkout, directory })
        .collect()
}

fn in_directory(place: &Place<'_>) -> Option<TestCommand> {
    cargo(place)
        .or_else(|| python::find(place))
        .or_else(|| javascript::find(place))
        .or_else(|| {
            place
                .has("go.mod")
                .then(|| place.command(&["go", "test", "./..."], Framework::Go, "go.mod"))?
        })
        .or_else(|| {
            place
                .has("pom.xml")
                .then(|| place.command(&["mvn", "-B", "test"], Framework::Maven, "pom.xml"))?
        })
}

fn cargo(place: &Place<'_>) -> Option<TestCommand> {
    let manifest: toml::Table = place.text("Cargo.toml")?.parse().ok()?;
    let argv: &[&str] = if manifest.contains_key("workspace") {
        &["cargo", "test", "--workspace"]
    } else {
        &["cargo", "test"]
    };
    place.command(argv, Framework::Cargo, "Cargo.toml")
}

/// What a person wrote: taken apart into words where that is all it needs, else given to a shell.
fn configured(checkout: &Checkout, line: &str) -> TestCommand {
    let root = Place {
        checkout,
        directory: None,
    };
    let words = if needs_shell(line) { None } else { shlex::split(line) };
    let (argv, framework) = match words {
        Some(words) if !words.is_empty() => {
            let framework = framework_of(&root, &words);
            (words, framework)
        }
        _ => (vec!["sh".into(), "-c".into(), line.into()], Framework::Other),
    };
    TestCommand {
        argv,
        directory: None,
        framework,
        source: Source::Settings,
        timeout: DEFAULT_TIMEOUT,
        import_root: python::import_root(&root),
    }
}

/// Whether a line means more to a shell than its words.
fn needs_shell(line: &str) -> bool {
    let assigns = line.split_whitespace().next().is_some_and(|word| word.contains('='));
    let builtin = matches!(
        line.split_whitespace().next(),
        Some("cd" | "source" | "." | "export" | "set" | "if" | "for" | "while" | "exec" | "eval")
    );
    assigns
        || builtin
        || line.contains([
            '|', '&', ';', '<', '>', '(', ')', '$', '`', '*', '?', '[', '#', '~', '{', '\n',
        ])
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
        Some("go") if has("test") => Framework::Go,
        Some("node") if has("--test") => Framework::Node,
        Some("mvn" | "mvnw") => Framework::Maven,
        Some("npm" | "yarn" | "pnpm" | "bun") if has("test") || has("t") => javascript::script_framework(root),
        _ if has("pytest") || has("py.test") => Framework::Pytest,
        _ if has("unittest") => Framework::Unittest,
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
