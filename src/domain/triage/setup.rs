//! What was installed for the tests, and how to get what they lack.

use serde::{Deserialize, Serialize};

use super::super::redact::{redact, visible};
use super::Judged;

/// How many notes and how many packages are kept, and the maximum length of a note, in characters.
const MAX_KEPT: usize = 10;
const MAX_NOTE: usize = 300;
/// How many packages a sentence names.
const NAMED: usize = 3;

/// The installation before a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// Whether dependencies were installed for this run.
    #[serde(default)]
    pub is_installed: bool,
    /// Whether greenlight can install what such tests need.
    #[serde(default)]
    pub can_install: bool,
    /// Whether the project lists a package that the tests lack.
    #[serde(default, skip_serializing_if = "super::super::is_default")]
    pub missing: ListedByProject,
    /// What was done differently from what the project asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Whether a project lists a package.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListedByProject {
    /// Not, or not by the name that code imports.
    #[default]
    No,
    Yes,
}

/// Where a run is, which decides how a person provides what is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// With a person who types commands.
    Terminal,
    /// With a configuration in a repository.
    GitHub,
}

impl Setup {
    /// The first notes, shortened. They may quote the project's files.
    pub fn noting(mut self, notes: &[String]) -> Self {
        let short = |note: &String| redact(&visible(note)).chars().take(MAX_NOTE).collect();
        self.notes = notes.iter().take(MAX_KEPT).map(short).collect();
        self
    }
}

/// The packages that tests lack, each once.
pub(super) fn packages(tests: &[Judged]) -> Vec<&str> {
    let mut packages: Vec<&str> = Vec::new();
    for package in tests.iter().flat_map(|test| &test.packages) {
        if packages.len() < MAX_KEPT && !packages.contains(&package.as_str()) {
            packages.push(package);
        }
    }
    packages
}

/// ``needs `a`, `b` and 2 more packages, which are not installed here``.
pub(super) fn lacking(packages: &[&str]) -> String {
    let quoted: Vec<String> = packages.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
    let named = match (quoted.as_slice(), packages.len().saturating_sub(NAMED)) {
        ([], _) => "packages".into(),
        ([one], 0) => one.clone(),
        ([first @ .., last], 0) => format!("{} and {last}", first.join(", ")),
        (all, more) => format!("{} and {more} more", all.join(", ")),
    };
    let is = if packages.len() == 1 { "is" } else { "are" };
    format!("needs {named}, which {is} not installed here")
}

/// What a person does about missing packages, as a sentence without its full stop.
pub(super) fn remedy(setup: Option<&Setup>, place: Place) -> String {
    let setup = setup.cloned().unwrap_or_default();
    let is_listed = setup.missing == ListedByProject::Yes;
    match (setup.is_installed, setup.can_install, place) {
        (true, ..) if is_listed => {
            "The project lists it, but it could not be installed here; install it where greenlight runs".into()
        }
        (true, ..) => "greenlight installed what the project lists, and this was not part of it: list it among the \
                       project's dependencies, or install it where greenlight runs"
            .into(),
        (false, false, _) => "Install it where greenlight runs".into(),
        (false, true, Place::Terminal) if is_listed => "`--install` installs the project's dependencies first".into(),
        // It may be listed by another name than code imports.
        (false, true, Place::Terminal) => "If it is a dependency of the project, `--install` installs it".into(),
        (false, true, Place::GitHub) => {
            "greenlight installs the project's dependencies first if `greenlight.toml` on the \
                                         base branch allows it: `network = [\"registries\"]` under `[sandbox]`"
                .into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_named_and_counted() {
        assert_eq!(lacking(&["a"]), "needs `a`, which is not installed here");
        assert_eq!(lacking(&["a", "b"]), "needs `a` and `b`, which are not installed here");
        assert_eq!(
            lacking(&["a", "b", "c", "d", "e"]),
            "needs `a`, `b`, `c` and 2 more, which are not installed here"
        );
    }

    #[test]
    fn the_remedy_fits_the_place() {
        let setup = |is_installed, can_install| Setup {
            is_installed,
            can_install,
            missing: ListedByProject::No,
            notes: Vec::new(),
        };
        let told = |setup: Setup, place| remedy(Some(&setup), place);
        assert!(told(setup(false, true), Place::Terminal).contains("`--install`"));
        assert!(told(setup(false, true), Place::GitHub).contains("`[sandbox]`"));
        assert!(told(setup(true, true), Place::GitHub).contains("list it"));
        assert_eq!(remedy(None, Place::GitHub), "Install it where greenlight runs");
    }

    #[test]
    fn notes_are_few_short_and_without_secrets() {
        let note = format!("token ghp_0123456789abcdefghijABCDEFGHIJ012345 {}", "x".repeat(9_000));
        let setup = Setup::default().noting(&vec![note; 90]);
        assert_eq!(setup.notes.len(), MAX_KEPT);
        assert!(setup.notes[0].chars().count() <= MAX_NOTE && !setup.notes[0].contains("ghp_0123"));
    }
}
