//! Which of a repository's test commands a change calls for, so that a green result covers everything it may have
//! broken, and the rest is named.
//!
//! A command is skipped only if another one runs its tests, or if nothing that it depends on has changed. When in
//! doubt it runs: one suite too many costs time, one too few hides a failure.

mod aside;

use std::collections::BTreeSet;

use greenlight_anchor::RepoPath;
use greenlight_tree::checkout::Checkout;

pub(super) use self::aside::is_aside;
use self::aside::is_aside_command;
use super::{python, rust};
use crate::discover::directory::Directory;
use crate::framework::{Ecosystem, Framework};
use crate::test_command::{Source, TestCommand};

/// Maximum size of a manifest in which other packages are looked for, in bytes.
const MAX_MANIFEST: usize = 256 << 10;

/// The files that name the packages another package depends on.
const MANIFESTS: [&str; 14] = [
    "package.json",
    "tsconfig.json",
    "pyproject.toml",
    "requirements.txt",
    "setup.cfg",
    "setup.py",
    "Cargo.toml",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "Gemfile",
    "composer.json",
    "deno.json",
];

/// The test commands of a repository, sorted by whether a change calls for them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// The commands to run, the most fitting one first.
    pub wanted: Vec<TestCommand>,
    /// The commands whose tests no other command runs, and that do not depend on what changed.
    pub unaffected: Vec<TestCommand>,
}

/// Selects among the commands of [`find_all`](super::find_all). Without any known changes, everything is affected.
pub fn select<'a>(
    checkout: &Checkout,
    commands: Vec<TestCommand>,
    changed: impl IntoIterator<Item = &'a RepoPath>,
) -> Selection {
    let mut distinct: Vec<TestCommand> = Vec::new();
    for command in commands.into_iter().filter(|command| has_tests(checkout, command)) {
        let is_covered = distinct.iter().any(|other| covers(checkout, other, &command));
        if !is_covered && !is_covered_by_all(checkout, &distinct, &command) {
            distinct.push(command);
        }
    }
    let changed: Vec<&RepoPath> = changed.into_iter().collect();
    let mut affected = affected(checkout, &distinct, &changed);
    // Python files beside a build in another language are rarely its tests.
    let changes_python = changed.iter().any(|path| path.as_str().ends_with(".py"));
    let is_with_first = |at: usize| at == 0 || python::start_apart(&distinct[0], &distinct[at]);
    affected.retain(|at| is_with_first(*at) || changes_python || !is_stray(checkout, &distinct[*at]));
    let mut selection = Selection::default();
    for (at, command) in distinct.into_iter().enumerate() {
        // One command always runs, and it is the one that fits best.
        let is_wanted = affected.contains(&at) || (affected.is_empty() && at == 0);
        let list = if is_wanted {
            &mut selection.wanted
        } else {
            &mut selection.unaffected
        };
        list.push(command);
    }
    selection
}

/// The indices of the commands that a change may have broken.
fn affected(checkout: &Checkout, commands: &[TestCommand], changed: &[&RepoPath]) -> BTreeSet<usize> {
    // A file belongs to the innermost directories with a command.
    let owners = |path: &RepoPath| {
        let depth = |command: &TestCommand| {
            command
                .directory
                .as_ref()
                .map_or(0, |directory| directory.as_str().len())
        };
        let above: Vec<(usize, usize)> = commands
            .iter()
            .enumerate()
            .filter(|(_, command)| is_below(path.as_str(), command.directory.as_ref()))
            .map(|(at, command)| (at, depth(command)))
            .collect();
        let innermost = above.iter().map(|(_, depth)| *depth).max();
        above
            .into_iter()
            .filter(move |(_, depth)| Some(*depth) == innermost)
            .map(|(at, _)| at)
    };
    let mut affected: BTreeSet<usize> = BTreeSet::new();
    for path in changed {
        let own: Vec<usize> = owners(path).collect();
        if own.is_empty() {
            // A file that belongs to no suite, such as a shared configuration.
            affected.extend(main_suites(checkout, commands));
        }
        affected.extend(own);
    }
    if changed.is_empty() {
        affected.extend(main_suites(checkout, commands));
    }
    // All that depends on an affected directory is affected, too.
    let mentions: Vec<BTreeSet<String>> = commands.iter().map(|command| mentioned(checkout, command)).collect();
    let names: Vec<Vec<String>> = commands.iter().map(|command| names_of(checkout, command)).collect();
    loop {
        let more: Vec<usize> = (0..commands.len())
            .filter(|at| !affected.contains(at))
            .filter(|at| {
                let mut known = affected.iter().flat_map(|one| &names[*one]);
                known.any(|name| mentions[*at].contains(name))
            })
            .collect();
        if more.is_empty() {
            return affected;
        }
        affected.extend(more);
    }
}

