//! What a CI job installs for its tests, taken from the lines of its scripts. The lines are read, never run: what they
//! ask for is installed in the same way as what the project's own lists ask for.

use std::collections::BTreeMap;

use greenlight_anchor::RepoPath;
use greenlight_readers::ci_step::CiScript;
use serde::{Deserialize, Serialize};

use crate::ci_build::BuildCommand;
use crate::ci_configure::is_configuring;
use crate::ci_services::started_by;
use crate::ci_variables::set_for;
use crate::shell::{self, line_directory, python_module, split_line};

/// Maximum number of words that are kept of all lines.
const MAX_WORDS: usize = 200;
/// Maximum number of commands that build something, and of those that are read to find them.
const MAX_BUILDS: usize = 5;
const MAX_READ_BUILDS: usize = 20;
/// Maximum length of a word.
const MAX_WORD: usize = 200;
/// Packages that manage environments or report to services; the tests do not import them.
const MANAGERS: [&str; 19] = [
    "pip",
    "setuptools",
    "wheel",
    "build",
    "twine",
    "uv",
    "poetry",
    "pdm",
    "hatch",
    "pipenv",
    "virtualenv",
    "tox",
    "nox",
    "tox-gh-actions",
    "tox-uv",
    "pre-commit",
    "codecov",
    "coveralls",
    "pipx",
];
/// Options of `pip install` with a value that does not say what is installed.
const SKIPPED_WITH_VALUE: [&str; 12] = [
    "-i",
    "--index-url",
    "--extra-index-url",
    "-f",
    "--find-links",
    "-t",
    "--target",
    "--prefix",
    "--timeout",
    "--python",
    "-p",
    "--only-binary",
];
/// Options of npm that change how dependencies are resolved, and nothing else.
const NPM_FLAGS: [&str; 2] = ["--legacy-peer-deps", "--force"];

/// What a CI job installs before its tests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CiInstall {
    /// Python requirements, as pip takes them.
    #[serde(default)]
    pub requirements: Vec<String>,
    /// Requirement files.
    #[serde(default)]
    pub files: Vec<RepoPath>,
    /// Files that restrict versions.
    #[serde(default)]
    pub constraints: Vec<RepoPath>,
    /// Extras of the project.
    #[serde(default)]
    pub extras: Vec<String>,
    /// Dependency groups of the project.
    #[serde(default)]
    pub groups: Vec<String>,
    /// Whether all extras or all groups are installed.
    #[serde(default)]
    pub all: bool,
    /// Options for npm.
    #[serde(default)]
    pub npm_flags: Vec<String>,
    /// What the job builds before its tests, in order.
    #[serde(default)]
    pub builds: Vec<BuildCommand>,
    /// The services, such as databases, that CI starts beside the tests. greenlight does not start them.
    #[serde(default)]
    pub services: Vec<String>,
    /// The versions of languages that CI sets up, by name; several are separated by commas.
    #[serde(default)]
    pub versions: BTreeMap<String, String>,
}

/// Whether a script has a line that installs packages, or configures or builds something.
pub(crate) fn installs(script: &str, env: &BTreeMap<String, String>) -> bool {
    let lines = shell::lines(script, env, |_| false).unwrap_or_default();
    let builds = |words: &[String]| {
        BuildCommand::of(words, None)
            .or_else(|| BuildCommand::of_make(words, None))
            .is_some()
    };
    let is_useful = |words: &[String]| {
        Line::of(words).is_some() || builds(words) || is_configuring(words).is_some() || started_by(words).is_some()
    };
    lines.iter().any(|line| is_useful(&line.words))
}

