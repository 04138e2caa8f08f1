//! Finds the commands that run a project's tests: the configured one, else the command of the failed CI step, else
//! those of the project's workflows and manifests, those nearest to the failing files first.
//!
//! Only the tree is read; nothing is executed.

mod ci;
pub(super) mod directory;
mod go;
pub(super) mod javascript;
pub(super) mod jvm;
pub(super) mod others;
mod parts;
mod python;
mod recipes;
pub(super) mod rust;
mod selection;
pub(super) mod step;
pub(super) mod words;
pub(super) mod workspaces;

use greenlight_anchor::RepoPath;
use greenlight_readers::ci_step::CiStep;
use greenlight_tree::checkout::Checkout;

use self::directory::Directory;
pub(super) use self::go::module as go_module;
pub use self::parts::{CommandPart, parts};
pub(super) use self::python::tox_requirements;
pub use self::rust::has_member;
pub use self::selection::{Selection, select};
pub(super) use self::step::{called_scripts, only_checks, runs_plain_programs, runs_tests, tests_may_fail};
use self::words::{framework_of, needs_shell};
use crate::framework::{Ecosystem, Framework};
use crate::test_command::{DEFAULT_TIMEOUT, Source, TestCommand, TestSettings};

/// Maximum number of directories that are searched.
const MAX_DIRECTORIES: usize = 200;
/// Maximum number of commands that are returned.
const MAX_COMMANDS: usize = 20;

/// The ecosystems whose dependencies are installed. A directory may have tests of each.
const INSTALLED: [Ecosystem; 5] = [
    Ecosystem::Rust,
    Ecosystem::Python,
    Ecosystem::JavaScript,
    Ecosystem::Go,
    Ecosystem::Java,
];
/// The other ecosystems; only the first with tests is used.
const OTHERS: [Ecosystem; 5] = [
    Ecosystem::Ruby,
    Ecosystem::Php,
    Ecosystem::Dotnet,
    Ecosystem::C,
    Ecosystem::Any,
];

/// What is known about a failure before anything has run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    /// The step of a CI job that failed.
    pub step: Option<CiStep>,
    /// Steps of the project's workflows that run tests, as [`test_steps`](crate::test_steps) finds them.
    pub ci: Vec<CiStep>,
    /// Files that fail, or that were changed: the manifests nearest to them are tried first.
    pub near: Vec<RepoPath>,
}

/// No test command was found; lists what was looked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no tests were found (looked for {}); set `[test] command` in greenlight.toml", looked_for.join(", "))]
pub struct NothingFound {
    /// Manifests and settings that would have told, in words for people.
    pub looked_for: Vec<String>,
}

/// Finds the command that runs the tests of a tree: the first of [`find_all`].
///
/// # Errors
/// When no command is configured and none can be found in the tree.
pub fn find(checkout: &Checkout, settings: &TestSettings, hints: &Hints) -> Result<TestCommand, NothingFound> {
    let mut all = find_all(checkout, settings, hints).into_iter();
    all.next().ok_or_else(NothingFound::new)
}