/// The directory of a command.
fn place_of<'a>(checkout: &'a Checkout, command: &TestCommand) -> Directory<'a> {
    Directory {
        checkout,
        directory: command.directory.clone(),
    }
}

/// Whether a command has tests to run. A module of Go without any, below others, only holds tools.
fn has_tests(checkout: &Checkout, command: &TestCommand) -> bool {
    let place = place_of(checkout, command);
    let is_nested_go = command.directory.is_some() && command.framework.spec().ecosystem == Ecosystem::Go;
    !is_nested_go || place.files().any(|path| path.ends_with("_test.go"))
}

/// Whether a command runs Python's tests where nothing else, not even CI, says that there is a Python project.
fn is_stray(checkout: &Checkout, command: &TestCommand) -> bool {
    let is_found = !matches!(command.source, Source::Ci { .. });
    is_found && command.framework.spec().ecosystem == Ecosystem::Python && !is_python_project(checkout, command)
}

/// The commands that run even if nothing below them changed: those outside of examples and the like, and of folders that
/// CI does not test.
fn main_suites(checkout: &Checkout, commands: &[TestCommand]) -> Vec<usize> {
    let unknown = aside::unknown_to_ci(checkout, commands);
    let all = commands.iter().enumerate();
    let runs = |(at, command): &(usize, &TestCommand)| *at == 0 || !is_aside_command(command) && !unknown.contains(at);
    all.filter(runs).map(|(at, _)| at).collect()
}

fn is_below(path: &str, directory: Option<&RepoPath>) -> bool {
    directory.is_none_or(|directory| {
        path.strip_prefix(directory.as_str())
            .is_some_and(|rest| rest.starts_with('/'))
    })
}