/// What a line installs with.
enum Line<'w> {
    /// The words after `pip install`.
    Pip(&'w [String]),
    /// The words after `uv sync`, `uv run`, `poetry install` or `pdm install`.
    Project(&'w [String]),
    /// The words after `npm install`.
    Npm(&'w [String]),
}

impl<'w> Line<'w> {
    fn of(words: &'w [String]) -> Option<Self> {
        let names: Vec<&str> = words.iter().map(String::as_str).take(3).collect();
        let is_python = |word: &str| word.starts_with("python") && !word.contains('/');
        match names.as_slice() {
            [python, ..] if is_python(python) => {
                let module = &words[1 + python_module(&words[1..])?..];
                let names: Vec<&str> = module.iter().map(String::as_str).take(3).collect();
                match names.as_slice() {
                    ["pip", "install", ..] => Some(Self::Pip(&module[2..])),
                    ["uv", "pip", "install"] => Some(Self::Pip(&module[3..])),
                    ["uv", "sync" | "run", ..] => Some(Self::Project(&module[2..])),
                    _ => None,
                }
            }
            ["uv", "pip", "install", ..] => Some(Self::Pip(&words[3..])),
            ["pip" | "pip3", "install", ..] => Some(Self::Pip(&words[2..])),
            ["uv", "sync" | "run", ..] | ["poetry" | "pdm", "install" | "sync", ..] => Some(Self::Project(&words[2..])),
            ["npm", "ci" | "install" | "i", ..] => Some(Self::Npm(&words[2..])),
            _ => None,
        }
    }
}

impl CiInstall {
    /// Whether the job installs nothing that is known here.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it says what the tests of a Python project need.
    pub(crate) fn is_for_python(&self) -> bool {
        let named = [&self.requirements, &self.extras, &self.groups];
        self.all || !self.files.is_empty() || named.iter().any(|list| !list.is_empty())
    }

    /// Adds services by their names, which are the workflow's and may be anything.
    pub(crate) fn add_services(&mut self, services: &[String]) {
        services.iter().for_each(|service| add(&mut self.services, service));
    }

    /// Adds what the lines of a script install.
    pub(crate) fn add(&mut self, script: &CiScript, env: &BTreeMap<String, String>) {
        let mut env = env.clone();
        env.extend(script.env.clone());
        let env = &env;
        for line in shell::lines(&script.script, env, |_| false).unwrap_or_default() {
            let Some(directory) = line_directory(script.directory.as_ref(), &line.directory, env) else {
                continue;
            };
            // A word that only a shell would know is left out.
            let mut is_known = true;
            let words = split_line(&line.words, env, |_| {
                is_known = false;
                Some(Vec::new())
            });
            let Some(words) = words else { continue };
            if let Some(service) = started_by(&words) {
                add(&mut self.services, &service);
                continue;
            }
            match Line::of(&words) {
                Some(Line::Pip(words)) => self.pip(words, directory.as_ref()),
                Some(Line::Project(words)) => self.project(words),
                Some(Line::Npm(words)) => {
                    let flags = words.iter().filter(|word| NPM_FLAGS.contains(&word.as_str()));
                    flags.for_each(|flag| add(&mut self.npm_flags, flag));
                }
                // A word that is left out may change what is built.
                None if is_known && self.builds.len() < MAX_READ_BUILDS => {
                    let is_configured = self.builds.iter().any(BuildCommand::configures);
                    let of_make = || BuildCommand::of_make(&words, directory.clone()).filter(|_| is_configured);
                    let build = BuildCommand::of(&words, directory.clone()).or_else(of_make);
                    let build = build.map(|build| build.with_variables(set_for(&line, script, env)));
                    // A script may build something else before each of several steps, as their variables say.
                    self.builds
                        .extend(build.filter(|build| {
                            !build.is_script() && !build.is_of_cmake() || !self.builds.contains(build)
                        }));
                }
                None => {}
            }
        }
    }

    /// Leaves out builds that cannot succeed, or that a later one does again. `has` says whether the tree has a file, and
    /// `has_directory` whether it has a directory.
    ///
    /// A copy of a file that nothing builds here would fail, and so would a `./configure` of what a job has downloaded. A
    /// second `./configure` replaces what the first one wrote.
    pub(crate) fn leave_out_useless_builds(
        &mut self,
        has: impl Fn(&str) -> bool,
        has_directory: impl Fn(&RepoPath) -> bool,
    ) {
        let all = std::mem::take(&mut self.builds);
        let is_configured_again = |at: usize| {
            let is_same = |later: &BuildCommand| later.runs_configure() && later.directory == all[at].directory;
            let is_part = all[at].runs_configure() || all[at].is_plain_make();
            is_part && all[at + 1..].iter().any(is_same)
        };
        let builds_files = |build: &BuildCommand| !build.configures() && build.copied().is_none();
        for (at, build) in all.iter().enumerate() {
            let is_there = |path: String| has(&path) || all[..at].iter().any(builds_files);
            let is_downloaded = build.runs_configure() && !build.directory.as_ref().is_none_or(&has_directory);
            if build.copied().is_none_or(is_there) && !is_configured_again(at) && !is_downloaded {
                self.builds.push(build.clone());
            }
        }
        self.builds.truncate(MAX_BUILDS);
    }

    fn pip(&mut self, words: &[String], directory: Option<&RepoPath>) {
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            let (name, joined) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value)),
                _ => (word, None),
            };
            match name {
                "-r" | "--requirement" | "-c" | "--constraint" => {
                    let list = if matches!(name, "-r" | "--requirement") {
                        &mut self.files
                    } else {
                        &mut self.constraints
                    };
                    let file = joined.or_else(|| words.next());
                    add_file(list, directory, file);
                }
                "--group" => {
                    let group = joined.or_else(|| words.next()).unwrap_or_default();
                    // A group may be preceded by the file that lists it.
                    add_name(&mut self.groups, group.rsplit(':').next().unwrap_or_default());
                }
                "-e" | "--editable" => {
                    let path = joined.or_else(|| words.next()).unwrap_or_default();
                    self.extras_of(path);
                }
                _ if name.starts_with("-r") && !name.starts_with("--") => {
                    add_file(&mut self.files, directory, Some(&name[2..]));
                }
                _ if SKIPPED_WITH_VALUE.contains(&name) => {
                    if joined.is_none() {
                        words.next();
                    }
                }
                _ if name.starts_with('-') => {}
                _ if word.starts_with('.') => self.extras_of(word),
                _ => self.requirement(word),
            }
        }
    }

    /// `.[test,cli]` and `.`
    fn extras_of(&mut self, path: &str) {
        let (path, extras) = path.split_once('[').unwrap_or((path, ""));
        if matches!(path, "." | "./") {
            let extras = extras.split(']').next().unwrap_or_default();
            extras
                .split(',')
                .for_each(|extra| add_name(&mut self.extras, extra.trim()));
        }
    }

    fn requirement(&mut self, word: &str) {
        let name = word
            .split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')))
            .next();
        let name = name.unwrap_or_default();
        // Paths, addresses and archives need more than a registry.
        let is_plain = word.starts_with(|c: char| c.is_ascii_alphanumeric()) && !word.contains(['/', ':', '\u{1}']);
        if is_plain && !name.is_empty() && !MANAGERS.contains(&name.to_ascii_lowercase().as_str()) {
            add(&mut self.requirements, word);
        }
    }

    fn project(&mut self, words: &[String]) {
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            let (name, joined) = word
                .split_once('=')
                .map_or((word, None), |(name, value)| (name, Some(value)));
            let list = match name {
                "--group" | "--with" | "--only" | "--only-group" | "-G" => &mut self.groups,
                "--extra" | "--extras" | "-E" => &mut self.extras,
                "--all-extras" | "--all-groups" | "-G:all" => {
                    self.all = true;
                    continue;
                }
                _ if name.starts_with('-') => continue,
                // The command that `uv run` runs.
                _ => break,
            };
            let value = joined.or_else(|| words.next()).unwrap_or_default();
            for name in value.split([',', ' ']) {
                // <https://pdm-project.org/latest/reference/cli/#sync>
                match name {
                    ":all" => self.all = true,
                    name => add_name(list, name),
                }
            }
        }
    }
}

fn add(list: &mut Vec<String>, word: &str) {
    let is_new = !word.is_empty() && word.len() <= MAX_WORD && !list.iter().any(|old| old == word);
    if is_new && list.len() < MAX_WORDS {
        list.push(word.to_owned());
    }
}

/// Adds the name of an extra or a group, which no tool takes for an option.
fn add_name(list: &mut Vec<String>, name: &str) {
    let is_name = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if is_name && !name.starts_with('-') {
        add(list, name);
    }
}

fn add_file(list: &mut Vec<RepoPath>, directory: Option<&RepoPath>, file: Option<&str>) {
    let path = file.and_then(|file| line_directory(directory, &[file.to_owned()], &BTreeMap::new()));
    let path = path.flatten().filter(|path| !list.contains(path));
    list.extend(path.filter(|_| list.len() < MAX_WORDS));
}

#[cfg(test)]
mod tests;