/// Finds every command that runs tests of a tree, the most fitting one first. A configured command is the only one.
pub fn find_all(checkout: &Checkout, settings: &TestSettings, hints: &Hints) -> Vec<TestCommand> {
    let line = settings.command.as_deref().map(str::trim);
    let mut commands = match line.filter(|line| !line.is_empty()) {
        Some(line) => vec![configured(checkout, line)],
        None => {
            let step = hints.step.as_ref().and_then(|step| step::command(checkout, step));
            let steps = ci::commands(checkout, &hints.ci);
            let of_ci: Vec<CiStep> = hints.ci.iter().filter(|step| !step.is_aside).cloned().collect();
            let mut own = places(checkout, &hints.near);
            own.retain(|place| !is_tested_from_above(place, &steps.known, &hints.near));
            let mut known = steps.known.clone();
            known.sort_by_key(|command| command.directory.is_some());
            // Where nothing says which part of the tree counts, CI does, unless its command for the root is of no known
            // framework.
            let first = if hints.near.is_empty() && !steps.leaves_the_root_to_files() {
                std::mem::take(&mut known)
            } else {
                Vec::new()
            };
            let mut all: Vec<TestCommand> = step.into_iter().chain(merged((first, known), &own)).collect();
            if all.is_empty() {
                all.extend(ci::built_programs(checkout, &of_ci));
            }
            if all.is_empty() {
                all.extend(steps.instead_of(None));
            }
            let mut in_turn = Vec::new();
            let is_called = |command: &&mut TestCommand| others::is_task(command) || ci::is_test_script(command);
            for task in all.iter_mut().filter(is_called) {
                if let Some(of_ci) = steps.instead_of(Some(task)) {
                    in_turn.extend(steps.made_in_turn(&of_ci));
                    *task = of_ci;
                }
            }
            all.extend(in_turn);
            let all = all.into_iter().map(|command| steps.as_built(command, &of_ci));
            let all = all.map(|command| steps.as_recursive(command));
            let all = all.flat_map(|command| steps.as_rake(command));
            let mut all: Vec<TestCommand> = all.flat_map(|command| steps.as_make(command, &of_ci)).collect();
            let mut distinct: Vec<TestCommand> = Vec::new();
            all.retain(|command| {
                let is_same = |other: &TestCommand| {
                    (&other.argv, &other.env, &other.directory) == (&command.argv, &command.env, &command.directory)
                };
                let is_new = !distinct.iter().any(is_same);
                distinct.extend(is_new.then(|| command.clone()));
                is_new
            });
            all.truncate(MAX_COMMANDS);
            steps.name_others(&mut all);
            let all_steps: Vec<_> = hints.step.iter().chain(&of_ci).collect();
            ci::configure(checkout, &mut all, &all_steps);
            let installed = ci::installed(checkout, &of_ci);
            for command in all.iter_mut().filter(|command| command.ci_install.is_empty()) {
                command.ci_install = installed.clone();
            }
            all
        }
    };
    commands.truncate(MAX_COMMANDS);
    for command in &mut commands {
        command.timeout = settings.timeout.unwrap_or(DEFAULT_TIMEOUT);
        let directory = command.directory.clone();
        let place = Directory { checkout, directory };
        go::complete(&place, command);
        javascript::hooks::leave_out_checks(&place, command);
    }
    commands
}

/// The commands of CI, and those of the files where CI has none: some first, the others by directory.
fn merged((first, mut of_ci): (Vec<TestCommand>, Vec<TestCommand>), places: &[Directory<'_>]) -> Vec<TestCommand> {
    let mut all = first;
    for place in places {
        let (here, elsewhere): (Vec<_>, _) = of_ci
            .into_iter()
            .partition(|command| command.directory == place.directory);
        of_ci = elsewhere;
        let mut found = in_place(place);
        // The projects of .NET that CI names are not all of a solution.
        let is_known_project = |command: &TestCommand| {
            let mut known = here.iter().chain(&all).chain(&of_ci);
            command.framework == Framework::Dotnet && known.any(|other| other.framework == command.framework)
        };
        // A script that CI runs may test with any tool.
        let is_known = |of_ci: &TestCommand, command: &TestCommand| {
            let is_script = of_ci.framework == Framework::Other && of_ci.directory == command.directory;
            is_script || ci::is_alike(of_ci, command)
        };
        found.retain(|command| !here.iter().chain(&all).any(|of_ci| is_known(of_ci, command)));
        found.retain(|command| !is_known_project(command));
        found.retain(|command| !is_tested_below(place, command, of_ci.iter().chain(&all)));
        all.extend(here);
        all.extend(found);
    }
    all.extend(of_ci);
    all
}

impl NothingFound {
    fn new() -> Self {
        let of_ecosystem = |ecosystem| {
            let own = Framework::ALL.iter().map(|framework| framework.spec());
            let own = own.filter(move |spec| spec.ecosystem == ecosystem);
            let shared = match ecosystem {
                Ecosystem::Python => Some(python::LOOKS_FOR),
                Ecosystem::JavaScript => Some(javascript::LOOKS_FOR),
                _ => None,
            };
            shared.into_iter().chain(own.filter_map(|spec| spec.looks_for))
        };
        let all = INSTALLED.into_iter().chain(OTHERS);
        Self {
            looked_for: all.flat_map(of_ecosystem).map(String::from).collect(),
        }
    }
}

/// The directories above the failing files, nearest first; then the root and its subdirectories in order.
fn places<'a>(checkout: &'a Checkout, near: &[RepoPath]) -> Vec<Directory<'a>> {
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
    let packages = workspaces::members(checkout).into_iter();
    order.extend(packages.chain(workspaces::side_by_side(checkout)).map(Some));
    let mut places: Vec<Directory<'a>> = Vec::new();
    for directory in order {
        if places.len() < MAX_DIRECTORIES && !places.iter().any(|place| place.directory == directory) {
            places.push(Directory { checkout, directory });
        }
    }
    places
}