/// Whether the first command also runs the tests of the second one.
fn covers(checkout: &Checkout, outer: &TestCommand, inner: &TestCommand) -> bool {
    let (of_outer, of_inner) = (ecosystem(outer), ecosystem(inner));
    let is_same_place = outer.directory == inner.directory;
    // What a target calls may be what CI also calls directly.
    let is_target = |command: &TestCommand| {
        matches!(
            command.argv.first().map_or("", |word| last(word)),
            "make" | "just" | "mise" | "pixi" | "poe" | "task"
        )
    };
    if is_same_place && is_of_ci(outer) && is_of_ci(inner) && (is_target(outer) || !is_target(inner)) {
        // What CI runs one after the other are different tests, or discovery would have kept one.
        return false;
    }
    if inner.framework == Framework::Other && is_same_place {
        // What a Makefile calls is known only when it runs; beside another command, that is the same tests.
        return true;
    }
    // A target of a package is most likely what its script `test` makes.
    let is_of_package = is_target(inner) && place_of(checkout, inner).has("package.json");
    if of_outer == Ecosystem::JavaScript && is_of_package && below(outer, inner).is_some() {
        let words = with_scripts(&place_of(checkout, outer), outer);
        return runs_workspaces(&words);
    }
    if of_outer != of_inner {
        return false;
    }
    if is_same_place {
        return !python::start_apart(outer, inner);
    }
    if outer.framework == inner.framework && starts_at(inner, outer.directory.as_ref()) {
        return true;
    }
    let Some(below) = below(outer, inner) else {
        return false;
    };
    let place = place_of(checkout, outer);
    let names = names_of(checkout, inner);
    let is_name = |word: &str| {
        let word = word.rsplit('=').next().unwrap_or(word);
        names.iter().skip(1).any(|name| word == name)
    };
    let is_path = |word: &str| {
        let rest = word.trim_start_matches("./").strip_prefix(below);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let words = match of_outer {
        Ecosystem::JavaScript => with_scripts(&place, outer),
        _ => outer.argv.clone(),
    };
    let names_it = |words: &[String]| words.iter().any(|word| is_path(word) || is_name(word));
    if of_outer == Ecosystem::JavaScript && is_of_ci(outer) && is_of_ci(inner) {
        // A script that mentions a package, and which CI does not run for it, may do anything with it.
        let is_for_all = outer.framework == Framework::Other && runs_workspaces(&words);
        return names_it(&outer.argv) || is_for_all;
    }
    let names_it = names_it(&words);
    names_it
        || match of_outer {
            // Separate modules: `./...` stops at them.
            Ecosystem::Go => false,
            Ecosystem::Rust => rust::is_member(&place, below) && tests_member(&place, (outer, inner), &names),
            Ecosystem::Java => ["pom.xml", "settings.gradle", "settings.gradle.kts"]
                .iter()
                .filter_map(|name| place.text(name))
                .any(|text| tokens(&text).any(|token| token == last(below))),
            Ecosystem::JavaScript => {
                let finds_it = outer.framework == inner.framework
                    && outer
                        .framework
                        .spec()
                        .script
                        .is_some_and(|script| script.searches_below);
                runs_workspaces(&words) || finds_it && !names_paths(outer)
            }
            Ecosystem::Python => !is_python_project(checkout, inner) || python::searches_all(&place, &outer.argv),
            Ecosystem::Ruby | Ecosystem::Php | Ecosystem::Dotnet | Ecosystem::C | Ecosystem::Any => true,
        }
}

/// Whether a command of Cargo at the top of a workspace also tests one of its members, which CI may test separately because
/// the other one does not.
fn tests_member(top: &Directory<'_>, (outer, inner): (&TestCommand, &TestCommand), names: &[String]) -> bool {
    let tests_all = outer
        .argv
        .iter()
        .any(|word| matches!(word.as_str(), "--workspace" | "--all"));
    let by_default = || rust::default_packages(top).is_none_or(|own| names.iter().any(|name| own.contains(name)));
    !is_of_ci(inner) || tests_all || by_default()
}

fn is_of_ci(command: &TestCommand) -> bool {
    matches!(command.source, Source::Ci { .. })
}

/// Whether the commands of CI for Python run all tests of one that only the project's files suggest: each those of a
/// directory below.
fn is_covered_by_all(checkout: &Checkout, commands: &[TestCommand], inner: &TestCommand) -> bool {
    let of_ci = commands.iter().filter(|command| is_of_ci(command));
    let of_python = of_ci.filter(|command| ecosystem(command) == Ecosystem::Python);
    let deeper: Vec<&str> = of_python.filter_map(|command| below(inner, command)).collect();
    ecosystem(inner) == Ecosystem::Python
        && !is_of_ci(inner)
        && !deeper.is_empty()
        && python::has_tests_only_in(&place_of(checkout, inner), &deeper)
}

/// Whether `unittest discover -s` is told to start in this directory.
fn starts_at(command: &TestCommand, directory: Option<&RepoPath>) -> bool {
    let mut pairs = command.argv.windows(2);
    command.directory.is_none()
        && directory
            .is_some_and(|directory| pairs.any(|pair| pair[0] == "-s" && pair[1].as_str() == directory.as_str()))
}

fn is_python_project(checkout: &Checkout, command: &TestCommand) -> bool {
    python::is_project(&place_of(checkout, command))
}

/// The ecosystem of a command, even if only its package manager is known.
fn ecosystem(command: &TestCommand) -> Ecosystem {
    let program = command.argv.first().map_or("", |program| last(program));
    match program {
        "npm" | "pnpm" | "yarn" => Ecosystem::JavaScript,
        _ => command.framework.spec().ecosystem,
    }
}

/// Whether a command runs tests of JavaScript.
pub(super) fn is_javascript(command: &TestCommand) -> bool {
    ecosystem(command) == Ecosystem::JavaScript
}

/// The path of the inner command's directory below that of the outer one.
fn below<'a>(outer: &TestCommand, inner: &'a TestCommand) -> Option<&'a str> {
    let inner = inner.directory.as_ref()?.as_str();
    match &outer.directory {
        None => Some(inner),
        Some(outer) => inner.strip_prefix(outer.as_str())?.strip_prefix('/'),
    }
}