/// Whether CI tests the project whose workspace a place is, and no failing file lies in it: then CI's command for the
/// project says which of the workspaces' tests count.
fn is_tested_from_above(place: &Directory<'_>, of_ci: &[TestCommand], near: &[RepoPath]) -> bool {
    let Some(directory) = &place.directory else {
        return false;
    };
    let is_inside = |path: &RepoPath| {
        let rest = path.as_str().strip_prefix(directory.as_str());
        rest.is_some_and(|rest| rest.starts_with('/'))
    };
    let is_for = |owner: &Option<RepoPath>| {
        let mut scripts = of_ci.iter().filter(|command| selection::is_javascript(command));
        scripts.any(|command| command.directory == *owner)
    };
    !near.iter().any(is_inside) && workspaces::owner(place.checkout, directory).is_some_and(|owner| is_for(&owner))
}

/// Whether a command is the script of a project for all of its workspaces, of which CI tests some by their names.
fn is_tested_below<'c>(
    place: &Directory<'_>,
    command: &TestCommand,
    mut of_ci: impl Iterator<Item = &'c TestCommand>,
) -> bool {
    let is_workspace = |other: &TestCommand| {
        let directory = other.directory.as_ref().filter(|_| selection::is_javascript(other));
        directory.and_then(|directory| workspaces::owner(place.checkout, directory)) == Some(place.directory.clone())
    };
    command.framework == Framework::Other && selection::is_javascript(command) && of_ci.any(is_workspace)
}

/// Deeper modules, such as those of Go and Java, but not those in test data.
fn modules(checkout: &Checkout) -> impl Iterator<Item = Option<RepoPath>> {
    let paths = checkout.paths().into_iter().map(RepoPath::as_str);
    let directories = paths.filter_map(|path| {
        let (directory, name) = path.rsplit_once('/')?;
        let is_input =
            |part: &str| part.starts_with('.') || matches!(part, "src" | "testdata" | "vendor" | "node_modules");
        let is_manifest = Framework::ALL
            .iter()
            .any(|framework| framework.spec().modules.contains(&name));
        (is_manifest && !directory.split('/').any(is_input)).then_some(directory)
    });
    directories.filter_map(|directory| directory.parse().ok()).map(Some)
}

/// The commands found in the files of one directory: one for each ecosystem whose dependencies are installed, and at
/// most one of the others.
fn in_place(place: &Directory<'_>) -> Vec<TestCommand> {
    let find = |ecosystem| of_ecosystem(place, ecosystem);
    let mut commands: Vec<TestCommand> = INSTALLED.into_iter().filter_map(find).collect();
    let of_python = commands
        .iter()
        .position(|command| command.framework == Framework::Unittest);
    if let Some(at) = of_python {
        let rest = python::rest(place, &commands[at]);
        commands.splice(at + 1..at + 1, rest);
    }
    commands.extend(OTHERS.into_iter().find_map(find));
    // Python files next to a build in another language rarely are its tests.
    let is_stray = |command: &TestCommand| command.framework.spec().ecosystem == Ecosystem::Python;
    if !python::is_project(place) {
        commands.sort_by_key(is_stray);
    }
    commands
}

/// The command from the manifests of an ecosystem, else from the first of its frameworks that is found.
fn of_ecosystem(place: &Directory<'_>, ecosystem: Ecosystem) -> Option<TestCommand> {
    let shared = match ecosystem {
        Ecosystem::Python => python::find(place),
        Ecosystem::JavaScript => javascript::find(place),
        _ => None,
    };
    shared.or_else(|| {
        let mut own = Framework::ALL.iter().map(|framework| framework.spec());
        own.find_map(|spec| (spec.ecosystem == ecosystem).then(|| (spec.discover)(place))?)
    })
}

/// The configured command: split into words if that suffices, else passed to a shell.
fn configured(checkout: &Checkout, line: &str) -> TestCommand {
    let root = Directory {
        checkout,
        directory: None,
    };
    let words = if needs_shell(line) { None } else { shlex::split(line) };
    let tests = match words {
        Some(words) if !words.is_empty() => javascript::taken_apart(&root, &words).unwrap_or_else(|| {
            let framework = framework_of(&root, &words);
            javascript::Tests::new(words, framework)
        }),
        _ => javascript::Tests::new(vec!["sh".into(), "-c".into(), line.into()], Framework::Other),
    };
    TestCommand {
        import_root: python::import_root(&root),
        left_out: tests.left_out,
        ..TestCommand::new(tests.argv, tests.framework, Source::Settings)
    }
}

#[cfg(test)]
mod tests;