/// The words of a command of JavaScript, and of the scripts that it may stand for; one of CI says which.
fn with_scripts(place: &Directory<'_>, command: &TestCommand) -> Vec<String> {
    let manifest = place.text("package.json").filter(|text| text.len() <= MAX_MANIFEST);
    let manifest: Option<serde_json::Value> = manifest.and_then(|text| serde_json::from_str(&text).ok());
    let scripts = manifest
        .as_ref()
        .and_then(|manifest| manifest.get("scripts")?.as_object());
    let scripts = scripts
        .into_iter()
        .flatten()
        .filter(|(name, _)| name.starts_with("test") && (!is_of_ci(command) || command.argv.contains(name)));
    let in_scripts = scripts
        .filter_map(|(_, script)| script.as_str())
        .flat_map(str::split_whitespace);
    let own = command.argv.iter().map(String::as_str);
    own.chain(in_scripts).map(String::from).collect()
}

/// Whether words hand over to the scripts of all workspaces.
pub(super) fn runs_workspaces(words: &[String]) -> bool {
    const TOOLS: [&str; 11] = [
        "-r",
        "-ws",
        "--recursive",
        "--workspaces",
        "workspaces",
        "lerna",
        "nx",
        "turbo",
        "wsrun",
        "wireit",
        "rush",
    ];
    words.iter().any(|word| TOOLS.contains(&last(word)))
}

fn names_paths(command: &TestCommand) -> bool {
    let mut plain = command.argv.iter().skip(1).filter(|word| !word.starts_with('-'));
    plain.any(|word| word.contains(['/', '.', '*']))
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The names by which other packages refer to the one of a command: its directory, and what its manifest calls it.
fn names_of(checkout: &Checkout, command: &TestCommand) -> Vec<String> {
    let Some(directory) = &command.directory else {
        return Vec::new();
    };
    let package = checkout.read_text(&format!("{directory}/package.json"));
    let package = package.filter(|text| text.len() <= MAX_MANIFEST);
    let name = package.and_then(|text| {
        let manifest: serde_json::Value = serde_json::from_str(&text).ok()?;
        Some(manifest.get("name")?.as_str()?.to_string())
    });
    [last(directory.as_str()).to_string()].into_iter().chain(name).collect()
}

/// The names that the manifests beside a command mention.
fn mentioned(checkout: &Checkout, command: &TestCommand) -> BTreeSet<String> {
    let place = place_of(checkout, command);
    let texts = MANIFESTS.iter().filter_map(|name| place.text(name));
    let texts: Vec<String> = texts.filter(|text| text.len() <= MAX_MANIFEST).collect();
    texts
        .iter()
        .flat_map(|text| tokens(text).chain(quoted_strings(text)))
        .map(str::to_string)
        .collect()
}

/// The words of a text that may be names of directories.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.')))
        .filter(|token| !token.is_empty())
}

/// The strings in double quotes, such as the names of scoped packages.
fn quoted_strings(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').filter(|part| part.len() <= 214)
}

#[cfg(test)]
mod tests;
